package std_test

import (
	"testing"

	"lockbench/impls/locktest"
	"lockbench/impls/std"
)

func TestConformance(t *testing.T) {
	for _, info := range std.Infos() {
		locktest.Run(t, info)
	}
}
