// Package text cleans user input and file input for storage, display and search.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Line returns s as one line: composed (NFC), trimmed, without control characters and without
// characters that reorder or hide text. Each run of spaces becomes one space.
func Line(s string) string {
	return norm.NFC.String(strings.Join(strings.Fields(visible(s)), " "))
}

// Paragraphs returns the lines of s, each cleaned by [Line]. It removes empty lines at both
// ends and keeps at most one in a row.
func Paragraphs(s string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s), "\n") {
		if line = Line(line); line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// Blank reports whether s shows nothing: it is empty or has only spaces, control characters,
// nonspacing marks, joiners and fillers.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) && !isFiller(r)
	})
}

// IsIgnorable reports whether r has no shape of its own: joiners, direction marks, soft
// hyphens, variation selectors and fillers.
func IsIgnorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// isFiller reports whether r is a letter or sign that shows nothing: Hangul fillers, Braille
// blank.
func isFiller(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return true
	}
	return false
}

// HasControl reports whether s has control characters (Unicode's Cc) other than line ends and
// tabs. Use it to reject such texts; [Line] and [Paragraphs] remove them.
func HasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// Len returns the number of characters (code points) of s.
func Len(s string) int { return utf8.RuneCountInString(s) }

// Truncate shortens a cleaned text to limit characters. It reports whether s was longer.
func Truncate(s string, limit int) (string, bool) {
	if len(s) <= limit || Len(s) <= limit {
		return s, false
	}
	n := 0
	for i := range s {
		if n == limit {
			return strings.TrimRight(s[:i], " "), true
		}
		n++
	}
	return s, false
}

// visible returns s with plain spaces and without control and hidden characters.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), isHidden(r):
			return -1
		}
		return r
	}, s)
}

// isHidden reports whether r is a directional embedding, override or isolate, the zero-width
// space or the byte order mark. It excludes joiners: names in some scripts and emoji need them.
func isHidden(r rune) bool {
	return r == '\u200b' || r == '\ufeff' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
