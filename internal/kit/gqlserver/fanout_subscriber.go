package gqlserver

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

// Subscriptions with the same selection share one execution, whatever their source (see
// [broadcast.From]). It executes an update once, and each subscriber's sink gets the same bytes.
// If responses depend on the caller, each subscriber has an execution of its own.
//
// Lock order: source, broadcaster, execution. A source calls subscribers while it holds its mutex.

// A sink writes messages of its subscribers to one client. Its methods are safe for concurrent
// use.
type sink interface {
	// appendNext appends the message with the subscriber's next response.
	appendNext(out []byte, m *subscriber, payload []byte, u *broadcast.Update) []byte
	// offer queues messages and never waits. The caller may reuse the slice. If too much is
	// queued, offer queues nothing and returns false. Once the queue is written, the sink
	// increments drains and then calls drained of its subscribers, once.
	offer(messages []byte) bool
	// drains returns how often the sink has called drained of its subscribers.
	drains() uint64
	// finishSubscriber sends the end of the subscription after all queued messages, with err
	// unless that is nil. It closes the subscriber and may wait.
	finishSubscriber(m *subscriber, err error)
}

// A broadcaster owns all shared executions and subscribers of a server.
type broadcaster struct {
	server  *Server
	workers sync.Pool      // of *worker
	work    sync.WaitGroup // workers, and goroutines that end subscribers

	loadWarnings clock.Throttle

	cachedBytes atomic.Int64 // bytes in the caches of all executions

	mu         sync.Mutex
	executions map[document.Selection]*sharedExecution // shared ones only
	personal   map[document.Selection]struct{}
}

const maxPersonal = 1024 // selections that are known to have personal responses

func newBroadcaster(d *Server) *broadcaster {
	return &broadcaster{
		server: d, workers: sync.Pool{New: func() any { return new(worker) }},
		executions: map[document.Selection]*sharedExecution{}, personal: map[document.Selection]struct{}{},
	}
}

// wait returns when no goroutine runs, after all subscribers are closed, or when ctx ends.
func (b *broadcaster) wait(ctx context.Context) error {
	return waitFor(ctx, &b.work, "end broadcasts")
}

// follow subscribes m to a source until m is closed. It closes m if that fails.
func (m *subscriber) follow(s broadcast.Source) error {
	following := false
	defer func() {
		if !following { // Subscribe may have panicked
			m.close()
		}
	}()
	f, err := s.Subscribe(m)
	if err != nil {
		return err //nolint:wrapcheck // it is for the client
	}
	following = true
	p := m.lock()
	closed := m.closed
	if !closed {
		m.subscription = f
	}
	resume := m.pendingResume
	p.mu.Unlock()
	switch {
	case closed:
		f.Close()
	case resume != receiving:
		m.resume(resume)
	}
	return nil
}

// subscribe registers the subscription of op. The caller must close the result, which has the
// values of ctx and takes over the memory of op's caller.
func (b *broadcaster) subscribe(ctx context.Context, op *operation, to sink) *subscriber {
	m := &subscriber{broadcasts: b, sink: to, ctx: ctx, params: op.params, caller: op.caller, memory: op.caller.memory}
	m.params.Headers, m.caller.memory = nil, nil
	m.key, m.shareable = document.SelectionOf(op.oc)
	b.register(m)
	return m
}

func (b *broadcaster) register(m *subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.metrics.subscriptions.Inc()
	_, personal := b.personal[m.key]
	if !m.shareable || personal {
		b.assign(m, newSharedExecution(b, m.key, true))
		return
	}
	p := b.executions[m.key]
	if p == nil {
		p = newSharedExecution(b, m.key, false)
		b.executions[m.key] = p
	}
	b.assign(m, p)
}

// assign adds m to p. The caller holds mu.
func (b *broadcaster) assign(m *subscriber, p *sharedExecution) {
	p.subscribers[m] = struct{}{}
	m.execution.Store(p)
}

func (b *broadcaster) unregister(m *subscriber) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.server.metrics.subscriptions.Dec()
	p := m.execution.Load()
	delete(p.subscribers, m)
	if len(p.subscribers) > 0 {
		return
	}
	if b.executions[p.key] == p {
		delete(b.executions, p.key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end()
}

// anySubscriber returns a random subscriber of p, or nil if there is none.
func (b *broadcaster) anySubscriber(p *sharedExecution) *subscriber {
	b.mu.Lock()
	defer b.mu.Unlock()
	for m := range p.subscribers { // in random order
		return m
	}
	return nil
}

// split gives each subscriber of p an execution of its own, with its part of the queue. The
// worker of p calls it with the deliveries that it has taken. Later subscribers to the same
// selection get executions of their own too.
func (b *broadcaster) split(p *sharedExecution, queued []delivery) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.markPersonal(p.key)
	if b.executions[p.key] == p {
		delete(b.executions, p.key)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	shares := make(map[*subscriber]*sharedExecution, len(p.subscribers))
	for m := range p.subscribers {
		shares[m] = newSharedExecution(b, p.key, true)
	}
	for _, waiting := range [][]delivery{queued, p.queue} {
		for _, e := range waiting {
			if own := shares[e.m]; own != nil && e.current() {
				own.queue = append(own.queue, e)
			}
		}
	}
	for _, m := range p.behind {
		if own := shares[m]; own != nil {
			own.behind = append(own.behind, m)
		}
	}
	for m, own := range shares {
		m.first = 0
		own.subscribers[m] = struct{}{}
		own.mu.Lock()
		m.execution.Store(own)
		if len(own.queue)+len(own.behind) > 0 {
			own.wake()
		}
		own.mu.Unlock()
	}
	p.queue, p.behind = nil, nil
	clear(p.subscribers)
	p.end()
}

// finishAll ends all subscriptions of p. The worker of p calls it.
func (b *broadcaster) finishAll(p *sharedExecution, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	for m := range p.subscribers {
		m.first = 0
		if m.closed || m.finished {
			continue
		}
		m.gen.Add(1) // queued deliveries follow lost ones
		m.finish(err)
	}
}

func (b *broadcaster) markPersonal(key document.Selection) {
	for old := range b.personal {
		if len(b.personal) < maxPersonal {
			break
		}
		delete(b.personal, old)
	}
	b.personal[key] = struct{}{}
	b.server.metrics.personal.Set(float64(len(b.personal)))
}

// A subscriber is a client's subscription as its source sees it. It has no goroutine.
type subscriber struct {
	broadcasts *broadcaster
	sink       sink
	key        document.Selection
	shareable  bool // key is valid

	// The inputs of the operation, its own or the shared one.
	ctx    context.Context // for its values
	params graphql.RawParams
	caller caller

	prefix []byte // set and used by the sink
	memory *quota.Memory

	execution atomic.Pointer[sharedExecution] // changes while both the broadcaster and the execution are locked
	gen       atomic.Uint32                   // of deliveries; a delivery of another generation is outdated

	// Guarded by the mutex of the execution.
	subscription  broadcast.Subscription // nil before follow and after close
	state         receiveState
	resuming      bool         // the source was asked to resume
	pendingResume receiveState // state to resume from after follow; receiving for none
	started       bool         // an update was pushed
	endQueued     bool         // the end is queued
	endErr        error        // reason of the queued end
	finished      bool         // the sink is sending the end
	closed        bool

	// Owned by the worker of the execution. resume reads lastSeq too, when the worker has no
	// delivery of the subscriber.
	lastSeq int64 // Seq of the last update that the sink accepted
	first   int32 // of its deliveries in a batch, from 1; 0 for none
	last    int32
}

// A receiveState is receiving, or the reason why a subscriber rejects pushed updates.
type receiveState int

const (
	receiving   receiveState = iota
	behindQueue              // too much is queued for the worker
	behindSink               // too much is queued in the sink
)

// lock locks and returns the execution of m.
func (m *subscriber) lock() *sharedExecution {
	for {
		p := m.execution.Load()
		p.mu.Lock()
		if m.execution.Load() == p {
			return p
		}
		p.mu.Unlock()
	}
}

// Push implements [broadcast.Receiver].
func (m *subscriber) Push(u *broadcast.Update) {
	p := m.lock()
	defer p.mu.Unlock()
	if m.closed || m.endQueued || m.finished || m.state != receiving {
		return
	}
	if !m.started {
		m.started, m.lastSeq = true, u.Seq-1
	}
	if len(p.queue) >= maxQueued {
		m.fallBehind(behindQueue)
		p.behind = append(p.behind, m)
		return
	}
	p.push(delivery{u, m, m.gen.Load()})
}

// End implements [broadcast.Receiver]. A finished source that is asked to resume ends again.
func (m *subscriber) End(err error) {
	p := m.lock()
	defer p.mu.Unlock()
	switch {
	case m.closed, m.endQueued, m.finished:
	case m.state == receiving:
		m.endQueued, m.endErr = true, err
		p.push(delivery{nil, m, m.gen.Load()})
	case err != nil: // the source would not send the missed updates
		m.finish(err)
	}
}

// Reset implements [broadcast.Receiver].
func (m *subscriber) Reset() {
	p := m.lock()
	defer p.mu.Unlock()
	m.gen.Add(1)
	m.state, m.resuming, m.endQueued = receiving, false, false
}

// fallBehind makes m reject updates until it is resumed. The caller holds the mutex of the
// execution.
func (m *subscriber) fallBehind(behind receiveState) {
	if m.state == receiving {
		m.broadcasts.server.metrics.lagged.Inc()
	}
	m.gen.Add(1)
	m.state = behind
	if m.endQueued && m.endErr != nil {
		m.finish(m.endErr)
		return
	}
	m.endQueued = false
}

// finish makes the sink send the end, after which nothing follows. The caller holds the mutex of
// the execution.
func (m *subscriber) finish(err error) {
	m.finished = true
	m.broadcasts.work.Go(func() { m.sink.finishSubscriber(m, err) })
}

// drained resumes m after its sink has written its queue. The sink calls it without a lock.
func (m *subscriber) drained() { m.resume(behindSink) }

// resume makes the source resend the updates that m missed, if m is in state from.
func (m *subscriber) resume(from receiveState) {
	p := m.lock()
	if m.closed || m.finished || m.resuming || m.state != from {
		p.mu.Unlock()
		return
	}
	f, after := m.subscription, m.lastSeq
	m.resuming = f != nil
	if f == nil {
		m.pendingResume = from
	}
	p.mu.Unlock()
	if f != nil {
		f.Resume(after)
	}
}

// close ends the subscription. Messages that are being delivered may still reach the sink. It is
// idempotent.
func (m *subscriber) close() {
	p := m.lock()
	if m.closed {
		p.mu.Unlock()
		return
	}
	m.closed = true
	m.gen.Add(1)
	f := m.subscription
	m.subscription = nil
	p.mu.Unlock()
	if f != nil {
		f.Close()
	}
	m.broadcasts.unregister(m)
	m.memory.Release()
}
