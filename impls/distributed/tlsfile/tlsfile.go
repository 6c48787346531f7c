// Package tlsfile makes what crypto/tls needs of the files that a target names. All
// clients of distributed locks use it, so that a wrong file is the same error everywhere.
package tlsfile

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"lockbench/lock"
)

// Config reads the files; nil stays nil: no TLS. The name to be found in the server's certificate
// is t.ServerName, or else host; with neither, the library that dials has to fill
// it in. Errors tell the names of files, and nothing of what is in them.
func Config(t *lock.TLS, host string) (*tls.Config, error) {
	if t == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName, InsecureSkipVerify: t.Insecure} //nolint:gosec // the user asks for it
	if c.ServerName == "" {
		c.ServerName = host
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("read the certificate authority: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the certificate authority: %s holds no certificate in PEM", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("read the client's certificate: it goes with its key, and one of the two files is not named")
	}
	if t.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate %s and its key %s: %w", t.CertFile, t.KeyFile, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}
