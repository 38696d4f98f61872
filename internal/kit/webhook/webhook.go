// Package webhook is what the sender and the receiver of a signed webhook
// agree on: where one may be sent, and how its body is signed.
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

// minSecret is the fewest bytes of a secret: nobody searches through 128
// random bits.
const minSecret = 16

// Sign returns the lower-case hexadecimal HMAC-SHA256 of body (RFC 2104). It
// says who wrote the body, not when: a receiver that must not act twice has to
// remember what it has done.
func Sign(secret, body []byte) string {
	return hex.EncodeToString(sum(secret, body))
}

// Verify reports whether signature is that of body. How long it takes says
// nothing about the right signature.
func Verify(secret, body []byte, signature string) bool {
	given, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(sum(secret, body), given)
}

func sum(secret, body []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return mac.Sum(nil)
}

// CheckSecret returns what is wrong with a secret that bodies are to be signed
// with, without showing it.
func CheckSecret(secret string) error {
	if len(secret) < minSecret {
		return fmt.Errorf("the secret must have at least %d bytes", minSecret)
	}
	return nil
}

// CheckURL returns what is wrong with an address that webhooks are to be sent
// to. It is https, or http to this machine: a loopback address or localhost.
// It holds no user, no password and no fragment. The error shows no part of it.
func CheckURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("the URL cannot be read") // err has the whole of it in its text
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return errors.New("the URL must begin with https://")
	case u.Hostname() == "" || !validPort(u.Port()):
		return errors.New("the URL needs a host, and a port from 1 to 65535 if any")
	case u.User != nil:
		return errors.New("the URL must hold no user and no password: the signature says who calls")
	case strings.Contains(raw, "#"):
		return errors.New("the URL must hold no fragment")
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return errors.New("the URL must begin with https://; http is for this machine alone")
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
