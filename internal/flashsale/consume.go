package flashsale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/sequence"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
)

const (
	readBlock             = time.Second     // maximum wait for new entries
	readTimeout           = 2 * time.Second // extra time for their transfer
	takeOverIdle          = 5 * time.Second // idle time of an entry before a takeover; more than a statement may take
	takeOverEvery         = time.Second
	tidyEvery             = 60                   // in runs of takeOver
	consumerIdle          = 10 * time.Minute     // idle time before a consumer without entries is removed
	maxConcurrentCommits  = 2                    // per process
	maxGather             = 5 * time.Millisecond // maximum wait for more orders after a small commit
	maxConcurrentFinishes = 4                    // committed batches that are published and acknowledged in parallel with the next commits
	maxDeliveries         = 5                    // an entry with more may kill consumers, so it is tried alone
	maxPause              = time.Second
)

// delivery is a stream entry assigned to this consumer.
type delivery struct {
	attempt
	id         string // of the entry
	partition  int
	marker     string // certified marker of its partition at the time of the read
	deliveries int64  // number of deliveries
	malformed  error  // the entry is not an order
}

// consumer is one run of [Service.Consume].
type consumer struct {
	s        *Service
	rdb      redis.UniversalClient // for blocking commands
	slots    chan struct{}         // one per running commit
	finishes chan struct{}         // one per committed batch that is not finished
	commits  sync.WaitGroup
	mu       sync.Mutex
	active   map[entryID]bool // entries of running batches: they may look idle
	failing  int              // batches whose commit failed and is retried
}

func newConsumer(s *Service, rdb redis.UniversalClient) *consumer {
	return &consumer{
		s: s, rdb: rdb, slots: make(chan struct{}, maxConcurrentCommits), finishes: make(chan struct{}, maxConcurrentFinishes), active: map[entryID]bool{},
	}
}

type entryID struct {
	partition int
	id        string
}

// Consume stores the orders that Redis admitted, until ctx ends. Then it finishes the current
// batches and returns nil. Any number of processes may run it. Another consumer takes over an
// entry that is unfinished after five seconds. An order is stored only once. An entry is
// acknowledged only when its order has a row or the entry is parked.
//
// While the database is unavailable, Consume acknowledges nothing and soon stops reading.
func (s *Service) Consume(ctx context.Context) error {
	rdb, err := redisdb.NewBlockingClient(s.cfg.State, readBlock+readTimeout)
	if err != nil {
		return fmt.Errorf("consume orders of flash sales: %w", err)
	}
	defer func() { _ = rdb.Close() }()
	// go-redis returns only after a reply, even if the context has ended. Another consumer
	// takes over the entries of a late reply.
	defer context.AfterFunc(ctx, func() { _ = rdb.Close() })()
	c := newConsumer(s, rdb)
	var readers sync.WaitGroup
	for _, partitions := range s.readers() {
		readers.Go(func() { c.readStreams(ctx, partitions) })
	}
	readers.Go(func() { c.takeOver(ctx) })
	readers.Wait()
	c.commits.Wait()
	return nil
}

// readers returns the partitions by reader. Partitions on one node share a reader.
func (s *Service) readers() [][]int {
	var one []int
	var each [][]int
	for p := range s.admitter.partitions {
		one, each = append(one, p), append(each, []int{p})
	}
	if _, cluster := s.cfg.State.(*redis.ClusterClient); cluster {
		return each
	}
	return [][]int{one}
}

// readStreams reads the streams of partitions, which are on one node.
func (c *consumer) readStreams(ctx context.Context, partitions []int) {
	var failures int
	grouped := false
	for ctx.Err() == nil {
		var err error
		if !grouped {
			err = c.makeGroups(ctx, partitions)
			grouped = err == nil
		}
		if err == nil {
			err = c.read(ctx, partitions)
		}
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		if redis.HasErrorPrefix(err, "NOGROUP") { // Redis was flushed, or the stream removed
			grouped = false
			if failures++; failures == 1 {
				continue
			}
		} else {
			failures++
			c.s.writer.m.event(eventFailed)
			c.s.recordFailure(ctx, doingRead, err)
		}
		_ = clock.Sleep(ctx, pauseAfter(failures)) // the loop checks ctx
	}
}

// pauseAfter returns a pause that grows with consecutive failures. Up to half of it is random.
func pauseAfter(failures int) time.Duration {
	full := min(10*time.Millisecond<<min(failures, 10), maxPause)
	return full/2 + rand.N(full/2+1)
}

func (c *consumer) makeGroups(ctx context.Context, partitions []int) error {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	pipe := c.s.admitter.state.Pipeline()
	for _, p := range partitions {
		pipe.XGroupCreateMkStream(ctx, c.s.admitter.keys.orders(p), group, "0")
	}
	cmds, _ := pipe.Exec(ctx) // each command has its own error
	var failed []error
	for _, cmd := range cmds {
		switch err := cmd.Err(); {
		case err == nil:
			c.s.writer.m.event(eventRemade)
		case !redis.HasErrorPrefix(err, "BUSYGROUP"):
			failed = append(failed, err)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("create consumer groups: %w", err)
	}
	return nil
}

// read waits for new entries and starts to decide them.
func (c *consumer) read(ctx context.Context, partitions []int) error {
	streams := make([]string, 0, 2*len(partitions))
	byName := make(map[string]int, len(partitions))
	markers := make(map[int]string, len(partitions))
	for _, p := range partitions {
		name := c.s.admitter.keys.orders(p)
		streams = append(streams, name)
		byName[name] = p
		markers[p] = c.s.admitter.expected(p)
	}
	for range partitions {
		streams = append(streams, ">")
	}
	got, err := c.rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: group, Consumer: c.s.cfg.Instance, Streams: streams, Count: maxBatch, Block: c.s.block,
	}).Result()
	if errors.Is(err, redis.Nil) {
		return nil
	}
	if err != nil {
		return err
	}
	var all []delivery
	for _, stream := range got {
		p := byName[stream.Stream]
		for _, m := range stream.Messages {
			all = append(all, deliveryOf(p, markers[p], m))
		}
	}
	begin := time.Now()
	if committed := c.decide(ctx, all); len(all) < commitBacklog {
		gather(ctx, committed, begin)
	}
	return nil
}

// gather waits for the end of a small commit, and then for half of its duration, at most
// maxGather. Callers order again after a reply, so the next transaction has more orders. A
// transaction costs as much as dozens of rows, and a parallel one would wait for the row of the
// sale. gather does not wait for a commit that hangs.
func gather(ctx context.Context, committed <-chan struct{}, begin time.Time) {
	if committed == nil {
		return
	}
	long := time.NewTimer(commitPatience)
	defer long.Stop()
	select {
	case <-committed:
		_ = clock.Sleep(ctx, min(time.Since(begin)/2, maxGather)) // the loop checks ctx
	case <-long.C:
	case <-ctx.Done():
	}
}

// deliveryOf parses an entry of admit.lua.
func deliveryOf(partition int, marker string, m redis.XMessage) delivery {
	d := delivery{id: m.ID, partition: partition, marker: marker, deliveries: 1}
	number := func(field string) int64 {
		text, _ := m.Values[field].(string)
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			d.malformed = errors.Join(d.malformed, fmt.Errorf("invalid field %s: %.40q", field, text))
			return 0
		}
		return n
	}
	d.Order, d.User, d.Voucher = number("o"), number("u"), number("v")
	d.Shop, d.Price, d.At = number("s"), int(number("p")), timeOf(number("t"))
	d.key, _ = m.Values["k"].(string)
	d.final = true
	if d.malformed == nil && sequence.Partition(d.Order) != partition {
		d.malformed = fmt.Errorf("invalid partition of order %d: got %d", d.Order, partition)
	}
	return d
}

// decide starts batches of deliveries and returns when all run, so a slow database slows down
// reads. The channel is closed when the last batch is committed or given up; it is nil without
// a batch.
func (c *consumer) decide(ctx context.Context, all []delivery) (committed <-chan struct{}) {
	all = c.markActive(all)
	var valid []delivery
	for _, d := range all {
		if d.malformed != nil || d.deliveries > maxDeliveries {
			committed = c.launch(ctx, []delivery{d})
			continue
		}
		if valid = append(valid, d); len(valid) == maxBatch {
			committed = c.launch(ctx, valid)
			valid = nil
		}
	}
	if len(valid) > 0 {
		committed = c.launch(ctx, valid)
	}
	return committed
}

// launch runs a batch as soon as another commit may start.
func (c *consumer) launch(ctx context.Context, batch []delivery) <-chan struct{} {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		c.clearActive(batch)
		return nil
	}
	over := make(chan struct{})
	c.commits.Go(func() {
		committed := sync.OnceFunc(func() {
			<-c.slots
			close(over)
		})
		defer committed()
		defer c.clearActive(batch)
		c.storeBatch(ctx, batch, committed)
	})
	return over
}

// markActive marks deliveries as active and omits those that already are.
func (c *consumer) markActive(all []delivery) []delivery {
	c.mu.Lock()
	defer c.mu.Unlock()
	var fresh []delivery
	for _, d := range all {
		if h := (entryID{d.partition, d.id}); !c.active[h] {
			c.active[h] = true
			fresh = append(fresh, d)
		}
	}
	return fresh
}

func (c *consumer) clearActive(batch []delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range batch {
		delete(c.active, entryID{d.partition, d.id})
	}
}

func (c *consumer) addFailing(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failing += n
}

func (c *consumer) isFailing() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failing > 0
}

// storeBatch decides a batch and acknowledges its entries. While the database is unavailable,
// it retries until ctx ends; then another consumer takes over the entries. It splits a batch
// that the database rejects, down to the bad entry. It calls committed when the next commit may
// start.
func (c *consumer) storeBatch(ctx context.Context, batch []delivery, committed func()) {
	if len(batch) == 1 && batch[0].malformed != nil {
		c.park(ctx, batch[0], batch[0].malformed)
		return
	}
	for failures := 0; ; {
		done, err := c.commit(ctx, batch)
		switch {
		case err == nil:
			c.finishes <- struct{}{}
			committed()
			c.finish(context.WithoutCancel(ctx), batch, done)
			<-c.finishes
			return
		case isData(err) && len(batch) == 1:
			c.park(ctx, batch[0], err)
			return
		case isData(err):
			c.s.writer.m.event(eventBisected)
			c.storeBatch(ctx, batch[:len(batch)/2], committed)
			c.storeBatch(ctx, batch[len(batch)/2:], committed)
			return
		}
		if ctx.Err() != nil {
			return
		}
		if failures++; failures == 1 {
			c.addFailing(1)
			defer c.addFailing(-1)
		}
		c.s.recordFailure(ctx, doingCommit, err)
		_ = clock.Sleep(ctx, pauseAfter(failures)) // one last attempt after the end of ctx
	}
}

// commit continues after the end of ctx.
func (c *consumer) commit(ctx context.Context, batch []delivery) (committed, error) {
	attempts := make([]attempt, len(batch))
	for i := range batch {
		attempts[i] = batch[i].attempt
	}
	return c.s.writer.commit(context.WithoutCancel(ctx), attempts)
}

// finish publishes a decided batch and acknowledges its entries. A takeover repeats failed
// steps; it finds the rows of the orders.
func (c *consumer) finish(ctx context.Context, batch []delivery, done committed) {
	c.s.afterCommit(ctx, done)
	for i, o := range done.outcomes {
		if o.duplicate {
			c.s.reportDuplicate(ctx, batch[i].Entry)
		}
	}
	if err := errors.Join(c.reserveStale(ctx, batch, done.outcomes), c.releaseRefused(ctx, batch, done.outcomes)); err != nil {
		c.s.recordFailure(ctx, doingRelease, err)
		return
	}
	if err := c.acknowledge(ctx, batch); err != nil {
		c.s.recordFailure(ctx, doingAcknowledge, err)
	}
}

// reserveStale reserves orders that were read under another marker than the current one. A
// reconciler may have run in between, when Redis had lost the buyers and the database did not
// have the orders yet. That reconciler may be in another process, so reserveStale reads the
// markers from Redis.
func (c *consumer) reserveStale(ctx context.Context, batch []delivery, outcomes []outcome) error {
	var numbers []int64
	var markers map[int]string
	for i, d := range batch {
		o := outcomes[i]
		if !o.row || o.result != sale.Stored || o.duplicate {
			continue
		}
		if markers == nil {
			var err error
			if markers, err = c.s.admitter.markers(ctx, batch); err != nil {
				return err
			}
		}
		if markers[d.partition] != d.marker {
			numbers = append(numbers, d.Order)
		}
	}
	if len(numbers) == 0 {
		return nil
	}
	return c.s.reserveRows(ctx, numbers...)
}

func (e Entry) hold() sale.Reservation {
	return sale.Reservation{Order: e.Order, User: e.User, Voucher: e.Voucher}
}

func (c *consumer) releaseRefused(ctx context.Context, batch []delivery, outcomes []outcome) error {
	var holds []sale.Reservation
	for i, o := range outcomes {
		if o.result != sale.Stored {
			holds = append(holds, batch[i].hold())
		}
	}
	return c.s.release(ctx, holds)
}

// acknowledge deletes the entries of a batch.
func (c *consumer) acknowledge(ctx context.Context, batch []delivery) error {
	ids, orders := map[int][]string{}, map[int][]int64{}
	for _, d := range batch {
		ids[d.partition] = append(ids[d.partition], d.id)
		if d.Order > 0 && sequence.Partition(d.Order) == d.partition {
			orders[d.partition] = append(orders[d.partition], d.Order)
		}
	}
	var failed []error
	for p := range ids {
		failed = append(failed, c.s.admitter.done(ctx, p, ids[p], orders[p]))
	}
	return errors.Join(failed...)
}

// takeOver takes over idle entries of all consumers, earlier attempts of this one included. It
// pauses while the database is unavailable: the entries would only change consumers.
func (c *consumer) takeOver(ctx context.Context) {
	for n := 0; clock.Sleep(ctx, takeOverEvery) == nil; n++ {
		if c.isFailing() {
			continue
		}
		err := c.claim(ctx)
		if err == nil && n%tidyEvery == 0 { // the groups exist
			err = c.s.admitter.removeIdleConsumers(ctx, c.s.idle)
		}
		if err != nil && ctx.Err() == nil && !redis.HasErrorPrefix(err, "NOGROUP") {
			c.s.writer.m.event(eventFailed)
			c.s.recordFailure(ctx, doingTakeOver, err)
		}
	}
}

func (c *consumer) claim(ctx context.Context) error {
	trip, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	g := c.s.admitter
	pipe := g.state.Pipeline()
	claims := make([]*redis.XAutoClaimCmd, g.partitions)
	markers := make([]string, g.partitions)
	for p := range claims {
		markers[p] = g.expected(p)
		claims[p] = pipe.XAutoClaim(trip, &redis.XAutoClaimArgs{
			Stream: g.keys.orders(p), Group: group, Consumer: c.s.cfg.Instance, MinIdle: takeOverIdle, Start: "0-0", Count: maxBatch,
		})
	}
	_, _ = pipe.Exec(trip) // each command has its own error
	var failed []error
	for p, cmd := range claims {
		messages, _, err := cmd.Result()
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if len(messages) == 0 {
			continue
		}
		times, err := c.deliveryCounts(ctx, p, messages)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		all := make([]delivery, len(messages))
		for i, m := range messages {
			all[i] = deliveryOf(p, markers[p], m)
			all[i].deliveries = times[m.ID]
		}
		c.s.writer.m.queue.WithLabelValues(eventTakenOver).Add(float64(len(all)))
		c.decide(ctx, all)
	}
	return errors.Join(failed...)
}

func (c *consumer) deliveryCounts(ctx context.Context, partition int, messages []redis.XMessage) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, tripTimeout)
	defer cancel()
	list, err := c.s.admitter.state.XPendingExt(ctx, &redis.XPendingExtArgs{
		Stream: c.s.admitter.keys.orders(partition), Group: group, Consumer: c.s.cfg.Instance,
		Start: messages[0].ID, End: messages[len(messages)-1].ID, Count: 2 * maxBatch,
	}).Result()
	if err != nil {
		return nil, fmt.Errorf("read delivery counts of partition %d: %w", partition, err)
	}
	times := make(map[string]int64, len(list))
	for _, p := range list {
		times[p.ID] = p.RetryCount
	}
	return times, nil
}
