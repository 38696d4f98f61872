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

// Config holds the dependencies and settings of a Service. The zero value of each number is
// a good setting.
type Config struct {
	Numbers    NumberSource          // required
	Orders     Orders                // required
	Prefix     string                // of all Redis keys
	Instance   string                // names this process, to others and over its life alone
	State      redis.UniversalClient // where the sales lie
	Partitions int                   // that a first start chooses; see PartitionsServer

	// Dial opens a client of the same Redis for admissions alone, whose every new
	// connection certify has to allow, and that repeats a command once whose answer
	// was lost. The Service closes it.
	Dial func(certify func(ctx context.Context, conn *redis.Conn) error) (redis.UniversalClient, error)

	Locks *lock.Locker // of all processes on the database; nil for one process

	Bus eventbus.Bus // on which processes tell each other what was decided; nil for one process

	MadeAt  func(number int64) time.Time // when the number of an order was made, by its maker's clock
	Queued  func(user int64) string      // the whole Redis key of a user's queued orders; nil: they are not listed
	Backlog int                          // orders that wait for their commit in a partition, at most; default 20 000
	Now     func() time.Time             // nil is time.Now

	PayWithin time.Duration // that an order may stay unpaid; default 15 min
	Wait      time.Duration // of Order for a commit that is near; default 150 ms, negative is none

	Registerer prometheus.Registerer // required
	Log        *slog.Logger          // required
}

const defaultBacklog = 20_000

// Service is the race for limited vouchers. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	cfg      Config
	orders   Orders
	outbox   *outbox.Box
	m        *metrics
	admitter *admitter
	orderQueue

	recheckAfter        time.Duration  // between two looks of a scan
	failures, evictions clock.Throttle // that are logged
	unreadable          atomic.Bool    // whether Redis evicts; it was logged
}

// New builds a Service. It reads, or at the first start of all writes, how many
// partitions there are. It starts nothing: every process that admits runs
// [Service.Certify] and [Service.WatchPending], the workers are [Service.Consume] and
// [Service.Reconcile]. Close it.
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

// Close waits for the commits that callers of Order have left, and closes the client
// of admissions.
func (s *Service) Close() error {
	s.admitter.batcher.Wait()
	s.awaitCommits()
	if err := s.admitter.sale.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return fmt.Errorf("close the Redis client of sales: %w", err)
	}
	return nil
}
