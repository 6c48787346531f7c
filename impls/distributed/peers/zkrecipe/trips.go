package zkrecipe

import (
	"strings"
	"sync"

	"lockbench/lock"
)

// Stages of an operation, by what the recipe sends next:
//
//	starting --create--> created --getChildren--> listed --getData--> watching
//	watching --getChildren, when its predecessor is gone--> listed
//	starting --create that fails, exists, create of parents, create again--> created
//	deleting --delete--> deleting
const (
	starting = iota
	created
	listed
	watching
	deleting
)

// op is one Lock or Unlock under way.
type op struct {
	path  string // of the lock
	trace *lock.Trace
	stage int
}

// trips puts requests down to operations: of those on the request's path that
// may send it now, to the one that began first. They queue in that order, too.
type trips struct {
	mu  sync.Mutex
	ops []*op // in the order in which they began
}

// begin tells of an operation; done ends it.
func (t *trips) begin(path string, trace *lock.Trace, stage int) (done func()) {
	if trace == nil {
		return func() {}
	}
	o := &op{path: path, trace: trace, stage: stage}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ops = append(t.ops, o)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for i, have := range t.ops {
			if have == o {
				t.ops = append(t.ops[:i], t.ops[i+1:]...)
				return
			}
		}
	}
}

// sent puts down one request.
func (t *trips) sent(kind int32, path string) {
	if path == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var o *op
	switch kind {
	case opCreate:
		if o = t.first(within(path), starting, created); o != nil {
			o.stage = created
		}
	case opExists:
		o = t.first(within(path), created)
	case opGetChildren2:
		if o = t.first(exact(path), created); o == nil {
			o = t.first(exact(path), watching)
		}
		if o != nil {
			o.stage = listed
		}
	case opGetData:
		if o = t.first(exact(parent(path)), listed); o != nil {
			o.stage = watching
		}
	case opDelete:
		o = t.first(exact(parent(path)), deleting)
	}
	if o != nil {
		o.trace.Trip()
	}
}

func (t *trips) first(match func(*op) bool, stages ...int) *op {
	for _, s := range stages {
		for _, o := range t.ops {
			if o.stage == s && match(o) {
				return o
			}
		}
	}
	return nil
}

func exact(path string) func(*op) bool { return func(o *op) bool { return o.path == path } }

// within matches the locks whose node, or a parent of it, or whose child has the path.
func within(path string) func(*op) bool {
	return func(o *op) bool {
		return o.path == path || o.path == parent(path) || strings.HasPrefix(o.path, path+"/")
	}
}

func parent(path string) string { return path[:max(0, strings.LastIndexByte(path, '/'))] }
