package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"lockbench/internal/clock"
)

// State is where an injection stands.
type State string

// States of an injection. What fails leads to Cleanup from everywhere, and Cleanup runs once:
//
//	idle --Setup--> ready --Inject--> injected --Felt--> felt --Recover--> recovering --Recovered--> recovered
//	  |               |                  |                |                    |                         |
//	  +---------------+------------------+----------------+--------------------+--- any failure, or done +
//	                                          |
//	                                          v Cleanup
//	                                        clean
const (
	StateIdle       State = "idle"
	StateReady      State = "ready"
	StateInjected   State = "injected"
	StateFelt       State = "felt"
	StateRecovering State = "recovering"
	StateRecovered  State = "recovered"
	StateClean      State = "clean"
)

// stepTime bounds one step: servers that are started again take seconds.
const stepTime = 90 * time.Second

// cleanTime bounds Cleanup, which runs also when the context of the run has ended.
const cleanTime = 60 * time.Second

// errNotFelt is wrapped by errors about a fault that no evidence showed: its round does not count.
var errNotFelt = errors.New("the fault was not felt")

// Injection is one run of a fault's steps, with its stamps on the shared clock, in ns.
type Injection struct {
	steps Steps
	state State

	// InjectedNS is the instant just before Inject was called, FeltNS that of the evidence,
	// RecoverNS just before Recover, RecoveredNS after Recovered. 0: not yet.
	InjectedNS, FeltNS, RecoverNS, RecoveredNS int64
	Evidence                                   string
}

func newInjection(s Steps) *Injection { return &Injection{steps: s, state: StateIdle} }

// State is where it stands.
func (j *Injection) State() State { return j.state }

// do carries out the step that leads from one state to the next.
func (j *Injection) do(ctx context.Context, from, to State, what string, step func(context.Context) error) error {
	if j.state != from {
		return fmt.Errorf("%s: the injection is %s, not %s", what, j.state, from)
	}
	if step != nil {
		ctx, cancel := context.WithTimeout(ctx, stepTime)
		defer cancel()
		if err := step(ctx); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	j.state = to
	return nil
}

// Setup prepares what Inject needs.
func (j *Injection) Setup(ctx context.Context) error {
	return j.do(ctx, StateIdle, StateReady, "set up", j.steps.Setup)
}

// Inject brings the fault about.
func (j *Injection) Inject(ctx context.Context) error {
	if j.state == StateReady {
		j.InjectedNS = clock.Shared()
	}
	return j.do(ctx, StateReady, StateInjected, "inject", j.steps.Inject)
}

// Felt waits until independent evidence shows the fault. Without any the error wraps errNotFelt.
func (j *Injection) Felt(ctx context.Context) error {
	err := j.do(ctx, StateInjected, StateFelt, "wait until felt", func(ctx context.Context) error {
		if j.steps.Felt == nil {
			return nil
		}
		var err error
		if j.Evidence, err = j.steps.Felt(ctx); err != nil {
			return fmt.Errorf("%w: %w", errNotFelt, err)
		}
		return nil
	})
	if err == nil {
		j.FeltNS = clock.Shared()
	}
	return err
}

// Recover ends the fault, and waits until that is so.
func (j *Injection) Recover(ctx context.Context) error {
	if j.state == StateFelt {
		j.RecoverNS = clock.Shared()
	}
	if err := j.do(ctx, StateFelt, StateRecovering, "recover", j.steps.Recover); err != nil {
		return err
	}
	if err := j.do(ctx, StateRecovering, StateRecovered, "wait until recovered", j.steps.Recovered); err != nil {
		return err
	}
	j.RecoveredNS = clock.Shared()
	return nil
}

// Cleanup takes back whatever was done. It runs once, from any state, and after ctx has ended, too.
func (j *Injection) Cleanup(ctx context.Context) error {
	if j.state == StateClean {
		return nil
	}
	j.state = StateClean
	if j.steps.Cleanup == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTime)
	defer cancel()
	if err := j.steps.Cleanup(ctx); err != nil {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}
