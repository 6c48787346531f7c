package futex_test

import (
	"testing"

	"lockbench/impls/futex"
	"lockbench/impls/locktest"
)

func TestConformance(t *testing.T) {
	for _, info := range futex.Infos() {
		locktest.Run(t, info)
	}
}
