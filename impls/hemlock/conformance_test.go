package hemlock_test

import (
	"testing"

	"lockbench/impls/hemlock"
	"lockbench/impls/locktest"
)

func TestConformance(t *testing.T) {
	for _, info := range hemlock.Infos() {
		locktest.Run(t, info)
	}
}
