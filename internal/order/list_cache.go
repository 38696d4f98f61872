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

// listCache are the newest orders of each user, and those of them that may wait for
// their commit, in Redis.
//
// The newest orders are a window of kit/cache: a sorted set that a rebuild makes as a
// whole and an added order changes only if it is there, with a marker that says
// whether all orders of the user are in it, none of them perhaps, or whether more lie
// below the oldest.
//
// A rebuild cannot lose an order that is committed meanwhile. It takes a lease in
// Redis, then reads the rows, then stores what it read, in one script, if the lease is
// still its own. Who commits an order adds it after that. If the commit came before
// the read, the rebuild has it. If it came after, then so does its add, which finds
// either the lease, takes it away and so keeps the older list from being stored; or the
// set that was stored, and changes it. If the add is lost, the job that the order's
// transaction holds repeats it.
//
// What a rebuild costs the database is bounded by locks, which all processes share:
// with stripes of them, as many rebuilds read at a time, and one for each user. Who
// does not get one in time reads without it: slow, not stuck.
type listCache struct {
	rdb     redis.Cmdable // of the queued
	keys    keys
	window  *cache.Window[int64]
	locks   *lock.Locker
	stripes int
	wait    time.Duration // for a lock
	read    func(ctx context.Context, user int64, limit int) ([]cache.Entry, error)
	metrics *listMetrics
}

// listEntry is an order's place in the list of its user.
type listEntry struct {
	User, Number int64
	Ms           int64 // of its CreatedAt
}

const (
	rebuildWait  = 300 * time.Millisecond
	rebuildLease = 3 * time.Second // longer than a read of the rows may take
	readLimit    = 2 * time.Second // of the rows
	redisTrip    = 250 * time.Millisecond
	addTries     = 5
	addPause     = 10 * time.Millisecond // after the first try, doubled by each further one
)

func newLists(db *ent.Client, hub *cache.Client, cfg Config, m *listMetrics) *listCache {
	l := &listCache{
		rdb: cfg.Redis, keys: keys{cfg.Prefix}, locks: cfg.Locks, stripes: cfg.Stripes, wait: rebuildWait, metrics: m,
		read: func(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
			return newestPlaces(ctx, db, user, limit)
		},
	}
	policy := cache.WindowPolicy{Name: listName, Size: cfg.ListSize, LoadTimeout: rebuildWait + readLimit}
	l.window = cache.NewWindow(hub, policy, decimal, l.rebuild)
	return l
}

// rebuild reads the newest places of the lists of users, one after the other: each has
// its own lock. Nobody asks for more than one at a time.
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

// rebuildOne does so under a lock if it can be had.
func (l *listCache) rebuildOne(ctx context.Context, user int64, limit int) ([]cache.Entry, error) {
	lease, err := l.locks.Acquire(ctx, lockOf(user, l.stripes), lock.WithWait(l.wait), lock.WithTTL(rebuildLease))
	if err == nil {
		defer func() {
			if err := lease.Release(context.WithoutCancel(ctx)); err != nil {
				l.metrics.failed(ctx, "list-lock", err) // it ends by itself
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

// newestPlaces reads the newest places of a user's list from the rows.
func newestPlaces(ctx context.Context, db *ent.Client, user int64, limit int) ([]cache.Entry, error) {
	rows, err := db.Order.Query().Where(entorder.UserID(user)).Select(entorder.FieldID, entorder.FieldCreatedAt).
		Order(newestFirst...).Limit(limit).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select the newest orders of user %d: %w", user, err)
	}
	entries := make([]cache.Entry, len(rows))
	for i, r := range rows {
		entries[i] = listKey{r.CreatedAt, r.ID}.entry()
	}
	return entries, nil
}

// add puts orders that were committed into the lists of their users, in a round
// trip for those of 500 users. It tries five times, or until it is known that Redis is
// away: the database decides then, and those who order wait for this. With an error the
// lists may be without some of the orders until it is repeated. To repeat it does no harm.
func (l *listCache) add(ctx context.Context, orders []listEntry) error {
	var err error
	for try, pause := 1, addPause; try <= addTries; try, pause = try+1, 2*pause {
		if err = l.addOnce(ctx, orders); err == nil {
			return nil
		}
		if errors.Is(err, redisdb.ErrBreakerOpen) || try < addTries && clock.Sleep(ctx, pause) != nil {
			break // whoever orders past a Redis that is away waits for this
		}
	}
	users := make([]int64, len(orders))
	for i, o := range orders {
		users[i] = o.User
	}
	if l.window.Invalidate(ctx, users...) == nil {
		return nil // a Redis whose memory is full takes deletions
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
		return fmt.Errorf("list %d orders of %d users: %w", len(orders), len(byUser), err)
	}
	return nil
}

// unqueue takes orders that are decided out of what may wait for its commit, in one
// round trip. Call it after add.
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
		return fmt.Errorf("take %d orders from the queued: %w", len(orders), err)
	}
	return nil
}

// enlist is add and unqueue. The order matters: a reader looks at the queued first
// and then at the list, so an order is always in one of them.
func (l *listCache) enlist(ctx context.Context, changed []StoredOrder) error {
	orders := make([]listEntry, len(changed))
	for i, c := range changed {
		orders[i] = listEntry{c.User, c.Order, c.At.UnixMilli()}
	}
	if err := l.add(ctx, orders); err != nil {
		return err
	}
	return l.unqueue(ctx, orders)
}

// A listKey is where an order stands in lists, newest first.
type listKey struct {
	Ms     int64 // of its CreatedAt
	Number int64
}

func placeOf(o *Order) listKey { return listKey{o.CreatedAt.UnixMilli(), o.ID} }

// entry has the number at a fixed width: sorted sets order members of one score by
// their bytes.
func (p listKey) entry() cache.Entry {
	return cache.Entry{Member: fmt.Sprintf("%019d", p.Number), Score: p.Ms}
}

// placeIn is the opposite of entry.
func placeIn(e cache.Entry) (listKey, error) {
	number, err := strconv.ParseInt(e.Member, 10, 64)
	if err != nil || number <= 0 {
		return listKey{}, fmt.Errorf("%.30q is no number of an order", e.Member)
	}
	return listKey{e.Score, number}, nil
}

// listMetrics count what the lists cost, and how often they were wrong.
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
