package account

import (
	"crypto/sha256"
	"encoding/base64"
)

// keys names what this room keeps in the state Redis. What is in braces is the
// hash tag: the keys of one phone lie in one slot.
type keys struct{ prefix string }

// session is the hash of a live session, or the mark of one that ended. It
// lives for 36 hours from the last use, the mark for a minute. A lost one is
// read back from its row.
func (k keys) session(id string) string { return k.prefix + ":session:{" + id + "}" }

// code is the hash of a phone's login code and the guesses at it. It lives for
// five minutes. Nothing rebuilds it: the user asks for another one.
func (k keys) code(p Phone) string { return k.prefix + ":code:{" + ofPhone(p) + "}" }

// codePause is there for a minute after a code was sent to a phone.
func (k keys) codePause(p Phone) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}:pause"
}

// codeDay counts the codes for a phone since the first one of a day. Nothing
// rebuilds this counter and those below: a Redis that was lost gives a few
// tries more.
func (k keys) codeDay(p Phone) string { return k.prefix + ":code-limit:{" + ofPhone(p) + "}:day" }

// codeAddress counts the codes asked for from a client address in an hour.
func (k keys) codeAddress(address string) string {
	return k.prefix + ":code-limit:{" + digest("address", address) + "}:address"
}

// codeHour counts the codes of the whole installation in an hour.
func (k keys) codeHour() string { return k.prefix + ":code-limit:hour" }

// loginAddress counts the tries to log in from a client address in an hour.
func (k keys) loginAddress(address string) string {
	return k.prefix + ":login-limit:{" + digest("address", address) + "}"
}

// passwordTries counts the tries at a phone's password since the first one of a
// quarter of an hour, or since it was right.
func (k keys) passwordTries(p Phone) string {
	return k.prefix + ":password-tries:{" + ofPhone(p) + "}"
}

// passwordSets counts how often a user set a password in an hour.
func (k keys) passwordSets(user int64) string {
	return k.prefix + ":password-sets:{" + decimal(user) + "}"
}

// ofPhone stands for a phone in keys. It keeps the number out of sight, not out
// of reach: numbers are few enough to try them all.
func ofPhone(p Phone) string { return digest("phone", p.E164()) }

func digest(kind, text string) string {
	sum := sha256.Sum256([]byte(kind + ":" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
