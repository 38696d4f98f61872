package order

import "strconv"

// keys names what this room keeps in Redis. What is in braces is the hash tag.
type keys struct{ prefix string }

// listName begins the names of the sorted sets of [listCache], as kit/cache makes them:
// PREFIX:order:list:{USER}, and with :l the right to rebuild one. A lost one is
// rebuilt from the rows by the next reader.
const listName = "order:list"

// queued is a sorted set of what a user ordered in flash sales and may be waiting
// for its commit: number in decimal → milliseconds of its admission, by the clock of
// the server that asked for it. It lives for ten minutes. It lies with the sales, who
// write it; a lost entry hides an order from its user's list until it is committed.
func (k keys) queued(user int64) string { return k.prefix + ":order:queued:{" + decimal(user) + "}" }

// QueuedKey is the whole key of the sorted set that says which orders of a user may
// wait for their commit. Whoever admits one adds its number, in decimal, with the
// milliseconds of now for its score, and has the set end ten minutes later.
func (s *Service) QueuedKey(user int64) string { return s.lists.keys.queued(user) }

// lockOf is the lock under which the list of a user is rebuilt. Users share it, in
// all processes alike.
func lockOf(user int64, stripes int) string {
	return "order-list:" + strconv.FormatUint(mix(uint64(user))%uint64(stripes), 10) //nolint:gosec // a hash
}

// mix spreads neighbouring numbers: the finalizer of SplitMix64. G. L. Steele,
// D. Lea, C. H. Flood, Fast Splittable Pseudorandom Number Generators, 2014.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
