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

// code is the hash of a phone's login code, with the guesses at it. It lives for five
// minutes. A known device has a code of its own. Nothing rebuilds it: the user asks
// for another one.
func (k keys) code(p Phone, device int64) string {
	return k.prefix + ":code:{" + ofPhone(p) + "}" + ofDevice(device)
}

// codePause is there for a minute after a code was sent to a phone. A known device
// has a pause of its own.
func (k keys) codePause(p Phone, device int64) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}" + ofDevice(device) + ":pause"
}

// codeDay counts the codes of a day for a phone, except those for known devices. Each
// of these has a counter of its own. Nothing rebuilds this counter and those below:
// a Redis that was lost gives a few tries more.
func (k keys) codeDay(p Phone, device int64) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}" + ofDevice(device) + ":day"
}

// codeNetworkDay counts the codes of a day for a phone that one network asked for.
func (k keys) codeNetworkDay(p Phone, network string) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}" + ofNetwork(network) + ":day"
}

// codeGuesses counts the guesses of a day at codes of a phone, except those of known
// devices at their own codes.
func (k keys) codeGuesses(p Phone) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}:guesses"
}

// codeAddress counts the codes that a network asked for in an hour. narrow is a
// network inside of it, or "".
func (k keys) codeAddress(network, narrow string) string {
	return k.prefix + ":code-limit:{" + digest("address", network) + "}:address" + within(narrow)
}

// codeHour counts the codes of the whole installation in an hour.
func (k keys) codeHour() string { return k.prefix + ":code-limit:hour" }

// guessHour counts the wrong codes of the whole installation in an hour, except those
// of known devices.
func (k keys) guessHour() string { return k.prefix + ":code-limit:guesses-hour" }

// loginAddress counts the login attempts of a network in an hour. narrow is a network
// inside of it, or "".
func (k keys) loginAddress(network, narrow string) string {
	return k.prefix + ":login-limit:{" + digest("address", network) + "}" + ofNetwork(narrow)
}

// passwordTries counts the password attempts of an hour at a phone, from all networks.
func (k keys) passwordTries(p Phone) string {
	return k.prefix + ":password-tries:{" + ofPhone(p) + "}"
}

// passwordNetwork counts the password attempts of a network at a phone in a quarter of
// an hour, or since the right one.
func (k keys) passwordNetwork(p Phone, network string) string {
	return k.passwordTries(p) + ofNetwork(network)
}

// passwordDevice counts the password attempts of a known device as passwordNetwork does.
func (k keys) passwordDevice(p Phone, device int64) string {
	return k.passwordTries(p) + ofDevice(device)
}

// passwordSets counts how often a user set a password in an hour.
func (k keys) passwordSets(user int64) string {
	return k.prefix + ":password-sets:{" + decimal(user) + "}"
}

// ofPhone stands for a phone in keys. It keeps the number out of sight, not out
// of reach: numbers are few enough to try them all.
func ofPhone(p Phone) string { return digest("phone", p.E164()) }

// ofDevice is the part of a key that names a known device, "" for none.
func ofDevice(id int64) string {
	if id == 0 {
		return ""
	}
	return ":device:" + decimal(id)
}

// ofNetwork is the part of a key that names a network, "" for none.
func ofNetwork(network string) string {
	if network == "" {
		return ""
	}
	return ":network" + within(network)
}

func within(network string) string {
	if network == "" {
		return ""
	}
	return ":" + digest("address", network)
}

func digest(kind, text string) string {
	sum := sha256.Sum256([]byte(kind + ":" + text))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
