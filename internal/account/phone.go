package account

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// ErrPhone is what [ParsePhone] says of everything that is no phone number.
var ErrPhone = errors.New("no phone number")

// A Phone is a telephone number as ITU-T E.164 writes it, with a plus sign;
// "" is none.
//
// It does not give itself away: printed or logged it is masked, and it refuses
// to be marshalled. Only [Phone.E164] says the number. Out of its reach are an
// unexported field of a struct that is printed, a key of a map that becomes
// JSON, and the verbs %p and %w, which vet refuses.
type Phone string

// Bounds of a number: what is read, and the digits of E.164.
const (
	maxPhoneInput = 64 // bytes
	minDigits     = 8
	maxDigits     = 15
)

// ParsePhone reads a number as people write it: with its country code after a
// plus sign, or in mainland China as eleven digits that begin with 13 to 19,
// alone or after 86 or 0086. Spaces, dashes, dots and parentheses do not
// count, and full-width characters are read as the plain ones. The error is
// [ErrPhone], and shows nothing of s.
func ParsePhone(s string) (Phone, error) {
	if len(s) > maxPhoneInput {
		return "", ErrPhone
	}
	s = strings.Map(digitsAndRest, norm.NFKC.String(s))
	digits, international := strings.CutPrefix(s, "+")
	if strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", ErrPhone
	}
	if !international {
		if len(digits) == 11 {
			digits = "86" + digits
		}
		if digits = strings.TrimPrefix(digits, "00"); !mainland(digits) {
			return "", ErrPhone
		}
	}
	if len(digits) < minDigits || len(digits) > maxDigits || digits[0] == '0' ||
		strings.HasPrefix(digits, "861") && !mainland(digits) {
		return "", ErrPhone
	}
	return Phone("+" + digits), nil
}

// digitsAndRest drops what people put between digits.
func digitsAndRest(r rune) rune {
	if unicode.IsSpace(r) || unicode.Is(unicode.Pd, r) || strings.ContainsRune("\u2212.()", r) { // \u2212 is the minus sign
		return -1
	}
	return r
}

// mainland reports whether digits are 86 and a mobile number of mainland China.
func mainland(digits string) bool {
	return len(digits) == 13 && strings.HasPrefix(digits, "861") && digits[3] >= '3' && digits[3] <= '9'
}

// E164 is the number itself, for those who have to store or to call it.
func (p Phone) E164() string { return string(p) }

// Masked is the number as its owner recognises it: 138****5678 in mainland
// China, elsewhere up to four digits at each end (+4479****1234). At least four
// digits are hidden, behind four stars whatever their number. It is "" for no
// number.
func (p Phone) Masked() string {
	const stars = "****"
	digits, ok := strings.CutPrefix(string(p), "+")
	switch {
	case p == "":
		return ""
	case !ok || len(digits) < minDigits: // not made by ParsePhone
		return stars
	case mainland(digits):
		return digits[2:5] + stars + digits[9:]
	}
	shown := min(len(digits)-4, 8)
	first, last := shown/2, (shown+1)/2
	return "+" + digits[:first] + stars + digits[len(digits)-last:]
}

// String is the masked number.
func (p Phone) String() string { return p.Masked() }

// LogValue is the masked number.
func (p Phone) LogValue() slog.Value { return slog.StringValue(p.Masked()) }

// Format prints the masked number, whatever the verb.
func (p Phone) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), p.Masked())
}

// MarshalText returns an error: a masked number would be stored as if it were
// one, and the number itself shown.
func (p Phone) MarshalText() ([]byte, error) {
	return nil, errors.New("a phone number is not marshalled as it is: say E164 or Masked")
}
