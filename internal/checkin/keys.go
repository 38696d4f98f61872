package checkin

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const (
	// life is how long a bitmap is kept after it was written last: longer than the 13
	// months that are read from Redis.
	life = 400 * 24 * time.Hour
	// emptyLife is that of a bitmap without a day, which is there to spare the next
	// reader a statement.
	emptyLife = 24 * time.Hour
)

// keys names what this room keeps in the state Redis.
type keys struct{ prefix string }

// month is the bitmap of a user's month: bit 0 is the mark that it is whole, bits 1 to 31
// are days. All bitmaps of a user lie in one slot. A lost one is rebuilt from its row.
func (k keys) month(user int64, m month) string {
	return fmt.Sprintf("%s%d}:%06d", k.all(), user, int(m))
}

// all begins every key of this room.
func (k keys) all() string { return k.prefix + ":checkin:{" }

// parse is the opposite of month; false for any other key.
func (k keys) parse(key string) (bitRef, bool) {
	id, rest, _ := strings.Cut(strings.TrimPrefix(key, k.all()), "}:")
	user, badUser := strconv.ParseInt(id, 10, 64)
	m, badMonth := strconv.Atoi(rest)
	p := bitRef{user, month(m)}
	return p, badUser == nil && badMonth == nil && k.month(p.User, p.Month) == key
}
