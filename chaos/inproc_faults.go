package chaos

import "lockbench/chaos/inproc"

// Faults on in-process locks. Their rounds run in package inproc; here is what the catalogue says of them.
var (
	faultGoroutineExit = Fault{
		Name: GoroutineExit, Doc: "the holder's goroutine ends inside the section, without unlocking", On: OnProcess, Params: inprocParams(GoroutineExit),
	}
	faultPanic = Fault{
		Name: PanicInSection, Doc: "the holder panics inside the section, and the panic is recovered above it", On: OnProcess, Params: inprocParams(PanicInSection),
	}
	faultStalled = Fault{
		Name: StalledHolder, Doc: "the holder sleeps inside the section", On: OnProcess, Params: inprocParams(StalledHolder),
	}
)

// inprocParams are the parameters as package inproc knows them.
func inprocParams(fault string) []Param {
	var out []Param
	for _, p := range inproc.Params(fault) {
		out = append(out, Param{Name: p.Name, Doc: p.Doc, Default: ptr(p.Default), Min: p.Min, Max: p.Max})
	}
	return out
}
