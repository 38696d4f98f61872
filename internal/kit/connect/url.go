package connect

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// EscapeHint explains how to escape a user and a password in a URL.
const EscapeHint = "escape / ? # and @ in a password as %2F %3F %23 and %40"

// SplitsPassword reports whether an unescaped / ? or # in the password of u was parsed as the end of
// its host. If so, errors must not contain any part of u.
func SplitsPassword(u *url.URL) bool {
	return strings.Contains(u.EscapedPath()+"?"+u.RawQuery, "@") || u.Fragment != ""
}

// minSecretLen is the minimum length of a secret to search for. Shorter ones occur in many words by
// chance.
const minSecretLen = 4

// ParseError returns the error of parse for u, without secrets. Parsers quote their input, so it
// parses a copy without secrets. If the error text still contains one, it is cut at the ": " before.
func ParseError[T any](u *url.URL, parse func(string) (T, error)) error {
	safe, secrets := withoutSecrets(u)
	var shown []string
	if _, err := parse(safe.String()); err != nil {
		for part := range strings.SplitSeq(err.Error(), ": ") {
			if containsSecret(part, secrets) {
				break
			}
			shown = append(shown, part)
		}
	}
	if len(shown) == 0 {
		return errors.New("malformed URL")
	}
	return errors.New(strings.Join(shown, ": "))
}

// withoutSecrets returns a copy of u without its secrets, and those secrets.
func withoutSecrets(u *url.URL) (safe *url.URL, secrets []string) {
	c := *u
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
		c.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	query := u.Query()
	for key, values := range query {
		name := strings.ToLower(key)
		if strings.Contains(name, "password") || name == "sslkey" {
			secrets = append(secrets, values...)
			query.Del(key)
		}
	}
	c.RawQuery = query.Encode()
	return &c, secrets
}

// containsSecret reports whether text contains one of the secrets, plain or escaped.
func containsSecret(text string, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(secret string) bool {
		return len(secret) >= minSecretLen && (strings.Contains(text, secret) ||
			strings.Contains(text, url.QueryEscape(secret)) || strings.Contains(text, url.PathEscape(secret)))
	})
}
