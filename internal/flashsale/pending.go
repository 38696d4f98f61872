package flashsale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sequence"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

const (
	presumeAfter    = 6 * time.Second  // age at which an order missing in both stores is lost; longer than a commit may take
	giveUpAfter     = 25 * time.Second // the same while Redis is unavailable or uncertified
	sweepEvery      = time.Second
	maxRecheckPause = 8 * time.Second // between two checks of a late order
	statsEvery      = 5               // in sweeps
	maxPending      = 100_000         // watched orders; bounds the memory
)

// topicDecided is the bus topic of decided orders.
const topicDecided = "sale"

// pending holds the orders that this process may have reported as QUEUED, until they have a
// row. It is safe for concurrent use.
type pending struct {
	now func() time.Time

	mu  sync.Mutex
	all map[int64]*watched
}

// watched is an order without a row.
type watched struct {
	Entry
	since   time.Time
	next    time.Time     // time of the next check for its row
	pause   time.Duration // between the next check and the one after
	decided chan struct{} // closed when failure and payBefore are set
	failure string        // of a tombstone; "" for an order
	// payBefore is the payment deadline; zero if unknown.
	payBefore time.Time
}

func newPending(now func() time.Time) *pending { return &pending{now: now, all: map[int64]*watched{}} }

// add watches an order. It returns false if there are too many: then decided is never closed,
// and only the reconciler finishes a lost order.
func (p *pending) add(e Entry) (*watched, bool) {
	now := p.now()
	w := &watched{Entry: e, since: now, next: now.Add(presumeAfter), pause: sweepEvery, decided: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) >= maxPending {
		return w, false
	}
	p.all[e.Order] = w
	return w, true
}

func (p *pending) admitted(order int64, at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.all[order]; w != nil && !at.IsZero() {
		w.At = at
	}
}

// drop removes an order that was not admitted.
func (p *pending) drop(order int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, order)
}

// resolve closes decided of an order that has a row.
func (p *pending) resolve(order int64, failure string, payBefore time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.all[order]; w != nil {
		delete(p.all, order)
		w.failure, w.payBefore = failure, payBefore
		close(w.decided)
	}
}

// entry returns a watched order, which was admitted or may have been.
func (p *pending) entry(order int64) (Entry, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.all[order]; w != nil {
		return w.Entry, true
	}
	return Entry{}, false
}

// due returns the orders to check now. The pauses between the checks of an order double,
// because a slow database may have tens of thousands of unfinished orders. No pause passes
// giveUpAfter.
func (p *pending) due() []*watched {
	p.mu.Lock()
	defer p.mu.Unlock()
	var due []*watched
	now := p.now()
	for _, w := range p.all {
		if now.Before(w.next) {
			continue
		}
		due = append(due, w)
		w.next = now.Add(w.pause)
		if end := w.since.Add(giveUpAfter); now.Before(end) && w.next.After(end) {
			w.next = end
		}
		w.pause = min(2*w.pause, maxRecheckPause)
	}
	return due
}

// decidedWire is one decided order on the bus. The number is a string, because JSON numbers
// have 53 bits. The payment deadline is in milliseconds.
type decidedWire struct {
	Order     int64  `json:"o,string"`
	Code      string `json:"c,omitempty"`
	PayBefore int64  `json:"b,omitempty"`
}

const maxDecidedPerMessage = 150 // each has at most 90 bytes

// publishDecided reports decided orders to this process at once, and to others over the bus.
func (s *Service) publishDecided(ctx context.Context, decided []Decided) {
	for _, d := range decided {
		s.pending.resolve(d.Order, d.Failure, d.PayBefore)
	}
	if s.cfg.Bus == nil || len(decided) == 0 {
		return
	}
	var ms []eventbus.Message
	for part := range slices.Chunk(decided, maxDecidedPerMessage) {
		list := make([]decidedWire, len(part))
		for i, d := range part {
			list[i] = decidedWire{d.Order, d.Failure, millis(d.PayBefore)}
		}
		body, err := json.Marshal(list)
		if err != nil {
			s.recordFailure(ctx, doingPublish, err)
			return
		}
		ms = append(ms, eventbus.Message{Topic: topicDecided, Body: body})
	}
	if err := s.cfg.Bus.Publish(ctx, ms...); err != nil {
		s.recordFailure(ctx, doingPublish, err)
	}
}

// receiveDecided handles decided orders of all processes, this one included.
func (s *Service) receiveDecided(ctx context.Context, bodies [][]byte) {
	for _, body := range bodies {
		var list []decidedWire
		if err := json.Unmarshal(body, &list); err != nil {
			s.recordFailure(ctx, doingReceive, err)
			continue
		}
		for _, d := range list {
			var payBefore time.Time
			if d.PayBefore > 0 {
				payBefore = timeOf(d.PayBefore)
			}
			s.pending.resolve(d.Order, d.Code, payBefore)
		}
	}
}

// WatchPending finishes the orders that this process may have reported as QUEUED, until ctx
// ends. An order without a row and without an entry in Redis becomes a tombstone after 6
// seconds. While Redis is unavailable or uncertified, that takes 25 seconds. While the database
// is unavailable, WatchPending retries. WatchPending also updates the gauges of the queues.
func (s *Service) WatchPending(ctx context.Context) error {
	for n := 0; clock.Sleep(ctx, sweepEvery) == nil; n++ {
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.recordFailure(ctx, doingWatch, err)
		}
		if n%statsEvery != 0 {
			continue
		}
		if err := s.setQueueGauges(ctx); err != nil && ctx.Err() == nil {
			s.recordFailure(ctx, doingStats, err)
		}
	}
	return nil
}

func (s *Service) sweep(ctx context.Context) error {
	old := s.pending.due()
	var failed []error
	for part := range slices.Chunk(old, maxBatch) {
		if err := s.presumeLost(ctx, part); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// presumeLost fails the lost ones of these orders.
func (s *Service) presumeLost(ctx context.Context, old []*watched) error {
	numbers := make([]int64, len(old))
	for i, w := range old {
		numbers[i] = w.Order
	}
	rows, err := s.rowsOf(ctx, numbers)
	if err != nil {
		return err
	}
	var missing []int64
	for _, n := range numbers {
		if r, ok := rows[n]; ok {
			s.pending.resolve(n, failureOf(r), time.Time{})
		} else {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	queued, redisErr := s.admitter.entries(ctx, missing)
	var lost []Entry
	now := s.cfg.Now()
	for _, w := range old {
		if _, ok := rows[w.Order]; ok {
			continue
		}
		certain := redisErr == nil && s.admitter.expected(sequence.Partition(w.Order)) != ""
		switch {
		case queued[w.Order] != nil: // the database is slow
		case certain, now.Sub(w.since) >= giveUpAfter:
			lost = append(lost, w.Entry)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	s.writer.m.queue.WithLabelValues(eventPresumed).Add(float64(len(lost)))
	_, err = s.tombstone(ctx, lost)
	return err
}

// tombstone inserts tombstones for lost orders, publishes them and releases their units in
// Redis. It returns the inserted numbers: the other orders have rows.
func (s *Service) tombstone(ctx context.Context, entries []Entry) (inserted []int64, err error) {
	for part := range slices.Chunk(entries, maxBatch) {
		done, err := s.writer.tombstone(ctx, part)
		if err != nil {
			return inserted, err
		}
		for _, o := range done.outcomes {
			inserted = append(inserted, o.Order)
		}
		s.afterCommit(context.WithoutCancel(ctx), done)
		if err := s.releaseFailed(ctx, done.outcomes); err != nil {
			s.recordFailure(ctx, doingRelease, err)
		}
	}
	return inserted, nil
}

func (s *Service) rowsOf(ctx context.Context, numbers []int64) (map[int64]*ent.Order, error) {
	ctx, cancel := context.WithTimeout(ctx, statementTimeout)
	defer cancel()
	rows, err := s.db.Order.Query().Where(entorder.IDIn(numbers...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %d orders: %w", len(numbers), err)
	}
	found := make(map[int64]*ent.Order, len(rows))
	for _, r := range rows {
		found[r.ID] = r
	}
	return found, nil
}

func failureOf(r *ent.Order) string {
	if r.Status != entorder.StatusFAILED {
		return ""
	}
	if r.Failure == nil {
		return codeNotCompleted
	}
	return *r.Failure
}

// isLive reports whether an order owns its unit.
func isLive(r *ent.Order) bool {
	return r.Status != entorder.StatusCANCELLED && r.Status != entorder.StatusREFUNDED && r.Status != entorder.StatusFAILED
}
