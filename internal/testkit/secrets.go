package testkit

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Secrets collects tokens, codes and passwords that no log may contain. The zero value is empty. It
// is safe for concurrent use.
type Secrets struct {
	mu      sync.Mutex
	secrets map[string]bool
}

// Add records a secret, unless it is "".
func (s *Secrets) Add(secret string) {
	if secret == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.secrets == nil {
		s.secrets = map[string]bool{}
	}
	s.secrets[secret] = true
}

// secretPattern matches phone numbers in E.164 or of mainland China, and URLs with a password.
var secretPattern = regexp.MustCompile(`\+[1-9]\d{7,14}\b|\b(?:86)?1[3-9]\d{9}\b|://[^\s:/@"]*:[^\s@"]+@`)

// word matches words. A token or its hash is a word of 43 characters: 256 bits in base64url.
var word = regexp.MustCompile(`[A-Za-z0-9_-]+`)

func hasToken(line string) bool {
	for _, w := range word.FindAllString(line, -1) {
		if len(w) == 43 && !strings.HasPrefix(w, "Test") { // "Test…" is the directory of a test
			return true
		}
	}
	return false
}

// Leaks returns the lines of a log that contain a collected secret, a phone number, a token or a URL
// with a password.
func (s *Secrets) Leaks(log string) (lines []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var shown []*regexp.Regexp // only of leaked secrets: a pattern of all would take seconds for a long log
	for secret := range s.secrets {
		if !strings.Contains(log, secret) {
			continue
		}
		pattern := regexp.QuoteMeta(secret)
		if strings.Trim(secret, "0123456789") == "" { // a code, which may be part of a longer number by chance
			pattern = `\b` + pattern + `\b`
		}
		shown = append(shown, regexp.MustCompile(pattern))
	}
	hasSecret := func(line string) bool {
		return slices.ContainsFunc(shown, func(r *regexp.Regexp) bool { return r.MatchString(line) })
	}
	for line := range strings.Lines(log) {
		if secretPattern.MatchString(line) || hasToken(line) || hasSecret(line) {
			lines = append(lines, line)
		}
	}
	return lines
}
