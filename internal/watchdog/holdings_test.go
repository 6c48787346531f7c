package watchdog

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// fakeEngine is a Docker in memory.
type fakeEngine struct {
	mu         sync.Mutex
	things     map[string][]found // by kind
	unlisted   []string           // names that exist without a label
	networkErr func() error
	listErr    error
}

var _ engine = (*fakeEngine)(nil)

func (e *fakeEngine) list(_ context.Context, kind string) ([]found, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.things[kind]), e.listErr
}

func (e *fakeEngine) remove(_ context.Context, kind, name string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if kind == KindNetwork && e.networkErr != nil {
		if err := e.networkErr(); err != nil {
			return err
		}
	}
	if i := slices.IndexFunc(e.things[kind], func(f found) bool { return f.id == name || f.name == name }); i >= 0 {
		e.things[kind] = slices.Delete(e.things[kind], i, i+1)
		return nil
	}
	if i := slices.Index(e.unlisted, name); i >= 0 {
		e.unlisted = slices.Delete(e.unlisted, i, i+1)
		return nil
	}
	return errAbsent
}

func (e *fakeEngine) close() error { return nil }

func (e *fakeEngine) add(kind, name, owner string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.things[kind] = append(e.things[kind], found{"id-" + name, name, owner})
}

func (e *fakeEngine) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, kind := range []string{KindContainer, KindNetwork} {
		for _, f := range e.things[kind] {
			out = append(out, f.name)
		}
	}
	return append(out, e.unlisted...)
}

func (e *fakeEngine) dial(string) (engine, error) { return e, nil }

func held(ms ...message) *holdings {
	h := newHoldings(message{Owner: testOwner.String()})
	for i, m := range ms {
		m.Op, m.ID = opHold, uint64(i+1)
		if err := h.apply(m); err != nil {
			panic(err)
		}
	}
	return h
}

func cleanNow(h *holdings, e *fakeEngine) ([]string, time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanTime)
	defer cancel()
	began := time.Now()
	left := h.cleanDocker(ctx, e.dial)
	return left, time.Since(began)
}

func TestCleanDocker(t *testing.T) {
	ours, theirs := testOwner.String(), Owner{"m", "boot", "s", 8, 9}.String()
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEngine{things: map[string][]found{}, unlisted: []string{"bare"}}
		e.add(KindContainer, "one", ours)
		e.add(KindContainer, "forgotten", ours)
		e.add(KindContainer, "theirs", theirs)
		e.add(KindNetwork, "net", ours)
		e.add(KindNetwork, "their-net", theirs)
		left, took := cleanNow(held(message{Kind: KindContainer, Name: "one"}, message{Kind: KindContainer, Name: "bare"},
			message{Kind: KindNetwork, Name: "net"}), e)
		if got, want := e.names(), []string{"theirs", "their-net"}; !slices.Equal(got, want) || len(left) != 0 {
			t.Errorf("there are still %v, told %v, want %v", got, left, want)
		}
		if took != 0 {
			t.Errorf("took %v though all was there", took)
		}
	})
}

// A request that was on its way when the parent was killed.
func TestCleanDockerWaitsForWhatIsBeingMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEngine{things: map[string][]found{}}
		h := held(message{Kind: KindContainer, Name: "late"})
		go func() {
			time.Sleep(lingerTime / 2)
			e.add(KindContainer, "late", h.owner)
		}()
		left, took := cleanNow(h, e)
		if got := e.names(); len(got) != 0 || len(left) != 0 {
			t.Errorf("there are still %v, told %v", got, left)
		}
		if took < lingerTime/2 || took >= lingerTime {
			t.Errorf("took %v, want it to end with the container", took)
		}
	})
}

func TestCleanDockerGivesUpOnWhatWasNeverMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, took := cleanNow(held(message{Kind: KindNetwork, Name: "never"}), &fakeEngine{})
		if len(left) != 0 || took < lingerTime || took > 2*lingerTime {
			t.Errorf("left %v after %v, want nothing after %v", left, took, lingerTime)
		}
	})
}

func TestCleanDockerTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		e := &fakeEngine{things: map[string][]found{}, networkErr: func() error {
			if tries++; tries < 4 {
				return errors.New("has active endpoints")
			}
			return nil
		}}
		h := held(message{Kind: KindNetwork, Name: "net"})
		e.add(KindNetwork, "net", h.owner)
		if left, _ := cleanNow(h, e); len(left) != 0 || len(e.names()) != 0 || tries != 4 {
			t.Errorf("left %v, there are %v after %d tries", left, e.names(), tries)
		}
	})
}

func TestCleanDockerSaysWhatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEngine{things: map[string][]found{}, networkErr: func() error { return errors.New("busy") }}
		h := held(message{Kind: KindNetwork, Name: "net"})
		e.add(KindNetwork, "net", h.owner)
		left, took := cleanNow(h, e)
		if len(left) != 1 || !strings.Contains(left[0], "busy") || took != cleanTime {
			t.Errorf("left %v after %v, want one after %v", left, took, cleanTime)
		}
		nobody := func(string) (engine, error) { return nil, errors.New("no engine") }
		if left := h.cleanDocker(t.Context(), nobody); len(left) != 1 || !strings.Contains(left[0], "net: no engine") {
			t.Errorf("without an engine: left %v", left)
		}
		if left := held().cleanDocker(t.Context(), nobody); len(left) != 0 {
			t.Errorf("nothing held, no engine: left %v", left)
		}
	})
}

func TestSweepTouchesTheDeadOnly(t *testing.T) {
	self, err := Self()
	if err != nil {
		t.Fatal(err)
	}
	dead := self
	dead.Start++ // the number is used again, by us
	before := self
	before.Boot = "before"
	elsewhere := dead
	elsewhere.Machine = "elsewhere"
	e := &fakeEngine{things: map[string][]found{}}
	for name, owner := range map[string]string{"dead": dead.String(), "before": before.String(), "living": self.String(),
		"elsewhere": elsewhere.String(), "nobody's": "", "odd": "lockbench"} {
		e.add(KindContainer, name, owner)
		e.add(KindNetwork, name, owner)
	}
	removed, err := sweep(t.Context(), e, self)
	slices.Sort(removed)
	if want := []string{"container before", "container dead", "network before", "network dead"}; err != nil || !slices.Equal(removed, want) {
		t.Errorf("removed %v, %v, want %v", removed, err, want)
	}
	got := e.names()
	slices.Sort(got)
	if want := []string{"elsewhere", "elsewhere", "living", "living", "nobody's", "nobody's", "odd", "odd"}; !slices.Equal(got, want) {
		t.Errorf("there are still %v, want %v", got, want)
	}
}

func TestRemovePathsStaysInside(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	write := func(path string) string {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	inside, tree, outside := write(dir+"/file"), write(dir+"/tree/a/b"), write(other+"/file")
	beside := write(dir + "-beside/file")
	t.Cleanup(func() { _ = os.RemoveAll(dir + "-beside") })
	if err := os.Symlink(other, dir+"/link"); err != nil {
		t.Fatal(err)
	}
	h := held()
	h.dirs = []string{dir}
	for i, p := range []string{inside, dir + "/tree", outside, beside, dir, filepath.Dir(dir), dir + "/link/file", dir + "/absent"} {
		h.held[uint64(i+1)] = message{ID: uint64(i + 1), Op: opHold, Kind: KindPath, Name: p}
	}
	left := h.removePaths()
	if len(left) != 5 {
		t.Errorf("refused %q, want the five that are not below the directory", left)
	}
	for _, p := range []string{outside, beside, dir} {
		if _, err := os.Lstat(p); err != nil {
			t.Errorf("outside: %v", err)
		}
	}
	for _, p := range []string{inside, tree, dir + "/tree"} {
		if _, err := os.Lstat(p); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v, want it gone", p, err)
		}
	}
}
