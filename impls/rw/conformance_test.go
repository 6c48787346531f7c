package rw_test

import (
	"testing"

	"lockbench/impls/locktest"
	"lockbench/impls/rw"
)

func TestConformance(t *testing.T) {
	for _, info := range rw.Infos() {
		locktest.Run(t, info)
	}
}
