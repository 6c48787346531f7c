package main

import (
	"testing"

	"lockbench/impls/locktest"
)

// TestConformance puts the lock through the suite that every built-in lock
// passes.
func TestConformance(t *testing.T) { locktest.Run(t, info()) }
