package sale

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/order"
	"github.com/tandian-dev/tandian/internal/sale"
)

// Only this file uses internal/flashsale and its dependencies.

// ours is Tandian's flash sale, wired to package order as in the server: each order has its outbox
// job and is added to its user's list. Its orders have one unit. Orders of several units use the
// script and the batches of this package, which have the same design.
type ours struct {
	kind
	*Servers
	retries
	several  Admitter
	service  *flashsale.Service
	sale     Sale
	try      sale.Request
	admitted atomic.Int64
	stop     context.CancelFunc
	workers  sync.WaitGroup
	closers  []func(ctx context.Context) error
}

// A kind is a variant of Tandian's sale.
type kind struct {
	waits bool // an answer waits for the row, as by default
	away  bool // Redis is unavailable: the database decides, in groups
}

const (
	busyPause = 10 * time.Millisecond // before a retry after a busy answer
	waiting   = 150 * time.Millisecond
)

func newOurs(k kind) func(context.Context, *Servers) (Admitter, error) {
	return func(ctx context.Context, on *Servers) (Admitter, error) {
		o := &ours{kind: k, Servers: on, stop: func() {}}
		err := o.start(ctx)
		if err == nil && o.away {
			o.several, err = newGrouped(ctx, on)
		} else if err == nil {
			o.several, err = newQueued(maxSlots)(ctx, on)
		}
		if err != nil {
			return nil, errors.Join(err, o.Close(ctx))
		}
		return o, nil
	}
}

// start wires the services and starts their workers.
func (o *ours) start(ctx context.Context) error {
	prefix, log, reg := o.space(), slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	state, err := o.client("state", nil)
	if err != nil {
		return err
	}
	o.closers = append(o.closers, func(context.Context) error { return state.Close() })
	hub, err := cache.NewClient(state, cache.Options{Prefix: prefix, Log: log})
	if err != nil {
		return fmt.Errorf("open caches: %w", err)
	}
	box, err := outbox.New(o.db, outbox.Options{Dialect: "postgres", Log: log})
	if err != nil {
		return fmt.Errorf("open outbox: %w", err)
	}
	locks, err := lock.NewRedis([]redis.UniversalClient{state}, lock.Options{Prefix: prefix, Log: log})
	if err != nil {
		return fmt.Errorf("open locks: %w", err)
	}
	o.closers = append(o.closers, locks.Close)
	orders := order.New(o.rows, hub, box, order.Config{
		Redis: state, Locks: locks, Registerer: reg, Log: log,
		Prefix: prefix, Numbers: o.numbers, StockKey: func(voucher int64) string { return fmt.Sprint("stock:", voucher) },
	})
	wait := time.Duration(-1)
	if o.waits {
		wait = waiting
	}
	o.service, err = flashsale.New(ctx, o.rows, box, flashsale.Config{
		Numbers: o.numbers, Orders: announced{orders}, Registerer: prometheus.NewRegistry(), Log: log,
		Prefix: prefix, State: state, Instance: prefix, Wait: wait, Bus: eventbus.NewMemory(), MadeAt: sequence.At, Queued: orders.QueuedKey,
		Dial: func(certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
			return o.client("sale", certify)
		},
	})
	if err != nil {
		return fmt.Errorf("open flash sales: %w", err)
	}
	o.closers = append(o.closers, func(context.Context) error {
		err := o.service.Close()
		box.Wait()
		hub.Wait()
		return err
	})
	o.run(ctx, box.Run, o.service.Certify, o.service.WatchPending, o.service.Consume, o.service.Reconcile)
	return nil
}

// run starts workers. Close ends them.
func (o *ours) run(ctx context.Context, workers ...func(context.Context) error) {
	ctx, o.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, work := range workers {
		o.workers.Go(func() { _ = work(ctx) }) // its errors show as missing rows
	}
}

// client opens a client as the server does, but with longer time-outs, and counted.
func (o *ours) client(role string, certify func(context.Context, *redis.Conn) error) (redis.UniversalClient, error) {
	options, err := redis.ParseURL(o.redisURL)
	if err != nil {
		return nil, errors.New("invalid Redis URL")
	}
	cfg := redisdb.RedisConfig{URL: o.redisURL, Role: role, PoolSize: sessions + 8, Timeout: patience, PoolTimeout: patience, OnConnect: certify}
	if certify != nil {
		cfg.Retries = 1
	}
	dial := redis.NewDialer(options)
	cfg.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if o.away {
			return nil, errAway
		}
		return counted(dial(ctx, network, address))(&o.redisTrips)
	}
	return redisdb.OpenRedis(cfg, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
}

var errAway = errors.New("this Redis is unavailable")

// announced adapts package order to package flashsale.
type announced struct{ *order.Service }

// AfterCommit invalidates the caches of decided orders.
func (a announced) AfterCommit(ctx context.Context, decided []flashsale.Decided, tickets []outbox.JobRef) {
	changed := make([]order.StoredOrder, len(decided))
	for i, d := range decided {
		changed[i] = order.StoredOrder{Order: d.Order, User: d.User, Voucher: d.Voucher, At: d.At}
	}
	a.Service.AfterCommit(ctx, changed, tickets)
}

// Place returns the location of a sale in Redis.
func (o *ours) Place(voucher int64, stock int) (partition, buckets int) {
	return o.service.PartitionFor(voucher, stock)
}

// Open implements [Admitter].
func (o *ours) Open(ctx context.Context, s Sale) error {
	o.sale = s
	o.admitted.Store(0)
	if s.Many {
		return o.several.Open(ctx, s)
	}
	partition, buckets := o.Place(s.Voucher, s.Stock)
	o.try = sale.Request{VoucherID: s.Voucher, ShopID: s.Shop, Price: 100, Partition: partition, Buckets: buckets}
	if o.away {
		return nil
	}
	return o.service.Apply(ctx, s.Voucher)
}

// Admit implements [Admitter]. It retries after a busy answer.
func (o *ours) Admit(ctx context.Context, w Wish) (Answer, error) {
	if o.sale.Many {
		return o.several.Admit(ctx, w)
	}
	try := o.try
	try.UserID = w.User
	for {
		a, err := o.service.Order(ctx, try)
		if apierror.KindOf(err) == apierror.Unavailable && clock.Sleep(ctx, busyPause) == nil {
			o.n.Add(1)
			continue
		}
		if err != nil {
			return Answer{}, err
		}
		switch a.Result {
		case sale.Stored, sale.Queued:
			o.admitted.Add(1)
			return Answer{Admitted, a.Order}, nil
		case sale.Held:
			return Answer{Held, a.Order}, nil
		case sale.OutOfStock:
			return Answer{Decision: SoldOut}, nil
		default:
			return Answer{}, fmt.Errorf("unexpected result %v of an order", a.Result)
		}
	}
}

// Settle implements [Admitter].
func (o *ours) Settle(ctx context.Context, s Sale) error {
	if s.Many {
		return o.several.Settle(ctx, s)
	}
	return settled(ctx, func() (bool, error) {
		row, err := o.rows.FlashSale.Get(ctx, s.Voucher) // the pieces go in the statement that inserts the orders
		return err == nil && int64(s.Stock-row.Stock) >= o.admitted.Load(), err
	})
}

// Left implements [Admitter].
func (o *ours) Left(ctx context.Context, s Sale) (int, error) {
	if s.Many {
		return o.several.Left(ctx, s)
	}
	left, err := o.service.Stocks(ctx, []int64{s.Voucher})
	return left[s.Voucher], err
}

// Retried implements [Admitter].
func (o *ours) Retried() int64 { return o.retries.Retried() + o.several.Retried() }

// Close implements [Admitter].
func (o *ours) Close(ctx context.Context) error {
	o.stop()
	o.workers.Wait()
	var all []error
	if o.several != nil {
		all = append(all, o.several.Close(ctx))
	}
	for _, end := range slices.Backward(o.closers) {
		all = append(all, end(ctx))
	}
	return errors.Join(all...)
}
