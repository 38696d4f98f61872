// Package connect waits for stores that are starting, and formats errors of their URLs without
// passwords.
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

const tryTimeout = 15 * time.Second // of one ping

// Await calls ping until it succeeds or ctx ends, with pauses that grow to two seconds. It calls
// report with each error. If remedy returns true, waiting cannot help: Await returns at once and
// appends the advice to the error.
func Await(ctx context.Context, name string, ping func(context.Context) error, remedy func(error) (string, bool), report func(error)) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		err := ping(try)
		cancel()
		if err == nil {
			return nil
		}
		if advice, ok := remedy(err); ok {
			return fmt.Errorf("connect to %s: %w%s", name, err, advice)
		}
		report(err)
		if clock.Sleep(ctx, pause) != nil {
			return fmt.Errorf("%s does not answer: %w", name, err)
		}
	}
}

// TLSRemedy reports whether err is caused by a certificate or a key, so that retrying cannot help.
// The advice is appended to the error text and may be empty.
func TLSRemedy(err error) (advice string, ok bool) {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "; name the CA of the server's certificate", true
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
