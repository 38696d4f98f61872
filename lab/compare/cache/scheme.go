package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/lab/compare/clients"
)

// Scheme is one process of one way to cache rows. Its methods may run at once.
type Scheme interface {
	// Read returns the row's value through the cache, or [ErrAbsent].
	Read(ctx context.Context, key string) (string, error)
	// Write gives the row its next version, which it returns, and tells the
	// cache in the scheme's way. What a caller may expect of reads that begin
	// after it returned is the question of this package.
	Write(ctx context.Context, key string) (int64, error)
	// Close ends the process and waits for what it does in the background.
	Close() error
}

// Batch is a Scheme that reads many rows at once.
type Batch interface {
	// ReadMany returns the values of the rows that there are.
	ReadMany(ctx context.Context, keys []string) (map[string]string, error)
}

// Warmer is a Scheme whose rows must be put into the cache first.
type Warmer interface {
	Warm(ctx context.Context, key string) error
}

// Settler is a Scheme that does things after Read or Write returned.
type Settler interface {
	// Settle waits until they are done.
	Settle(ctx context.Context) error
}

// Variant is a scheme or a library with its settings.
type Variant struct {
	Name string
	// Single says that the cache is in the memory of one process only, so
	// that a second process has nothing to do with it.
	Single bool
	// Local is of the L1 comparison only.
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
	Tuned  bool          // settings for a TTL of a second, where a library's defaults are made for minutes
	Soft   bool          // values may be served a while longer than TTL, by those that can refresh behind the reader
}

func (p Process) key(k string) string { return p.Prefix + k }

// Variants are all that are compared, ours last.
func Variants() []Variant {
	return append(append(schemes(), libraries()...), ours()...)
}

// schemes are those of our own writing, as the field teaches them.
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

// fleet is a number of processes of one variant.
type fleet struct {
	schemes []Scheme
	rdbs    []*redis.Client
}

// start opens n processes; of a variant without Redis it is the same one n
// times. p has what they share.
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

// warm puts a row into the cache, in the way that the scheme has.
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
