package zkrecipe

import (
	"encoding/binary"
	"reflect"
	"testing"

	"lockbench/lock"
)

// request is a frame as the library writes it.
func request(kind int32, path string) []byte {
	b := make([]byte, 4, 64)
	b = binary.BigEndian.AppendUint32(b, 7) // xid
	b = binary.BigEndian.AppendUint32(b, uint32(kind))
	b = binary.BigEndian.AppendUint32(b, uint32(len(path)))
	b = append(b, path...)
	b = append(b, 1) // watch
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

type sent struct {
	kind int32
	path string
}

func read(chunks ...[]byte) []sent {
	var got []sent
	f := &frames{each: func(kind int32, path string) { got = append(got, sent{kind, path}) }}
	for _, c := range chunks {
		f.write(c)
	}
	return got
}

func stream() []byte {
	greeting := make([]byte, 48)
	binary.BigEndian.PutUint32(greeting, 44)
	ping := []byte{0, 0, 0, 8, 255, 255, 255, 254, 0, 0, 0, 11}
	s := append(greeting, request(opCreate, "/a/lock-")...)
	s = append(s, ping...)
	return append(s, request(opGetChildren2, "/a")...)
}

func TestFrames(t *testing.T) {
	s := stream()
	want := []sent{{0, ""}, {opCreate, "/a/lock-"}, {11, ""}, {opGetChildren2, "/a"}}
	for cut := range s {
		if got := read(s[:cut], s[cut:]); !reflect.DeepEqual(got, want) {
			t.Fatalf("cut at %d: %v, want %v", cut, got, want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(stream(), 17)
	f.Add(request(opDelete, "/a/lock-1"), 3)
	f.Add([]byte{255, 255, 255, 255, 0}, 1)
	f.Fuzz(func(t *testing.T, p []byte, cut int) {
		if cut < 0 || cut > len(p) {
			cut = 0
		}
		if whole, parts := read(p), read(p[:cut], p[cut:]); !reflect.DeepEqual(whole, parts) {
			t.Fatalf("%x cut at %d: %v and %v", p, cut, whole, parts)
		}
	})
}

// TestTrips: two workers of a process wait for one key; each gets what is its own.
func TestTrips(t *testing.T) {
	var ts trips
	a, b, other, gone := lock.NewTrace(), lock.NewTrace(), lock.NewTrace(), lock.NewTrace()
	ts.begin("/k", gone, starting)() // it has ended
	endA := ts.begin("/k", a, starting)
	ts.sent(opCreate, "/k/_c_1-lock-") // no parent yet
	ts.sent(opExists, "/k")
	ts.sent(opCreate, "/k")
	ts.sent(opCreate, "/k/_c_1-lock-")
	endB := ts.begin("/k", b, starting)
	endOther := ts.begin("/k2", other, starting)
	ts.sent(opCreate, "/k/_c_2-lock-")
	ts.sent(opCreate, "/k2/_c_3-lock-")
	ts.sent(opGetChildren2, "/k") // a's, whose turn it is
	endA()
	ts.sent(opGetChildren2, "/k") // b's
	ts.sent(opGetData, "/k/_c_1-lock-0000000000")
	release := lock.NewTrace()
	endRelease := ts.begin("/k", release, deleting)
	ts.sent(opDelete, "/k/_c_1-lock-0000000000")
	endRelease()
	ts.sent(opGetChildren2, "/k") // b's, woken
	endB()
	ts.sent(opGetChildren2, "/k2")
	endOther()
	ts.sent(opGetChildren2, "/k") // nobody's
	for name, c := range map[string]struct {
		t    *lock.Trace
		want int
	}{"a": {a, 5}, "b": {b, 4}, "other": {other, 2}, "release": {release, 1}, "gone": {gone, 0}} {
		if got := c.t.Trips(); got != c.want {
			t.Errorf("%s: %d requests, want %d", name, got, c.want)
		}
	}
	if len(ts.ops) != 0 {
		t.Errorf("%d operations left", len(ts.ops))
	}
}
