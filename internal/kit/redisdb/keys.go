package redisdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"
)

const (
	scanStep    = 100      // keys per SCAN and per measuring pipeline
	peekBytes   = 64 << 10 // of a string that Peek reads
	maxPatterns = 10_000   // limits the memory for irregular names
)

// NoTTL is the TTL of a key that does not expire, as in go-redis.
const NoTTL time.Duration = -1

// A Key holds the properties of a key at one time.
type Key struct {
	Name    string
	Type    string        // string, hash, list, set, zset, stream
	Bytes   int64         // memory, estimated by MEMORY USAGE; 0 if unknown
	Members int64         // of a collection; for a string, its length in bytes
	TTL     time.Duration // remaining time to live, or NoTTL
}

// A KeyScan configures an iteration over the keys of a Redis.
type KeyScan struct {
	Prefix string         // measures only keys with this prefix
	Rate   int            // keys per second, including other prefixes; 0 is no limit
	Seen   func(keys int) // receives the number of scanned keys after each step; may be nil
}

// All scans the keys, on a cluster node by node. It measures them in steps of a hundred, with two
// round trips each, so no command takes long. It yields each key with the prefix that exists during
// the whole scan. It may omit a key that is created, deleted or changes its type meanwhile. It may
// yield a key twice while Redis resizes its table or a cluster moves slots. It yields an error, such
// as the end of ctx, last and with a zero Key.
func (s KeyScan) All(ctx context.Context, rdb redis.Cmdable) iter.Seq2[Key, error] {
	return func(yield func(Key, error) bool) {
		nodes, err := masters(ctx, rdb)
		if err != nil {
			yield(Key{}, fmt.Errorf("find the nodes of Redis: %w", err))
			return
		}
		limit := rate.NewLimiter(rate.Inf, scanStep)
		if s.Rate > 0 {
			limit.SetLimit(rate.Limit(s.Rate))
		}
		seen := 0
		for _, node := range nodes {
			for cursor, begun := uint64(0), false; !begun || cursor != 0; begun = true {
				var names []string
				if names, cursor, err = node.Scan(ctx, cursor, "", scanStep).Result(); err != nil {
					yield(Key{}, fmt.Errorf("scan Redis: %w", err))
					return
				}
				for step := range slices.Chunk(names, scanStep) {
					keys, err := s.step(ctx, rdb, limit, step)
					if err != nil {
						yield(Key{}, err)
						return
					}
					for _, k := range keys {
						if !yield(k, nil) {
							return
						}
					}
				}
				if seen += len(names); s.Seen != nil {
					s.Seen(seen)
				}
			}
		}
	}
}

// step measures the keys with the prefix, limited by the rate.
func (s KeyScan) step(ctx context.Context, rdb redis.Cmdable, limit *rate.Limiter, names []string) ([]Key, error) {
	if err := limit.WaitN(ctx, len(names)); err != nil {
		return nil, fmt.Errorf("scan Redis: %w", err)
	}
	return MeasureKeys(ctx, rdb, slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, s.Prefix) })...)
}

// Each calls do for each key of [KeyScan.All].
func (s KeyScan) Each(ctx context.Context, rdb redis.Cmdable, do func(Key)) error {
	for k, err := range s.All(ctx, rdb) {
		if err != nil {
			return err
		}
		do(k)
	}
	return nil
}

// masters returns the nodes that hold keys.
func masters(ctx context.Context, rdb redis.Cmdable) ([]redis.Cmdable, error) {
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		return []redis.Cmdable{rdb}, nil
	}
	var mu sync.Mutex
	var nodes []redis.Cmdable
	err := cluster.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
		mu.Lock()
		defer mu.Unlock()
		nodes = append(nodes, node)
		return nil
	})
	return nodes, err
}

// MeasureKeys measures keys in two round trips. It omits keys that are missing or change their type
// meanwhile.
func MeasureKeys(ctx context.Context, rdb redis.Cmdable, names ...string) ([]Key, error) {
	if len(names) == 0 {
		return nil, nil
	}
	type reply struct {
		kind  *redis.StatusCmd
		ttl   *redis.DurationCmd
		bytes *redis.IntCmd
	}
	replies := make([]reply, len(names))
	// Pipelined returns only the first error.
	_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, name := range names {
			replies[i] = reply{p.Type(ctx, name), p.PTTL(ctx, name), p.MemoryUsage(ctx, name)}
		}
		return nil
	})
	keys := make([]Key, 0, len(names))
	for i, l := range replies {
		if err := errors.Join(unanswered(l.kind), unanswered(l.ttl), unanswered(l.bytes)); err != nil {
			return nil, fmt.Errorf("measure keys: %w", err)
		}
		if kind := l.kind.Val(); kind != "none" && kind != "" {
			keys = append(keys, Key{Name: names[i], Type: kind, Bytes: l.bytes.Val(), TTL: l.ttl.Val()})
		}
	}
	return count(ctx, rdb, keys)
}

// unanswered returns the error of a command without a reply. It returns nil for an error reply such
// as WRONGTYPE.
func unanswered(c redis.Cmder) error {
	if _, answered := errors.AsType[redis.Error](c.Err()); answered {
		return nil
	}
	return c.Err()
}

// count sets the number of members of the keys. It omits keys that have changed their type.
func count(ctx context.Context, rdb redis.Cmdable, keys []Key) ([]Key, error) {
	sizes := make([]*redis.IntCmd, len(keys))
	_, _ = rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			sizes[i] = cardinality(ctx, p, k)
		}
		return nil
	})
	var measured []Key
	for i, size := range sizes {
		if size != nil {
			if err := unanswered(size); err != nil {
				return nil, fmt.Errorf("count members: %w", err)
			}
			if size.Err() != nil {
				continue
			}
			keys[i].Members = size.Val()
		}
		measured = append(measured, keys[i])
	}
	return measured, nil
}

// cardinality requests the number of members of a key. It returns nil for a type of a module.
func cardinality(ctx context.Context, rdb redis.Cmdable, k Key) *redis.IntCmd {
	switch k.Type {
	case "string":
		return rdb.StrLen(ctx, k.Name)
	case "hash":
		return rdb.HLen(ctx, k.Name)
	case "list":
		return rdb.LLen(ctx, k.Name)
	case "set":
		return rdb.SCard(ctx, k.Name)
	case "zset":
		return rdb.ZCard(ctx, k.Name)
	case "stream":
		return rdb.XLen(ctx, k.Name)
	}
	return nil
}

// KeyCount returns the number of keys of a Redis, on a cluster of all masters.
func KeyCount(ctx context.Context, rdb redis.Cmdable) (int64, error) {
	n, err := rdb.DBSize(ctx).Result()
	if err != nil {
		return 0, fmt.Errorf("count Redis keys: %w", err)
	}
	return n, nil
}

// A Member is one member of a collection: a field and its value, a member and its score, an entry
// and its fields. List items and strings have no name, set members no value.
type Member struct{ Name, Value string }

// Peek reads the first n members of a key, or any n of a hash or set. It reads at most 64 KiB of a
// string. It returns nothing for a type of a module.
func Peek(ctx context.Context, rdb redis.Cmdable, k Key, n int) ([]Member, error) {
	members, err := peek(ctx, rdb, k, int64(n))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.Type, err)
	}
	return members, nil
}

func peek(ctx context.Context, rdb redis.Cmdable, k Key, n int64) (members []Member, err error) {
	switch k.Type {
	case "string":
		text, err := rdb.GetRange(ctx, k.Name, 0, peekBytes-1).Result()
		return []Member{{Value: text}}, err
	case "list":
		items, err := rdb.LRange(ctx, k.Name, 0, n-1).Result()
		for _, item := range items {
			members = append(members, Member{Value: item})
		}
		return members, err
	case "zset":
		items, err := rdb.ZRangeWithScores(ctx, k.Name, 0, n-1).Result()
		for _, item := range items {
			members = append(members, Member{fmt.Sprint(item.Member), fmt.Sprintf("%.17g", item.Score)})
		}
		return members, err
	case "stream":
		entries, err := rdb.XRangeN(ctx, k.Name, "-", "+", n).Result()
		for _, entry := range entries {
			members = append(members, Member{entry.ID, fmt.Sprint(entry.Values)})
		}
		return members, err
	case "hash":
		flat, err := firstOf(int(2*n), func(cursor uint64) *redis.ScanCmd { return rdb.HScan(ctx, k.Name, cursor, "", n) })
		for pair := range slices.Chunk(flat, 2) {
			members = append(members, Member{pair[0], pair[len(pair)-1]})
		}
		return members, err
	case "set":
		flat, err := firstOf(int(n), func(cursor uint64) *redis.ScanCmd { return rdb.SScan(ctx, k.Name, cursor, "", n) })
		for _, name := range flat {
			members = append(members, Member{Name: name})
		}
		return members, err
	}
	return nil, nil
}

// firstOf scans until it has n items or all items.
func firstOf(n int, scan func(cursor uint64) *redis.ScanCmd) (items []string, err error) {
	for cursor, begun := uint64(0), false; (!begun || cursor != 0) && len(items) < n; begun = true {
		var more []string
		if more, cursor, err = scan(cursor).Result(); err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return items[:min(n, len(items))], nil
}

// A KeyPattern sums up the keys that differ only in ids.
type KeyPattern struct {
	Name       string // see [PatternOf]
	Type       string
	Keys       int64
	Bytes      int64  // sum
	MaxBytes   int64  // of the largest key
	MaxMembers int64  // of the largest key; for strings the length in bytes
	NoTTL      int64  // number of keys that do not expire
	Example    string // largest key
}

// KeyPatterns sums up keys by pattern and type. Beyond 10,000 patterns, it sums up new ones as
// "(others)". The zero value is ready. It is not safe for concurrent use.
type KeyPatterns struct {
	all map[[2]string]*KeyPattern
}

// Add counts a key.
func (p *KeyPatterns) Add(k Key) {
	name := [2]string{PatternOf(k.Name), k.Type}
	if len(p.all) >= maxPatterns && p.all[name] == nil {
		name[0] = "(others)"
	}
	if p.all == nil {
		p.all = map[[2]string]*KeyPattern{}
	}
	sum := p.all[name]
	if sum == nil {
		sum = &KeyPattern{Name: name[0], Type: name[1], Example: k.Name}
		p.all[name] = sum
	}
	sum.Keys++
	sum.Bytes += k.Bytes
	if k.Bytes > sum.MaxBytes {
		sum.MaxBytes, sum.Example = k.Bytes, k.Name
	}
	sum.MaxMembers = max(sum.MaxMembers, k.Members)
	if k.TTL == NoTTL {
		sum.NoTTL++
	}
}

// All returns the patterns in descending order of bytes.
func (p *KeyPatterns) All() []KeyPattern {
	var list []KeyPattern
	for _, sum := range p.all {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b KeyPattern) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Keys, a.Keys), strings.Compare(a.Name+" "+a.Type, b.Name+" "+b.Type))
	})
	return list
}

var (
	hashTag   = regexp.MustCompile(`\{[^{}]*\}`)
	plainWord = regexp.MustCompile(`^[A-Za-z][a-z_-]{0,23}$`) // longer words are hashes
)

// PatternOf returns a key with placeholders for the parts that vary between keys of one kind. These
// are texts in braces, and parts between colons that are no words: numbers, days, hashes, cells. The
// first part, the prefix, stays. td:cache:shop:{42}:l becomes td:cache:shop:{*}:l.
func PatternOf(key string) string {
	parts := strings.Split(hashTag.ReplaceAllString(key, "{*}"), ":")
	for i, part := range parts {
		if i > 0 && part != "{*}" && !plainWord.MatchString(part) {
			parts[i] = "*"
		}
	}
	return strings.Join(parts, ":")
}
