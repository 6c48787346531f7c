package backends

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"lockbench/lock"
)

// server is what is to be known of a kind of server, whoever started it: functions of
// one service, in one value. addr is that of one server.
type server struct {
	// serves returns nil if the server serves clients: as a member of its cluster, if it is one.
	serves func(ctx context.Context, t lock.Target, addr string) error
	// answers returns nil if the server says anything, be it that it does not serve; nil: serves says it.
	answers func(ctx context.Context, t lock.Target, addr string) error
	// leader returns the address of the one that most members hold to be their leader. up are those
	// that can be asked, a subset of the target's. nil: servers of that kind have none.
	leader func(ctx context.Context, t lock.Target, up []string) (addr string, err error)
	// check returns nil if they can serve together; nil: if each of the addresses serves.
	check func(ctx context.Context, t lock.Target) error
	// version returns what the server says of itself.
	version func(ctx context.Context, t lock.Target, addr string) (string, error)
	// clean removes all names that begin with prefix, and returns how many.
	clean func(ctx context.Context, t lock.Target, prefix string) (int, error)
	// names returns all names that begin with prefix: see Cluster.Names.
	names func(ctx context.Context, t lock.Target, prefix string) ([]string, error)
	// given looks at a given server for what would make it the wrong one; nil: nothing to look at.
	given func(ctx context.Context, t lock.Target) error
	// lowest and highest are the bounds of a TTL, with this project's settings or the service's
	// own; 0: none.
	lowest, highest time.Duration
}

// ready returns nil if the servers can serve together.
func (s *server) ready(ctx context.Context, t lock.Target) error {
	if s.check != nil {
		return s.check(ctx, t)
	}
	errs := make([]error, len(t.Addrs))
	var wg sync.WaitGroup
	for i, addr := range t.Addrs {
		wg.Go(func() { errs[i] = s.serves(ctx, t, addr) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// askTimeout bounds one question to one server: those in containers are on this
// machine, and given ones must be known to be unreachable within 5 s.
const askTimeout = 4 * time.Second

// clean removes what is under a prefix of this project, and nothing else.
func clean(ctx context.Context, s *server, t lock.Target, prefix string) (int, error) {
	if !strings.HasPrefix(prefix, ours) {
		return 0, fmt.Errorf("clean %q: only names under %q are this project's", prefix, ours)
	}
	n, err := s.clean(ctx, t, prefix)
	if err != nil {
		return n, fmt.Errorf("clean %s: %w", prefix, err)
	}
	return n, nil
}

// ours begins every name on a server.
const ours = "lockbench/"

// token returns n random bytes in hexadecimal.
func token(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails: crypto/rand
	return hex.EncodeToString(b)
}

// tlsConfig returns how a server's certificate is checked; nil without TLS. addr is the
// server's, whose host is the name by default.
func tlsConfig(t *lock.TLS, addr string) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", addr, err)
	}
	c := &tls.Config{ServerName: host, InsecureSkipVerify: t.Insecure, MinVersion: tls.VersionTLS12}
	if t.ServerName != "" {
		c.ServerName = t.ServerName
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the authority's certificate: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the authority's certificate %s: %w", t.CAFile, errors.New("no certificate in it"))
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	return c, nil
}

// reached returns the address at which an announced one is reached.
func reached(t lock.Target, addr string) string {
	if to, ok := t.Reach[addr]; ok {
		return to
	}
	return addr
}

// dialable returns nil if somebody listens at the address.
func dialable(ctx context.Context, addr string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("reach %s: %w", addr, err)
	}
	return c.Close()
}
