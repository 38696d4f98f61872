package visit

import (
	"crypto/rand"
	"strconv"
	"time"
)

// keys names what this room keeps in the state Redis. What is in braces is the hash tag:
// all days of a shop lie in one slot, so that they can be merged there.
type keys struct{ prefix string }

const (
	keep    = 40 * 24 * time.Hour // of a day, after its last visit
	keepTmp = time.Minute

	// maxDirty bounds the days that wait for a roll-up. Of more, those that wait longest are
	// left out: their rows lack what came since, and Redis has it for as long as it keeps them.
	maxDirty = 100_000
)

// visitors is the HyperLogLog of who visited a shop, or the site, on a day. It lives for
// 40 days from its last visit. Its bytes are rolled up into a row, which is merged with
// what comes after a loss.
func (k keys) visitors(b bucket) string { return k.ofDay(":visit:uv:{", b) }

// views is the hash of how often it was visited: n, and c, the name of this counter, by
// which a row knows how much of it it has. It lives as long, and a lost one begins anew
// under another name.
func (k keys) views(b bucket) string { return k.ofDay(":visit:pv:{", b) }

func (k keys) ofDay(noun string, b bucket) string {
	return k.prefix + noun + nameOf(b.shop) + "}:" + strconv.Itoa(b.day)
}

// merged is a new name for a HyperLogLog that a reader merges and counts, or that a
// roll-up gives back to Redis. It lives for a minute, if who made it does not remove it
// before.
func (k keys) merged(shop int64) string {
	return k.prefix + ":visit:tmp:{" + nameOf(shop) + "}:" + newName()
}

// dirty is the sorted set of the days that are to be rolled up, SHOP:DAY by the
// microsecond of their last flush. [maxDirty] bounds it, and it lives for 40 days from
// the last flush. Nothing rebuilds a lost one: what it named was lost with it.
func (k keys) dirty() string { return k.prefix + ":visit:dirty" }

// newName is one that nothing else has.
func newName() string { return rand.Text() }
