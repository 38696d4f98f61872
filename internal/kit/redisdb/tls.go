package redisdb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync/atomic"
)

// RedisTLS names the PEM files for connections to a rediss:// Redis. The zero value trusts the
// system's certificate authorities and sends no client certificate.
type RedisTLS struct {
	CA   string // certificate authorities of the servers; default: the system's
	Cert string // client certificate, if the server requests one; requires Key
	Key  string
}

// Check reads the files and returns an error that names the invalid one.
func (f RedisTLS) Check() error {
	_, err := f.config()
	return err
}

// errHalfPair reports a certificate without a key or a key without a certificate.
var errHalfPair = errors.New("a client certificate needs both its certificate and its key")

// config reads the files.
func (f RedisTLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.CA != "" {
		pem, err := os.ReadFile(f.CA)
		if err != nil {
			return nil, fmt.Errorf("read the CA: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read the CA: %s holds no certificate", f.CA)
		}
	}
	if (f.Cert == "") != (f.Key == "") {
		return nil, errHalfPair
	}
	if f.Cert != "" {
		pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// dialer returns a function that dials with TLS. It reads the files for every connection, so that
// renewed files need no restart. While they are invalid, for example during a replacement, it uses
// the last valid ones. It verifies the host name of the dialed address. go-redis would expect each
// cluster node and each Sentinel's master to have the name of the first address in the URL.
func (f RedisTLS) dialer(log *slog.Logger) (func(ctx context.Context, network, addr string) (net.Conn, error), error) {
	first, err := f.config()
	if err != nil {
		return nil, err
	}
	var good atomic.Pointer[tls.Config]
	good.Store(first)
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := f.config()
		if err != nil {
			log.WarnContext(ctx, "cannot reload Redis TLS files", "err", err, "hint", "connections use the last valid files")
			c = good.Load()
		}
		good.Store(c)
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return (&tls.Dialer{Config: c}).DialContext(ctx, network, addr)
	}, nil
}

// IsTLS reports whether the scheme of a URL requires TLS.
func IsTLS(url string) bool {
	return strings.HasPrefix(url, "rediss://") || strings.HasPrefix(url, "rediss+")
}
