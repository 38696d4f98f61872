// Package e164 parses telephone numbers and returns their canonical ITU-T E.164 form, so
// that two spellings of a number compare as equal.
//
// The numbering plans come from libphonenumber. Two countries need corrections, see
// [Canonical]. There is no default country: callers add the country code.
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

// ErrInvalid reports that a text is not a telephone number.
var ErrInvalid = errors.New("invalid telephone number")

// MaxDigits is the maximum number of digits in E.164.
const MaxDigits = 15

// maxWritten is the maximum number of digits of the input: a number with the trunk and
// carrier prefixes of its country.
const maxWritten = 20

// Canonical returns the canonical form of a number: a plus sign, the calling code and the
// national number without trunk, carrier and service prefixes. digits are a calling code and
// a number.
//
// Zeros that are part of a number stay, as in Italy. Mexico's 1 after +52 is removed: it was
// dialled for mobile phones until 2019. Argentina's 9 after +54 is added where the number can
// be a mobile one. Calls need it and messages do not, so both forms are in use.
//
// It returns [ErrInvalid] for an unknown calling code, and for a number outside the plan of
// its country. It accepts a number in a range newer than the plan of this release if it
// looks like a mobile number there.
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

// reduce removes one prefix per round until nothing changes. It returns nil for a number
// that does not become stable.
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
	mexican   = regexp.MustCompile(`^(?:0?1|04[45])([2-9]\d{9})$`) //nolint:gochecknoglobals // constant
	argentine = regexp.MustCompile(`^[1-9]\d{9}$`)                 //nolint:gochecknoglobals // constant
)

// adjust applies the corrections that the library lacks.
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

// plausible reports whether a number in no known range has the form of a mobile number of
// its country. Countries open ranges faster than this package is released.
func plausible(n *phonenumbers.PhoneNumber) bool {
	national := phonenumbers.GetNationalSignificantNumber(n)
	region := phonenumbers.GetRegionCodeForCountryCode(int(n.GetCountryCode()))
	example := phonenumbers.GetExampleNumberForType(region, phonenumbers.MOBILE)
	if example == nil || len(phonenumbers.GetNationalSignificantNumber(example)) != len(national) {
		return false
	}
	plans, err := phonenumbers.MetadataCollection()
	if err != nil {
		return false // cannot happen: the library loads it at start
	}
	for _, plan := range plans.GetMetadata() {
		if plan.GetId() == region {
			form, err := regexp.Compile("^(?:" + plan.GetGeneralDesc().GetNationalNumberPattern() + ")$")
			return err == nil && form.MatchString(national)
		}
	}
	return false
}

// trunkPrefixes returns the digits that some users write between a calling code and a
// number. It adds some to those of the library for the countries of the code.
func trunkPrefixes(code string) []string {
	prefixes := map[string][]string{
		mexico: {"1", "01", "044", "045"},
		"370":  {"8"}, // Lithuania, until 2024
		"375":  {"80"},
	}[code]
	calling, _ := strconv.Atoi(code) // only digits
	for _, region := range phonenumbers.GetRegionCodesForCountryCode(calling) {
		if prefix := phonenumbers.GetNddPrefixForRegion(region, true); prefix != "" && !slices.Contains(prefixes, prefix) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}

// Spellings returns other spellings of a canonical number, with a plus sign and at most
// [MaxDigits] digits: those with redundant prefixes that are in use. It returns the common
// ones, not all that [Canonical] accepts.
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

// CallingCode returns the calling code of a number with a plus sign, or "" if it is unknown.
func CallingCode(number string) string {
	digits := strings.TrimPrefix(number, "+")
	for n := 1; n <= 3 && n < len(digits); n++ {
		if known(digits[:n]) { // no code is a prefix of another one
			return digits[:n]
		}
	}
	return ""
}

// ParseCallingCode parses a calling code such as 86 or +86.
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
