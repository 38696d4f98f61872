package checkin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	life      = 400 * 24 * time.Hour // of a bitmap after its last write: over the 13 months read from Redis
	emptyLife = 24 * time.Hour       // of a bitmap without a day, which saves the next reader a statement
)

// keys builds the keys in the state Redis.
type keys struct{ prefix string }

// month is the bitmap of a user's month: bit 0 marks it as whole, bits 1 to 31 are days.
// All bitmaps of a user share a slot. The row rebuilds a lost one.
func (k keys) month(user int64, m month) string {
	return fmt.Sprintf("%s%d}:%06d", k.all(), user, int(m))
}

// all is the prefix of all keys of this package.
func (k keys) all() string { return k.prefix + ":checkin:{" }

// parse is the inverse of month. It reports false for any other key.
func (k keys) parse(key string) (bitRef, bool) {
	id, rest, _ := strings.Cut(strings.TrimPrefix(key, k.all()), "}:")
	user, badUser := strconv.ParseInt(id, 10, 64)
	m, badMonth := strconv.Atoi(rest)
	p := bitRef{user, month(m)}
	return p, badUser == nil && badMonth == nil && k.month(p.User, p.Month) == key
}
