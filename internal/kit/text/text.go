// Package text makes what people and files write fit to store and to show.
package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Line is s in one line: composed (NFC), without control characters or marks
// that reorder or hide text, trimmed, every run of spaces one space.
func Line(s string) string {
	return norm.NFC.String(strings.Join(strings.Fields(shown(s)), " "))
}

// Paragraphs is s with its lines: each of them as [Line] makes it, at most one
// empty line in a row, none at the ends.
func Paragraphs(s string) string {
	var kept []string
	for line := range strings.SplitSeq(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n").Replace(s), "\n") {
		if line = Line(line); line != "" || len(kept) > 0 && kept[len(kept)-1] != "" {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, "\n"), "\n")
}

// Blank reports whether nothing of s would be seen: it is empty, or spaces,
// control characters, joiners and fillers alone.
func Blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Mn, r) && !empty(r)
	})
}

// IsIgnorable reports characters that have no shape of their own: joiners, marks
// of direction, soft hyphens, selectors of variants and fillers.
func IsIgnorable(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// empty reports letters and signs that are there to show nothing: the fillers
// of Hangul and Braille's blank.
func empty(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0', '\u2800':
		return true
	}
	return false
}

// HasControl reports whether s has control characters (Unicode's Cc) other than line
// ends and tabs: for texts that are refused with them. [Line] and [Paragraphs] drop them.
func HasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	})
}

// Len is the number of characters of s.
func Len(s string) int { return utf8.RuneCountInString(s) }

// Truncate shortens a clean text to at most most characters and reports whether it
// had to.
func Truncate(s string, most int) (string, bool) {
	if len(s) <= most || Len(s) <= most {
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

// shown is s without what is never shown, and with plain spaces.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), hides(r):
			return -1
		}
		return r
	}, s)
}

// hides reports marks that have no place in a text: directional overrides and
// isolates, the zero-width space and the byte order mark. The joiners stay,
// because names in some scripts and emoji need them.
func hides(r rune) bool {
	return r == '\u200b' || r == '\ufeff' ||
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}
