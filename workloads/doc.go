// Package workloads says what workers do: section length and think time, how
// many workers on how many locks, the mix of operations, arrivals and phases;
// and it names the presets.
//
// A [Spec] is what a user writes, on the command line or in a YAML file. Its
// lengths are in work units (one step of dependent arithmetic, loop.Spin,
// about a nanosecond) or in durations, which [Spec.Resolve] turns into units
// with the calibration of the run. The resolved [Load] has integers only and
// travels to the child processes, so that every runner, and both halves of a
// comparison, do the same work.
package workloads
