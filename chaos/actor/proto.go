// Package actor is the client processes of a chaos round: a process that does to one distributed
// lock what its parent says, step by step, and tells what came of it.
//
// The parent sends one [Command] a line on the process's standard input, and the process sends one
// [Event] a line on its standard output. Commands are carried out side by side where they are of
// different actors, and one after the other where they are of one. An actor is one user of the lock:
// it has one key, one place in the arena of claims, and at most one lease.
//
//	         dial             acquire            granted: claims, reads the stores
//	started -----> connected --------> waiting ----------------------------------> inside
//	                                      | refused, cancel                          | work: check, point, write, ...
//	                                      v                                          v
//	                                  outside <-- release: gives the claim up, then releases -- inside
//
// The state is an actor's; Do release may be said again, and then releases the same lease again
// (that is what some faults are about). A process whose standard input ends closes its client and exits.
package actor

import (
	"time"

	"lockbench/lock"
)

// What a Command does.
const (
	// DoDial connects: Target. Answer: EvDialled or EvFailed.
	DoDial = "dial"
	// DoAcquire acquires with Actor, Key, Slot and the options. Events: EvRequested just before the call,
	// then EvGranted, and EvEntered once the claim stands and the stores were read; or EvRefused.
	DoAcquire = "acquire"
	// DoWork begins the loop of writes of an actor that is inside: Policy, EveryNS, Point.
	// Events: EvPoint, EvWrote, and at last EvStopped.
	DoWork = "work"
	// DoGo lets an actor that stands at a point go on. Said before it stands there, it passes
	// the point without standing; without any such command under way it says nothing.
	DoGo = "go"
	// DoFinish ends the loop of writes after the write under way, or a loop of DoProbe. It moves
	// nobody from a point.
	DoFinish = "finish"
	// DoRelease gives the claim up (EvLeft), releases (EvReleased). With LimitNS the release is given up after that.
	// Point == PointRelease: stands at the point between the two.
	DoRelease = "release"
	// DoCancel ends the context of the acquisition, or of the update, under way or not begun yet. Without one it says nothing.
	DoCancel = "cancel"
	// DoProbe acquires and releases the key again and again, EveryNS apart, until DoFinish: EvProbed for each
	// grant, and at last EvStopped. It claims nothing, and errors are not told.
	DoProbe = "probe"
	// DoUpdate is one update of an optimistic lock by +1. Point == PointWrite: its first attempt stands
	// between read and write. Events: EvRequested, EvPoint, EvUpdated.
	DoUpdate = "update"
	// DoValue asks the service for the key's value: EvValue or EvFailed.
	DoValue = "value"
	// DoHangup ends whatever is under way, gives up claims that still stand, and closes the client: EvClosed,
	// within CloseLimit. Nothing comes from before after that. DoDial may follow at once.
	DoHangup = "hangup"
)

// Points at which an actor stands until DoGo.
const (
	PointAcquired = "acquired"             // inside; nothing is written yet
	PointWrite    = "checked-before-write" // it has checked that it holds the lock, and is about to write
	PointSent     = "request-sent"         // its request is under way; told by EvRequested, it does not stand there
	PointRelease  = "before-release"       // its claim is given up, it is about to release
)

// Policies of a section.
const (
	// Careful checks Lost and ValidUntil before each write, and leaves at once when the lease has ended.
	Careful = "careful"
	// Careless checks nothing: it writes until it is told to finish.
	Careless = "careless"
	// Protected writes by lock.Guarded alone, to the lock's own service, and checks nothing.
	Protected = "guarded"
)

// Command is one line to the process.
type Command struct {
	Do    string `json:"do"`
	ID    int    `json:"id"`              // of the command, echoed in its events
	Actor int    `json:"actor,omitempty"` // 0 to MaxActors-1

	Target *lock.Target `json:"target,omitempty"` // DoDial

	Key     string              `json:"key,omitempty"` // name of the lock's key, and of its registers at the witness
	Slot    int                 `json:"slot"`          // index of the key in the arena
	Worker  int                 `json:"worker"`        // index of the actor in the arena, and its name at the witness
	Options lock.AcquireOptions `json:"options"`       // DoAcquire, DoProbe
	// LimitNS bounds the call of the lock: of DoAcquire and DoUpdate (0: no bound), DoProbe (each; 0: the TTL),
	// DoRelease, DoValue and each protected write of DoWork (0: CallLimit).
	LimitNS int64 `json:"limit_ns,omitempty"`
	// Silent: do not read or write the witness's stores (guarded locks, actors that only wait).
	Silent bool `json:"silent,omitempty"`

	Policy  string `json:"policy,omitempty"`   // DoWork
	EveryNS int64  `json:"every_ns,omitempty"` // DoWork, DoProbe: between two writes; 0: EveryDefault
	// MarginNS is how long before its local deadline a careful holder takes its lease for ended: it is not
	// woken at that very instant, and the next one may be let in then. 0: it leaves just after the deadline.
	MarginNS int64  `json:"margin_ns,omitempty"`
	Point    string `json:"point,omitempty"` // stand there, once
}

// What an Event tells.
const (
	EvReady     = "ready" // the process is there: PID
	EvDialled   = "dialled"
	EvFailed    = "failed"    // the command failed: Class, Text
	EvRequested = "requested" // Acquire is about to be called
	EvGranted   = "granted"   // Token, UntilNS, OwnTTLNS
	EvRefused   = "refused"   // Class, Text
	EvEntered   = "entered"   // the claim stands and the stores were read: Value, Met
	EvRenewed   = "renewed"   // ValidUntil has moved: UntilNS
	EvLost      = "lost"      // Lost was closed; sent once, whatever the policy, also while the actor stands at a point
	EvPoint     = "at-point"  // Point
	EvWrote     = "wrote"     // a write came back: Unfenced, Fenced; or of a protected write: Class
	EvStopped   = "stopped"   // the loop ended: Class is StopLost, StopFinish, ClassNotHeld of a protected write, or ClassCanceled by DoHangup
	EvLeft      = "left"      // the claim was given up
	EvReleased  = "released"  // Class
	EvProbed    = "probed"
	EvUpdated   = "updated" // Attempts, Class
	EvValue     = "value"   // Value
	EvClosed    = "closed"
)

// Why a loop stopped, in EvStopped's Class, beside classes of errors.
const (
	StopLost   = "lost"   // a careful holder noticed that its lease has ended; Text says by what
	StopFinish = "finish" // DoFinish
)

// Classes of an error, see ClassOf. "" is success.
const (
	ClassOK          = ""
	ClassNotAcquired = "not-acquired" // lock.ErrNotAcquired
	ClassUnknown     = "unknown"      // lock.ErrUnknown
	ClassNotHeld     = "not-held"     // lock.ErrNotHeld
	ClassCanceled    = "canceled"     // the context was cancelled
	ClassTimeout     = "timeout"      // its deadline passed
	ClassUnsupported = "unsupported"
	ClassError       = "error" // any other
)

// Event is one line from the process. Stamps are of the machine's monotonic clock, which all
// processes share (clock.Shared), in ns.
type Event struct {
	Ev    string `json:"ev"`
	ID    int    `json:"id,omitempty"` // of the command that it comes from; 0: of none
	Actor int    `json:"actor"`
	AtNS  int64  `json:"at_ns"`
	// CalledNS is when the call began whose return is AtNS (granted, refused, wrote, released, probed,
	// updated); of EvEntered: when the claim began.
	CalledNS int64 `json:"called_ns,omitempty"`

	PID      int    `json:"pid,omitempty"`
	Point    string `json:"point,omitempty"`
	Class    string `json:"class,omitempty"`
	Text     string `json:"text,omitempty"` // the error in words
	HasToken bool   `json:"has_token,omitempty"`
	Token    uint64 `json:"token,omitempty"`
	UntilNS  int64  `json:"until_ns,omitempty"` // the lease's local deadline; 0: it has none
	// OwnTTLNS is UntilNS less the time of the call, at the grant: what the lock takes for granted.
	OwnTTLNS int64 `json:"own_ttl_ns,omitempty"`
	// Unfenced and Fenced say of a write whether each store took it; nil: not asked, or no token.
	Unfenced *bool `json:"unfenced,omitempty"`
	Fenced   *bool `json:"fenced,omitempty"`
	// Value is what was read or written: of EvEntered and EvWrote at the unfenced store, of EvValue in the service.
	Value    int64 `json:"value,omitempty"`
	Attempts int   `json:"attempts,omitempty"`
	// Met is 1 + the worker whose claim stood when this one entered; 0: nobody's.
	Met int `json:"met,omitempty"`
}

// MaxActors is how many actors a process may have.
const MaxActors = 4

// Bounds and defaults of what a process does.
const (
	CallLimit    = 2 * time.Second       // of a release, a reading, a protected write, a call of the witness
	CloseLimit   = 5 * time.Second       // of DoHangup
	EveryDefault = 10 * time.Millisecond // between two writes or probes
)

// Setup is the first line to the process: what does not change between rounds.
type Setup struct {
	Lock    string `json:"lock"`    // its name in the catalogue
	Arena   string `json:"arena"`   // file of package claims
	Witness string `json:"witness"` // socket of package witness
}
