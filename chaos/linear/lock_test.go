package linear

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

// Times of the tests below are in ms.
const tick = int64(time.Millisecond)

func acquire(worker, lease int, call, ret int64, token uint64) Op {
	return Op{Kind: Acquire, Worker: worker, Lease: lease, CallNS: call * tick, ReturnNS: ret * tick, HasToken: token > 0, Token: token, OK: true}
}

func release(worker, lease int, call, ret int64) Op {
	return Op{Kind: Release, Worker: worker, Lease: lease, CallNS: call * tick, ReturnNS: ret * tick, OK: true}
}

func expire(worker, lease int, at int64) Op {
	return Op{Kind: Expire, Worker: worker, Lease: lease, CallNS: at * tick, ReturnNS: -1}
}

func unknown(o Op) Op {
	o.OK, o.Unknown = false, true
	return o
}

func refused(o Op) Op {
	o.OK = false
	return o
}

func hung(o Op) Op {
	o.OK, o.ReturnNS = false, -1
	return o
}

var lockCases = []struct {
	name    string
	history []Op
	want    string
	why     string // part of it
}{
	{"one after the other", []Op{
		acquire(1, 1, 0, 10, 1), release(1, 1, 20, 30), acquire(2, 2, 5, 40, 2), release(2, 2, 50, 60),
	}, Yes, ""},
	{"the next one's grant is seen before the release returns", []Op{
		acquire(1, 1, 0, 10, 1), release(1, 1, 20, 30), acquire(2, 2, 5, 25, 2),
	}, Yes, ""},
	{"double grant before expiry", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 500, 2),
	}, No, "acquire by worker 2, lease 2, token 2, +5.000 ms to +500.000 ms, has no place: worker 1 has it, lease 1, not over before +1000.000 ms; largest token 1"},
	{"double grant, both release", []Op{
		acquire(1, 1, 0, 10, 0), acquire(2, 2, 20, 30, 0), release(1, 1, 40, 50), release(2, 2, 60, 70),
	}, No, "has no place"},
	{"grant after expiry", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 1001, 2),
	}, Yes, ""},
	{"grant at the very moment of expiry", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 1000, 2),
	}, Yes, ""},
	{"grant 1 ms before expiry", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 999, 2),
	}, No, "not over before"},
	{"grant after the end of the session", []Op{
		acquire(1, 1, 0, 10, 1), {Kind: SessionEnd, Worker: 1, Lease: 1, CallNS: 100 * tick}, acquire(2, 2, 5, 101, 2),
	}, Yes, ""},
	{"no expiry, no release, and a grant", []Op{
		acquire(1, 1, 0, 10, 1), acquire(2, 2, 5, 1_000_000, 2),
	}, No, "worker 1 has it, lease 1; largest"},
	{"the lease that was released need not expire", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), release(1, 1, 20, 30), acquire(2, 2, 5, 40, 2), expire(2, 2, 1100),
	}, Yes, ""},
	{"an expiry ends its own lease only", []Op{
		acquire(1, 1, 0, 10, 1), release(1, 1, 20, 30), acquire(2, 2, 5, 40, 2), expire(1, 1, 1000), acquire(3, 3, 5, 1100, 3),
	}, No, "worker 2 has it"},
	{"two leases expire", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 1010, 2), expire(2, 2, 2000), acquire(3, 3, 6, 2010, 3),
	}, Yes, ""},
	{"what comes after an expiry cannot return before it", []Op{
		acquire(1, 1, 0, 10, 0), expire(1, 1, 1000), acquire(2, 2, 5, 2000, 0), release(2, 2, 2001, 2002), acquire(3, 3, 6, 900, 0), release(3, 3, 901, 902),
	}, No, "acquire by worker 3"},
	{"token regression", []Op{
		acquire(1, 1, 0, 10, 7), release(1, 1, 20, 30), acquire(2, 2, 40, 50, 6),
	}, No, "largest token 7"},
	{"the same token twice", []Op{
		acquire(1, 1, 0, 10, 7), release(1, 1, 20, 30), acquire(2, 2, 40, 50, 7),
	}, No, "largest token 7"},
	{"a lock without tokens beside one with", []Op{
		acquire(1, 1, 0, 10, 7), release(1, 1, 20, 30), acquire(2, 2, 40, 50, 0), release(2, 2, 60, 70), acquire(1, 3, 80, 90, 8),
	}, Yes, ""},
	{"release by a non-owner: the lease was over, and the successor's lock is deleted", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 1010, 2), release(1, 1, 1020, 1030), acquire(3, 3, 6, 1040, 3),
	}, No, "release by worker 1"},
	{"release by a non-owner, and nobody else gets in", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 1010, 2), release(1, 1, 1020, 1030),
	}, No, "release by worker 1"},
	{"release that is told that the lease is not there any more", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), acquire(2, 2, 5, 1010, 2), refused(release(1, 1, 1020, 1030)), expire(2, 2, 2000),
	}, Yes, ""},
	{"release by another worker", []Op{
		acquire(1, 1, 0, 10, 1), release(2, 1, 20, 30),
	}, No, "release by worker 2"},
	{"release of what nobody acquired", []Op{
		release(2, 1, 20, 30),
	}, No, "the lock is free"},
	{"release twice", []Op{
		acquire(1, 1, 0, 10, 1), release(1, 1, 20, 30), release(1, 1, 40, 50),
	}, No, "release by worker 1"},
	{"release twice, told so", []Op{
		acquire(1, 1, 0, 10, 1), release(1, 1, 20, 30), refused(release(1, 1, 40, 50)),
	}, Yes, ""},
	{"not held by its own deadline, and released at the service all the same", []Op{
		acquire(1, 1, 0, 10, 1), expire(1, 1, 1000), refused(release(1, 1, 700, 710)), acquire(2, 2, 5, 705, 2),
	}, Yes, ""},
	{"unknown release that took effect, later than it returned", []Op{
		acquire(1, 1, 0, 10, 1), unknown(release(1, 1, 20, 30)), acquire(2, 2, 5, 300, 2),
	}, Yes, ""},
	{"unknown release, and a grant before it was called", []Op{
		acquire(1, 1, 0, 10, 1), unknown(release(1, 1, 20, 30)), acquire(2, 2, 5, 19, 2),
	}, No, "not over before +20.000 ms"},
	{"unknown release that did not take effect", []Op{
		acquire(1, 1, 0, 10, 1), unknown(release(1, 1, 20, 30)), release(1, 1, 40, 50), acquire(2, 2, 5, 60, 2),
	}, Yes, ""},
	{"unknown release that took effect, and was said again", []Op{
		acquire(1, 1, 0, 10, 1), unknown(release(1, 1, 20, 30)), acquire(2, 2, 5, 35, 2), release(1, 1, 40, 50), release(2, 2, 60, 70),
	}, Yes, ""},
	{"unknown acquire that did not take effect", []Op{
		unknown(acquire(1, 1, 0, 10, 0)), acquire(2, 2, 5, 20, 1), release(2, 2, 30, 40),
	}, Yes, ""},
	{"unknown acquire that took effect: nobody got in until it was over", []Op{
		unknown(acquire(1, 1, 0, 10, 0)), expire(1, 1, 1000), acquire(2, 2, 5, 1001, 2),
	}, Yes, ""},
	{"acquire that never returned, and was released", []Op{
		hung(acquire(1, 1, 0, 0, 0)), acquire(2, 2, 5, 20, 1), release(2, 2, 30, 40), release(1, 1, 50, 60),
	}, Yes, ""},
	{"unknown acquire that was released while another held the lock", []Op{
		unknown(acquire(1, 1, 0, 10, 0)), acquire(2, 2, 5, 20, 1), release(1, 1, 30, 40), release(2, 2, 50, 60),
	}, No, "worker 1 has it"},
	{"refused acquire", []Op{
		acquire(1, 1, 0, 10, 1), refused(acquire(2, 2, 20, 30, 0)), release(1, 1, 40, 50),
	}, Yes, ""},
	{"nothing", nil, Unknown, "no operation"},
	{"nothing that is sure", []Op{hung(acquire(1, 1, 0, 0, 0)), expire(1, 1, 50)}, Unknown, "no operation"},
	{"a return before the call", []Op{acquire(1, 1, 20, 10, 1)}, Unknown, "before its call"},
	{"two grants of one lease", []Op{acquire(1, 1, 0, 10, 1), acquire(1, 1, 20, 30, 2)}, Unknown, "second acquire of lease 1"},
	{"a kind that is not known", []Op{{Kind: "steal", OK: true}}, Unknown, `kind "steal"`},
	{"a worker that is none", []Op{acquire(-1, 1, 0, 10, 1)}, Unknown, "worker -1"},
	{"a stamp that is none", []Op{{Kind: Release, CallNS: -5, ReturnNS: 3}}, Unknown, "called at -5"},
}

func TestLock(t *testing.T) {
	for _, c := range lockCases {
		for _, order := range []string{"as given", "backwards"} {
			history := c.history
			if order == "backwards" {
				history = nil
				for _, o := range c.history {
					history = append([]Op{o}, history...)
				}
			}
			got := Lock(history, 0)
			if got.Verdict != c.want || order == "as given" && !strings.Contains(got.Why, c.why) || (got.Why == "") != (got.Verdict == Yes) {
				t.Errorf("%s, %s:\n%+v\n got %s, %q\nwant %s, %q", c.name, order, history, got.Verdict, got.Why, c.want, c.why)
			}
		}
	}
}

// TestHTML: each history that was judged can be drawn, and the picture has what was not judged, too.
func TestHTML(t *testing.T) {
	for _, c := range lockCases {
		var b bytes.Buffer
		err := Lock(c.history, 0).HTML(&b)
		if c.want == Unknown {
			if err == nil || b.Len() > 0 {
				t.Errorf("%s: drew %d bytes, %v, of what was not judged", c.name, b.Len(), err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, o := range c.history {
			want := "lease " + string(rune('0'+o.Lease))
			if o.Kind.ends() {
				want += ": from here on it may be over"
			}
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: the picture lacks %q of %+v", c.name, want, o)
			}
		}
	}
	if err := Lock(lockCases[0].history, 0).HTML(failing{}); err == nil {
		t.Error("a writer that fails: no error")
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestGivenUp: a check that would take for ever ends, without a verdict. Many acquisitions that overlap, of
// which none has a token, and a wrong one at the end: all orders would have to be tried.
func TestGivenUp(t *testing.T) {
	var history []Op
	for i := range 24 {
		a, r := acquire(i, i, int64(i), 1000, 0), release(i, i, 1001, 2000)
		a.ReturnNS, r.CallNS = 1000*tick, int64(i)*tick // so that the order of the leases is open
		history = append(history, a, r)
	}
	history = append(history, release(99, 99, 2500, 2600))
	got := Lock(history, 0)
	if got.Verdict != Unknown || !strings.Contains(got.Why, "given up after") {
		t.Errorf("got %s, %q, want it given up", got.Verdict, got.Why)
	}
	if err := got.HTML(io.Discard); err != nil {
		t.Error(err)
	}
	if got := Lock(history, time.Nanosecond); got.Verdict != Unknown || !strings.Contains(got.Why, "given up after 1ns") {
		t.Errorf("with a limit of 1 ns: got %s, %q", got.Verdict, got.Why)
	}
}
