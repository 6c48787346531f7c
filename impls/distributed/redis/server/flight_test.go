package server

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// far is a deadline that no test reaches.
var far = time.Now().Add(time.Hour)

func pipe(t *testing.T, fs *flights) *conn {
	t.Helper()
	here, there := net.Pipe()
	t.Cleanup(func() { _, _ = here.Close(), there.Close() })
	return newConn(here, fs)
}

func wantCut(t *testing.T, c *conn, cut bool) {
	t.Helper()
	if _, err := c.SyscallConn(); (err != nil) != cut {
		t.Errorf("the pool is told %v; cut: %v", err, cut)
	}
	if !cut {
		return
	}
	if err := c.SetReadDeadline(far); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read of a connection that was cut: %v", err)
	}
	if _, err := c.Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a write: %v", err)
	}
}

// TestCut walks the ways through a flight's states.
func TestCut(t *testing.T) {
	for _, tc := range []struct {
		name  string
		steps string // o: a connection is given its deadline; a: abort; e: end
		cut   bool
	}{
		{"flying, then its context ends", "oa", true},
		{"its context ends before it has a connection", "ao", true},
		{"it has ended", "oea", false},
		{"it has ended before it had a connection", "eao", false},
		{"its context does not end", "oe", false},
		{"it ends cut", "oae", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var fs flights
			c, other := pipe(t, &fs), pipe(t, &fs)
			f := fs.begin(t.Context(), far)
			for _, s := range tc.steps {
				switch s {
				case 'o':
					d, _ := f.Deadline()
					if err := errors.Join(c.SetWriteDeadline(d), c.SetReadDeadline(d)); err != nil {
						t.Fatal(err)
					}
					if err := other.SetReadDeadline(unmarked(d)); err != nil {
						t.Fatal(err)
					}
				case 'a':
					f.abort()
				case 'e':
					if cut := fs.end(f); cut != tc.cut {
						t.Errorf("end says cut: %v", cut)
					}
				}
			}
			wantCut(t, c, tc.cut)
			wantCut(t, other, false)
		})
	}
}

// TestCutWakesAReader: one that waits already.
func TestCutWakesAReader(t *testing.T) {
	var fs flights
	c := pipe(t, &fs)
	f := fs.begin(t.Context(), far)
	if err := c.SetReadDeadline(f.at); err != nil {
		t.Fatal(err)
	}
	got := make(chan error)
	go func() { _, err := io.ReadFull(c, make([]byte, 1)); got <- err }()
	f.abort()
	if err := <-got; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the read: %v", err)
	}
}

// TestDeadlinesAreUnique: of requests that were sent at the same instant, too.
func TestDeadlinesAreUnique(t *testing.T) {
	var fs flights
	seen := map[int64]bool{}
	for range 100 {
		f := fs.begin(t.Context(), far)
		ns := f.at.UnixNano()
		if seen[ns] || ns&mark == 0 {
			t.Fatalf("deadline %d: seen before, or not marked", ns)
		}
		if d := f.at.Sub(far); d < 0 || d > time.Microsecond {
			t.Fatalf("%v after the deadline that was asked for", d)
		}
		seen[ns] = true
	}
	if u := unmarked(far); u.UnixNano()&mark != 0 || far.Sub(u) > 1 {
		t.Errorf("unmarked: %v", u)
	}
}

// TestTasksUseGoroutinesAgain: all tasks are run, and Close waits for them.
func TestTasksUseGoroutinesAgain(t *testing.T) {
	var ts Tasks
	ran := make(chan struct{}, 200)
	for range cap(ran) {
		if !ts.Go(func(context.Context) { ran <- struct{}{} }) {
			t.Fatal("refused")
		}
	}
	ts.Close(time.Hour)
	if len(ran) != cap(ran) {
		t.Errorf("%d of %d tasks were run", len(ran), cap(ran))
	}
	if ts.Go(func(context.Context) {}) {
		t.Error("a task after Close")
	}
}

func TestUnsent(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want bool
	}{
		{context.Canceled, true},
		{context.DeadlineExceeded, true},
		{errors.Join(errCut, context.Canceled), false},
		{os.ErrDeadlineExceeded, false},
		{&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, false},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, true},
		{io.EOF, false},
	} {
		if got := Unsent(tc.err); got != tc.want {
			t.Errorf("%v: %v, want %v", tc.err, got, tc.want)
		}
	}
}
