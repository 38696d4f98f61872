package account

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/tandian-dev/tandian/internal/kit/e164"
)

//go:embed common_passwords.txt
var commonText string

// commonPasswords returns the most common passwords in lower case, sorted by bytes.
var commonPasswords = sync.OnceValue(func() []string { return strings.Fields(commonText) }) //nolint:gochecknoglobals // read once

// weakness returns the reason why a password is easy to guess, for the user, or "".
func weakness(password string, own Phone) string {
	lower := strings.ToLower(password)
	_, listed := slices.BinarySearch(commonPasswords(), lower)
	switch {
	case listed:
		return "This password is too common. Choose another one."
	case isSequence(lower):
		return "Repeated or consecutive characters are too easy to guess. Choose another password."
	case spells(lower, own):
		return "Your phone number is too easy to guess. Choose another password."
	}
	return ""
}

// isSequence reports whether all steps between characters are equal: aaaaaaaa, 12345678,
// 87654321, abcdefgh. 0 follows 9.
func isSequence(s string) bool {
	letters := []rune(s)
	for _, step := range []rune{0, 1, -1} {
		follows := func(a, b rune) bool {
			return b-a == step || step == 1 && a == '9' && b == '0' || step == -1 && a == '0' && b == '9'
		}
		all := true
		for i := 1; i < len(letters) && all; i++ {
			all = follows(letters[i-1], letters[i])
		}
		if all {
			return true
		}
	}
	return false
}

// spells reports whether a password is a phone number in a usual spelling: with or without
// country code, trunk prefix and separators.
func spells(password string, p Phone) bool {
	digits, ok := e164.Digits(strings.TrimPrefix(password, "+"))
	if !ok || p == "" {
		return false
	}
	digits = strings.TrimLeft(digits, "0")
	whole := strings.TrimPrefix(p.E164(), "+")
	if code := p.callingCode(); digits == strings.TrimPrefix(whole, code) {
		return true
	}
	for _, number := range append(e164.Spellings(p.E164()), p.E164()) {
		if digits == strings.TrimPrefix(number, "+") {
			return true
		}
	}
	return false
}
