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
	maxWaiting  = 1 << 20                // entries for a worker; with more, members fall behind
	batchSize   = 32                     // updates that are handed out together at most
	batchBytes  = 256 * kb               // that a batch should have at most: a carrier takes all of it or nothing
	batchTime   = 250 * time.Millisecond // what their execution should take at most
	oneHand     = 512                    // members; more are served by several goroutines
	keptEntries = 1 << 16                // the longest queue that an idle worker keeps
	keptScratch = 1 << 20                // bytes
)

// A sharedExecution executes what its members are pushed and hands it out. It has a goroutine as
// long as there is something to do.
type sharedExecution struct {
	broadcasts *broadcaster
	key        document.Selection
	alone      bool // has one member, whose answers may depend on who that is

	members map[*subscriber]struct{} // broadcasts' mutex guards it

	ctx    context.Context // ends with the pipe
	cancel context.CancelFunc

	mu      sync.Mutex
	queue   []delivery
	behind  []*subscriber // behindPipe
	working bool
	closed  bool
	forget  *time.Timer // empties the memo; nil at first

	// These are the worker's, or, without one, the mutex guards them.
	op       *operation                // nil before its first update, and when it failed
	stop     func() bool               // so that the end of the pipe is not that of op any more
	unopened bool                      // its operation was refused to the member that should begin it
	tainted  bool                      // by who asks
	batch    int                       // updates that the next batch has at most; 0 at first
	loaded   map[*broadcast.Update]any // of this batch and the next ones, which were loaded together
	memo     payloadCache
}

// An delivery is an update for a member, or its end.
type delivery struct {
	u   *broadcast.Update // nil for the end
	m   *subscriber
	gen uint32
}

// current is false when the member does not want it any more.
func (e *delivery) current() bool { return e.gen == e.m.gen.Load() }

func newPipe(b *broadcaster, key document.Selection, alone bool) *sharedExecution {
	p := &sharedExecution{broadcasts: b, key: key, alone: alone, members: map[*subscriber]struct{}{}, memo: payloadCache{total: &b.remembered}}
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
		p.free()
	}
}

// free gives back what the pipe holds.
func (p *sharedExecution) free() {
	p.drop()
	p.memo.clear()
	if p.forget != nil {
		p.forget.Stop()
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
		taken, behind, ok := p.take(w)
		if !ok {
			w.rest()
			p.broadcasts.workers.Put(w)
			return
		}
		p.guarded(w, taken, behind)
		clear(taken)
		w.spare = taken[:0]
	}
}

// take returns what waits. ok is false if that is nothing: then the worker is over.
func (p *sharedExecution) take(w *worker) (taken []delivery, behind []*subscriber, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed && len(p.queue)+len(p.behind) > 0 {
		taken, behind = p.queue, p.behind
		p.queue, p.behind, w.spare = w.spare, nil, nil
		return taken, behind, true
	}
	p.working = false
	if cap(p.queue) > cap(w.spare) {
		clear(p.queue)
		w.spare = p.queue[:0]
	}
	p.queue, p.behind = nil, nil
	switch {
	case p.closed:
		p.free()
	case p.memo.empty():
	case p.forget == nil:
		p.forget = time.AfterFunc(memoAge, p.forgetAll)
	default:
		p.forget.Reset(memoAge)
	}
	return nil, nil, false
}

// forgetAll empties the memo of a pipe that is idle.
func (p *sharedExecution) forgetAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.working {
		p.memo.clear()
	}
}

// guarded serves what was taken. Whoever is to hear of a panic loses its subscription.
func (p *sharedExecution) guarded(w *worker, taken []delivery, behind []*subscriber) {
	defer func() {
		if v := recover(); v != nil {
			err := p.broadcasts.server.recovered(p.ctx, v)
			p.broadcasts.finishAll(p, err)
		}
	}()
	p.serve(w, taken)
	for _, m := range behind { // nothing that was taken is theirs any more
		m.resume(behindPipe)
	}
}

// serve executes and hands out what was taken.
func (p *sharedExecution) serve(w *worker, taken []delivery) {
	defer func() { clear(p.loaded) }() // what is not handed out is loaded anew another time
	for len(taken) > 0 {
		n := w.sort(taken, cmp.Or(p.batch, batchSize))
		p.preload(w.updates, taken[n:])
		begun, bytes := time.Now(), 0
		for _, u := range w.updates {
			payload, end := p.payload(u)
			switch end {
			case executed:
			case personal:
				p.broadcasts.split(p, taken)
				return
			case stopped:
				return
			}
			w.payloads = append(w.payloads, payload)
			bytes += len(payload)
		}
		// Who waits for a replay should have some of it soon: what takes long is handed
		// out in smaller parts.
		if time.Since(begun) > batchTime || bytes > batchBytes {
			p.batch = max(len(w.updates)/2, 1)
		} else {
			p.batch = min(2*cmp.Or(p.batch, batchSize), batchSize)
		}
		w.handOut(p, taken[:n])
		taken = taken[n:]
	}
}

// A worker is what serving a pipe needs of memory. An idle pipe has none.
type worker struct {
	spare []delivery // an empty queue

	// A batch.
	updates  []*broadcast.Update
	payloads [][]byte // of the updates; nil for nothing to tell
	which    []int8   // of the updates each entry has; -1 for none
	next     []int32  // the next entry of the same member, from 1; 0 for none
	members  []*subscriber
	scratch  [][]byte // of each goroutine
}

// rest lets go what need not be kept.
func (w *worker) rest() {
	w.reset()
	if cap(w.spare) > keptEntries {
		w.spare = nil
	}
	if cap(w.which) > keptEntries {
		w.which, w.next, w.members = nil, nil, nil
	}
	for i := range w.scratch {
		if cap(w.scratch[i]) > keptScratch {
			w.scratch[i] = nil
		}
	}
}

func (w *worker) reset() {
	clear(w.updates)
	clear(w.payloads)
	clear(w.members)
	w.updates, w.payloads, w.which, w.next, w.members = w.updates[:0], w.payloads[:0], w.which[:0], w.next[:0], w.members[:0]
}

// sort prepares a batch from the beginning of what was taken: of a few updates, all that
// comes before another one. It returns its length.
func (w *worker) sort(taken []delivery, most int) int {
	w.reset()
	at := -1
	for i := range taken {
		e := &taken[i]
		which := -1
		switch {
		case !e.current():
		case e.u == nil:
			w.gather(e.m, i)
		default:
			if at < 0 || w.updates[at] != e.u {
				at = w.find(e.u, most)
			}
			if at < 0 {
				return i
			}
			which = at
			w.gather(e.m, i)
		}
		w.which = append(w.which, int8(which)) //nolint:gosec // less than batchSize
		w.next = append(w.next, 0)
	}
	return len(taken)
}

// find is the place of an update in the batch, -1 if it has no room.
func (w *worker) find(u *broadcast.Update, most int) int {
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

// gather notes an entry of a member behind those that it has.
func (w *worker) gather(m *subscriber, i int) {
	at := int32(i + 1) //nolint:gosec // at most mostWaiting
	if m.first == 0 {
		m.first = at
		w.members = append(w.members, m)
	} else {
		w.next[m.last-1] = at
	}
	m.last = at
}

// handOut gives a batch to its members.
func (w *worker) handOut(p *sharedExecution, batch []delivery) {
	hands := 1
	if len(w.members) > oneHand {
		hands = runtime.GOMAXPROCS(0)
	}
	for len(w.scratch) < hands {
		w.scratch = append(w.scratch, nil)
	}
	size := (len(w.members) + hands - 1) / hands
	var others sync.WaitGroup
	for i := 1; i < hands; i++ {
		from := min(i*size, len(w.members))
		share := w.members[from:min(from+size, len(w.members))]
		others.Go(func() { w.serve(p, batch, share, &w.scratch[i]) })
	}
	w.serve(p, batch, w.members[:min(size, len(w.members))], &w.scratch[0])
	others.Wait()
	for _, u := range w.updates {
		if !u.At.IsZero() {
			p.broadcasts.server.metrics.delivery.Observe(time.Since(u.At).Seconds())
		}
	}
}

// serve gives each of some members what the batch has for it.
func (w *worker) serve(p *sharedExecution, batch []delivery, members []*subscriber, scratch *[]byte) {
	out, sent := *scratch, 0
	for _, m := range members {
		first, n, ends, seq := m.first, 0, false, m.taken
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
			if payload := w.payloads[w.which[i-1]]; payload != nil {
				out = m.carrier.appendNext(out, m, payload, e.u)
				n++
			}
			seq = e.u.Seq
		}
		drains := m.carrier.drains()
		if n > 0 && !m.carrier.offer(out) {
			m.refused(drains)
			continue
		}
		m.taken = seq
		sent += n
		if ends {
			m.over()
		}
	}
	*scratch = out
	p.broadcasts.server.metrics.deliveries.Add(float64(sent))
}

// refused notes that the carrier took nothing, which had drained so often before.
func (m *subscriber) refused(drains uint64) {
	p := m.lock()
	if !m.closed {
		m.fall(behindAll)
	}
	p.mu.Unlock()
	if m.carrier.drains() != drains { // and found nobody that had fallen behind
		m.drained()
	}
}

// over has the carrier tell the end, behind what it took.
func (m *subscriber) over() {
	p := m.lock()
	defer p.mu.Unlock()
	if m.ending && !m.closed {
		m.finish(m.ended)
	}
}
