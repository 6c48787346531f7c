package clh_test

import (
	"testing"

	"lockbench/impls/clh"
	"lockbench/impls/locktest"
)

func TestConformance(t *testing.T) {
	for _, info := range clh.Infos() {
		locktest.Run(t, info)
	}
}
