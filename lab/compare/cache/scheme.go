package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/lab/compare/clients"
)

// Scheme is one process of a cache for rows. Its methods are safe for concurrent use.
type Scheme interface {
	// Read returns the row's value through the cache, or [ErrAbsent].
	Read(ctx context.Context, key string) (string, error)
	// Write writes the next version of the row, updates the cache in the scheme's way and returns
	// the version. Reads that begin after Write returns must not see an older one.
	Write(ctx context.Context, key string) (int64, error)
	// Close ends the process and waits for its background work.
	Close() error
}

// Batch is a Scheme that reads many rows at once.
type Batch interface {
	// ReadMany returns the values of the existing rows.
	ReadMany(ctx context.Context, keys []string) (map[string]string, error)
}

// Warmer is a Scheme whose rows must be put into the cache first.
type Warmer interface {
	Warm(ctx context.Context, key string) error
}

// Settler is a Scheme with background work after Read or Write.
type Settler interface {
	// Settle waits until it is done.
	Settle(ctx context.Context) error
}

// Variant is a scheme or a library with its settings.
type Variant struct {
	Name string
	// Single means that the cache is in the memory of one process.
	Single bool
	// Local means that the variant is part of the L1 comparison only.
	Local bool
	New   func(p Process) (Scheme, error)
}

// Process holds the dependencies of one process of a scheme. All processes share the database; the
// Redis client is its own.
type Process struct {
	Redis  *redis.Client
	URL    string // of the same Redis, for libraries with a client of their own
	Prefix string // begins every key in Redis
	Index  int    // 0, 1, …
	DB     *DB
	TTL    time.Duration // how long a value may live in Redis
	Tuned  bool          // use settings for a TTL of a second instead of a library's defaults
	Soft   bool          // a scheme may serve values past the TTL while it refreshes them in the background
}

func (p Process) key(k string) string { return p.Prefix + k }

// Variants returns all compared variants, Tandian's last.
func Variants() []Variant {
	return append(append(schemes(), libraries()...), ours()...)
}

// schemes returns the schemes of this package, as they are commonly taught.
func schemes() []Variant {
	return []Variant{
		{Name: "cache-aside", New: newAside(false)},
		{Name: "cache-aside, singleflight", New: newAside(true)},
		{Name: "cache first: delete, then write", New: newDeleteFirst},
		{Name: "cache first: set, then write", New: newSetFirst},
		{Name: "delete before commit", New: newDeleteInside},
		{Name: "update instead of delete", New: newUpdate},
		{Name: "delayed double delete", New: newDoubleDelete},
		{Name: "mutex rebuild, SETNX and sleep", New: newMutex(true)},
		{Name: "mutex rebuild, no owner check", New: newMutex(false)},
		{Name: "pure logical expiry", New: newLogical},
		{Name: "write-through", New: newThrough},
		{Name: "write-behind", New: newBehind},
		{Name: "set under lock and timestamp", New: newStamped},
		{Name: "set by a one-writer queue", New: newQueued},
	}
}

func libraries() []Variant {
	return []Variant{
		{Name: "go-redis/cache", New: newGoRedisCache(false)},
		{Name: "go-redis/cache, TinyLFU", Local: true, New: newGoRedisCache(true)},
		{Name: "gocache", New: newGocache},
		{Name: "jetcache-go", New: newJetCache(false)},
		{Name: "jetcache-go, FreeCache", Local: true, New: newJetCache(true)},
		{Name: "rockscache weak", New: newRocksCache(false)},
		{Name: "rockscache strong", New: newRocksCache(true)},
		{Name: rueidisAsideName, New: newRueidisAside},
		{Name: otterAlone, Single: true, Local: true, New: newOtter},
	}
}

// commandTimeout is longer than in production: a busy machine must not look like
// a fault.
const commandTimeout = 5 * time.Second

// client opens a Redis client of one process.
func client(url string) (*redis.Client, error) {
	o, err := clients.Redis(url, commandTimeout)
	if err != nil {
		return nil, err
	}
	return redis.NewClient(o), nil
}

// fleet holds the processes of one variant.
type fleet struct {
	schemes []Scheme
	rdbs    []*redis.Client
}

// start opens n processes; of a variant without Redis it opens one and uses it n times. p holds
// their common dependencies.
func start(v Variant, url string, n int, p Process) (*fleet, error) {
	f := new(fleet)
	for i := range n {
		if v.Single && i > 0 {
			f.schemes = append(f.schemes, f.schemes[0])
			continue
		}
		rdb, err := client(url)
		if err != nil {
			return nil, errors.Join(err, f.close(v))
		}
		f.rdbs = append(f.rdbs, rdb)
		p.Redis, p.URL, p.Index = rdb, url, i
		s, err := v.New(p)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("start %s: %w", v.Name, err), f.close(v))
		}
		f.schemes = append(f.schemes, s)
	}
	return f, nil
}

func (f *fleet) close(v Variant) error {
	var all []error
	for i, s := range f.schemes {
		if v.Single && i > 0 {
			break
		}
		all = append(all, s.Close())
	}
	for _, rdb := range f.rdbs {
		all = append(all, rdb.Close())
	}
	return errors.Join(all...)
}

// warm puts a row into the cache, in the scheme's way.
func warm(ctx context.Context, s Scheme, key string) error {
	if w, ok := s.(Warmer); ok {
		return w.Warm(ctx, key)
	}
	if _, err := s.Read(ctx, key); err != nil {
		return err
	}
	return settle(ctx, s)
}

func settle(ctx context.Context, s Scheme) error {
	if b, ok := s.(Settler); ok {
		return b.Settle(ctx)
	}
	return nil
}
