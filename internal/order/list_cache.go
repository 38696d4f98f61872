package order

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

// listCache stores in Redis the newest orders of each user, and their orders that may wait for
// their commit.
//
// The newest orders are a window of kit/cache: a sorted set that a rebuild stores as a whole.
// An add changes the set only if it exists. A marker tells whether the set has all orders of
// the user, or whether older ones exist.
//
// A rebuild cannot lose an order that is committed meanwhile. It acquires a lease in Redis,
// reads the rows, and stores them in one script if it still has the lease. A writer adds its
// order after the commit. If the commit precedes the read, the rebuild has the order. Otherwise
// the add follows the read. It revokes the lease, so the older list is not stored, or it
// changes the stored set. The job in the order's transaction repeats a lost add.
//
// Locks that all processes share bound the database load of rebuilds: at most "stripes"
// rebuilds read at a time, one per user. A rebuild that gets no lock in time reads without it.
type listCache struct {
	rdb     redis.Cmdable // for queued orders
	keys    keys
	window  *cache.Window[int64]
	locks   *lock.Locker
	stripes int
	wait    time.Duration // maximum wait for a lock
	read    func(ctx context.Context, user int64, limit int) ([]cache.Entry, error)
	metrics *listMetrics
}

// listEntry is the position of an order in the list of its user.
type listEntry struct {
	User, Number int64
	Ms           int64 // of its CreatedAt
}

const (
	rebuildWait  = 300 * time.Millisecond
	rebuildLease = 3 * time.Second // longer than readTimeout
	readTimeout  = 2 * time.Second // for reading the rows
	redisTrip    = 250 * time.Millisecond
	addTries     = 5
	addPause     = 10 * time.Millisecond // after the first try; doubles
)

func newLists(db *ent.Client, hub *cache.Client, cfg Config, m *listMetrics) *listCache {
	l := &listCache{
		rdb: cfg.Redis, keys: keys{cfg.Prefix}, locks: cfg.Locks, stripes: cfg.Stripes, wait: rebuildWait, metrics: m,
		read: func(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
			return newestKeys(ctx, db, user, limit)
		},
	}
	policy := cache.WindowPolicy{Name: listName, Size: cfg.ListSize, LoadTimeout: rebuildWait + readTimeout}
	l.window = cache.NewWindow(hub, policy, decimal, l.rebuild)
	return l
}

// rebuild reads the newest entries of the lists of users, one after the other, because each has
// its own lock. Callers request one user at a time.
func (l *listCache) rebuild(ctx context.Context, users []int64, limit int) (map[int64][]cache.Entry, error) {
	found := make(map[int64][]cache.Entry, len(users))
	for _, user := range users {
		entries, err := l.rebuildOne(ctx, user, limit)
		if err != nil {
			return nil, err
		}
		found[user] = entries
	}
	return found, nil
}

// rebuildOne reads one list, under a lock if it is free in time.
func (l *listCache) rebuildOne(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
	lease, err := l.locks.Acquire(ctx, lockOf(user, l.stripes), lock.WithWait(l.wait), lock.WithTTL(rebuildLease))
	if err == nil {
		defer func() {
			if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
				l.metrics.failed(ctx, "list-lock", err) // the lock expires
			}
		}()
		l.metrics.rebuilds.WithLabelValues("locked").Inc()
		return l.read(ctx, user, limit)
	}
	if _, busy := errors.AsType[*lock.BusyError](err); !busy {
		l.metrics.failed(ctx, "list-lock", err)
	}
	l.metrics.rebuilds.WithLabelValues("unlocked").Inc()
	return l.read(ctx, user, limit)
}

func newestKeys(ctx context.Context, db *ent.Client, user int64, limit int) ([]cache.Entry, error) {
	rows, err := db.Order.Query().Where(entorder.UserID(user)).Select(entorder.FieldID, entorder.FieldCreatedAt).
		Order(newestFirst...).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select newest orders of user %d: %w", user, err)
	}
	entries := make([]cache.Entry, len(rows))
	for i, r := range rows {
		entries[i] = listKey{r.CreatedAt, r.ID}.entry()
	}
	return entries, nil
}

// add adds committed orders to the lists of their users, in one round trip for up to 500 users.
// It tries five times, but stops when the circuit breaker is open: then the database decides
// orders, and buyers wait for this call. After the last try it drops the lists instead. After
// an error some orders may be missing from lists. It may be repeated.
func (l *listCache) add(ctx context.Context, orders []listEntry) error {
	var err error
	for try, pause := 1, addPause; try <= addTries; try, pause = try+1, 2*pause {
		if err = l.addOnce(ctx, orders); err == nil {
			return nil
		}
		if errors.Is(err, redisdb.ErrBreakerOpen) || try < addTries && clock.Sleep(ctx, pause) != nil {
			break
		}
	}
	users := make([]int64, len(orders))
	for i, o := range orders {
		users[i] = o.User
	}
	if l.window.Invalidate(ctx, users...) == nil {
		return nil // a full Redis still accepts deletions
	}
	l.metrics.failed(ctx, "list-add", err)
	return err
}

func (l *listCache) addOnce(ctx context.Context, orders []listEntry) error {
	byUser := make(map[int64][]cache.Entry, len(orders))
	for _, o := range orders {
		byUser[o.User] = append(byUser[o.User], listKey{o.Ms, o.Number}.entry())
	}
	if err := l.window.AddEach(ctx, byUser); err != nil {
		return fmt.Errorf("add %d orders to the lists of %d users: %w", len(orders), len(byUser), err)
	}
	return nil
}

// unqueue removes decided orders from the sets of queued orders, in one round trip. Call it
// after add.
func (l *listCache) unqueue(ctx context.Context, orders []listEntry) error {
	if len(orders) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisTrip)
	defer cancel()
	_, err := l.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, o := range orders {
			p.ZRem(ctx, l.keys.queued(o.User), decimal(o.Number))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("unqueue %d orders: %w", len(orders), err)
	}
	return nil
}

// addAndUnqueue calls add, then unqueue. Readers read the queued orders first and then the
// list, so an order is always in one of them.
func (l *listCache) addAndUnqueue(ctx context.Context, changed []StoredOrder) error {
	orders := make([]listEntry, len(changed))
	for i, c := range changed {
		orders[i] = listEntry{c.User, c.Order, c.At.UnixMilli()}
	}
	if err := l.add(ctx, orders); err != nil {
		return err
	}
	return l.unqueue(ctx, orders)
}

// A listKey is the sort key of an order in lists, newest first.
type listKey struct {
	Ms     int64 // of its CreatedAt
	Number int64
}

func keyOf(o *Order) listKey { return listKey{o.CreatedAt.UnixMilli(), o.ID} }

// entry returns the window entry of p. The number has a fixed width, because sorted sets order
// members with equal scores by their bytes.
func (p listKey) entry() cache.Entry {
	return cache.Entry{Member: fmt.Sprintf("%019d", p.Number), Score: p.Ms}
}

func parseKey(e cache.Entry) (listKey, error) {
	number, err := strconv.ParseInt(e.Member, 10, 64)
	if err != nil || number <= 0 {
		return listKey{}, fmt.Errorf("invalid order number %.30q", e.Member)
	}
	return listKey{e.Score, number}, nil
}

type listMetrics struct {
	failed   func(ctx context.Context, doing string, err error)
	rebuilds *prometheus.CounterVec
	compared *prometheus.CounterVec
}

func newListMetrics(reg prometheus.Registerer, failed func(ctx context.Context, doing string, err error)) *listMetrics {
	m := &listMetrics{
		failed: failed,
		rebuilds: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_order_list_rebuilds_total",
			Help: "Order lists read from the database in this process: locked, or unlocked after waiting too long or without an answer.",
		}, []string{"way"}),
		compared: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_order_lists_compared_total",
			Help: "Order lists compared with the database: right, or wrong and dropped.",
		}, []string{"outcome"}),
	}
	reg.MustRegister(m.rebuilds, m.compared)
	for _, way := range []string{"locked", "unlocked"} {
		m.rebuilds.WithLabelValues(way)
	}
	for _, outcome := range []string{"right", "wrong"} {
		m.compared.WithLabelValues(outcome)
	}
	return m
}
