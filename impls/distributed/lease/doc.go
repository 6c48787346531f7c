// Package lease is what every client of a distributed lock needs and none
// should write again: an Acquire that returns when its caller wants to leave,
// late grants that are given back, the local deadline of a lease and its
// renewal, reentrancy, and polling with back-off.
//
// A lock brings a [Driver], which talks to its service, and gets a
// [lock.Leaser] from [New].
package lease
