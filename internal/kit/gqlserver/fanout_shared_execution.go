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
	maxQueued      = 1 << 20                // entries for a worker; with more, members fall behind
	batchSize      = 32                     // updates that are handed out together at most
	batchBytes     = 256 * kb               // that a batch should have at most: a carrier takes all of it or nothing
	batchTime      = 250 * time.Millisecond // what their execution should take at most
	maxSerial      = 512                    // members; more are served by several goroutines
	maxIdleEntries = 1 << 16                // the longest queue that an idle worker keeps
	maxIdleScratch = 1 << 20                // bytes
)

// A sharedExecution executes what its members are pushed and hands it out. It has a goroutine as
// long as there is something to do.
type sharedExecution struct {
	broadcasts *broadcaster
	key        document.Selection
	single     bool // has one member, whose answers may depend on who that is

	subscribers map[*subscriber]struct{} // broadcasts' mutex guards it

	ctx    context.Context // ends with the pipe
	cancel context.CancelFunc

	mu         sync.Mutex
	queue      []delivery
	behind     []*subscriber // behindPipe
	working    bool
	closed     bool
	cacheTimer *time.Timer // empties the memo; nil at first

	// These are the worker's, or, without one, the mutex guards them.
	op          *operation                // nil before its first update, and when it failed
	stop        func() bool               // so that the end of the pipe is not that of op any more
	openRefused bool                      // its operation was refused to the member that should begin it
	sawPersonal bool                      // by who asks
	batch       int                       // updates that the next batch has at most; 0 at first
	loaded      map[*broadcast.Update]any // of this batch and the next ones, which were loaded together
	cache       payloadCache
}

// An delivery is an update for a member, or its end.
type delivery struct {
	u   *broadcast.Update // nil for the end
	m   *subscriber
	gen uint32
}

// current is false when the member does not want it any more.
func (e *delivery) current() bool { return e.gen == e.m.gen.Load() }

func newSharedExecution(b *broadcaster, key document.Selection, alone bool) *sharedExecution {
	p := &sharedExecution{broadcasts: b, key: key, single: alone, subscribers: map[*subscriber]struct{}{}, cache: payloadCache{total: &b.cachedBytes}}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	b.server.metrics.selections.Inc()
	return p
}

// end closes a pipe without members, whose mutex is held.
func (p *sharedExecution) end() {
	p.closed = true
	p.cancel()
	p.broadcasts.server.metrics.selections.Dec()
	if !p.working {
		p.release()
	}
}

// release gives back what the pipe holds.
func (p *sharedExecution) release() {
	p.drop()
	p.cache.clear()
	if p.cacheTimer != nil {
		p.cacheTimer.Stop()
	}
}

// push lets an entry wait. It is for those who hold the mutex, as is wake.
func (p *sharedExecution) push(e delivery) {
	p.wake()
	p.queue = append(p.queue, e)
}

// wake starts the worker, if there is none.
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

// work serves what waits until nothing does.
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

// take returns what waits. ok is false if that is nothing: then the worker is over.
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

// clearIdleCache empties the memo of a pipe that is idle.
func (p *sharedExecution) clearIdleCache() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.working {
		p.cache.clear()
	}
}

// serveGuarded serves what was taken. Whoever is to hear of a panic loses its subscription.
func (p *sharedExecution) serveGuarded(w *worker, queued []delivery, behind []*subscriber) {
	defer func() {
		if v := recover(); v != nil {
			err := p.broadcasts.server.recovered(p.ctx, v)
			p.broadcasts.finishAll(p, err)
		}
	}()
	p.serve(w, queued)
	for _, m := range behind { // nothing that was queued is theirs any more
		m.resume(behindQueue)
	}
}

// serve executes and hands out what was taken.
func (p *sharedExecution) serve(w *worker, queued []delivery) {
	defer func() { clear(p.loaded) }() // what is not handed out is loaded anew another time
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
		// Who waits for a replay should have some of it soon: what takes long is handed
		// out in smaller parts.
		if time.Since(start) > batchTime || bytes > batchBytes {
			p.batch = max(len(w.updates)/2, 1)
		} else {
			p.batch = min(2*cmp.Or(p.batch, batchSize), batchSize)
		}
		w.deliver(p, queued[:n])
		queued = queued[n:]
	}
}

// A worker is what serving a pipe needs of memory. An idle pipe has none.
type worker struct {
	spare []delivery // an empty queue

	// A batch.
	updates     []*broadcast.Update
	payloads    [][]byte // of the updates; nil for nothing to tell
	updateOf    []int8   // of the updates each entry has; -1 for none
	next        []int32  // the next entry of the same member, from 1; 0 for none
	subscribers []*subscriber
	scratch     [][]byte // of each goroutine
}

// release lets go what need not be kept.
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

// prepare prepares a batch from the beginning of what was taken: of a few updates, all that
// comes before another one. It returns its length.
func (w *worker) prepare(queued []delivery, most int) int {
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
				at = w.updateIndex(e.u, most)
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

// updateIndex is the place of an update in the batch, -1 if it has no room.
func (w *worker) updateIndex(u *broadcast.Update, most int) int {
	for i, other := range w.updates {
		if other == u {
			return i
		}
	}
	if len(w.updates) == most {
		return -1
	}
	w.updates = append(w.updates, u)
	return len(w.updates) - 1
}

// addDelivery notes an entry of a member behind those that it has.
func (w *worker) addDelivery(m *subscriber, i int) {
	at := int32(i + 1) //nolint:gosec // at most mostWaiting
	if m.first == 0 {
		m.first = at
		w.subscribers = append(w.subscribers, m)
	} else {
		w.next[m.last-1] = at
	}
	m.last = at
}

// deliver gives a batch to its members.
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

// deliverTo gives each of some members what the batch has for it.
func (w *worker) deliverTo(p *sharedExecution, batch []delivery, members []*subscriber, scratch *[]byte) {
	out, sent := *scratch, 0
	for _, m := range members {
		first, n, ends, seq := m.first, 0, false, m.lastSeq
		m.first, out = 0, out[:0]
		for i := first; i != 0; i = w.next[i-1] {
			e := &batch[i-1]
			if !e.current() {
				continue
			}
			if e.u == nil {
				ends = true
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
		if ends {
			m.finishQueued()
		}
	}
	*scratch = out
	p.broadcasts.server.metrics.deliveries.Add(float64(sent))
}

// handleRefusal notes that the carrier took nothing, which had drained so often before.
func (m *subscriber) handleRefusal(drains uint64) {
	p := m.lock()
	if !m.closed {
		m.fallBehind(behindSink)
	}
	p.mu.Unlock()
	if m.sink.drains() != drains { // and found nobody that had fallen behind
		m.drained()
	}
}

// finishQueued has the carrier tell the end, behind what it took.
func (m *subscriber) finishQueued() {
	p := m.lock()
	defer p.mu.Unlock()
	if m.endQueued && !m.closed {
		m.finish(m.endErr)
	}
}
