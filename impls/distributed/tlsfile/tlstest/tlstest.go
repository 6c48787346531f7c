// Package tlstest makes certificates for tests, and puts TLS in front of servers that have none.
package tlstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Authority signs certificates. Files are removed when the test ends.
type Authority struct {
	// File holds its certificate, in PEM.
	File string

	t    testing.TB
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	n    int64
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{t: t}
	a.File, _ = a.Issue("ca", &x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// Issue completes and signs a certificate for an hour, and returns the files that it and
// its key are in.
func (a *Authority) Issue(name string, c *x509.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	a.must(err)
	a.n++
	c.SerialNumber, c.Subject = big.NewInt(a.n), pkix.Name{CommonName: name}
	c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if a.cert == nil { // its own
		a.cert, a.key = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key)
	a.must(err)
	if a.cert == c {
		a.cert, err = x509.ParseCertificate(der)
		a.must(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	a.must(err)
	dir := a.t.TempDir()
	write := func(file, kind string, der []byte) string {
		a.must(os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
		return file
	}
	return write(filepath.Join(dir, name+".pem"), "CERTIFICATE", der), write(filepath.Join(dir, name+".key"), "PRIVATE KEY", secret)
}

// Server returns the configuration of a server with a certificate for the names, which asks
// for a client's of this authority. protocols are what it offers by ALPN.
func (a *Authority) Server(names []string, protocols ...string) *tls.Config {
	a.t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Issue("server", &x509.Certificate{DNSNames: names}))
	a.must(err)
	roots := x509.NewCertPool()
	roots.AddCert(a.cert)
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols, MinVersion: tls.VersionTLS12,
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: roots}
}

// Front puts TLS in front of a server, on a loopback port whose address it returns. It is
// closed when the test ends.
func (a *Authority) Front(upstream string, c *tls.Config) (addr string) {
	a.t.Helper()
	ln, err := tls.Listen("tcp", "127.0.0.1:0", c)
	a.must(err)
	f := &front{upstream: upstream, open: map[net.Conn]struct{}{}}
	f.running.Go(func() { f.accept(ln) })
	a.t.Cleanup(func() {
		ln.Close()
		f.close()
	})
	return ln.Addr().String()
}

func (a *Authority) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

// front copies both ways, until either side ends.
type front struct {
	upstream string
	running  sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

func (f *front) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("tcp", f.upstream)
		if err != nil {
			c.Close()
			continue
		}
		f.mu.Lock()
		ok := !f.closed
		for _, end := range []net.Conn{c, up} {
			if f.open[end] = struct{}{}; !ok {
				end.Close()
			}
		}
		f.mu.Unlock()
		for _, d := range [][2]net.Conn{{c, up}, {up, c}} {
			f.running.Go(func() {
				// How it ended is nothing to a copier: both sides are told.
				_, _ = io.Copy(d[0], d[1])
				d[0].Close()
				d[1].Close()
				f.mu.Lock()
				delete(f.open, d[0])
				f.mu.Unlock()
			})
		}
	}
}

func (f *front) close() {
	f.mu.Lock()
	f.closed = true
	for c := range f.open {
		c.Close()
	}
	f.mu.Unlock()
	f.running.Wait()
}
