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

// Subscriptions that are told the same (see [broadcast.From]) are members of a pipe, one
// for each selection: it executes an update once, and its members' carriers get the
// bytes. Where an answer depends on who asks, each member has a pipe of its own.
//
// Of the locks, that of broadcasts is taken before that of a pipe, and a source's, within
// which it calls a member, before both.

// A sink writes what members get to one client. Its methods are safe for concurrent
// use.
type sink interface {
	// appendNext appends the message that has a member's next response.
	appendNext(out []byte, m *subscriber, payload []byte, u *broadcast.Update) []byte
	// offer takes messages, which the caller may change afterwards, and never waits. If
	// too much waits to be written it takes nothing and returns false; when all that is
	// written it counts that in drains, and then calls drained of its members, once.
	offer(messages []byte) bool
	// drains is how often it has called drained of its members.
	drains() uint64
	// finishSubscriber tells the client that nothing comes any more, behind all that was taken, and
	// why if that is an error. It closes the member, and may wait.
	finishSubscriber(m *subscriber, err error)
}

// broadcaster are all pipes and members of a door.
type broadcaster struct {
	server  *Server
	workers sync.Pool      // of *worker
	work    sync.WaitGroup // workers, and what ends members

	loadWarnings clock.Throttle

	cachedBytes atomic.Int64 // bytes in the memos of all pipes

	mu         sync.Mutex
	executions map[document.Selection]*sharedExecution // that are shared
	personal   map[document.Selection]struct{}
}

const maxPersonal = 1024 // selections of which it is known that answers depend on who asks

func newBroadcaster(d *Server) *broadcaster {
	return &broadcaster{
		server: d, workers: sync.Pool{New: func() any { return new(worker) }},
		executions: map[document.Selection]*sharedExecution{}, personal: map[document.Selection]struct{}{},
	}
}

// wait returns when nothing is at work any more, after all members were closed, or when
// ctx ends.
func (b *broadcaster) wait(ctx context.Context) error {
	return waitFor(ctx, &b.work, "end broadcasts")
}

// follow has a member told what its subscription is to hear, until it is closed. It
// closes the member if it fails.
func (m *subscriber) follow(s broadcast.Source) error {
	following := false
	defer func() {
		if !following { // it may have panicked
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

// subscribe makes the subscription that an operation began a member, which must be closed. Its
// own operation will have the values of ctx. It takes over the caller's memory.
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

// assign has a pipe's members be one more. It is for those who hold the mutex.
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

// anySubscriber is a member of a pipe, another one each time; nil if there is none any more.
func (b *broadcaster) anySubscriber(p *sharedExecution) *subscriber {
	b.mu.Lock()
	defer b.mu.Unlock()
	for m := range p.subscribers { // whose order is random
		return m
	}
	return nil
}

// split gives each member of a pipe one of its own, with its share of what waits: first
// what the pipe's worker has taken, which calls it. Who wants the same later gets one
// too.
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

// finishAll ends the subscriptions of a pipe, whose worker calls it.
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
		m.gen.Add(1) // what waits is behind what was lost
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

// A subscriber is a subscription of a client, as its source sees it. No goroutine stays for
// it.
type subscriber struct {
	broadcasts *broadcaster
	sink       sink
	key        document.Selection
	shareable  bool // has a key

	// What its operation is begun with, for itself or for all of its pipe.
	ctx    context.Context // for its values
	params graphql.RawParams
	caller caller

	prefix []byte // the carrier's
	memory *quota.Memory

	execution atomic.Pointer[sharedExecution] // changes where both it and broadcasts are locked
	gen       atomic.Uint32                   // of what it is pushed: what has another one counts no more

	// The pipe's mutex guards these.
	subscription  broadcast.Subscription // nil before it follows, and when it is closed
	state         receiveState
	resuming      bool         // its source was asked to
	pendingResume receiveState // from which it is to be resumed when it follows
	started       bool         // something was pushed
	endQueued     bool         // its end waits too
	endErr        error        // why
	finished      bool         // its carrier is being told that
	closed        bool

	// These are the pipe's worker's, and whoever resumes it may read taken: then the
	// worker has nothing of it.
	lastSeq int64 // the number of the last update that the carrier took
	first   int32 // of its entries in a batch, from 1; 0 for none
	last    int32
}

// A receiveState is whether a member takes what it is pushed.
type receiveState int

const (
	receiving   receiveState = iota
	behindQueue              // too much waited for the worker
	behindSink               // too much waited in its carrier
)

// lock locks the pipe of a member.
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

// End implements [broadcast.Receiver]. A source that has told all, and is asked to resume,
// ends once more.
func (m *subscriber) End(err error) {
	p := m.lock()
	defer p.mu.Unlock()
	switch {
	case m.closed, m.endQueued, m.finished:
	case m.state == receiving:
		m.endQueued, m.endErr = true, err
		p.push(delivery{nil, m, m.gen.Load()})
	case err != nil: // it would not tell what was missed
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

// fallBehind has the member take nothing more until it is resumed. Its pipe must be locked.
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

// finish has the carrier tell the end, behind which nothing comes. Its pipe must be locked.
func (m *subscriber) finish(err error) {
	m.finished = true
	m.broadcasts.work.Go(func() { m.sink.finishSubscriber(m, err) })
}

// drained is called by the carrier, without a lock.
func (m *subscriber) drained() { m.resume(behindSink) }

// resume has the source tell again what a member that fell behind did not take.
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

// close ends a member: nothing reaches its carrier afterwards but what is on its way. More
// than once is once.
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
