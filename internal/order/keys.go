package order

import "strconv"

// keys builds the Redis keys of this package. Braces enclose the hash tag.
type keys struct{ prefix string }

// listName is the name of the sorted sets of [listCache] in kit/cache:
// PREFIX:order:list:{USER}, and with suffix :l the lease of a rebuild. The next reader
// rebuilds a lost set from the rows.
const listName = "order:list"

// queued is the set of [Service.QueuedKey]. Package flashsale writes it; scores are by the clock of
// the requesting server. A lost entry hides an order from its user's list until the commit.
func (k keys) queued(user int64) string { return k.prefix + ":order:queued:{" + decimal(user) + "}" }

// QueuedKey returns the key of the sorted set of a user's orders that may wait for their
// commit. Each admission adds its decimal number, scored with the current milliseconds, and
// sets the expiry of the set to ten minutes.
func (s *Service) QueuedKey(user int64) string { return s.lists.keys.queued(user) }

// lockOf returns the name of the lock for rebuilding the list of a user. Users share locks; all
// processes map a user to the same lock.
func lockOf(user int64, stripes int) string {
	return "order-list:" + strconv.FormatUint(mix(uint64(user))%uint64(stripes), 10) //nolint:gosec // a hash
}

// mix spreads neighbouring numbers: the finalizer of SplitMix64. G. L. Steele, D. Lea, C. H.
// Flood, Fast Splittable Pseudorandom Number Generators, 2014.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
