package visit

import (
	"crypto/rand"
	"strconv"
	"time"
)

// keys builds the keys in the state Redis. Braces enclose the hash tag: all days of a shop
// share a slot, so that they can be merged.
type keys struct{ prefix string }

const (
	keep    = 40 * 24 * time.Hour // lifetime of a day after its last visit
	keepTmp = time.Minute

	// maxDirty bounds the days that wait for a roll-up. Beyond it, the oldest days are
	// dropped: their rows lack the latest visits, which Redis has until the keys expire.
	maxDirty = 100_000
)

// visitors is the HyperLogLog of the visitors of a shop, or the site, on a day. It expires
// 40 days after the last visit. The roll-up stores its bytes in a row. After a loss, the row
// is merged with the new visitors.
func (k keys) visitors(b bucket) string { return k.ofDay(":visit:uv:{", b) }

// views is the hash of the views: n is the number, c the name of this counter. A row records
// the name, and how much of the counter it contains. The hash expires like visitors. After a
// loss, it restarts under another name.
func (k keys) views(b bucket) string { return k.ofDay(":visit:pv:{", b) }

func (k keys) ofDay(noun string, b bucket) string {
	return k.prefix + noun + nameOf(b.shop) + "}:" + strconv.Itoa(b.day)
}

// merged returns a new key for a HyperLogLog that a reader merges and counts, or that a
// roll-up restores in Redis. It expires after a minute if its creator does not delete it.
func (k keys) merged(shop int64) string {
	return k.prefix + ":visit:tmp:{" + nameOf(shop) + "}:" + newName()
}

// dirty is the sorted set of the days to roll up: SHOP:DAY by the microsecond of the last
// flush. [maxDirty] bounds it. It expires 40 days after the last flush. Nothing rebuilds it:
// a loss also removes the days that it names.
func (k keys) dirty() string { return k.prefix + ":visit:dirty" }

func newName() string { return rand.Text() }
