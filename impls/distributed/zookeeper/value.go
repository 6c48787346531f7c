package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"lockbench/lock"
)

// A value is kept in the key's node as "<number> <writer>": the writer is the
// ticket's id, a dot, and the number of its write.

// errValue is returned for a node whose data was not written here.
var errValue = errors.New("the node holds no value of this lock")

func parseValue(data []byte) (v int64, writer string, err error) {
	if len(data) == 0 {
		return 0, "", nil
	}
	number, writer, _ := strings.Cut(string(data), " ")
	if v, err = strconv.ParseInt(number, 10, 64); err != nil {
		return 0, "", errValue
	}
	return v, writer, nil
}

// value reads a key's value, up to date.
func (s *session) value(dir string) (int64, error) {
	if _, err := s.conn.Sync(dir); err != nil {
		return 0, err
	}
	data, _, err := s.conn.Get(dir)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	v, _, err := parseValue(data)
	return v, err
}

// write adds delta to the value, on condition that the own node exists.
//
//	read --version v, not ours--> multi(check own, set if v)
//	multi --done--> written
//	multi --own node gone--> not written, unless an earlier multi got no answer: read
//	multi --another version--> read
//	multi --no answer--> read again; the writer's name there: written; v still: multi again,
//	                     which cannot be done twice on one v; else unknown
func (t *ticket) write(ctx context.Context, delta int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writes++
	me := t.id + "." + strconv.Itoa(t.writes)
	trace := lock.TraceOf(ctx)
	asked := int32(-1) // the version on which a multi got no answer; -1: all did
	gone := false      // the own node
	for {
		switch {
		case ctx.Err() != nil:
			return undecided(asked, ctx.Err())
		case t.s.over():
			return undecided(asked, errEnded)
		}
		trace.Trip()
		data, stat, err := t.s.conn.Get(t.dir)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return undecided(asked, err)
		case err != nil && answered(err):
			return undecided(asked, err)
		case err != nil:
			continue
		}
		v, writer, err := parseValue(data)
		switch {
		case err != nil:
			return undecided(asked, err)
		case writer == me:
			return nil
		case asked >= 0 && stat.Version != asked:
			return undecided(asked, errors.New("others have written since"))
		case gone:
			// The check can never succeed again, and it had not by now.
			return lock.ErrNotHeld
		}
		trace.Trip()
		res, err := t.s.conn.Multi(
			&zk.CheckVersionRequest{Path: t.dir + "/" + t.name, Version: -1},
			&zk.SetDataRequest{Path: t.dir, Data: []byte(strconv.FormatInt(v+delta, 10) + " " + me), Version: stat.Version})
		switch {
		case err == nil:
			return nil
		case len(res) > 0 && errors.Is(res[0].Error, zk.ErrNoNode):
			if asked < 0 {
				return fmt.Errorf("%w: its node is gone", lock.ErrNotHeld)
			}
			gone = true
		case errors.Is(err, zk.ErrBadVersion):
		case answered(err):
			return undecided(asked, err)
		default:
			asked = stat.Version
		}
	}
}

// undecided is the error of a write that is given up because of err: it was not done,
// or, if a multi got no answer, perhaps.
func undecided(asked int32, err error) error {
	if asked < 0 {
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, err)
	}
	return fmt.Errorf("%w: %w", lock.ErrUnknown, err)
}
