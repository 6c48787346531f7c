package spin_test

import (
	"testing"

	"lockbench/impls/locktest"
	"lockbench/impls/spin"
)

func TestConformance(t *testing.T) {
	for _, info := range spin.Infos() {
		locktest.Run(t, info)
	}
}
