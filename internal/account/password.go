package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/crypto/argon2"
	"golang.org/x/text/unicode/norm"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Bounds of a password, in characters.
const (
	minPassword = 8
	maxPassword = 128
)

// checkPassword returns a new password in the form in which it is hashed (NFC:
// keyboards write the same letter in different ways), and the reason to refuse it as a
// sentence for its owner, "" if there is none.
func checkPassword(p string, own Phone) (clean, problem string) {
	clean = norm.NFC.String(p)
	switch n := text.Len(clean); {
	case n < minPassword || n > maxPassword:
		problem = fmt.Sprintf("A password has %d to %d characters.", minPassword, maxPassword)
	case strings.ContainsFunc(clean, unicode.IsControl) || strings.ContainsRune(clean, unicode.ReplacementChar):
		problem = "A password has only characters that can be typed."
	default:
		problem = weakness(clean, own)
	}
	return clean, problem
}

// cost is what one argon2id hash takes.
type cost struct {
	memory  uint32 // KiB
	passes  uint32
	lanes   uint8
	saltLen int // bytes
	keyLen  int // bytes
}

// currentCost is the cost of a new hash: Argon2id (RFC 9106) with the memory and
// passes that the OWASP Password Storage Cheat Sheet gives for one lane. The
// RFC's own choices, 64 MiB or 2 GiB, are for a machine with less company.
var currentCost = cost{memory: 19 << 10, passes: 2, lanes: 1, saltLen: 16, keyLen: 32} //nolint:gochecknoglobals // a constant that Go cannot say

// maxCost is what a row may ask for at most: the RFC's choice for little
// memory, with room for more passes.
var maxCost = cost{memory: 64 << 10, passes: 8, lanes: 8, saltLen: 64, keyLen: 64} //nolint:gochecknoglobals // a constant that Go cannot say

// A hasher hashes and compares passwords. Each hash takes tens of milliseconds
// of a processor and 19 MiB, so only so many run at once, and only so many wait
// besides. It is safe for concurrent use.
type hasher struct {
	slots   chan struct{} // of all who are here
	running chan struct{} // of those who hash
	derive  func(password, salt []byte, passes, memory uint32, lanes uint8, keyLen uint32) []byte
}

// newHasher returns a hasher that runs limit hashes at once and lets waiting
// more wait.
func newHasher(limit, waiting int) *hasher {
	limit = max(limit, 1)
	return &hasher{
		slots:   make(chan struct{}, limit+max(waiting, 0)),
		running: make(chan struct{}, limit),
		derive:  argon2.IDKey,
	}
}

// hash returns what to store of a password: a PHC string with a new salt. It
// returns a fault of the kind Unavailable if too many wait already, and the
// error of ctx if that ends while it waits.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, currentCost.saltLen)
	_, _ = rand.Read(salt) // never fails
	key, err := h.key(ctx, password, salt, currentCost)
	if err != nil {
		return "", err
	}
	return encode(currentCost, salt, key), nil
}

// verify reports whether a password is the one that encoded was made of, and
// whether encoded is stale: made at another cost than new ones are. Its errors
// are those of hash, and one for a text that is no such hash.
func (h *hasher) verify(ctx context.Context, encoded, password string) (ok, stale bool, err error) {
	c, salt, want, err := decode(encoded)
	if err != nil {
		return false, false, fmt.Errorf("read a password hash: %w", err)
	}
	got, err := h.key(ctx, password, salt, c)
	if err != nil {
		return false, false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, c != currentCost, nil
}

// waste does the work of a verify at today's cost, and no more: for an account
// that does not exist or has no password, so that the time does not tell.
func (h *hasher) waste(ctx context.Context, password string) error {
	_, err := h.key(ctx, password, make([]byte, currentCost.saltLen), currentCost)
	return err
}

// key waits for a turn and derives the key of a password.
func (h *hasher) key(ctx context.Context, password string, salt []byte, c cost) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return nil, apierror.New(apierror.Unavailable, "Too many people log in at this moment. Try again in a second.").WithRetryAfter(time.Second)
	}
	select {
	case h.running <- struct{}{}:
		defer func() { <-h.running }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // also when a turn came at the same time
		return nil, fmt.Errorf("wait to hash a password: %w", err)
	}
	return h.derive([]byte(norm.NFC.String(password)), salt, c.passes, c.memory, c.lanes, uint32(c.keyLen)), nil
}

// encode writes a hash as a PHC string: $argon2id$v=19$m=KIB,t=PASSES,p=LANES$SALT$KEY.
func encode(c cost, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memory, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(key))
}

// decode reads what encode writes, and nothing else; its errors show nothing
// of it.
func decode(s string) (c cost, salt, key []byte, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return c, nil, nil, errors.New("not Argon2id of version 1.3")
	}
	// What Sscanf lets pass besides is found by encode, below.
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); err != nil {
		return c, nil, nil, errors.New("parameters that cannot be read")
	}
	salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	if err == nil {
		key, err = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	}
	if err != nil {
		return c, nil, nil, errors.New("salt or key that is no base64")
	}
	c.saltLen, c.keyLen = len(salt), len(key)
	if !c.allowed() {
		return c, nil, nil, errors.New("parameters out of bounds")
	}
	if encode(c, salt, key) != s {
		return c, nil, nil, errors.New("not in the usual form")
	}
	return c, salt, key, nil
}

// allowed reports whether c is within the bounds of RFC 9106 (argon2 panics at
// zero passes or lanes) and of what we are ready to pay.
func (c cost) allowed() bool {
	return 1 <= c.lanes && c.lanes <= maxCost.lanes &&
		1 <= c.passes && c.passes <= maxCost.passes &&
		8*uint32(c.lanes) <= c.memory && c.memory <= maxCost.memory &&
		8 <= c.saltLen && c.saltLen <= maxCost.saltLen &&
		16 <= c.keyLen && c.keyLen <= maxCost.keyLen
}
