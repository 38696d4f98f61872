package account

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/e164"
)

// ErrInvalidPhone is the error of [ParsePhone].
var ErrInvalidPhone = errors.New("invalid phone number")

// A Phone is a telephone number in the form of ITU-T E.164, with a plus sign; "" is none.
//
// Formatting and logging mask it, and marshalling returns an error. Only [Phone.E164]
// returns the number. Exceptions are unexported fields of printed structs, keys of maps
// that become JSON, and the verbs %p and %w, which vet rejects.
type Phone string

// Limits of a number: bytes of input and digits.
const (
	maxPhoneInput = 256
	minDigits     = 8
	maxDigits     = e164.MaxDigits
)

// demoPrefix begins the numbers of demo accounts. The calling code 999 is unassigned,
// and no national number begins with 00.
const demoPrefix = "+99900"

// ParsePhone parses a number with its country code after a plus sign or 00. Mobile numbers
// of mainland China, eleven digits that begin with 13 to 19, need no plus sign and no 86.
// All spellings of a number return the same Phone, see [e164.Canonical]: trunk prefixes,
// separators, invisible characters and the script of the digits do not matter. It
// accepts tel: links. The error is [ErrInvalidPhone] and contains nothing of s.
func ParsePhone(s string) (Phone, error) {
	p, _, err := readPhone(s)
	return p, err
}

// readPhone returns the phone of the spelling s, and the number that earlier versions
// stored for s: all its digits. legacy is "" if they rejected s. It may be a number even
// if the error is [ErrInvalidPhone].
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

// withCountry returns digits, which had no plus sign, with the country code. It rejects a
// mainland number after 00 without 86, because it would become a North American one.
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

func (p Phone) demo() bool { return strings.HasPrefix(string(p), demoPrefix) }

// callingCode returns the calling code of p, or "" for a demo account.
func (p Phone) callingCode() string { return e164.CallingCode(string(p)) }

// mainland reports whether digits are 86 and a mobile number of mainland China.
func mainland(digits string) bool {
	return len(digits) == 13 && strings.HasPrefix(digits, "861") && digits[3] >= '3' && digits[3] <= '9'
}

// E164 returns the number unmasked, for storage and calls.
func (p Phone) E164() string { return string(p) }

// Masked returns the masked number: 138****5678 in mainland China, elsewhere up to four
// digits at each end (+4479****1234). Four stars hide at least four digits. It returns ""
// for no number.
func (p Phone) Masked() string {
	const stars = "****"
	digits, ok := strings.CutPrefix(string(p), "+")
	switch {
	case p == "":
		return ""
	case !ok || len(digits) < minDigits: // not from ParsePhone
		return stars
	case mainland(digits):
		return digits[2:5] + stars + digits[9:]
	}
	shown := min(len(digits)-4, 8)
	first, last := shown/2, (shown+1)/2
	return "+" + digits[:first] + stars + digits[len(digits)-last:]
}

// String returns the masked number.
func (p Phone) String() string { return p.Masked() }

// LogValue returns the masked number.
func (p Phone) LogValue() slog.Value { return slog.StringValue(p.Masked()) }

// Format prints the masked number for every verb.
func (p Phone) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), p.Masked())
}

// MarshalText returns an error: the output would either reveal the number, or be taken
// for one when it is masked.
func (p Phone) MarshalText() ([]byte, error) {
	return nil, errors.New("marshal phone: use E164 or Masked")
}
