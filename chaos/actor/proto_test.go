package actor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"lockbench/lock"
)

func TestClassOf(t *testing.T) {
	wrap := func(errs ...error) error { return fmt.Errorf("acquire k: %w", errors.Join(errs...)) }
	for _, x := range []struct {
		err  error
		want string
	}{
		{nil, ClassOK},
		{wrap(lock.ErrNotAcquired), ClassNotAcquired},
		{wrap(lock.ErrUnknown), ClassUnknown},
		{wrap(lock.ErrNotHeld), ClassNotHeld},
		{wrap(context.Canceled), ClassCanceled},
		{wrap(context.DeadlineExceeded), ClassTimeout},
		{wrap(lock.ErrNotAcquired, context.Canceled), ClassCanceled},
		{wrap(lock.ErrNotAcquired, context.DeadlineExceeded), ClassTimeout},
		{wrap(lock.ErrUnknown, context.Canceled), ClassUnknown},
		{wrap(lock.ErrUnknown, lock.ErrNotHeld), ClassNotHeld},
		{wrap(errors.ErrUnsupported), ClassUnsupported},
		{wrap(io.EOF), ClassError},
	} {
		if got := ClassOf(x.err); got != x.want {
			t.Errorf("%v: got %q, want %q", x.err, got, x.want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, x := range []struct {
		ctx  context.Context
		err  error
		want string
	}{
		{ended, wrap(lock.ErrUnknown), ClassCanceled}, {ended, nil, ClassOK}, {t.Context(), wrap(lock.ErrUnknown), ClassUnknown},
	} {
		if got := classIn(x.ctx, x.err); got != x.want {
			t.Errorf("%v in a context with %v: got %q, want %q", x.err, x.ctx.Err(), got, x.want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := []Command{
		{Do: DoDial, Target: target("x")}, acquire(3), work(0, Careful), work(0, Careless), work(0, Protected),
		{Do: DoWork, Policy: Careful, Point: PointAcquired, MarginNS: 1}, {Do: DoWork, Policy: Careful, Point: PointWrite}, {Do: DoGo, Actor: 3},
		{Do: DoFinish}, {Do: DoRelease, Point: PointRelease, LimitNS: 1}, {Do: DoCancel}, {Do: DoUpdate, Key: "k", Point: PointWrite},
		{Do: DoProbe, Key: "k", Options: lock.AcquireOptions{TTL: 1}}, {Do: DoValue, Key: "k"}, {Do: DoHangup},
	}
	for _, c := range good {
		b, err := line(c)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeCommand(b)
		if err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%s: got %+v, %v, want %+v", b, got, err, c)
		}
	}
	bad := func(change func(*Command)) Command {
		c := acquire(0)
		change(&c)
		return c
	}
	zero := func(change func(*lock.Target)) Command {
		tg := target("x")
		change(tg)
		return Command{Do: DoDial, Target: tg}
	}
	for _, c := range []Command{
		{}, {Do: "x"}, {Do: DoDial}, {Do: DoValue}, {Do: DoUpdate}, {Do: DoProbe, Key: "k"}, {Do: DoWork}, {Do: DoWork, Policy: "x"},
		{Do: DoGo, Actor: -1}, {Do: DoGo, Actor: MaxActors}, {Do: DoGo, ID: -1}, {Do: DoGo, Point: PointWrite}, {Do: DoValue, Key: strings.Repeat("k", maxKey+1)},
		{Do: DoWork, Policy: Careful, Point: PointRelease}, {Do: DoRelease, Point: PointWrite}, {Do: DoRelease, LimitNS: -1},
		{Do: DoWork, Policy: Careful, EveryNS: -1}, {Do: DoWork, Policy: Careful, MarginNS: -1},
		bad(func(c *Command) { c.Key = "" }), bad(func(c *Command) { c.Options.TTL = 0 }), bad(func(c *Command) { c.Point = PointWrite }),
		zero(func(t *lock.Target) { t.TTL = 0 }), zero(func(t *lock.Target) { t.DialTimeout = 0 }), zero(func(t *lock.Target) { t.Workers = 0 }),
	} {
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeCommand(b); err == nil {
			t.Errorf("%s: got %+v and no error", b, got)
		}
		var sent bytes.Buffer
		if err := NewConn(&sent, &sent).Send(c); err == nil || sent.Len() > 0 {
			t.Errorf("%s: sent, error %v", b, err)
		}
	}
	// An error about a target tells nothing of it.
	c := zero(func(t *lock.Target) { t.TTL, t.Password = 0, "secret" })
	if b, _ := json.Marshal(c); !strings.Contains(string(b), "secret") {
		t.Fatal("the password is not sent")
	} else if _, err := DecodeCommand(b); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
}

func TestConn(t *testing.T) {
	var wire bytes.Buffer
	c := NewConn(&wire, &wire)
	if err := c.Send(Command{Do: DoValue, Key: "k", Policy: strings.Repeat("x", MaxLine)}); !errors.Is(err, ErrTooLong) || wire.Len() > 0 {
		t.Errorf("a long command: got %v, %d bytes", err, wire.Len())
	}
	yes := true
	want := Event{Ev: EvWrote, ID: 3, Actor: 1, AtNS: 5, Unfenced: &yes, Value: 9}
	b, err := line(want)
	if err != nil {
		t.Fatal(err)
	}
	wire.Write(b)
	wire.Write(b[:len(b)-2])
	if got, err := c.Receive(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := c.Receive(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("half a line: got %+v, %v", got, err)
	}
	if got, err := c.Receive(); !errors.Is(err, io.EOF) {
		t.Errorf("the end: got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "{}", `{"ev":"x"}`, `{"ev":"left","actor":4}`, `{"ev":"left","id":-1}`, "[]", `{"ev":"left"`} {
		if got, err := DecodeEvent([]byte(bad)); err == nil {
			t.Errorf("%q: got %+v and no error", bad, got)
		}
	}
}

// Local deadlines and the shared clock agree.
func TestTimes(t *testing.T) {
	tm := newTimes()
	a := tm.of(time.Now())
	if d := tm.of(tm.base.Add(time.Hour)) - tm.shared; d != int64(time.Hour) {
		t.Errorf("an hour is %v", time.Duration(d))
	}
	if b := tm.of(time.Now()); a < tm.shared || b < a {
		t.Errorf("base %d, then %d, then %d", tm.shared, a, b)
	}
}

func FuzzCommand(f *testing.F) {
	for _, c := range []Command{acquire(0), work(1, Careful), {Do: DoDial, Target: target("x")}, {Do: DoHangup}} {
		b, err := line(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"do":"acquire","actor":-1,"options":{"TTL":1e30}}`))
	f.Add([]byte(`{"do":"dial","target":{"reach":{"a":"b"},"tls":{}}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := DecodeCommand(b)
		if err != nil {
			return
		}
		again, err := line(c)
		if errors.Is(err, ErrTooLong) { // escaped, it is longer
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeCommand(again); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("%q: got %+v, %v, want %+v", again, got, err, c)
		}
	})
}

func FuzzEvent(f *testing.F) {
	yes, no := true, false
	for _, e := range []Event{{Ev: EvReady, PID: 1}, {Ev: EvWrote, ID: 1, Unfenced: &yes, Fenced: &no, Value: -1}, {Ev: EvGranted, Token: 1 << 63, HasToken: true}} {
		b, err := line(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"ev":"left","actor":99}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := DecodeEvent(b)
		if err != nil {
			return
		}
		again, err := line(e)
		if errors.Is(err, ErrTooLong) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := DecodeEvent(again); err != nil || !reflect.DeepEqual(got, e) {
			t.Errorf("%q: got %+v, %v, want %+v", again, got, err, e)
		}
	})
}

// What is read as lines is what was written, however it is cut.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), 1)
	f.Add([]byte(strings.Repeat("x", 5000)+"\n"), 7)
	f.Fuzz(func(t *testing.T, b []byte, chunk int) {
		c := NewConn(io.MultiReader(bytes.NewReader(b[:min(max(chunk, 0), len(b))]), bytes.NewReader(b[min(max(chunk, 0), len(b)):])), nil)
		var got []byte
		for {
			l, err := readLine(c.r)
			if err != nil {
				if rest := b[len(got):]; bytes.IndexByte(rest, '\n') >= 0 && !errors.Is(err, ErrTooLong) {
					t.Errorf("%v before %q", err, rest)
				}
				return
			}
			got = append(got, l...)
			if !bytes.HasPrefix(b, got) {
				t.Fatalf("got %q of %q", got, b)
			}
		}
	})
}
