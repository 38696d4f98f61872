package flashsale

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/sequence"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
)

const (
	shortBacklog   = 1000                   // maximum length of the stream at which Order waits for the commit
	defaultWait    = 150 * time.Millisecond // for the commit
	defaultPay     = 15 * time.Minute
	certifyWait    = 300 * time.Millisecond // maximum wait while Redis is compared with the database
	certifyPoll    = 10 * time.Millisecond
	closedBackoff  = 2 * time.Second        // time without waits after certifyWait has passed once
	reserveTimeout = 300 * time.Millisecond // to reserve bypassed orders in Redis
)

// Limits of shared transactions that bypass Redis. Transactions of one sale lock its row one
// after the other. So a second one starts only for many callers, or when the first one hangs.
const (
	maxCommits     = 2 // in parallel
	commitBacklog  = 200
	commitPatience = 100 * time.Millisecond
	maxCommitQueue = 2000
	groupTimeout   = 4 * commitTimeout // of a group and its halves after a split
)

// errBusy is returned when too many orders wait.
var errBusy = apierror.New(apierror.Unavailable, "Too many orders at the moment. Please try again.").WithRetryAfter(time.Second)

// Values of the log attribute doing: background operations, which are retried.
const (
	doingPublish     = "tell"
	doingReceive     = "hear"
	doingWatch       = "watch"
	doingRelease     = "release"
	doingReserve     = "reserve"
	doingRead        = "read"
	doingCommit      = "commit"
	doingTakeOver    = "take_over"
	doingAcknowledge = "acknowledge"
	doingPark        = "park"
	doingStats       = "stats"
	doingQuery       = "ask"
)

// orderQueue is the part of a Service that stores orders.
type orderQueue struct {
	writer      *orderWriter
	group       *groupCommit
	reserves    sync.WaitGroup // reserveBypassed calls
	bypasses    *bypassCheck
	pending     *pending
	block       time.Duration // maximum wait for new entries
	idle        time.Duration // idle time before a consumer without entries is removed
	closedUntil atomic.Int64  // Unix nanoseconds; until then no call waits for a certificate
}

func (s *Service) openQueue(reg prometheus.Registerer) error {
	texts, err := loadStatements(s.db.Dialect())
	if err != nil {
		return err
	}
	s.writer = &orderWriter{
		db: s.db, sql: texts, orders: s.orders, payWithin: s.cfg.PayWithin, m: newWriterMetrics(),
		bypassed: func(ctx context.Context, tx outbox.Execer, orders []int64) ([]outbox.JobRef, error) {
			return outbox.AddBatch(ctx, s.outbox, tx, topicReserve, orders...)
		},
	}
	s.group = newGroupCommit(s.commitAll)
	s.bypasses = &bypassCheck{query: func(ctx context.Context) (bool, error) { return s.outbox.HasPending(ctx, topicReserve) }}
	s.pending = newPending(s.cfg.Now)
	s.block, s.idle = readBlock, consumerIdle
	s.handleJobs()
	if s.cfg.Bus != nil {
		s.cfg.Bus.Subscribe(topicDecided, s.receiveDecided)
	}
	if reg == nil {
		return nil
	}
	return s.writer.m.register(reg)
}

// Order requests a unit of a sale for a user. If few orders are queued, it waits up to Config.Wait
// for the commit. Otherwise the result is Queued, and the order gets its row later.
//
// Redis admits in one round trip. While Redis is unavailable or uncertified, the database
// decides alone. After an [apierror.Unavailable] the caller may try again. Any other error
// means that the database failed or ctx ended: there may be an order, which the same request
// finds.
func (s *Service) Order(ctx context.Context, t sale.Request) (a sale.Response, err error) {
	defer func() { s.writer.m.tried(a, err) }()
	for range 2 {
		a, again, err := s.tryOrder(ctx, t)
		if !again {
			return a, err
		}
	}
	return sale.Response{}, errBusy
}

// tryOrder is one attempt of Order, with a new order number. again reports that a new attempt
// may succeed, because a dead order was released.
func (s *Service) tryOrder(ctx context.Context, t sale.Request) (a sale.Response, again bool, err error) {
	number, err := s.cfg.Numbers.Next(ctx, t.Partition)
	if err != nil {
		return sale.Response{}, false, fmt.Errorf("issue order number: %w", err)
	}
	e := Entry{Order: number, User: t.UserID, Voucher: t.VoucherID, Shop: t.ShopID, Price: t.Price, At: s.cfg.Now()}
	w, ok := s.pending.add(e)
	if !ok {
		s.writer.m.event(eventOverflow)
	}
	v, arrived, err := s.admit(ctx, t, number)
	switch {
	case !arrived && (errors.Is(err, errTooManyAdmissions) || errors.Is(err, redis.ErrPoolTimeout)): // Redis is available
		s.pending.drop(number)
		return sale.Response{}, false, errBusy.WithCause(err)
	case !arrived && ctx.Err() != nil: // no caller waits
		s.pending.drop(number)
		return sale.Response{}, false, ctx.Err()
	case err != nil, v.code == noState:
		a, err = s.orderDirect(ctx, t, number, arrived)
		return a, false, err
	case v.code == admitted:
		return s.await(ctx, w, v), false, nil
	}
	s.pending.drop(number)
	if v.code == held {
		return s.answerHeld(ctx, t, v.order)
	}
	if v.code == outOfStock {
		if a, ok := s.bypassHolder(ctx, t); ok {
			return a, false, nil
		}
	}
	a, err = refusal(v)
	return a, false, err
}

// bypassHolder finds an order of the user that was recently stored past Redis. Redis may not have
// it yet and report "sold out". If the database is unavailable, no order bypasses Redis, so the
// reply of Redis counts.
func (s *Service) bypassHolder(ctx context.Context, t sale.Request) (sale.Response, bool) {
	active, err := s.bypasses.pending(ctx)
	if err != nil {
		s.recordFailure(ctx, doingQuery, err)
	}
	if !active {
		return sale.Response{}, false
	}
	a, ok := s.answerSoldOut(ctx, t)
	return a, ok && a.Result == sale.Held
}

// refusal returns the response to a request that was not admitted.
func refusal(v decision) (sale.Response, error) {
	switch v.code {
	case repeated:
		return sale.Response{Result: sale.Repeated, Order: v.order}, nil
	case notStarted:
		return sale.Response{Result: sale.NotStarted}, nil
	case ended:
		return sale.Response{Result: sale.Ended}, nil
	case offSale:
		return sale.Response{Result: sale.OffSale}, nil
	case outOfStock:
		return sale.Response{Result: sale.OutOfStock}, nil
	default:
		return sale.Response{}, errBusy
	}
}

// admit requests an admission from Redis. If this Redis is being compared with the database, it
// waits up to certifyWait and retries, unless Redis is unreachable. arrived reports whether
// Redis may have received a request that failed.
func (s *Service) admit(ctx context.Context, t sale.Request, number int64) (v decision, arrived bool, err error) {
	a := admission{Request: t, order: number}
	if s.cfg.Queued != nil {
		a.queued = s.cfg.Queued(t.UserID)
	}
	for end := time.Now().Add(certifyWait); ; {
		certified := s.admitter.expected(t.Partition) != ""
		v, err = s.admitter.admit(ctx, a)
		// The client repeats a call whose reply was lost. If the second attempt is refused, the
		// first one may still have arrived.
		unsent := redisdb.NotSent(err) && (!certified || !errors.Is(err, errUncertified))
		arrived = arrived || err != nil && !unsent
		closed := errors.Is(err, errUncertified) || err == nil && v.code == noState
		if !closed || time.Now().UnixNano() < s.closedUntil.Load() {
			return v, arrived, err
		}
		s.admitter.certs.kick()
		for s.admitter.expected(t.Partition) == "" || certified {
			certified = false // another certificate, or a rebuilt sale: try again
			if s.admitter.certs.isUnreachable(t.Partition) {
				return v, arrived, err
			}
			if time.Now().After(end) {
				s.closedUntil.Store(time.Now().Add(closedBackoff).UnixNano())
				return v, arrived, err
			}
			if clock.Sleep(ctx, certifyPoll) != nil {
				return v, arrived, err
			}
		}
	}
}

// await waits for the commit of an admitted order, if few orders are queued.
func (s *Service) await(ctx context.Context, w *watched, v decision) sale.Response {
	s.pending.admitted(w.Order, v.at)
	a := sale.Response{Result: sale.Queued, Order: w.Order, At: v.at}
	if v.backlog > shortBacklog || s.cfg.Wait <= 0 {
		return a
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Wait)
	defer cancel()
	select {
	case <-w.decided:
		a.Result, a.PayBefore = sale.Stored, w.payBefore
		if w.failure != "" {
			a.Result = sale.Failed
		}
	case <-ctx.Done():
	}
	return a
}

// answerHeld answers a user with an existing order. If that order is dead, its release has not
// reached Redis yet. Then answerHeld releases it, and again is true.
func (s *Service) answerHeld(ctx context.Context, t sale.Request, other int64) (a sale.Response, again bool, err error) {
	a = sale.Response{Result: sale.Held, Order: other}
	rows, err := s.rowsOf(ctx, []int64{other})
	if err != nil { // without rows, the reply of Redis counts
		s.recordFailure(ctx, doingQuery, err)
		return a, false, nil
	}
	r := rows[other]
	if r == nil || isLive(r) {
		return a, false, nil
	}
	at := location{t.VoucherID, t.Partition, t.Buckets}
	if _, err := s.admitter.release(ctx, at, []sale.Reservation{{Order: other, User: t.UserID, Voucher: t.VoucherID}}); err != nil {
		return sale.Response{}, false, errBusy.WithCause(err)
	}
	return sale.Response{}, true, nil
}

// orderDirect lets the database decide. A number that may have reached Redis becomes a row in
// any case, so no consumer can make an order of a refused request.
func (s *Service) orderDirect(ctx context.Context, t sale.Request, number int64, arrived bool) (sale.Response, error) {
	s.writer.m.event(eventDirect)
	if !arrived && s.admitter.recentlySoldOut(t.VoucherID) {
		if a, ok := s.answerSoldOut(ctx, t); ok {
			s.pending.drop(number)
			return a, nil
		}
	}
	o, err := s.group.Join(ctx, attempt{
		Entry: Entry{Order: number, User: t.UserID, Voucher: t.VoucherID, Shop: t.ShopID, Price: t.Price},
		key:   t.Key, direct: true, final: arrived,
	})
	if err != nil {
		// A number that may have reached Redis is watched until it has a row. The user does not
		// get it, because only this process knows it and may die.
		if !arrived {
			s.pending.drop(number)
		}
		return sale.Response{}, err
	}
	s.pending.drop(number)
	a := sale.Response{Result: o.result, Order: o.other}
	switch {
	case o.duplicate:
		return sale.Response{}, errBusy
	case o.result == sale.Stored, o.result == sale.Failed:
		a.Order, a.At, a.PayBefore = number, o.At, o.PayBefore
	case o.result == sale.OutOfStock:
		s.admitter.markSoldOut(t.VoucherID)
	}
	return a, nil
}

// answerSoldOut answers for a recently sold-out sale without a transaction. Existing orders
// come first.
func (s *Service) answerSoldOut(ctx context.Context, t sale.Request) (sale.Response, bool) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	id, err := s.db.Order.Query().Where(entorder.VoucherID(t.VoucherID), entorder.UserID(t.UserID), live).FirstID(ctx)
	switch {
	case err == nil:
		return sale.Response{Result: sale.Held, Order: id}, true
	case !ent.IsNotFound(err), t.Key != "": // only the statement checks the key
		return sale.Response{}, false
	}
	return sale.Response{Result: sale.OutOfStock}, true
}

// groupCommit batches concurrent callers into transactions.
type groupCommit = batch.Batcher[attempt, outcome]

// newGroupCommit returns a batcher of transactions. Join returns when its context ends. Its
// attempt is decided anyway, because Redis may have admitted it.
func newGroupCommit(run batch.Run[attempt, outcome]) *groupCommit {
	return batch.New(run, batch.Config{
		Max: maxBatch, MaxWaiting: maxCommitQueue, Groups: maxCommits, Backlog: commitBacklog, Patience: commitPatience,
		Timeout: groupTimeout, Leave: true, RunCanceled: true, Busy: errBusy, Shared: func(err error) bool { return !isData(err) },
	})
}

// commitAll decides attempts in one transaction. It does not wait for Redis, which may not answer.
func (s *Service) commitAll(ctx context.Context, calls []*batch.Call[attempt, outcome]) (after func(), err error) {
	attempts := make([]attempt, len(calls))
	for i, c := range calls {
		attempts[i] = c.In
	}
	done, err := s.writer.commit(ctx, attempts)
	if err != nil {
		if isData(err) && len(calls) > 1 {
			s.writer.m.event(eventBisected)
		}
		return nil, err
	}
	s.afterCommit(ctx, done)
	var stored []sale.Reservation
	for i, o := range done.outcomes {
		calls[i].Out = o
		if o.duplicate {
			s.reportDuplicate(ctx, attempts[i].Entry)
		}
		if o.fresh && o.result == sale.Stored {
			stored = append(stored, attempts[i].hold())
		}
	}
	if len(stored) > 0 {
		s.reserves.Go(func() { s.reserveBypassed(context.WithoutCancel(ctx), stored, done.bypassed) })
	}
	return nil, nil
}

func (s *Service) awaitCommits() {
	s.group.Wait()
	s.reserves.Wait()
}

// reserveBypassed reserves orders in Redis that were stored past it. After an error the outbox
// retries, and this process admits nothing in their partitions before a comparison.
func (s *Service) reserveBypassed(ctx context.Context, stored []sale.Reservation, jobs []outbox.JobRef) {
	ctx, cancel := context.WithTimeout(ctx, reserveTimeout)
	defer cancel()
	err := s.reserve(ctx, stored)
	if err != nil {
		partitions := map[int]bool{}
		for _, h := range stored {
			partitions[sequence.Partition(h.Order)] = true
		}
		s.suspect(slices.Collect(maps.Keys(partitions))...)
	}
	s.outbox.Finish(ctx, err, jobs...)
}

// afterCommit publishes the decisions of a commit.
func (s *Service) afterCommit(ctx context.Context, done committed) {
	decided := make([]Decided, 0, len(done.outcomes))
	for _, o := range done.outcomes {
		if o.row && !o.duplicate {
			decided = append(decided, o.Decided)
		}
	}
	s.publishDecided(ctx, decided)
	s.orders.AfterCommit(ctx, decided, done.jobs)
}

// reportDuplicate logs a number that was issued twice, which must not happen.
func (s *Service) reportDuplicate(ctx context.Context, e Entry) {
	s.cfg.Log.ErrorContext(ctx, "duplicate order number", "order", e.Order, "user", e.User, "voucher", e.Voucher)
}

func (s *Service) releaseFailed(ctx context.Context, outcomes []outcome) error {
	var holds []sale.Reservation
	for _, o := range outcomes {
		if o.row && o.Failure != "" {
			holds = append(holds, sale.Reservation{Order: o.Order, User: o.User, Voucher: o.Voucher})
		}
	}
	return s.release(ctx, holds)
}

// Entry returns an admitted order without a row, or nil. A process has the entries of its own
// orders; those of other processes are in Redis. An error means that Redis is unavailable.
func (s *Service) Entry(ctx context.Context, order int64) (*Entry, error) {
	found, err := s.Entries(ctx, []int64{order})
	return found[order], err
}

// Entries is [Service.Entry] for several orders. It omits missing ones.
func (s *Service) Entries(ctx context.Context, orders []int64) (map[int64]*Entry, error) {
	found := make(map[int64]*Entry, len(orders))
	var others []int64
	for _, n := range orders {
		if e, ok := s.pending.entry(n); ok {
			found[n] = &e
		} else {
			others = append(others, n)
		}
	}
	if len(others) == 0 {
		return found, nil
	}
	far, err := s.admitter.entries(ctx, others)
	maps.Copy(found, far)
	return found, err
}
