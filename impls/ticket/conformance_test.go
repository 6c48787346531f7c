package ticket_test

import (
	"testing"

	"lockbench/impls/locktest"
	"lockbench/impls/ticket"
)

func TestConformance(t *testing.T) {
	for _, info := range ticket.Infos() {
		locktest.Run(t, info)
	}
}
