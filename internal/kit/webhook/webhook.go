// Package webhook implements the rules that senders and receivers of signed webhooks share:
// valid URLs, valid secrets and the signature of the body.
package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Header is the HTTP header that carries the signature of the body.
const Header = "Tandian-Signature"

// minSecret is the minimum secret length in bytes: 128 random bits resist any search.
const minSecret = 16

// Sign returns the lower-case hexadecimal HMAC-SHA256 of body (RFC 2104). It proves the author
// of the body, not its time: a receiver that must not act twice has to record its actions.
func Sign(secret, body []byte) string {
	return hex.EncodeToString(sum(secret, body))
}

// Verify reports whether signature is the signature of body. It compares in constant time.
func Verify(secret, body []byte, signature string) bool {
	given, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(sum(secret, body), given)
}

func sum(secret, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return mac.Sum(nil)
}

// CheckSecret returns an error if secret is too short to sign bodies. The error does not
// contain the secret.
func CheckSecret(secret string) error {
	if len(secret) < minSecret {
		return fmt.Errorf("the secret must have at least %d bytes", minSecret)
	}
	return nil
}

// CheckURL returns an error unless raw is a valid webhook address: https, or http to localhost
// or a loopback address, without user, password and fragment. The error does not contain any
// part of the URL.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("the URL is invalid") // err contains the whole URL
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the URL must begin with https://")
	case u.Hostname() == "" || !validPort(u.Port()):
		return errors.New("the URL must have a host, and a port of 1 to 65535 if any")
	case u.User != nil:
		return errors.New("the URL must not contain a user or password: the signature authenticates the caller")
	case strings.Contains(raw, "#"):
		return errors.New("the URL must not contain a fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("the URL must begin with https://; http is for loopback addresses only")
	}
	return nil
}

func validPort(port string) bool {
	if port == "" {
		return true
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}
