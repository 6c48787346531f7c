package proxy

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"
)

// noise returns n bytes that differ from place to place.
func noise(n int) []byte {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// feed writes b in pieces, then shuts down.
func feed(c *net.TCPConn, b []byte) error {
	for r := rand.New(rand.NewPCG(1, 2)); len(b) > 0; {
		n := min(len(b), 1+r.IntN(3000))
		if _, err := c.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return c.CloseWrite()
}

// flood writes until the connection ends.
func flood(c net.Conn) {
	for b := noise(3000); ; {
		if _, err := c.Write(b); err != nil {
			return
		}
	}
}

// TestOrder: whatever is held, slowed and healed on the way, the bytes and the ends arrive unchanged,
// in both directions.
func TestOrder(t *testing.T) {
	const conns = 4
	srv := serve(t)
	s := open(t, srv)
	data := noise(1 << 20)
	var streams sync.WaitGroup
	for range conns {
		client, at := pair(t, s, srv)
		for _, ends := range [][2]*net.TCPConn{{client, at}, {at, client}} {
			streams.Go(func() {
				if err := feed(ends[0], data); err != nil {
					t.Errorf("send: %v", err)
				}
			})
			streams.Go(func() {
				got, err := io.ReadAll(ends[1])
				if err != nil || !bytes.Equal(got, data) {
					t.Errorf("got %d bytes of %d, the same: %v, %v", len(got), len(data), bytes.Equal(got, data), err)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		streams.Wait()
	}()
	steps := []func(){s.Hold, s.Heal, s.HoldReplies, s.Heal, func() { s.Slow(time.Millisecond, time.Millisecond, 1) }, s.Hold,
		s.Heal, func() { s.Slow(0, 100*time.Microsecond, 2) }, func() { s.Slow(0, 0, 0) }}
	for i := 0; ; i++ {
		select {
		case <-done:
			got := s.Stats()
			if want := int64(conns * len(data)); got.PassedRequests != want || got.PassedReplies != want {
				t.Errorf("%+v, want %d bytes passed in each direction", got, want)
			}
			s.Heal()
			until(t, s, "closed", func(s Stats) bool { return s.Open == 0 && s.DelayedReplies == 0 })
			return
		default:
			steps[i%len(steps)]()
			time.Sleep(time.Millisecond) // lets some pass
		}
	}
}

// TestHoldIsExact: after Hold nothing passes, however much is under way.
func TestHoldIsExact(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	go flood(client)
	go flood(at)
	go io.Copy(io.Discard, client)
	go io.Copy(io.Discard, at)
	for range 100 {
		s.Hold()
		before := s.Stats()
		if err := s.AwaitHeld(within(t)); err != nil {
			t.Fatal(err)
		}
		after := s.Stats()
		if before.PassedRequests != after.PassedRequests || before.PassedReplies != after.PassedReplies {
			t.Fatalf("held, and yet from %+v to %+v", before, after)
		}
		s.Heal()
	}
}

// TestStorm makes every fault meet every other, with connections that come, talk, and are cut. What
// arrives is a beginning of what was sent, and in the end nothing is left.
func TestStorm(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	data := noise(100 << 10)
	begins := func(c net.Conn, who string) {
		got, _ := io.ReadAll(c) // most are reset
		if !bytes.HasPrefix(data, got) {
			t.Errorf("%s read %d bytes that were not sent so", who, len(got))
		}
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case c := <-srv.in:
				running.Go(func() { begins(c, "the server"); c.Close() })
				running.Go(func() { _, _ = c.Write(data) })
			case <-stop:
				return
			}
		}
	})
	for range 4 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				c, err := net.Dial("tcp", s.Addr(srv.addr()))
				if err != nil {
					continue // reset
				}
				var half sync.WaitGroup
				half.Go(func() { _ = feed(c.(*net.TCPConn), data) })
				begins(c, "a client")
				c.Close()
				half.Wait()
			}
		})
	}
	steps := []func(){s.Hold, s.Heal, s.HoldReplies, func() { s.LoseReplies() }, s.Heal, func() { s.Slow(50*time.Microsecond, 0, 1) },
		func() { s.Reset() }, s.Hold, s.Heal, func() { s.LoseReplies() }, func() { s.Stats(); s.Conns() }}
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		steps[r.IntN(len(steps))]()
		time.Sleep(200 * time.Microsecond) // lets some happen
	}
	close(stop)
	s.Close()
	running.Wait()
	if got := s.Stats(); got.Open+got.Waiting+got.HeldEnds != 0 || got.HeldRequests+got.HeldReplies+got.DelayedRequests+got.DelayedReplies != 0 {
		t.Errorf("closed: %+v", got)
	}
}

// TestHoldStopsAWrite: a server that takes nothing does not keep Hold from returning, and what was not
// written is held.
func TestHoldStopsAWrite(t *testing.T) {
	srv := serve(t)
	s := open(t, srv)
	client, at := pair(t, s, srv)
	data := noise(24 << 20)
	sent := make(chan error, 1)
	go func() {
		_, err := client.Write(data)
		client.CloseWrite()
		sent <- err
	}()
	for last := int64(-1); ; { // until the kernels' buffers are full
		now := s.Stats().PassedRequests
		if now == last && now > 0 {
			break
		}
		last = now
		time.Sleep(20 * time.Millisecond)
	}
	s.Hold()
	if err := s.AwaitHeldRequest(within(t)); err != nil {
		t.Fatal(err)
	}
	passed := s.Stats().PassedRequests
	got := make([]byte, passed)
	if _, err := io.ReadFull(at, got); err != nil {
		t.Fatal(err)
	}
	quiet(t, at)
	s.Heal()
	rest, err := io.ReadAll(at)
	if err != nil || !bytes.Equal(append(got, rest...), data) {
		t.Errorf("%d bytes before Heal, %d after, of %d; %v", len(got), len(rest), len(data), err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// TestSlow: chunks are under way as long as was said, here for ever, until they are let go.
func TestSlow(t *testing.T) {
	for name, end := range map[string]func(*Set){
		"Heal":      (*Set).Heal,
		"Slow none": func(s *Set) { s.Slow(0, 0, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t)
			s := open(t, srv)
			client, at := pair(t, s, srv)
			s.Slow(time.Hour, time.Minute, 7)
			send(t, client, "one")
			until(t, s, "one", func(s Stats) bool { return s.DelayedRequests == 3 })
			send(t, client, "two")
			send(t, at, "reply")
			until(t, s, "all", func(s Stats) bool { return s.DelayedRequests == 6 && s.DelayedReplies == 5 })
			quiet(t, at)
			quiet(t, client)
			if got := s.Stats(); got.Latency != time.Hour || got.Jitter != time.Minute || got.HeldRequests != 0 || got.PassedRequests != 0 {
				t.Errorf("slow: %+v", got)
			}
			end(s)
			want(t, at, "onetwo")
			want(t, client, "reply")
			if got := s.Stats(); got.Latency != 0 || got.Jitter != 0 || got.DelayedRequests != 0 {
				t.Errorf("afterwards: %+v", got)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	const ms = time.Millisecond
	for _, tc := range []struct {
		latency, jitter time.Duration
		min, max        time.Duration
	}{
		{0, 0, 0, 0},
		{50 * ms, 0, 50 * ms, 50 * ms},
		{50 * ms, 10 * ms, 40 * ms, 60 * ms},
		{10 * ms, 50 * ms, 0, 60 * ms},
	} {
		d := delay{latency: tc.latency, jitter: tc.jitter, seed: 1, since: 1}
		a, b := draws{stream: stream(2, 3, reply)}, draws{stream: stream(2, 3, reply)}
		other := draws{stream: stream(2, 3, request)}
		same := true
		for range 1000 {
			got := a.next(d)
			if got < tc.min || got > tc.max {
				t.Fatalf("%v +- %v: drew %v, want %v to %v", tc.latency, tc.jitter, got, tc.min, tc.max)
			}
			if again := b.next(d); again != got {
				t.Fatalf("%v +- %v: drew %v and, with the same seed, %v", tc.latency, tc.jitter, got, again)
			}
			same = same && other.next(d) == got
		}
		if same != (tc.jitter == 0) {
			t.Errorf("%v +- %v: both directions draw the same: %v", tc.latency, tc.jitter, same)
		}
		// A new Slow with the same seed draws the same again.
		first := (&draws{stream: a.stream}).next(d)
		d.since++
		if again := a.next(d); again != first {
			t.Errorf("%v +- %v: anew: drew %v, want %v", tc.latency, tc.jitter, again, first)
		}
	}
}
