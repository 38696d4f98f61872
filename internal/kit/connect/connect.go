// Package connect waits for stores that are starting, and removes secrets from errors of their
// URLs.
package connect

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"time"

	"github.com/lib/pq"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const pingTimeout = 15 * time.Second

// Await calls ping until it succeeds or ctx ends, with pauses that grow from 100 ms to 2 s. A ping
// may take 15 s. If remedy returns true for an error, waiting cannot help: Await returns it at once,
// with the advice appended. It passes other errors to report.
func Await(ctx context.Context, name string, ping func(context.Context) error, remedy func(error) (string, bool), report func(error)) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		pingCtx, cancel := context.WithTimeout(ctx, pingTimeout)
		err := ping(pingCtx)
		cancel()
		if err == nil {
			return nil
		}
		if advice, ok := remedy(err); ok {
			return fmt.Errorf("connect to %s: %w%s", name, err, advice)
		}
		report(err)
		if clock.Sleep(ctx, pause) != nil {
			return fmt.Errorf("%s does not respond: %w", name, err)
		}
	}
}

// TLSRemedy reports whether err is a TLS error that retrying cannot fix, such as a wrong certificate
// or a missing key file. The advice continues the error text and may be empty.
func TLSRemedy(err error) (advice string, ok bool) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "; set the CA of the server's certificate", true
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "; use the host name that the server's certificate has", true
	}
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	_, refused := errors.AsType[tls.AlertError](err)
	_, file := errors.AsType[*fs.PathError](err)
	_, network := errors.AsType[*net.OpError](err)
	missing := file && !network || errors.Is(err, pq.ErrSSLKeyHasWorldPermissions) || errors.Is(err, pq.ErrSSLKeyUnknownOwnership)
	return "", invalid || unverified || plain || refused || missing
}
