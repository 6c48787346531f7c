package mcs_test

import (
	"testing"

	"lockbench/impls/locktest"
	"lockbench/impls/mcs"
)

func TestConformance(t *testing.T) {
	for _, info := range mcs.Infos() {
		locktest.Run(t, info)
	}
}
