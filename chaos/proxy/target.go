package proxy

import (
	"maps"
	"net"
	"slices"

	"lockbench/lock"
)

// Upstreams returns the addresses at which this process reaches the servers of a target, each once: those
// of Addrs, then those that Reach adds, such as the servers that sentinels watch. Servers that are
// announced where they are reached, and are not in Addrs, are unknown to it.
func Upstreams(t lock.Target) []string {
	var us []string
	for _, a := range t.Addrs {
		if at := reached(t, a); !slices.Contains(us, at) {
			us = append(us, at)
		}
	}
	for _, announced := range slices.Sorted(maps.Keys(t.Reach)) {
		if at := t.Reach[announced]; !slices.Contains(us, at) {
			us = append(us, at)
		}
	}
	return us
}

func reached(t lock.Target, addr string) string {
	if at, ok := t.Reach[addr]; ok {
		return at
	}
	return addr
}

// Target returns the same servers as t, through the proxies: each address that leads to an upstream of
// the set leads to its proxy, be it one of Addrs, one that Reach maps, or one that a server announces and
// that is the upstream's own. Others stay as they are. t is not changed.
//
// Of servers with TLS all of whose hosts are one, the name in the certificate stays that of the
// host; of others it must be in t.TLS.ServerName, since the proxies' host is 127.0.0.1.
func (s *Set) Target(t lock.Target) lock.Target {
	via := func(at string) string {
		if p := s.Addr(at); p != "" {
			return p
		}
		return at
	}
	reach := map[string]string{}
	for announced, at := range t.Reach {
		reach[announced] = via(at)
	}
	for _, p := range s.proxies {
		if _, ok := reach[p.upstream]; !ok { // else a server calls itself so, and is another's upstream
			reach[p.upstream] = p.addr
		}
	}
	addrs := make([]string, len(t.Addrs))
	for i, a := range t.Addrs {
		addrs[i] = via(reached(t, a))
	}
	t.TLS = named(t)
	t.Addrs, t.Reach = addrs, reach
	return t
}

// named returns t's TLS with the name that the servers' certificates have.
func named(t lock.Target) *lock.TLS {
	if t.TLS == nil || t.TLS.ServerName != "" || len(t.Addrs) == 0 {
		return t.TLS
	}
	var name string
	for i, a := range t.Addrs {
		host, _, err := net.SplitHostPort(a)
		if err != nil || i > 0 && host != name {
			return t.TLS
		}
		name = host
	}
	tls := *t.TLS
	tls.ServerName = name
	return &tls
}
