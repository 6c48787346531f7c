// Package rw holds reader-writer locks beyond sync.RWMutex (which is in
// package std).
//
//	rw-phase-fair    readers and writers take turns in phases; spins
//
// A reader-writer lock is measured by mixes; its handle is also a plain
// lock.Handle, for which every acquisition is a write.
package rw

//go:generate go run lockbench/cmd/lockloop -type phaseFairHandle
