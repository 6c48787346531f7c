// Package hemlock has Hemlock, a queue lock with one word of waiting state per
// worker instead of one node per worker and lock.
//
// Source: D. Dice and A. Kogan, "Hemlock: Compact and Scalable Mutual
// Exclusion", SPAA 2021.
//
// It is FIFO (the swap of the tail fixes the place) and does not allocate.
package hemlock

//go:generate go run lockbench/cmd/lockloop -type hemlockHandle
