package etcd

import (
	"crypto/x509"
	"testing"
	"time"

	"lockbench/impls/distributed/tlsfile/tlstest"
	"lockbench/lock"
)

// TestTLS speaks to a server through something that ends TLS before it, and asks for
// the client's certificate.
func TestTLS(t *testing.T) {
	tg := shared(t, "etcd-1")
	tg.TTL = steady
	a := tlstest.New(t)
	tg.Addrs = []string{a.Front(tg.Addrs[0], a.Server([]string{"etcd.test"}, "h2"))}
	cert, key := a.Issue("client", &x509.Certificate{})
	tg.TLS = &lock.TLS{CAFile: a.File, CertFile: cert, KeyFile: key, ServerName: "etcd.test"}
	release(t, acquire(t, connect(t, tg), "k", options(tg)))

	tg.DialTimeout = time.Second
	for _, bad := range []lock.TLS{
		{CertFile: cert, KeyFile: key, ServerName: "etcd.test"},
		{CAFile: a.File, CertFile: cert, KeyFile: key, ServerName: "other.test"},
		{CAFile: a.File, ServerName: "etcd.test"},
	} {
		tg.TLS = &bad
		if _, err := Dial(within(t), tg); err == nil {
			t.Errorf("%+v: connected", bad)
		}
	}
}
