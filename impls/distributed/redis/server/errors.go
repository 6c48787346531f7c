package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Error is what went wrong when the server was dialled, and what the user can do.
type Error struct {
	Err error
	Tip string
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// Hint is what the user can do.
func (e *Error) Hint() string { return e.Tip }

func (s *Server) unreachable(err error) error {
	err = first(err)
	tip := "is the server running, and does its address hold? redis-cli -h HOST -p PORT ping must answer PONG"
	switch text := err.Error(); {
	case strings.HasPrefix(text, "WRONGPASS"), strings.Contains(text, "invalid password"):
		tip = "the server refuses the user or the password of the URL"
	case strings.HasPrefix(text, "NOAUTH"):
		tip = "the server wants a password: redis://:PASSWORD@HOST:PORT"
	case strings.HasPrefix(text, "NOPERM"):
		tip = "the user needs SET, GET, DEL, EVAL, EVALSHA, SCRIPT LOAD, PUBLISH, SUBSCRIBE and PING, and all keys under lockbench/"
	case strings.Contains(text, "tls:"), strings.Contains(text, "x509:"):
		tip = "rediss:// is with TLS, redis:// is without"
	}
	return &Error{fmt.Errorf("speak to Redis at %s: %w", s.addr, err), tip}
}

// first returns the first of errors that were joined: they are of like connections.
func first(err error) error {
	for {
		j, ok := err.(interface{ Unwrap() []error })
		if !ok || len(j.Unwrap()) == 0 {
			return err
		}
		err = j.Unwrap()[0]
	}
}

// Refused reports whether the server answered with an error: it has read the command
// and, unless it was a script that failed in its middle, has done nothing.
func Refused(err error) bool {
	var r redis.Error
	return errors.As(err, &r) && !errors.Is(err, redis.Nil)
}

// Unsent reports whether the command was surely not sent: there was no connection
// to send it over, or ctx had ended before. What is neither that nor Refused is unknown.
func Unsent(err error) bool {
	if errors.Is(err, errCut) {
		return false
	}
	// go-redis returns the context's error while it has no connection yet; while a reply is
	// awaited, that of the connection.
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	if errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrClosed) {
		return true
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
