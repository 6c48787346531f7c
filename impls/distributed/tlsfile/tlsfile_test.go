package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lockbench/impls/distributed/tlsfile/tlstest"
	"lockbench/lock"
)

func write(t *testing.T, file string, data []byte) string {
	t.Helper()
	must(t, os.WriteFile(file, data, 0o600))
	return file
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// handshake lets a client with the configuration greet a server that asks for a
// certificate of the authority, and returns what each side says.
func handshake(t *testing.T, a *tlstest.Authority, client *tls.Config) (ofClient, ofServer error) {
	t.Helper()
	cfg := a.Server([]string{"db.example"})
	cfg.MaxVersion = tls.VersionTLS12 // in 1.3 the client is done before the server has seen its certificate
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	served := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = tls.Server(c, cfg).Handshake()
			c.Close()
		}
		served <- err
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	must(t, err)
	ofClient = tls.Client(c, client).Handshake()
	c.Close()
	return ofClient, <-served
}

// What a configuration is worth is seen by whom it lets in.
func TestConfig(t *testing.T) {
	a, other := tlstest.New(t), tlstest.New(t)
	cert, key := a.Issue("client", &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	all := lock.TLS{CAFile: a.File, CertFile: cert, KeyFile: key}
	for _, c := range []struct {
		name   string
		host   string
		change func(*lock.TLS)
		client string // part of the client's error
		server string
	}{
		{name: "all there", host: "db.example", change: func(*lock.TLS) {}},
		{name: "a name of its own", host: "10.0.0.1", change: func(t *lock.TLS) { t.ServerName = "db.example" }},
		{name: "another host", host: "other.example", change: func(*lock.TLS) {}, client: "not other.example", server: "bad certificate"},
		{name: "another authority", host: "db.example", change: func(t *lock.TLS) { t.CAFile = other.File }, client: "unknown authority", server: "bad certificate"},
		{name: "unchecked", host: "other.example", change: func(t *lock.TLS) { t.CAFile, t.Insecure = "", true }},
		{name: "no certificate", host: "db.example", change: func(t *lock.TLS) { t.CertFile, t.KeyFile = "", "" }, client: "remote error", server: "didn't provide a certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := all
			c.change(&set)
			cfg, err := Config(&set, c.host)
			must(t, err)
			ofClient, ofServer := handshake(t, a, cfg)
			for _, e := range []struct {
				side string
				err  error
				want string
			}{{"client", ofClient, c.client}, {"server", ofServer, c.server}} {
				if (e.err == nil) != (e.want == "") || e.err != nil && !strings.Contains(e.err.Error(), e.want) {
					t.Errorf("the %s says %v, want %q", e.side, e.err, e.want)
				}
			}
		})
	}
	if c, err := Config(nil, "h"); c != nil || err != nil {
		t.Errorf("no TLS: got %v, %v", c, err)
	}
}

// Errors name the file, and tell nothing of what is in it.
func TestBadFiles(t *testing.T) {
	a := tlstest.New(t)
	cert, key := a.Issue("client", &x509.Certificate{})
	otherCert, otherKey := a.Issue("other", &x509.Certificate{})
	dir := t.TempDir()
	missing, empty := filepath.Join(dir, "missing"), write(t, filepath.Join(dir, "empty"), nil)
	const secret = "c2VjcmV0"
	text := write(t, filepath.Join(dir, "text"), []byte(secret))
	broken := write(t, filepath.Join(dir, "broken"), []byte("-----BEGIN PRIVATE KEY-----\n"+secret+"\n-----END PRIVATE KEY-----\n"))
	for _, c := range []struct {
		name string
		t    lock.TLS
		want string
	}{
		{"CA missing", lock.TLS{CAFile: missing}, missing},
		{"CA a directory", lock.TLS{CAFile: dir}, dir},
		{"CA empty", lock.TLS{CAFile: empty}, empty},
		{"CA not PEM", lock.TLS{CAFile: text}, text},
		{"CA a key", lock.TLS{CAFile: key}, key},
		{"certificate missing", lock.TLS{CertFile: missing, KeyFile: key}, missing},
		{"certificate not PEM", lock.TLS{CertFile: text, KeyFile: key}, text},
		{"key missing", lock.TLS{CertFile: cert, KeyFile: missing}, missing},
		{"key not PEM", lock.TLS{CertFile: cert, KeyFile: text}, text},
		{"key broken", lock.TLS{CertFile: cert, KeyFile: broken}, broken},
		{"exchanged", lock.TLS{CertFile: key, KeyFile: cert}, key},
		{"another's key", lock.TLS{CertFile: otherCert, KeyFile: key}, "does not match"},
		{"another's certificate", lock.TLS{CertFile: cert, KeyFile: otherKey}, "does not match"},
		{"no key", lock.TLS{CertFile: cert}, "goes with its key"},
		{"no certificate", lock.TLS{KeyFile: key}, "goes with its key"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg, err := Config(&c.t, "h")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("got %v, want an error with %q", err, c.want)
			}
			if cfg != nil {
				t.Error("an error, and a configuration")
			}
			contents := []string{secret}
			for _, f := range []string{key, otherKey, cert} {
				data, err := os.ReadFile(f)
				must(t, err)
				contents = append(contents, strings.Split(strings.TrimSpace(string(data)), "\n")[1])
			}
			for _, s := range contents {
				if strings.Contains(err.Error(), s) {
					t.Errorf("what is in a file is in the error: %v", err)
				}
			}
		})
	}
}
