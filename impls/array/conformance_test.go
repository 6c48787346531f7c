package array_test

import (
	"testing"

	"lockbench/impls/array"
	"lockbench/impls/locktest"
)

func TestConformance(t *testing.T) {
	for _, info := range array.Infos() {
		locktest.Run(t, info)
	}
}
