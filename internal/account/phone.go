package account

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/e164"
)

// ErrInvalidPhone is what [ParsePhone] says of everything that is no phone number.
var ErrInvalidPhone = errors.New("no phone number")

// A Phone is a telephone number as ITU-T E.164 writes it, with a plus sign;
// "" is none.
//
// It does not give itself away: printed or logged it is masked, and it refuses
// to be marshalled. Only [Phone.E164] says the number. Out of its reach are an
// unexported field of a struct that is printed, a key of a map that becomes
// JSON, and the verbs %p and %w, which vet refuses.
type Phone string

// Bounds of a number: the bytes that are read, and the digits that it has.
const (
	maxPhoneInput = 256
	minDigits     = 8
	maxDigits     = e164.MaxDigits
)

// demoPrefix begins the numbers of demo accounts. No country has the calling code
// 999, and no national number begins with 00.
const demoPrefix = "+99900"

// ParsePhone reads a number as people write it: with its country code after a
// plus sign or 00, or in mainland China as eleven digits that begin with 13 to
// 19, alone or after 86. Every spelling of a number is the same Phone, see
// [e164.Canonical]: trunk prefixes, separators, characters that nobody sees and
// the script of the digits do not count, and tel: links are read. The error is
// [ErrInvalidPhone], and shows nothing of s.
func ParsePhone(s string) (Phone, error) {
	p, _, err := readPhone(s)
	return p, err
}

// readPhone returns the phone that s is a spelling of, and the number as earlier
// versions stored it for s: with all digits that were written. That is "" if
// they refused it, and may be a number although the error is [ErrInvalidPhone].
func readPhone(s string) (p, legacy Phone, err error) {
	if len(s) > maxPhoneInput {
		return "", "", ErrInvalidPhone
	}
	text, international, ok := e164.Unwrap(s)
	digits, clean := e164.Digits(text)
	if !ok || !clean {
		return "", "", ErrInvalidPhone
	}
	if !international {
		if digits, ok = withCountry(digits); !ok {
			return "", "", ErrInvalidPhone
		}
	}
	if len(digits) < minDigits || digits[0] == '0' {
		return "", "", ErrInvalidPhone
	}
	if len(digits) <= maxDigits && (mainland(digits) || !strings.HasPrefix(digits, "861")) {
		legacy = Phone("+" + digits)
	}
	if legacy.demo() {
		return legacy, legacy, nil
	}
	number, err := e164.Canonical(digits)
	if err != nil || len(number) <= minDigits || strings.HasPrefix(number, "+861") && !mainland(number[1:]) {
		return "", legacy, ErrInvalidPhone
	}
	return Phone(number), legacy, nil
}

// withCountry puts the country code in front of digits that were written without
// a plus sign. 00 and a number of mainland China without its code is refused: it
// would be a number of North America.
func withCountry(digits string) (string, bool) {
	abroad, found := strings.CutPrefix(digits, "00")
	switch {
	case mainland("86" + digits):
		return "86" + digits, true
	case found && !mainland("86"+abroad):
		return abroad, true
	}
	return digits, mainland(digits)
}

// demo reports whether p is a number of demo accounts.
func (p Phone) demo() bool { return strings.HasPrefix(string(p), demoPrefix) }

// callingCode is the calling code of p, "" of a demo account's.
func (p Phone) callingCode() string { return e164.CallingCode(string(p)) }

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
