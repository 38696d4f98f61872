package gqlserver

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
)

const (
	maxQueued      = 1 << 20                // deliveries that wait for a worker; beyond that, subscribers fall behind
	batchSize      = 32                     // maximum number of updates that are delivered together
	batchBytes     = 256 * kb               // target size of a batch, as a sink takes all of it or nothing
	batchTime      = 250 * time.Millisecond // target time to execute a batch
	maxSerial      = 512                    // subscribers; more are served by several goroutines
	maxIdleEntries = 1 << 16                // longest queue that an idle worker retains
	maxIdleScratch = 1 << 20                // bytes that an idle worker retains
)

// A sharedExecution executes updates once for all of its subscribers and delivers the payloads.
// It has a goroutine only while there is work.
type sharedExecution struct {
	broadcasts *broadcaster
	key        document.Selection
	single     bool // one subscriber; responses may depend on the caller

	subscribers map[*subscriber]struct{} // guarded by the mutex of broadcasts

	ctx    context.Context // ends with the execution
	cancel context.CancelFunc

	mu         sync.Mutex
	queue      []delivery
	behind     []*subscriber // in state behindQueue
	working    bool
	closed     bool
	cacheTimer *time.Timer // clears the cache; nil at first

	// Owned by the worker. Without a worker, guarded by mu.
	op          *operation                // nil before the first update and after a failure
	stop        func() bool               // detaches op from ctx
	openRefused bool                      // op was rejected for the subscriber that should open it
	sawPersonal bool                      // the response may depend on the caller
	batch       int                       // maximum number of updates in the next batch; 0 at first
	loaded      map[*broadcast.Update]any // preloaded values of this batch and the next ones
	cache       payloadCache
}

// A delivery is an update for one subscriber, or the end of its subscription.
type delivery struct {
	u   *broadcast.Update // nil for the end
	m   *subscriber
	gen uint32
}

// current reports whether the subscriber still needs the delivery.
func (e *delivery) current() bool { return e.gen == e.m.gen.Load() }

func newSharedExecution(b *broadcaster, key document.Selection, alone bool) *sharedExecution {
	p := &sharedExecution{broadcasts: b, key: key, single: alone, subscribers: map[*subscriber]struct{}{}, cache: payloadCache{total: &b.cachedBytes}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	b.server.metrics.selections.Inc()
	return p
}

// end closes an execution without subscribers. The caller holds mu.
func (p *sharedExecution) end() {
	p.closed = true
	p.cancel()
	p.broadcasts.server.metrics.selections.Dec()
	if !p.working {
		p.release()
	}
}

func (p *sharedExecution) release() {
	p.drop()
	p.cache.clear()
	if p.cacheTimer != nil {
		p.cacheTimer.Stop()
	}
}

// push queues a delivery. The caller holds mu.
func (p *sharedExecution) push(e delivery) {
	p.wake()
	p.queue = append(p.queue, e)
}

// wake starts a worker, unless there is one. The caller holds mu.
func (p *sharedExecution) wake() {
	if p.working || p.closed {
		return
	}
	p.working = true
	w, _ := p.broadcasts.workers.Get().(*worker)
	if len(p.queue) == 0 {
		p.queue, w.spare = w.spare, nil
	}
	p.broadcasts.work.Go(func() { p.work(w) })
}

// work serves the queue until it is empty.
func (p *sharedExecution) work(w *worker) {
	for {
		queued, behind, ok := p.take(w)
		if !ok {
			w.release()
			p.broadcasts.workers.Put(w)
			return
		}
		p.serveGuarded(w, queued, behind)
		clear(queued)
		w.spare = queued[:0]
	}
}

// take returns the queue and the subscribers that fell behind. ok is false if there are none;
// then the worker must stop.
func (p *sharedExecution) take(w *worker) (queued []delivery, behind []*subscriber, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.queue)+len(p.behind) > 0 {
		queued, behind = p.queue, p.behind
		p.queue, p.behind, w.spare = w.spare, nil, nil
		return queued, behind, true
	}
	p.working = false
	if cap(p.queue) > cap(w.spare) {
		clear(p.queue)
		w.spare = p.queue[:0]
	}
	p.queue, p.behind = nil, nil
	switch {
	case p.closed:
		p.release()
	case p.cache.empty():
	case p.cacheTimer == nil:
		p.cacheTimer = time.AfterFunc(cacheTTL, p.clearIdleCache)
	default:
		p.cacheTimer.Reset(cacheTTL)
	}
	return nil, nil, false
}

func (p *sharedExecution) clearIdleCache() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.working {
		p.cache.clear()
	}
}

// serveGuarded serves the queue. A panic ends all subscriptions of the execution.
func (p *sharedExecution) serveGuarded(w *worker, queued []delivery, behind []*subscriber) {
	defer func() {
		if v := recover(); v != nil {
			err := p.broadcasts.server.recovered(p.ctx, v)
			p.broadcasts.finishAll(p, err)
		}
	}()
	p.serve(w, queued)
	for _, m := range behind { // none of their deliveries are left in the queue
		m.resume(behindQueue)
	}
}

// serve executes and delivers the queue.
func (p *sharedExecution) serve(w *worker, queued []delivery) {
	defer func() { clear(p.loaded) }() // the rest is loaded again when it is due
	for len(queued) > 0 {
		n := w.prepare(queued, cmp.Or(p.batch, batchSize))
		p.preload(w.updates, queued[n:])
		start, bytes := time.Now(), 0
		for _, u := range w.updates {
			payload, end := p.payload(u)
			switch end {
			case executed:
			case personal:
				p.broadcasts.split(p, queued)
				return
			case stopped:
				return
			}
			w.payloads = append(w.payloads, payload)
			bytes += len(payload)
		}
		// Smaller batches after slow ones, so that clients get the start of a replay soon.
		if time.Since(start) > batchTime || bytes > batchBytes {
			p.batch = max(len(w.updates)/2, 1)
		} else {
			p.batch = min(2*cmp.Or(p.batch, batchSize), batchSize)
		}
		w.deliver(p, queued[:n])
		queued = queued[n:]
	}
}

// A worker holds the buffers that serve an execution. An idle execution has none.
type worker struct {
	spare []delivery // an empty queue

	// The current batch.
	updates     []*broadcast.Update
	payloads    [][]byte // of updates; nil if there is nothing to send
	updateOf    []int8   // index into updates of each delivery; -1 for none
	next        []int32  // next delivery of the same subscriber, from 1; 0 for none
	subscribers []*subscriber
	scratch     [][]byte // one for each goroutine
}

// release drops the batch and large buffers.
func (w *worker) release() {
	w.reset()
	if cap(w.spare) > maxIdleEntries {
		w.spare = nil
	}
	if cap(w.updateOf) > maxIdleEntries {
		w.updateOf, w.next, w.subscribers = nil, nil, nil
	}
	for i := range w.scratch {
		if cap(w.scratch[i]) > maxIdleScratch {
			w.scratch[i] = nil
		}
	}
}

func (w *worker) reset() {
	clear(w.updates)
	clear(w.payloads)
	clear(w.subscribers)
	w.updates, w.payloads, w.updateOf, w.next, w.subscribers = w.updates[:0], w.payloads[:0], w.updateOf[:0], w.next[:0], w.subscribers[:0]
}

// prepare builds a batch of at most maxUpdates updates from the start of the queue. It returns
// the number of deliveries in it.
func (w *worker) prepare(queued []delivery, maxUpdates int) int {
	w.reset()
	at := -1
	for i := range queued {
		e := &queued[i]
		which := -1
		switch {
		case !e.current():
		case e.u == nil:
			w.addDelivery(e.m, i)
		default:
			if at < 0 || w.updates[at] != e.u {
				at = w.updateIndex(e.u, maxUpdates)
			}
			if at < 0 {
				return i
			}
			which = at
			w.addDelivery(e.m, i)
		}
		w.updateOf = append(w.updateOf, int8(which)) //nolint:gosec // less than batchSize
		w.next = append(w.next, 0)
	}
	return len(queued)
}

// updateIndex returns the index of an update in the batch, adding it if needed; -1 if the batch
// is full.
func (w *worker) updateIndex(u *broadcast.Update, maxUpdates int) int {
	for i, other := range w.updates {
		if other == u {
			return i
		}
	}
	if len(w.updates) == maxUpdates {
		return -1
	}
	w.updates = append(w.updates, u)
	return len(w.updates) - 1
}

// addDelivery appends delivery i to those of a subscriber.
func (w *worker) addDelivery(m *subscriber, i int) {
	at := int32(i + 1) //nolint:gosec // at most maxQueued
	if m.first == 0 {
		m.first = at
		w.subscribers = append(w.subscribers, m)
	} else {
		w.next[m.last-1] = at
	}
	m.last = at
}

// deliver sends a batch to its subscribers, in parallel if there are many.
func (w *worker) deliver(p *sharedExecution, batch []delivery) {
	goroutines := 1
	if len(w.subscribers) > maxSerial {
		goroutines = runtime.GOMAXPROCS(0)
	}
	for len(w.scratch) < goroutines {
		w.scratch = append(w.scratch, nil)
	}
	size := (len(w.subscribers) + goroutines - 1) / goroutines
	var others sync.WaitGroup
	for i := 1; i < goroutines; i++ {
		from := min(i*size, len(w.subscribers))
		share := w.subscribers[from:min(from+size, len(w.subscribers))]
		others.Go(func() { w.deliverTo(p, batch, share, &w.scratch[i]) })
	}
	w.deliverTo(p, batch, w.subscribers[:min(size, len(w.subscribers))], &w.scratch[0])
	others.Wait()
	for _, u := range w.updates {
		if !u.At.IsZero() {
			p.broadcasts.server.metrics.delivery.Observe(time.Since(u.At).Seconds())
		}
	}
}

// deliverTo sends some subscribers their part of the batch.
func (w *worker) deliverTo(p *sharedExecution, batch []delivery, members []*subscriber, scratch *[]byte) {
	out, sent := *scratch, 0
	for _, m := range members {
		first, n, atEnd, seq := m.first, 0, false, m.lastSeq
		m.first, out = 0, out[:0]
		for i := first; i != 0; i = w.next[i-1] {
			e := &batch[i-1]
			if !e.current() {
				continue
			}
			if e.u == nil {
				atEnd = true
				break
			}
			if payload := w.payloads[w.updateOf[i-1]]; payload != nil {
				out = m.sink.appendNext(out, m, payload, e.u)
				n++
			}
			seq = e.u.Seq
		}
		drains := m.sink.drains()
		if n > 0 && !m.sink.offer(out) {
			m.handleRefusal(drains)
			continue
		}
		m.lastSeq = seq
		sent += n
		if atEnd {
			m.finishQueued()
		}
	}
	*scratch = out
	p.broadcasts.server.metrics.deliveries.Add(float64(sent))
}

// handleRefusal marks m as behind after its sink refused a batch. drains is the count of the
// sink before it did.
func (m *subscriber) handleRefusal(drains uint64) {
	p := m.lock()
	if !m.closed {
		m.fallBehind(behindSink)
	}
	p.mu.Unlock()
	if m.sink.drains() != drains { // the sink drained meanwhile and did not see that m is behind
		m.drained()
	}
}

// finishQueued ends the subscription after the queued deliveries.
func (m *subscriber) finishQueued() {
	p := m.lock()
	defer p.mu.Unlock()
	if m.endQueued && !m.closed {
		m.finish(m.endErr)
	}
}
