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

// Length of a password, in characters.
const (
	minPassword = 8
	maxPassword = 128
)

// checkPassword returns a new password in NFC, because keyboards encode the same letter
// in different ways. problem is the reason to reject it, for the user, or "".
func checkPassword(p string, own Phone) (clean, problem string) {
	clean = norm.NFC.String(p)
	switch n := text.Len(clean); {
	case n < minPassword || n > maxPassword:
		problem = fmt.Sprintf("A password must have %d to %d characters.", minPassword, maxPassword)
	case strings.ContainsFunc(clean, unicode.IsControl) || strings.ContainsRune(clean, unicode.ReplacementChar):
		problem = "A password must not contain control characters."
	default:
		problem = weakness(clean, own)
	}
	return clean, problem
}

// cost holds the parameters of an argon2id hash.
type cost struct {
	memory  uint32 // KiB
	passes  uint32
	lanes   uint8
	saltLen int // bytes
	keyLen  int // bytes
}

// currentCost is the cost of a new hash: Argon2id (RFC 9106) with the memory and passes
// that the OWASP Password Storage Cheat Sheet recommends for one lane. The RFC's own
// choices, 64 MiB or 2 GiB, need a dedicated machine.
var currentCost = cost{memory: 19 << 10, passes: 2, lanes: 1, saltLen: 16, keyLen: 32} //nolint:gochecknoglobals // constant

// maxCost bounds the cost of a stored hash: the RFC's choice for little memory, with more
// passes and lanes.
var maxCost = cost{memory: 64 << 10, passes: 8, lanes: 8, saltLen: 64, keyLen: 64} //nolint:gochecknoglobals // constant

// A hasher hashes and verifies passwords. Each hash takes tens of milliseconds of a
// processor and 19 MiB, so it bounds the running and the waiting calls. It is safe for
// concurrent use.
type hasher struct {
	slots   chan struct{} // running and waiting calls
	running chan struct{} // running calls
	derive  func(password, salt []byte, passes, memory uint32, lanes uint8, keyLen uint32) []byte
}

// newHasher returns a hasher that runs at most limit calls at once and queues waiting more.
func newHasher(limit, waiting int) *hasher {
	limit = max(limit, 1)
	return &hasher{
		slots:   make(chan struct{}, limit+max(waiting, 0)),
		running: make(chan struct{}, limit),
		derive:  argon2.IDKey,
	}
}

// hash returns the hash of a password as a PHC string with a new salt. It returns
// UNAVAILABLE if the queue is full, and the error of ctx if ctx ends while it waits.
func (h *hasher) hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, currentCost.saltLen)
	_, _ = rand.Read(salt) // never fails
	key, err := h.key(ctx, password, salt, currentCost)
	if err != nil {
		return "", err
	}
	return encode(currentCost, salt, key), nil
}

// verify reports whether a password matches a hash, and whether the hash is stale: its
// cost is not the current one. Its errors are those of hash, and one for an invalid hash.
func (h *hasher) verify(ctx context.Context, encoded, password string) (ok, stale bool, err error) {
	c, salt, want, err := decode(encoded)
	if err != nil {
		return false, false, fmt.Errorf("decode password hash: %w", err)
	}
	got, err := h.key(ctx, password, salt, c)
	if err != nil {
		return false, false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1, c != currentCost, nil
}

// waste takes the time of verify at the current cost, so that the time does not reveal a
// missing account or password.
func (h *hasher) waste(ctx context.Context, password string) error {
	_, err := h.key(ctx, password, make([]byte, currentCost.saltLen), currentCost)
	return err
}

func (h *hasher) key(ctx context.Context, password string, salt []byte, c cost) ([]byte, error) {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return nil, apierror.New(apierror.Unavailable, "Too many sign-ins at the moment. Try again in a second.").WithRetryAfter(time.Second)
	}
	select {
	case h.running <- struct{}{}:
		defer func() { <-h.running }()
	case <-ctx.Done():
	}
	if err := ctx.Err(); err != nil { // also if both cases were ready
		return nil, fmt.Errorf("wait to hash password: %w", err)
	}
	return h.derive([]byte(norm.NFC.String(password)), salt, c.passes, c.memory, c.lanes, uint32(c.keyLen)), nil
}

// encode returns a hash as a PHC string: $argon2id$v=19$m=KIB,t=PASSES,p=LANES$SALT$KEY.
func encode(c cost, salt, key []byte) string {
	b64 := base64.RawStdEncoding
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s",
		argon2.Version, c.memory, c.passes, c.lanes, b64.EncodeToString(salt), b64.EncodeToString(key))
}

// decode parses the output of encode, and nothing else. Its errors contain nothing of it.
func decode(s string) (c cost, salt, key []byte, err error) {
	parts := strings.Split(s, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != "v="+strconv.Itoa(argon2.Version) {
		return c, nil, nil, errors.New("invalid hash: not Argon2id version 1.3")
	}
	// Sscanf accepts more than encode writes; the comparison below rejects the rest.
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes); err != nil {
		return c, nil, nil, errors.New("invalid hash: malformed parameters")
	}
	salt, err = base64.RawStdEncoding.Strict().DecodeString(parts[4])
	if err == nil {
		key, err = base64.RawStdEncoding.Strict().DecodeString(parts[5])
	}
	if err != nil {
		return c, nil, nil, errors.New("invalid hash: salt or key is not base64")
	}
	c.saltLen, c.keyLen = len(salt), len(key)
	if !c.allowed() {
		return c, nil, nil, errors.New("invalid hash: parameters out of bounds")
	}
	if encode(c, salt, key) != s {
		return c, nil, nil, errors.New("invalid hash: not in canonical form")
	}
	return c, salt, key, nil
}

// allowed reports whether c is within the bounds of RFC 9106 (argon2 panics at zero passes
// or lanes) and of maxCost.
func (c cost) allowed() bool {
	return 1 <= c.lanes && c.lanes <= maxCost.lanes &&
		1 <= c.passes && c.passes <= maxCost.passes &&
		8*uint32(c.lanes) <= c.memory && c.memory <= maxCost.memory &&
		8 <= c.saltLen && c.saltLen <= maxCost.saltLen &&
		16 <= c.keyLen && c.keyLen <= maxCost.keyLen
}
