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

// RedisTLS are the files of connections to a rediss:// Redis, as PEM. The zero value
// trusts what the system trusts and shows no certificate.
type RedisTLS struct {
	CA   string // certificates of who may sign that of a server; the system's if empty
	Cert string // what the server is shown, if it asks who we are; together with Key
	Key  string
}

// Check reads the files, and says what is wrong with which of them.
func (f RedisTLS) Check() error {
	_, err := f.config()
	return err
}

// errHalfPair is what a certificate is without its key, and the other way about.
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

// dialer dials with TLS. The files are read again for every connection, so that renewed
// ones need no restart; while they cannot be read, or do not fit each other, because
// somebody is writing them, the last good ones are used. The server's name is that of
// the address which is dialled: go-redis would expect every node of a cluster, and
// the master of a Sentinel, to have the name of the first address of the URL.
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
			log.WarnContext(ctx, "the files of TLS to Redis cannot be read again; the last good ones are used", "err", err)
			c = good.Load()
		}
		good.Store(c)
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return (&tls.Dialer{Config: c}).DialContext(ctx, network, addr)
	}, nil
}

// IsTLS reports whether a URL asks for TLS.
func IsTLS(url string) bool {
	return strings.HasPrefix(url, "rediss://") || strings.HasPrefix(url, "rediss+")
}
