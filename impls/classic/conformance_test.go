package classic_test

import (
	"testing"

	"lockbench/impls/classic"
	"lockbench/impls/locktest"
)

func TestConformance(t *testing.T) {
	for _, info := range classic.Infos() {
		locktest.Run(t, info)
	}
}
