// Package engine turns a spec into a plan, runs the plan's cells, each
// repetition in fresh child processes, and hands out the records.
//
//	Spec --NewPlan--> Plan --Run--> Sink.Sample, Sink.Event
//
// It neither parses flags nor prints. What runs inside the child is package
// cell; what is measured with which lock is decided here, before the first
// child starts, so that a plan can be shown without running it.
package engine
