package backends

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"lockbench/lock"
)

func TestParseURL(t *testing.T) {
	for _, c := range []struct {
		service, raw string
		want         lock.Target
	}{
		{"redis", "redis://h", lock.Target{Topology: "redis", Addrs: []string{"h:6379"}}},
		{"redis", "redis://h:1/2", lock.Target{Topology: "redis", Addrs: []string{"h:1"}, Database: "2"}},
		{"redis", "redis://h/", lock.Target{Topology: "redis", Addrs: []string{"h:6379"}}},
		{"redis", "redis://:pw@h", lock.Target{Topology: "redis", Addrs: []string{"h:6379"}, Password: "pw"}},
		{"redis", "redis://me:p%40%2F%25@[::1]:7", lock.Target{Topology: "redis", Addrs: []string{"[::1]:7"}, User: "me", Password: "p@/%"}},
		{"redis", "redis://:a@b@h", lock.Target{Topology: "redis", Addrs: []string{"h:6379"}, Password: "a@b"}},
		{"redis", "redis://[::1]", lock.Target{Topology: "redis", Addrs: []string{"[::1]:6379"}}},
		{"redis", "rediss://h", lock.Target{Topology: "redis", Addrs: []string{"h:6379"}, TLS: &lock.TLS{}}},
		{"redis", "rediss://h/1?ca=/c&cert=/d&key=/e&servername=n&insecure=true", lock.Target{Topology: "redis", Addrs: []string{"h:6379"}, Database: "1",
			TLS: &lock.TLS{CAFile: "/c", CertFile: "/d", KeyFile: "/e", ServerName: "n", Insecure: true}}},
		{"redis", "redis-sentinel://:pw@a,b:1?master=m", lock.Target{Topology: "redis-sentinel", Addrs: []string{"a:26379", "b:1"}, Password: "pw", Master: "m"}},
		{"redlock", "redis://a,b,c:1", lock.Target{Topology: "redlock-3", Addrs: []string{"a:6379", "b:6379", "c:1"}}},
		{"etcd", "etcd://a,b,c", lock.Target{Topology: "etcd-3", Addrs: []string{"a:2379", "b:2379", "c:2379"}}},
		{"etcd", "etcds://u:p@a?insecure=0", lock.Target{Topology: "etcd-1", Addrs: []string{"a:2379"}, User: "u", Password: "p", TLS: &lock.TLS{}}},
		{"zookeeper", "zk://a,b:3", lock.Target{Topology: "zookeeper-2", Addrs: []string{"a:2181", "b:3"}}},
		{"postgres", "postgres://u:p@h/d", lock.Target{Topology: "postgres", Addrs: []string{"h:5432"}, User: "u", Password: "p", Database: "d"}},
		{"postgres", "postgresql://u@h/d?sslmode=require", lock.Target{Topology: "postgres", Addrs: []string{"h:5432"}, User: "u", Database: "d", TLS: &lock.TLS{Insecure: true}}},
		{"postgres", "postgres://u@h/d?sslmode=require&sslrootcert=/c", lock.Target{Topology: "postgres", Addrs: []string{"h:5432"}, User: "u", Database: "d", TLS: &lock.TLS{CAFile: "/c"}}},
		{"postgres", "postgres://u@h/d?sslmode=verify-full", lock.Target{Topology: "postgres", Addrs: []string{"h:5432"}, User: "u", Database: "d", TLS: &lock.TLS{}}},
	} {
		got, err := ParseURL(c.service, c.raw)
		if err != nil {
			t.Errorf("ParseURL(%q, %q): %v", c.service, c.raw, err)
			continue
		}
		c.want.Service = c.service
		if d := cmp.Diff(c.want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "Meter" }, cmp.Ignore())); d != "" {
			t.Errorf("ParseURL(%q, %q), want -, got +:\n%s", c.service, c.raw, d)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	for _, c := range []struct{ service, raw, want string }{
		{"redis", "", "no scheme"},
		{"redis", "localhost:6379", "no scheme"},
		{"redis", "http://h", "unknown scheme"},
		{"redis", "etcd://h", "etcd:// is for etcd"},
		{"redis", "redis://", "want HOST"},
		{"redis", "redis://:1", "want HOST"},
		{"redis", "redis://h:0", "want HOST"},
		{"redis", "redis://h:65536", "want HOST"},
		{"redis", "redis://h:x", "want HOST"},
		{"redis", "redis://h h", "want HOST"},
		{"redis", "redis://a,b", "2 servers"},
		{"redis", "redis://h/x", "want a number"},
		{"redis", "redis://h/1/2", "name of the database"},
		{"redis", "redis://h?ca=x", `unknown parameter "ca"`},
		{"redis", "redis://secret@h", "without a password"},
		{"redis", "redis://:se/cret@h", "@ after the host"},
		{"redis", "redis://:se?cret@h", "@ after the host"},
		{"redis", "redis://:se#cret@h", "a # has no meaning"},
		{"redis", "redis://h#x", "#"},
		{"redis", "redis://:%zz@h", "hexadecimal"},
		{"redis", "rediss://h?insecure=perhaps", "true or false"},
		{"redis", "rediss://h?cert=x", "go together"},
		{"redis", "rediss://h?ca=a&ca=b", "twice"},
		{"redis", "rediss://h?%zz", "key=value"},
		{"redis", "redis-sentinel://h", "master=NAME"},
		{"redlock", "redis://a", "1 servers"},
		{"redlock", "redis://a,b", "2 servers"},
		{"redlock", "redis://a,b,a", "named twice"},
		{"redlock", "redis-sentinel://a,b,c?master=m", "is for redis"},
		{"etcd", "etcd://h/path", "a path has no meaning"},
		{"etcd", "etcd://:p@h", "without a user"},
		{"postgres", "postgres://u@h/d?sslmode=prefer", "sslmode"},
		{"postgres", "postgres://u@h/d?sslrootcert=/c", "no sslmode"},
		{"postgres", "postgres://u@h/d?password=secret", `unknown parameter "password"`},
		{"postgres", "postgres://u@a,b/d", "2 servers"},
		{"loopback", "redis://h", "cannot be given by URL"},
		{"mysql", "mysql://h", "cannot be given by URL"},
	} {
		_, err := ParseURL(c.service, c.raw)
		if err == nil {
			t.Errorf("ParseURL(%q, %q): no error, want %q", c.service, c.raw, c.want)
			continue
		}
		var e *Error
		if !errors.As(err, &e) || e.Hint() == "" {
			t.Errorf("ParseURL(%q, %q): no hint: %v", c.service, c.raw, err)
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error()+e.Hint(), "cret") {
			t.Errorf("ParseURL(%q, %q): got %q (%s), want %q and no password", c.service, c.raw, err, e.Hint(), c.want)
		}
	}
}

func TestScrub(t *testing.T) {
	for _, c := range []struct{ raw, want string }{
		{"redis://h:1/2", "redis://h:1/2"},
		{"redis://u:secret@h:1/2", "redis://u:***@h:1/2"},
		{"redis://:secret@h", "redis://:***@h"},
		{"redis://secret@h", "redis://:***@h"},
		{"redis://:se/cret@h?x=y", "redis://:***@h?x=y"},
		{"redis://:se?c@ret@h", "redis://:***@h"},
		{"u:secret@h", "u:***@h"},
		{"postgres://u@h/d?sslmode=require&password=secret", "postgres://:***@h/d?sslmode=require&password=***"},
		{"", ""},
	} {
		if got := Scrub(c.raw); got != c.want {
			t.Errorf("Scrub(%q): got %q, want %q", c.raw, got, c.want)
		}
	}
}

// FuzzParseURL checks that no input is too much, and that what was accepted means what its parts say.
func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"redis://u:pw@h:1/2", "rediss://h?ca=x", "redis-sentinel://a,b?master=m", "etcd://a,b,c", "zk://[::1]:1,h",
		"postgres://u:p@h/d?sslmode=require", "redis://:%2F@h", "redis://@h", "://", "redis://[h", "redis://h]:1", "redis://,", "redis://h:1:2"} {
		for service := range examples {
			f.Add(service, s)
		}
	}
	f.Fuzz(func(t *testing.T, service, raw string) {
		target, err := ParseURL(service, raw)
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Hint() == "" {
				t.Errorf("%q, %q: no hint: %v", service, raw, err)
			}
			return
		}
		if len(target.Addrs) == 0 || target.Topology == "" || target.Service != service {
			t.Errorf("%q, %q: got %+v", service, raw, target)
		}
		if target.Password != "" && strings.Contains(raw, ":"+target.Password+"@") && strings.Contains(Scrub(raw), ":"+target.Password+"@") && target.Password != hidden {
			t.Errorf("Scrub(%q) = %q has the password", raw, Scrub(raw))
		}
	})
}

// FuzzPassword checks that any password gets through, and that nothing says it.
func FuzzPassword(f *testing.F) {
	for _, p := range []string{"secret", "a@b", "a/b?c#d", "%41", ":", "ü", " ", "a,b"} {
		f.Add(p, "h:1")
		f.Add(p, "h:x")
	}
	f.Fuzz(func(t *testing.T, password, host string) {
		if len(password) < 4 || strings.ContainsAny(host, "@/?#") {
			return
		}
		raw := fmt.Sprintf("postgres://me:%s@%s/d", url.PathEscape(password), host)
		target, err := ParseURL("postgres", raw)
		said := Scrub(raw)
		if err != nil {
			said += err.Error()
		} else if target.Password != password {
			t.Errorf("%q: got password %q, want %q", raw, target.Password, password)
		}
		for _, p := range []string{password, url.PathEscape(password)} {
			if strings.Contains(said, p) && !strings.Contains("postgres://me:***@"+host+"/d", p) && !strings.Contains(fmt.Sprintf("%q URL for postgres: host: want HOST or HOST:PORT", host), p) {
				t.Errorf("%q: %q holds the password", raw, said)
			}
		}
	})
}

func TestWithoutPassword(t *testing.T) {
	inner := fmt.Errorf("dial with hunter22: %w", errors.ErrUnsupported)
	err := explainGiven(lock.Target{Service: "redis", Password: "hunter22"}, inner)
	if strings.Contains(err.Error(), "hunter22") || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("got %q, want the password hidden, and the reason kept", err)
	}
}

func TestTopologies(t *testing.T) {
	all := Topologies()
	for i, top := range all {
		if i > 0 && all[i-1].Name >= top.Name {
			t.Errorf("%s comes before %s", all[i-1].Name, top.Name)
		}
		if _, err := TopologyNamed(DefaultTopology(top.Service)); err != nil {
			t.Errorf("default of %s: %v", top.Service, err)
		}
		if top.Doc == "" || top.Persistence == "" || top.Nodes < 1 {
			t.Errorf("%+v: something is missing", top)
		}
	}
	_, err := TopologyNamed("redlok-3")
	var h interface{ Hint() string }
	if !errors.As(err, &h) || !strings.Contains(h.Hint(), "redlock-3") {
		t.Errorf("redlok-3: got %v, want a hint to redlock-3", err)
	}
}

func TestPortTaken(t *testing.T) {
	for _, line := range []string{
		"Could not create server TCP listening socket 127.0.0.1:1: bind: Address already in use",                         // Redis
		"listen tcp 127.0.0.1:2379: bind: address already in use",                                                        // etcd
		`could not bind IPv4 address "127.0.0.1": Address already in use`,                                                // PostgreSQL
		"java.net.BindException: Address already in use",                                                                 // ZooKeeper
		"driver failed programming external connectivity: Bind for 127.0.0.1:1 failed: port is already allocated",        // Docker
		"driver failed programming external connectivity: listen tcp4 127.0.0.1:1: bind: address already in use (proxy)", // its proxy
	} {
		if !portTaken(errors.New(line)) {
			t.Errorf("%q: not taken for a port that is taken", line)
		}
	}
	if portTaken(errors.New("the server ended with code 1")) {
		t.Error("any failure is taken for a port that is taken")
	}
}
