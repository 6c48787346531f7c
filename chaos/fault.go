// Package chaos injects faults into rounds of distributed locks, and judges what came of it.
package chaos

import (
	"context"
	"time"

	"lockbench/backends"
	"lockbench/lock"
)

// Where is whom a fault hits.
type Where string

// Whom faults hit.
const (
	OnNothing Where = "nothing" // the no-op fault
	OnHolder  Where = "holder"  // the client process that holds the lock
	OnNext    Where = "next"    // the one that is next in line
	OnServers Where = "servers" // the cluster: one injection is seen by every lock on it
	OnProcess Where = "process" // a goroutine of the process of an in-process lock
)

// Shape is the script of a round.
type Shape string

// Scripts. In all of them at least two waiters are queued before the injection.
const (
	// ShapeHold: the holder stands at a point, the fault comes, the holder goes on writing; the next gets in, or does not.
	ShapeHold Shape = "hold"
	// ShapeUnlock: the holder's lease ends, another actor of its own process gets in, and then the holder releases;
	// nobody else may get in.
	ShapeUnlock Shape = "unlock"
	// ShapeAcquire: the fault comes while the holder's request to acquire is under way.
	ShapeAcquire Shape = "acquire"
	// ShapeWait: the holder stays well; the fault hits the next in line, then the holder releases.
	ShapeWait Shape = "wait"
)

// Param is a number that a fault can be given.
type Param struct {
	Name string // with its unit: "pause_ms"
	Doc  string
	// Default is used if nothing is set; nil: it depends on the lock's TTL, as Doc says.
	Default *float64
	Min     float64
	Max     float64
}

// Subject is what a fault may be about.
type Subject struct {
	Lock     lock.Info
	Service  string // lock.ServiceRedis, ...
	Topology string // backends' name
	Nodes    int
	Given    bool // the servers are the user's own
	Policy   string
}

// Fault is one line of the catalogue.
type Fault struct {
	Name   string
	Doc    string // one line
	On     Where
	Shape  Shape
	Params []Param
	// Point is where the holder stands when the fault comes; empty: inside its loop of writes.
	Point string
	// NoRenew: the holder's lease is not renewed.
	NoRenew bool
	// Fresh: the fault comes right after a renewal, so that the holder's lease is valid for long.
	Fresh bool
	// Proxied: the hit client's traffic goes through proxies of the harness.
	Proxied bool
	// Inner: these proxies lead to the servers' own addresses, not to those that are published.
	Inner bool
	// TTL is that of the leases if the service's usual one is shorter; 0: it is not.
	TTL time.Duration
	// Brief: the round does not last as long as leases do, because the fault is over when it has been felt.
	Brief bool
	// TTLOf are the services that TTL is for; none: all.
	TTLOf []string
	// Clock: the servers' clocks must be such that they can be shifted.
	Clock bool
	// Reach changes where a party finds its servers; nil: nothing.
	Reach func(p *Play, who *Party, t lock.Target) lock.Target
	// Choose picks the server that the holder is to be attached to, before anybody connects; nil: none.
	Choose func(context.Context, *backends.Cluster) (*backends.Node, error)
	// Watch is how long is looked whether somebody gets in before the fault ends; nil: Times.Hold.
	Watch func(*Stage) time.Duration
	// Skip says why the fault cannot be had there; empty: it can.
	Skip func(Subject) string
	// Steps makes the steps of one injection.
	Steps func(*Stage) Steps
}

// Steps are what the injector does, in order; the diagram of its states is in machine.go. Each may be
// nil: nothing to do. Cleanup always runs, whatever failed, and may be called when nothing was set up.
type Steps struct {
	Setup  func(context.Context) error
	Inject func(context.Context) error
	// Felt waits until independent evidence shows the fault, and returns it in words. The outcome of the
	// round is no evidence.
	Felt      func(context.Context) (evidence string, err error)
	Recover   func(context.Context) error
	Recovered func(context.Context) error
	Cleanup   func(context.Context) error
}

// Times are those of a stage.
type Times struct {
	TTL  time.Duration // as granted
	Tick time.Duration // of the service: how much later than the TTL it may notice
	Hold time.Duration // how long pauses and cuts last: TTL + Tick + 1 s, PostgreSQL 3 s
}
