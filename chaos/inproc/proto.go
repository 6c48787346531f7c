package inproc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// The parent writes one setup as a line of JSON; the child answers with one report a line: "ready", then
// a "round" each, or "failed" and no more. Stamps are of clock.Shared, in ns.

// setup is what a child is to do.
type setup struct {
	Lock     string `json:"lock"`
	Fault    string `json:"fault"`
	Deferred bool   `json:"deferred,omitempty"`
	First    int    `json:"first"`  // number of its first round, 0-based
	Rounds   int    `json:"rounds"` // how many
	Seed     uint64 `json:"seed"`
	Procs    int    `json:"procs"` // GOMAXPROCS
	StallNS  int64  `json:"stall_ns,omitempty"`
	WindowNS int64  `json:"window_ns"`
	LimitNS  int64  `json:"limit_ns"` // of the waiters that leave
	// PatienceNS is how long anything may take that cannot take long: what is beyond it hangs.
	PatienceNS int64 `json:"patience_ns"`
}

// gives reports whether the holder gives the lock back.
func (s setup) gives() bool {
	return s.Fault == StalledHolder || s.Fault == PanicInSection && s.Deferred
}

func (s setup) stall() time.Duration    { return time.Duration(s.StallNS) }
func (s setup) window() time.Duration   { return time.Duration(s.WindowNS) }
func (s setup) limit() time.Duration    { return time.Duration(s.LimitNS) }
func (s setup) patience() time.Duration { return time.Duration(s.PatienceNS) }

// check returns what is wrong with the setup, or nil.
func (s setup) check() error {
	const most = int64(10 * time.Minute)
	var errs []error
	for _, r := range []struct {
		name           string
		v, least, most int64
	}{
		{"first", int64(s.First), 0, math.MaxInt32}, {"rounds", int64(s.Rounds), 1, math.MaxInt32}, {"procs", int64(s.Procs), 1, 1024},
		{"stall_ns", s.StallNS, 0, most}, {"window_ns", s.WindowNS, 1, most}, {"limit_ns", s.LimitNS, 1, most}, {"patience_ns", s.PatienceNS, 1, most},
	} {
		if r.v < r.least || r.v > r.most {
			errs = append(errs, fmt.Errorf("%s is %d: want %d to %d", r.name, r.v, r.least, r.most))
		}
	}
	if s.Lock == "" {
		errs = append(errs, errors.New("no lock"))
	}
	if _, ok := params[s.Fault]; !ok {
		errs = append(errs, fmt.Errorf("unknown fault %q", s.Fault))
	}
	return errors.Join(errs...)
}

// Types of reports.
const (
	repReady  = "ready"
	repRound  = "round"
	repFailed = "failed"
)

// report is one line from the child.
type report struct {
	Rep   string `json:"rep"`
	Text  string `json:"text,omitempty"`  // repFailed: why
	Round *round `json:"round,omitempty"` // repRound
}

// How a waiter's wait ended.
const (
	granted = "granted"
	left    = "left"  // by its deadline, without the lock
	waits   = "waits" // it still waited when the observation ended
)

// round is what was seen of one.
type round struct {
	N       int   `json:"n"`
	FaultNS int64 `json:"fault_ns"` // 0: it did not come so far
	EndNS   int64 `json:"end_ns"`   // of the observation
	// BackNS is when the holder gave the lock back, just before Unlock; 0: it did not.
	BackNS int64  `json:"back_ns,omitempty"`
	Queued string `json:"queued,omitempty"` // how the waiters were seen to wait
	Felt   string `json:"felt,omitempty"`   // the evidence of the fault; empty: there was none
	Waits  []wait `json:"waits"`
	Tries  []try  `json:"tries,omitempty"`
	// Last is how the one who came when all others had been in fared; empty: nobody came.
	Last   string  `json:"last,omitempty"`
	Visits []visit `json:"visits"`
	// Stuck says that some did not come back: the process is of no more use.
	Stuck bool   `json:"stuck,omitempty"`
	Err   string `json:"err,omitempty"`  // why the round proves nothing
	Dump  string `json:"dump,omitempty"` // of the goroutines, if somebody hangs who should not
}

// wait is one waiter's.
type wait struct {
	Role    string `json:"role"`
	CallNS  int64  `json:"call_ns"`            // just before it called
	EndNS   int64  `json:"end_ns"`             // just after it came back; if it waits: the end of the observation
	LimitNS int64  `json:"limit_ns,omitempty"` // after CallNS it was to leave; 0: never
	Outcome string `json:"outcome"`
}

// try is one TryLock.
type try struct {
	AtNS int64 `json:"at_ns"` // when it came back
	Got  bool  `json:"got"`
}

// visit is one stay inside of the section.
type visit struct {
	Who     int    `json:"who"` // the worker
	Role    string `json:"role"`
	EnterNS int64  `json:"enter_ns"`          // just after the grant
	ExitNS  int64  `json:"exit_ns,omitempty"` // just before it was given up; 0: it stands
	Met     int    `json:"met,omitempty"`     // 1 + the worker whose claim stood in the owner word
}

// check returns what is wrong with the report, or nil.
func (r report) check() error {
	switch {
	case r.Rep == repReady, r.Rep == repFailed:
		return nil
	case r.Rep != repRound:
		return fmt.Errorf("unknown report %q", r.Rep)
	case r.Round == nil:
		return errors.New("a report of a round without one")
	case r.Round.N < 0:
		return fmt.Errorf("round %d", r.Round.N)
	}
	for _, w := range r.Round.Waits {
		if w.Outcome != granted && w.Outcome != left && w.Outcome != waits {
			return fmt.Errorf("round %d: unknown outcome %q of the %s waiter", r.Round.N, w.Outcome, w.Role)
		}
		if w.EndNS < w.CallNS {
			return fmt.Errorf("round %d: the %s waiter came back before it called", r.Round.N, w.Role)
		}
	}
	for _, v := range r.Round.Visits {
		if v.EnterNS <= 0 || v.ExitNS != 0 && v.ExitNS < v.EnterNS {
			return fmt.Errorf("round %d: a visit from %d to %d", r.Round.N, v.EnterNS, v.ExitNS)
		}
	}
	return nil
}

// decode reads one line: a setup or a report. Unknown fields are errors: both ends are one program.
func decode[T interface{ check() error }](line []byte) (T, error) {
	var v T
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		return v, fmt.Errorf("decode %T: %w", v, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return v, fmt.Errorf("decode %T: more than one value in a line", v)
	}
	if err := v.check(); err != nil {
		return v, fmt.Errorf("decode %T: %w", v, err)
	}
	return v, nil
}

// maxLine is the longest line; a dump is most of one.
const maxLine = 1 << 20
