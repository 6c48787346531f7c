package zookeeper

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"lockbench/lock"
)

// TestTLS speaks to a server through something that ends TLS before it.
func TestTLS(t *testing.T) {
	g := target(t, one, long)
	cert, file := selfSigned(t, "zk.test")
	ln, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	upstream := reach(g)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", upstream)
			if err != nil {
				c.Close()
				continue
			}
			for _, d := range [][2]net.Conn{{c, up}, {up, c}} {
				all.Go(func() {
					_, _ = io.Copy(d[0], d[1])
					d[0].Close()
					d[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		ln.Close()
		all.Wait()
	})
	// The name that the server goes by is in the certificate, the address is another.
	g.Addrs = []string{"zk.test:2181"}
	g.Reach = map[string]string{"zk.test:2181": ln.Addr().String()}
	g.TLS = &lock.TLS{CAFile: file}
	c := dial(t, g)
	release(t, acquire(t, c, "k"))
	if _, err := c.MinTTL(t.Context()); err != nil {
		t.Errorf("MinTTL: %v", err)
	}
	g.TLS = &lock.TLS{}
	g.DialTimeout = 300 * time.Millisecond
	if _, err := Dial(t.Context(), g); err == nil {
		t.Error("an unknown certificate was accepted")
	}
}

// selfSigned makes a certificate for a name, and a file with it.
func selfSigned(t *testing.T, name string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
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
