package backends

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"lockbench/internal/watchdog"
)

// TestSubnets: they lie in the range, follow each other, and start again at its end.
func TestSubnets(t *testing.T) {
	for _, c := range []struct {
		next  uint32
		first string
	}{{8191, "198.18.0.0/28"}, {0, "198.18.0.16/28"}, {8190, "198.19.255.240/28"}, {1<<32 - 1, "198.18.0.0/28"}} {
		p := &picker{next: c.next}
		if got := p.pick(); got.String() != c.first {
			t.Errorf("after %d: got %s, want %s", c.next, got, c.first)
		}
	}
	p, seen := newPicker(), map[netip.Prefix]bool{}
	for range 8192 {
		s := p.pick()
		if seen[s] || !subnets.Overlaps(s) || s.Masked() != s {
			t.Fatalf("%s: handed out twice, or out of %s", s, subnets)
		}
		seen[s] = true
	}
	b := bridge{net: netip.MustParsePrefix("198.18.0.16/28")}
	if got := []string{b.at(0).String(), b.at(4).String()}; !slices.Equal(got, []string{"198.18.0.18", "198.18.0.22"}) {
		t.Errorf("addresses of nodes 0 and 4: got %v", got)
	}
}

func TestDropRules(t *testing.T) {
	got, err := dropRules("lockbench-x", []netip.AddrPort{netip.MustParseAddrPort("[::ffff:198.18.0.1]:40"), netip.MustParseAddrPort("198.18.0.2:0")})
	want := `*filter
:lockbench-x - [0:0]
-A lockbench-x -s 198.18.0.1/32 -p tcp --sport 40 -j DROP
-A lockbench-x -d 198.18.0.1/32 -p tcp --dport 40 -j DROP
-A lockbench-x -s 198.18.0.2/32 -j DROP
-A lockbench-x -d 198.18.0.2/32 -j DROP
-I INPUT -j lockbench-x
-I OUTPUT -j lockbench-x
COMMIT`
	if err != nil || got != want {
		t.Errorf("got %v, %q, want %q", err, got, want)
	}
}

var dropTexts = []struct {
	text string
	want int64
	ok   bool
}{
	{"", 0, true},
	{"*filter\n:lockbench-a - [0:0]\n[9:540] -A INPUT -j lockbench-a\n[3:180] -A lockbench-a -s 198.18.0.1/32 -p tcp -m tcp --sport 40 -j DROP\n" +
		"[4:208] -A lockbench-b -d 198.18.0.1/32 -p tcp -m tcp --dport 40 -j DROP\n[7:1] -A other -j DROP\nCOMMIT\n", 7, true},
	{"[x:0] -A lockbench-a -s 198.18.0.1/32 -j DROP\n", 0, false},
	{"[-1:0] -A lockbench-a -s 198.18.0.1/32 -j DROP\n", 0, false},
	{"[9223372036854775807:0] -A lockbench-a -s 198.18.0.1/32 -j DROP\n[1:0] -A lockbench-a -d 198.18.0.1/32 -j DROP\n", 0, false},
}

func TestDropCount(t *testing.T) {
	for _, c := range dropTexts {
		if got, err := dropCount(c.text); got != c.want || (err == nil) != c.ok {
			t.Errorf("dropCount(%q): got %d, %v, want %d, ok %v", c.text, got, err, c.want, c.ok)
		}
	}
}

func FuzzDropCount(f *testing.F) {
	for _, c := range dropTexts {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := dropCount(text)
		if got < 0 || err != nil && got != 0 {
			t.Errorf("dropCount(%q): got %d, %v", text, got, err)
		}
		if twice, terr := dropCount(text + "\n" + text); err == nil && terr == nil && twice != 2*got {
			t.Errorf("dropCount of %q twice: got %d, want %d", text, twice, 2*got)
		}
	})
}

// TestVote: a majority of all, not of those that answer.
func TestVote(t *testing.T) {
	for _, c := range []struct {
		named []string
		all   int
		want  string
	}{{[]string{"a", "a"}, 3, "a"}, {[]string{"a", "b", "b"}, 3, "b"}, {[]string{"a"}, 3, ""}, {[]string{"", "", "a"}, 3, ""},
		{[]string{"a", "b"}, 3, ""}, {nil, 3, ""}, {[]string{"a"}, 1, "a"}} {
		got, err := vote(c.named, c.all)
		if got != c.want || (c.want == "") != errors.Is(err, ErrNoLeader) {
			t.Errorf("vote(%q, %d): got %q, %v, want %q", c.named, c.all, got, err, c.want)
		}
	}
}

// TestMakeNetworkExhausted is for an engine in which every subnet is taken.
func TestMakeNetworkExhausted(t *testing.T) {
	eng, err := connect(t.Context(), func(string) {})
	if err != nil {
		t.Skipf("no Docker: %v", err)
	}
	me, err := watchdog.Self()
	if err != nil {
		t.Fatal(err)
	}
	c := &Cluster{eng: eng, o: Options{Owner: me.Labels()}} // if this is killed, the next test sweeps
	p := &picker{}
	first := &bridge{name: "lockbench-test-networks-" + token(4), peers: true}
	c.networks = append(c.networks, first)
	defer func() {
		if err := c.removeNetworks(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := c.makeNetwork(t.Context(), first, p.pick); err != nil {
		t.Fatal(err)
	}
	second := &bridge{name: first.name + "-2", peers: true}
	err = c.makeNetwork(t.Context(), second, func() netip.Prefix { return first.net })
	var e *Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint(), "docker network prune") || !strings.Contains(err.Error(), "no free subnet") {
		t.Errorf("got %v, want an error that says what to do", err)
	}
	tried := 0
	err = c.makeNetwork(t.Context(), second, func() netip.Prefix {
		if tried++; tried == 1 {
			return first.net
		}
		return p.pick()
	})
	c.networks = append(c.networks, second)
	if err != nil || tried < 2 || second.net == first.net {
		t.Errorf("after a subnet that is taken: got %v, %s after %d tries, want another", err, second.net, tried)
	}
}
