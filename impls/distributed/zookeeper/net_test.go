package zookeeper

import (
	"crypto/x509"
	"testing"
	"time"

	"lockbench/impls/distributed/tlsfile/tlstest"
	"lockbench/lock"
)

// TestTLS speaks to a server through something that ends TLS before it.
func TestTLS(t *testing.T) {
	g := target(t, one, long)
	a := tlstest.New(t)
	front := a.Front(reach(g), a.Server([]string{"zk.test"}))
	cert, key := a.Issue("client", &x509.Certificate{})
	// The name that the server goes by is in the certificate, the address is another.
	g.Addrs = []string{"zk.test:2181"}
	g.Reach = map[string]string{"zk.test:2181": front}
	g.TLS = &lock.TLS{CAFile: a.File, CertFile: cert, KeyFile: key}
	c := dial(t, g)
	release(t, acquire(t, c, "k"))
	if _, err := c.MinTTL(t.Context()); err != nil {
		t.Errorf("MinTTL: %v", err)
	}
	g.DialTimeout = 300 * time.Millisecond
	for _, set := range []lock.TLS{{}, {CAFile: a.File}} {
		g.TLS = &set
		if _, err := Dial(t.Context(), g); err == nil {
			t.Errorf("%+v: an unknown certificate was accepted", set)
		}
	}
}

// TestCreatePath: other packets, and broken ones, have no path of a create.
func TestCreatePath(t *testing.T) {
	ok := []byte("\x00\x00\x00\x10" + "\x00\x00\x00\x07" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02" + "/a" + "\xff\xff")
	if got := string(createPath(ok)); got != "/a" {
		t.Errorf("create: %q", got)
	}
	for _, b := range [][]byte{nil, ok[:15], ok[:17], append(append([]byte{}, ok[:11]...), "\x02\x00\x00\x00\x02/a"...),
		append(append([]byte{}, ok[:12]...), "\xff\xff\xff\xff/a"...)} {
		if got := createPath(b); got != nil {
			t.Errorf("%q: %q", b, got)
		}
	}
}
