package e164

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Digits returns the digits of a text, in ASCII. It drops spaces, dashes, brackets, quotation
// marks, other separators and invisible characters. It reports false for all other
// characters, such as a letter, a comma or a plus sign.
func Digits(s string) (digits string, ok bool) {
	var b strings.Builder
	for _, r := range norm.NFKC.String(s) {
		switch digit, isDigit := text.Digit(r); {
		case isDigit:
			b.WriteByte(digit)
		case !separates(r) && !invisible(r):
			return "", false
		}
	}
	return b.String(), true
}

// Unwrap returns the number of a link such as tel:+8613800138005, or the text itself. plus
// reports whether the first visible character is a plus sign; dialled is then the text after
// it.
//
// A local number of a tel: link gets the calling code of its phone-context. ok is false for
// all other parameters: for example, an extension cannot receive a code.
func Unwrap(s string) (dialled string, plus, ok bool) {
	s = trimIgnored(norm.NFKC.String(s))
	scheme, rest, found := strings.Cut(s, ":")
	if found && slices.Contains([]string{"tel", "sms", "smsto", "callto"}, strings.ToLower(trimIgnored(scheme))) {
		link, err := url.PathUnescape(rest)
		if err != nil {
			return "", false, false
		}
		number, parameters, _ := strings.Cut(link, ";")
		if s = trimIgnored(norm.NFKC.String(number)); parameters != "" {
			context, ok := strings.CutPrefix(parameters, "phone-context=")
			if !ok || !strings.HasPrefix(context, "+") || strings.HasPrefix(s, "+") {
				return "", false, false
			}
			s = context + s
		}
	}
	dialled, plus = strings.CutPrefix(s, "+")
	return dialled, plus, true
}

// trimIgnored removes leading separators and invisible characters.
func trimIgnored(s string) string {
	return strings.TrimLeftFunc(s, func(r rune) bool { return separates(r) || invisible(r) })
}

// separates reports whether r is a separator around or between digits. A comma, a semicolon,
// an asterisk and a hash are not: they have a meaning in dialling.
func separates(r rune) bool {
	return unicode.IsSpace(r) || unicode.In(r, unicode.Zs, unicode.Pd, unicode.Ps, unicode.Pe, unicode.Pi, unicode.Pf, unicode.Pc) ||
		strings.ContainsRune(`./\|'"`+"`", r) ||
		strings.ContainsRune("\u00b7\u2022\u2027\u2043\u2044\u2215\u2219\u22c5\u25cf\u25e6\u3002\u30fb", r) || // dots and slashes
		strings.ContainsRune("~\u02d7\u2053\u2212\u223c\u2500\u30fc", r) // tildes and lines
}

// invisible reports whether r has no width. It includes the keycap of an emoji, which follows
// its digit.
func invisible(r rune) bool { return text.IsIgnorable(r) || r == '\u2800' || r == '\u20e3' }
