package actor

import (
	"context"
	"errors"

	"lockbench/lock"
)

// ClassOf returns the class of an error; ClassOK of nil. An error may be of several: that the lease is gone, and that
// the outcome is not known, say more of the data than why the call ended; that the caller ended it says more
// than that nothing was acquired.
func ClassOf(err error) string {
	switch {
	case err == nil:
		return ClassOK
	case errors.Is(err, lock.ErrNotHeld):
		return ClassNotHeld
	case errors.Is(err, lock.ErrUnknown):
		return ClassUnknown
	case errors.Is(err, context.Canceled):
		return ClassCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return ClassTimeout
	case errors.Is(err, lock.ErrNotAcquired):
		return ClassNotAcquired
	case errors.Is(err, errors.ErrUnsupported):
		return ClassUnsupported
	}
	return ClassError
}

// classIn is ClassOf for a call whose own context may have ended it: then that is the class, because a request that was
// left behind is cleaned up by the lock, and is no outcome of the caller's any more.
func classIn(ctx context.Context, err error) string {
	if err != nil && ctx.Err() != nil {
		return ClassOf(ctx.Err())
	}
	return ClassOf(err)
}
