package town

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// clean makes a text from elsewhere fit to store and to show: composed (NFC),
// in one line, without control characters or marks that reorder or hide text,
// trimmed, every run of spaces one space.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), hides(r):
			return -1
		}
		return r
	}, s)
	return norm.NFC.String(strings.Join(strings.Fields(s), " "))
}

// hides reports marks that have no place in a one-line text: directional
// overrides and isolates, the zero-width space and the byte order mark. The
// joiners stay, because names in some scripts and emoji need them.
func hides(r rune) bool {
	return r == '\u200b' || r == '\ufeff' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// cut shortens a clean text to at most most characters and reports whether it
// had to.
func cut(s string, most int) (string, bool) {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s, false
	}
	n := 0
	for i := range s {
		if n == most {
			return strings.TrimRight(s[:i], " "), true
		}
		n++
	}
	return s, false
}
