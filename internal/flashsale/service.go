package flashsale

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// Config holds the dependencies and settings of a Service. The zero value of each number is a
// good production setting.
type Config struct {
	Numbers    NumberSource          // required
	Orders     Orders                // required
	Prefix     string                // of all Redis keys
	Instance   string                // unique name of this process
	State      redis.UniversalClient // stores the sales
	Partitions int                   // for the first start; default [PartitionsServer]

	// Dial opens a client of the same Redis for admissions only. The client calls certify for
	// every new connection, and sends a command again once if its reply is lost. The Service
	// closes it.
	Dial func(certify func(ctx context.Context, conn *redis.Conn) error) (redis.UniversalClient, error)

	Locks *lock.Locker // shared by all processes on the database; nil for one process

	Bus eventbus.Bus // carries decided orders between processes; nil for one process

	MadeAt  func(number int64) time.Time // returns the issue time of an order number, by the clock of its issuer
	Queued  func(user int64) string      // returns the full Redis key of a user's queued orders; nil: they are not listed
	Backlog int                          // maximum number of uncommitted orders per partition; default 20 000
	Now     func() time.Time             // default time.Now

	PayWithin time.Duration // time to pay; default 15 min
	Wait      time.Duration // maximum wait of Order for the commit; default 150 ms, negative for none

	Registerer prometheus.Registerer // required
	Log        *slog.Logger          // required
}

const defaultBacklog = 20_000

// Service sells limited vouchers. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	cfg      Config
	orders   Orders
	outbox   *outbox.Box
	m        *metrics
	admitter *admitter
	orderQueue

	recheckAfter        time.Duration  // between the two comparisons of a scan
	failures, evictions clock.Throttle // throttle logs
	unreadable          atomic.Bool    // an unreadable eviction policy was logged
}

// New returns a Service. It reads the number of partitions; the first start stores it. New
// starts no goroutine. Every process that admits runs [Service.Certify] and
// [Service.WatchPending]; the workers are [Service.Consume] and [Service.Reconcile]. The caller
// closes the Service.
func New(ctx context.Context, db *ent.Client, box *outbox.Box, cfg Config) (*Service, error) {
	cfg.Backlog = cmp.Or(cfg.Backlog, defaultBacklog)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.PayWithin = cmp.Or(cfg.PayWithin, defaultPay)
	cfg.Wait = cmp.Or(cfg.Wait, defaultWait)
	if cfg.Locks == nil {
		locks, err := dblock.NewLocal(lock.Options{MaxHold: -1, Log: cfg.Log})
		if err != nil {
			return nil, fmt.Errorf("open locks: %w", err)
		}
		cfg.Locks = locks
	}
	partitions, err := ensurePartitions(ctx, db, cmp.Or(cfg.Partitions, PartitionsServer))
	if err != nil {
		return nil, err
	}
	s := &Service{db: db, cfg: cfg, orders: cfg.Orders, outbox: box, m: newMetrics(cfg.Registerer, partitions), recheckAfter: recheckAfter}
	s.admitter = &admitter{
		state: cfg.State, keys: keys{cfg.Prefix}, partitions: partitions, backlog: cfg.Backlog,
		certs: newCertificates(partitions), soldOut: map[int64]time.Time{},
	}
	s.admitter.batcher = newAdmissions(s.admitter.admitAll)
	if err := s.openQueue(cfg.Registerer); err != nil {
		return nil, err
	}
	if s.admitter.sale, err = cfg.Dial(s.allowConn); err != nil {
		return nil, fmt.Errorf("open a Redis client for sales: %w", err)
	}
	return s, nil
}

// Close waits for the commits of cancelled Order calls and closes the client of admissions.
func (s *Service) Close() error {
	s.admitter.batcher.Wait()
	s.awaitCommits()
	if err := s.admitter.sale.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("close the Redis client of sales: %w", err)
	}
	return nil
}
