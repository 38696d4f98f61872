// Package e164 reads telephone numbers as people write them and returns the one
// spelling of ITU-T E.164, so that two spellings of a number compare as equal.
//
// The numbering plans come from libphonenumber. Two countries need more than it
// does, see [Canonical]. Nothing here knows mainland China as a default country:
// callers put the country code in front.
package e164

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// ErrInvalid is the error for everything that cannot be a telephone number.
var ErrInvalid = errors.New("invalid telephone number")

// MaxDigits is the number of digits that E.164 allows.
const MaxDigits = 15

// maxWritten is the number of digits that are read: a number with the trunk and
// carrier prefixes of its country in front.
const maxWritten = 20

// Canonical returns the one spelling of a number: a plus sign, the calling code
// and the national number without trunk, carrier and service prefixes. It takes
// a calling code and the digits behind it.
//
// Zeros that belong to a number stay, as in Italy. Mexico's 1 behind +52 goes,
// which was only dialled for mobile phones until 2019. Argentina's 9 behind +54
// is put where the number can be a mobile one: calls need it and messages do
// not, so people write both.
//
// It returns [ErrInvalid] for an unknown calling code, and for a number that the
// plan of its country has no room for. A number in a range that is newer than
// the plan of this release is accepted if it looks like a mobile number there.
func Canonical(digits string) (string, error) {
	if digits == "" || len(digits) > maxWritten || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", ErrInvalid
	}
	n, digits := reduce(digits)
	if n == nil || len(digits) > MaxDigits || !phonenumbers.IsValidNumber(n) && !plausible(n) {
		return "", ErrInvalid
	}
	return "+" + digits, nil
}

// reduce removes prefixes, one in each round, until nothing changes. A number that
// changes for ever is none: nil.
func reduce(digits string) (*phonenumbers.PhoneNumber, string) {
	for range 4 {
		n, err := phonenumbers.Parse("+"+digits, "")
		if err != nil {
			return nil, ""
		}
		next := adjust(strings.TrimPrefix(phonenumbers.Format(n, phonenumbers.E164), "+"))
		if next == digits {
			return n, digits
		}
		digits = next
	}
	return nil, ""
}

const mexico, argentina = "52", "54"

var (
	mexican   = regexp.MustCompile(`^(?:0?1|04[45])([2-9]\d{9})$`) //nolint:gochecknoglobals // a constant that Go cannot say
	argentine = regexp.MustCompile(`^[1-9]\d{9}$`)                 //nolint:gochecknoglobals // a constant that Go cannot say
)

// adjust does what the library leaves undone.
func adjust(digits string) string {
	if national, ok := strings.CutPrefix(digits, mexico); ok {
		if m := mexican.FindStringSubmatch(national); m != nil {
			return mexico + m[1]
		}
	}
	if national, ok := strings.CutPrefix(digits, argentina); ok && argentine.MatchString(national) {
		mobile := argentina + "9" + national
		if n, err := phonenumbers.Parse("+"+mobile, ""); err == nil && phonenumbers.IsValidNumber(n) {
			return mobile
		}
	}
	return digits
}

// plausible reports whether a number that is in no known range has the form of a
// mobile number of its country: ranges are opened faster than releases are made.
func plausible(n *phonenumbers.PhoneNumber) bool {
	national := phonenumbers.GetNationalSignificantNumber(n)
	region := phonenumbers.GetRegionCodeForCountryCode(int(n.GetCountryCode()))
	example := phonenumbers.GetExampleNumberForType(region, phonenumbers.MOBILE)
	if example == nil || len(phonenumbers.GetNationalSignificantNumber(example)) != len(national) {
		return false
	}
	plans, err := phonenumbers.MetadataCollection()
	if err != nil {
		return false // it was read when the process started
	}
	for _, plan := range plans.GetMetadata() {
		if plan.GetId() == region {
			form, err := regexp.Compile("^(?:" + plan.GetGeneralDesc().GetNationalNumberPattern() + ")$")
			return err == nil && form.MatchString(national)
		}
	}
	return false
}

// trunkPrefixes are digits that people write between a calling code and a number:
// those that the library names for the countries of the code, and others.
func trunkPrefixes(code string) []string {
	prefixes := map[string][]string{
		mexico: {"1", "01", "044", "045"},
		"370":  {"8"}, // Lithuania, until 2024
		"375":  {"80"},
	}[code]
	calling, _ := strconv.Atoi(code) // it has digits alone
	for _, region := range phonenumbers.GetRegionCodesForCountryCode(calling) {
		if prefix := phonenumbers.GetNddPrefixForRegion(region, true); prefix != "" && !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// Spellings returns other spellings of a canonical number, with a plus sign and at
// most [MaxDigits] digits: those with the prefixes that people write although they
// do not belong to it. It knows the common ones, not all that [Canonical] accepts.
func Spellings(number string) []string {
	code := CallingCode(number)
	if code == "" {
		return nil
	}
	national := number[len("+")+len(code):]
	var written []string
	add := func(national string) {
		if digits := code + national; len(digits) <= MaxDigits && "+"+digits != number {
			if _, same := reduce(digits); "+"+same == number {
				written = append(written, "+"+digits)
			}
		}
	}
	for _, prefix := range trunkPrefixes(code) {
		add(prefix + national)
	}
	if mobile, ok := strings.CutPrefix(national, "9"); ok && code == argentina {
		add(mobile)
		add("0" + mobile)
		for area := 2; area <= 4 && area < len(mobile); area++ {
			add(mobile[:area] + "15" + mobile[area:])
			add("0" + mobile[:area] + "15" + mobile[area:])
		}
	}
	return written
}

// CallingCode returns the calling code of a number with a plus sign, or "" if it
// has none that exists.
func CallingCode(number string) string {
	digits := strings.TrimPrefix(number, "+")
	for n := 1; n <= 3 && n < len(digits); n++ {
		if known(digits[:n]) { // no code is the beginning of another one
			return digits[:n]
		}
	}
	return ""
}

// ParseCallingCode reads a calling code such as 86 or +86.
func ParseCallingCode(s string) (string, error) {
	code := strings.TrimPrefix(strings.TrimSpace(s), "+")
	if !known(code) {
		return "", fmt.Errorf("unknown calling code %q (want one such as 86)", s)
	}
	return code, nil
}

func known(code string) bool {
	n, err := strconv.Atoi(code)
	return err == nil && strconv.Itoa(n) == code && phonenumbers.GetSupportedCallingCodes()[n]
}
