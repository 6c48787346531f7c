package watchdog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// lingerTime is how long a container is looked for that is held but not there: the request to make it may
	// have been sent just before the parent was killed. Docker takes some 0.1 s for one; on a machine with a load of
	// 20 it has taken more than 4 s. Only a parent that was killed between the two pays for it.
	lingerTime = 20 * time.Second
	// lookAgain is the pause between two looks.
	lookAgain = 100 * time.Millisecond
)

// cleanDocker removes held containers and networks, and whatever else carries the parent's label, and
// returns what is left. An engine that nothing is held in is not contacted.
func (h *holdings) cleanDocker(ctx context.Context, dial func(string) (engine, error)) []string {
	held := append(h.of(KindContainer), h.of(KindNetwork)...)
	if len(held) == 0 {
		return nil
	}
	e, err := dial(h.docker)
	if err != nil {
		var left []string
		for _, m := range held {
			left = append(left, fmt.Sprintf("%s %s: %v", m.Kind, m.Name, err))
		}
		return left
	}
	defer func() { _ = e.close() }() // idle connections
	linger := time.Now().Add(lingerTime)
	// Once seen, a thing that is absent is gone: its request has been carried out.
	seen := map[uint64]bool{}
	for {
		var failed []string
		// Containers first: a network that one is attached to cannot be removed.
		for _, kind := range []string{KindContainer, KindNetwork} {
			failed = append(failed, h.removeKind(ctx, e, kind, seen)...)
		}
		if len(failed) == 0 && (len(seen) == len(held) || time.Now().After(linger)) {
			return nil
		}
		if sleep(ctx, lookAgain) != nil {
			return failed
		}
	}
}

// removeKind removes once what is there of a kind, notes what of the held was there, and returns
// what could not be removed.
func (h *holdings) removeKind(ctx context.Context, e engine, kind string, seen map[uint64]bool) (failed []string) {
	all, err := e.list(ctx, kind)
	if err != nil {
		failed = append(failed, fmt.Sprintf("each %s with the label %s=%s: %v", kind, OwnerLabel, h.owner, err))
	}
	var names []string // to be removed, each once: Docker refuses a second removal of the same thing
	for _, f := range all {
		if f.owner == h.owner {
			names = append(names, f.id)
		}
	}
	listed := len(names)
	byName := map[string]uint64{}
	for _, m := range h.of(kind) {
		i := slices.IndexFunc(all, func(f found) bool { return f.name == m.Name || f.id == m.Name })
		if i >= 0 {
			seen[m.ID] = true
		}
		if i < 0 || all[i].owner != h.owner { // one whose labels were not listed
			names = append(names, m.Name)
			byName[m.Name] = m.ID
		}
	}
	for i, err := range removeEach(ctx, e, kind, names) {
		if errors.Is(err, errAbsent) {
			continue
		}
		if i >= listed {
			seen[byName[names[i]]] = true
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("%s %s: %v", kind, names[i], err))
		}
	}
	return failed
}

// removeEach removes at once, because each takes its time, and returns the errors in order.
func removeEach(ctx context.Context, e engine, kind string, names []string) []error {
	errs := make([]error, len(names))
	var wg sync.WaitGroup
	for i, name := range names {
		wg.Go(func() { errs[i] = e.remove(ctx, kind, name) })
	}
	wg.Wait()
	return errs
}

// Sweep removes containers and networks whose owner is dead, and returns what it has removed, as "kind name". host is as
// in UseDocker; "": from the environment. What belongs to a living process, to another machine, or to nobody
// is not touched. It is for the start of a program, and for the user's own clean-up.
func Sweep(ctx context.Context, host string) ([]string, error) {
	self, err := Self()
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	e, err := dialDocker(host)
	if err != nil {
		return nil, fmt.Errorf("sweep: %w", err)
	}
	defer func() { _ = e.close() }() // idle connections
	removed, err := sweep(ctx, e, self)
	if err != nil {
		return removed, fmt.Errorf("sweep: %w", err)
	}
	return removed, nil
}

func sweep(ctx context.Context, e engine, self Owner) ([]string, error) {
	var removed []string
	var errs []error
	for _, kind := range []string{KindContainer, KindNetwork} {
		all, err := e.list(ctx, kind)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var ids, names []string
		for _, f := range all {
			if o, err := ParseOwner(f.owner); err == nil && o.dead(self, runs) {
				ids, names = append(ids, f.id), append(names, kind+" "+f.name)
			}
		}
		for i, err := range removeEach(ctx, e, kind, ids) {
			switch {
			case err == nil:
				removed = append(removed, names[i])
			case !errors.Is(err, errAbsent): // the dead owner's watchdog is at work too
				errs = append(errs, err)
			}
		}
	}
	return removed, errors.Join(errs...)
}
