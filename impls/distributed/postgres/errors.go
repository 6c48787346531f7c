package postgres

import (
	"errors"
	"fmt"

	"lockbench/lock"
)

// errNotSent marks a request that was not sent, because its context or connection had ended.
var errNotSent = errors.New("not sent")

// SQLSTATEs, appendix A of the manual.
const (
	codeLockNotAvailable = "55P03" // NOWAIT, or lock_timeout
	codeDeadlock         = "40P01"
	codeTooMany          = "53300"
	codeForbidden        = "42501"
)

// notGranted says what an error of a statement that asks for a lock means. A
// statement that failed has got nothing, and a session that the server has ended
// (57P01 to 57P05, 25P03) holds nothing; only a connection that broke leaves a doubt.
func notGranted(err error) error {
	switch {
	case err == nil:
		return nil
	case code(err) == codeDeadlock:
		return fmt.Errorf("%w: %w: %w", lock.ErrNotAcquired, lock.ErrDeadlock, err)
	case code(err) != "" || errors.Is(err, errNotSent):
		return fmt.Errorf("%w: %w", lock.ErrNotAcquired, err)
	default:
		// The server ends the session, and so the lock, as soon as it knows.
		return fmt.Errorf("%w: the connection broke: %w", lock.ErrUnknown, err)
	}
}

// errBusy is the answer to an attempt while somebody else has the lock.
var errBusy = fmt.Errorf("%w: somebody else has it", lock.ErrNotAcquired)

// errLost is the answer to a request that concerns a session that has ended.
var errLost = fmt.Errorf("%w: its session or transaction has ended", lock.ErrNotHeld)

// hint adds what to do about a server's refusal.
func hint(err error) error {
	switch code(err) {
	case codeTooMany:
		return fmt.Errorf("%w: raise max_connections, or use fewer clients or workers: each worker needs a connection", err)
	case codeForbidden:
		return fmt.Errorf("%w: the user must be allowed to create a schema in the database (GRANT CREATE ON DATABASE)", err)
	case "28P01", "28000":
		return fmt.Errorf("%w: check the user and the password", err)
	}
	return err
}
