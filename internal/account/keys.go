package account

import (
	"crypto/sha256"
	"encoding/base64"
)

// keys builds the keys in the state Redis. Braces enclose the hash tag: all keys of one
// phone share a slot.
type keys struct{ prefix string }

// session is the hash of a live session, or the end mark of an ended one. It expires 36
// hours after the last use; the mark expires after a minute. The row rebuilds it.
func (k keys) session(id string) string { return k.prefix + ":session:{" + id + "}" }

// code is the hash of a phone's login code and its guesses, for five minutes. A known device has
// its own. Nothing rebuilds it: the user requests another code.
func (k keys) code(p Phone, device int64) string {
	return k.prefix + ":code:{" + ofPhone(p) + "}" + ofDevice(device)
}

// codePause exists for a minute after a code for a phone. A known device has its own pause.
func (k keys) codePause(p Phone, device int64) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}" + ofDevice(device) + ":pause"
}

// codeDay counts the codes of a day for a phone. Each known device has its own counter.
// Nothing rebuilds this counter and those below: a lost Redis permits a few more tries.
func (k keys) codeDay(p Phone, device int64) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}" + ofDevice(device) + ":day"
}

// codeNetworkDay counts the codes of a day for a phone, requested by one network.
func (k keys) codeNetworkDay(p Phone, network string) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}" + ofNetwork(network) + ":day"
}

// codeGuesses counts the day's guesses at codes of a phone, except at the codes of known devices.
func (k keys) codeGuesses(p Phone) string {
	return k.prefix + ":code-limit:{" + ofPhone(p) + "}:guesses"
}

// codeAddress counts the hourly codes of a network or, unless narrow is "", of narrow inside it.
func (k keys) codeAddress(network, narrow string) string {
	return k.prefix + ":code-limit:{" + digest("address", network) + "}:address" + within(narrow)
}

// codeHour counts the codes of the installation in an hour.
func (k keys) codeHour() string { return k.prefix + ":code-limit:hour" }

// guessHour counts the installation's wrong codes in an hour, except those of known devices.
func (k keys) guessHour() string { return k.prefix + ":code-limit:guesses-hour" }

// loginAddress is like codeAddress, for login attempts.
func (k keys) loginAddress(network, narrow string) string {
	return k.prefix + ":login-limit:{" + digest("address", network) + "}" + ofNetwork(narrow)
}

// passwordTries counts the password attempts of an hour at a phone, from all networks.
func (k keys) passwordTries(p Phone) string {
	return k.prefix + ":password-tries:{" + ofPhone(p) + "}"
}

// passwordNetwork counts the password attempts of a network at a phone, within 15
// minutes or since the last right password.
func (k keys) passwordNetwork(p Phone, network string) string {
	return k.passwordTries(p) + ofNetwork(network)
}

// passwordDevice is like passwordNetwork, for a known device.
func (k keys) passwordDevice(p Phone, device int64) string {
	return k.passwordTries(p) + ofDevice(device)
}

// passwordSets counts the password changes of a user in an hour.
func (k keys) passwordSets(user int64) string {
	return k.prefix + ":password-sets:{" + decimal(user) + "}"
}

// ofPhone returns the digest of a phone. It hides the number from a casual reader, but
// not from an attacker, who can try all numbers.
func ofPhone(p Phone) string { return digest("phone", p.E164()) }

func ofDevice(id int64) string {
	if id == 0 {
		return ""
	}
	return ":device:" + decimal(id)
}

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
