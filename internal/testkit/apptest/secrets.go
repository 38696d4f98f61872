package apptest

import (
	"regexp"
	"strings"
	"sync"
)

// secrets are what a test heard that no log may show: tokens, codes,
// passwords. Every server's log is searched for them when its test ends, and
// for whatever looks like a phone number, a token or a login in a URL.
type secrets struct {
	mu    sync.Mutex
	heard []string
}

func (s *secrets) add(secret string) {
	if secret == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, secret)
}

// suspicious is what looks like a secret: a phone number in E.164, one of
// mainland China, 256 bits in base64url (a token, or its hash), a URL with a
// password.
var suspicious = regexp.MustCompile(`\+[1-9]\d{7,14}\b|\b(?:86)?1[3-9]\d{9}\b|(?:^|[^A-Za-z0-9_-])[A-Za-z0-9_-]{43}(?:$|[^A-Za-z0-9_-])|://[^\s:/@"]*:[^\s@"]+@`)

// leaks are the lines of a log that show a secret.
func (s *secrets) leaks(log string) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := make([]string, len(s.heard))
	for i, word := range s.heard {
		words[i] = `\b` + regexp.QuoteMeta(word) + `\b`
		if strings.Trim(word, "0123456789") != "" { // not a code, so no number by chance
			words[i] = regexp.QuoteMeta(word)
		}
	}
	heard := regexp.MustCompile(strings.Join(words, "|"))
	for line := range strings.Lines(log) {
		if suspicious.MatchString(line) || len(words) > 0 && heard.MatchString(line) {
			lines = append(lines, line)
		}
	}
	return lines
}
