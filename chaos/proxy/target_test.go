package proxy

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lockbench/lock"
)

func TestTarget(t *testing.T) {
	const a, b, c = "127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003"
	for _, tc := range []struct {
		name      string
		in        lock.Target
		upstreams []string          // found in it
		more      []string          // upstreams that are known otherwise
		addrs     []string          // as they become; "> x" is the proxy to x
		reach     map[string]string // likewise
		name2     string            // in the certificate
	}{
		{
			name: "one server", in: lock.Target{Addrs: []string{a}},
			upstreams: []string{a}, addrs: []string{"> " + a}, reach: map[string]string{a: "> " + a},
		},
		{
			name: "three servers that announce other addresses", in: lock.Target{Addrs: []string{a, b, c}, Reach: map[string]string{"n1:1": a, "n2:1": b, "n3:1": c}},
			upstreams: []string{a, b, c}, addrs: []string{"> " + a, "> " + b, "> " + c},
			reach: map[string]string{"n1:1": "> " + a, "n2:1": "> " + b, "n3:1": "> " + c, a: "> " + a, b: "> " + b, c: "> " + c},
		},
		{
			name: "sentinels, and servers behind them", in: lock.Target{Addrs: []string{a}, Reach: map[string]string{"s:1": a, "r:2": c, "r:1": b}},
			upstreams: []string{a, b, c}, addrs: []string{"> " + a},
			reach: map[string]string{"s:1": "> " + a, "r:1": "> " + b, "r:2": "> " + c, a: "> " + a, b: "> " + b, c: "> " + c},
		},
		{
			name: "a sentinel on the host's network", in: lock.Target{Addrs: []string{a}}, more: []string{b},
			upstreams: []string{a}, addrs: []string{"> " + a}, reach: map[string]string{a: "> " + a, b: "> " + b},
		},
		{
			name: "an address that is announced is given", in: lock.Target{Addrs: []string{"n1:1"}, Reach: map[string]string{"n1:1": a}},
			upstreams: []string{a}, addrs: []string{"> " + a}, reach: map[string]string{"n1:1": "> " + a, a: "> " + a},
		},
		{
			name: "TLS", in: lock.Target{Addrs: []string{a}, TLS: &lock.TLS{CAFile: "ca"}, Reach: map[string]string{a: "localhost:7001"}},
			upstreams: []string{"localhost:7001"}, addrs: []string{"> localhost:7001"},
			reach: map[string]string{a: "> localhost:7001", "localhost:7001": "> localhost:7001"}, name2: "127.0.0.1",
		},
		{
			name: "TLS with a name", in: lock.Target{Addrs: []string{a}, TLS: &lock.TLS{ServerName: "given"}},
			upstreams: []string{a}, addrs: []string{"> " + a}, reach: map[string]string{a: "> " + a}, name2: "given",
		},
		{
			name: "TLS of several hosts", in: lock.Target{Addrs: []string{a, "localhost:7002"}, TLS: &lock.TLS{}},
			upstreams: []string{a, "localhost:7002"}, addrs: []string{"> " + a, "> localhost:7002"},
			reach: map[string]string{a: "> " + a, "localhost:7002": "> localhost:7002"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			us := Upstreams(tc.in)
			if !slices.Equal(us, tc.upstreams) {
				t.Errorf("upstreams %v, want %v", us, tc.upstreams)
			}
			s, err := Open(append(us, tc.more...))
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			via := func(at string) string {
				if up, ok := strings.CutPrefix(at, "> "); ok {
					return s.Addr(up)
				}
				return at
			}
			before := tc.in
			before.Addrs, before.Reach = slices.Clone(tc.in.Addrs), maps.Clone(tc.in.Reach)
			got := s.Target(tc.in)
			if !reflect.DeepEqual(tc.in, before) {
				t.Errorf("the target was changed to %+v", tc.in)
			}
			var addrs []string
			for _, a := range tc.addrs {
				addrs = append(addrs, via(a))
			}
			reach := map[string]string{}
			for k, v := range tc.reach {
				reach[k] = via(v)
			}
			if !slices.Equal(got.Addrs, addrs) || !maps.Equal(got.Reach, reach) || slices.Contains(addrs, "") {
				t.Errorf("%+v\n got %v and %v\nwant %v and %v", tc.in, got.Addrs, got.Reach, addrs, reach)
			}
			if got.TLS != nil && got.TLS.ServerName != tc.name2 {
				t.Errorf("name in the certificate %q, want %q", got.TLS.ServerName, tc.name2)
			}
		})
	}
}

func TestOpenErrors(t *testing.T) {
	for _, tc := range []struct {
		upstreams []string
		want      string
	}{
		{nil, "no server"},
		{[]string{"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:1"}, "127.0.0.1:1 is named twice"},
		{[]string{"127.0.0.1:1", "nowhere"}, "missing port"},
	} {
		s, err := Open(tc.upstreams)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("Open(%v): %v, %v; want an error with %q", tc.upstreams, s, err, tc.want)
		}
	}
	wantNoGoroutines(t)
}

func TestConns(t *testing.T) {
	one, two := serve(t), serve(t)
	s := open(t, one, two)
	c2, s2 := pair(t, s, two)
	c1, s1 := pair(t, s, one)
	want := []Conn{
		{Upstream: one.addr(), Client: c1.LocalAddr().String(), Local: s1.RemoteAddr().String()},
		{Upstream: two.addr(), Client: c2.LocalAddr().String(), Local: s2.RemoteAddr().String()},
	}
	send(t, s1, "x") // the server may have it before the proxy knows that it has
	send(t, s2, "x")
	until(t, s, "both open", func(Stats) bool { return slices.Equal(s.Conns(), want) })
	if s.Addr("127.0.0.1:1") != "" {
		t.Error("an address of a proxy to nowhere")
	}
}
