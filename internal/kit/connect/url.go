package connect

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// EscapeHint says how a URL has the characters that end its user and password.
const EscapeHint = "in a password, / ? # and @ are written %2F %3F %23 and %40"

// SplitsPassword says whether a password with an unescaped / ? or # in it was taken
// for the host and what follows: then no part of u may be shown.
func SplitsPassword(u *url.URL) bool {
	return strings.Contains(u.EscapedPath()+"?"+u.RawQuery, "@") || u.Fragment != ""
}

// minShown is the length from which on a secret is looked for in a text. A shorter
// one is in many words by chance, and finding it there tells nothing.
const minShown = 4

// ParseError says what a library does not accept in u; parse is its function, whose
// errors quote what they read. It reads a copy without the password. Of a text that
// has the password for another reason, only the beginning is left.
func ParseError[T any](u *url.URL, parse func(string) (T, error)) error {
	safe, secrets := withoutSecrets(u)
	var shown []string
	if _, err := parse(safe.String()); err != nil {
		for part := range strings.SplitSeq(err.Error(), ": ") {
			if shows(part, secrets) {
				break
			}
			shown = append(shown, part)
		}
	}
	if len(shown) == 0 {
		return errors.New("it cannot be read")
	}
	return errors.New(strings.Join(shown, ": "))
}

// withoutSecrets returns a copy of u that has no password, and the values that it
// left out.
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

// shows reports whether a text has one of the secrets in it, as it is or escaped.
func shows(text string, secrets []string) bool {
	return slices.ContainsFunc(secrets, func(secret string) bool {
		return len(secret) >= minShown && (strings.Contains(text, secret) ||
			strings.Contains(text, url.QueryEscape(secret)) || strings.Contains(text, url.PathEscape(secret)))
	})
}
