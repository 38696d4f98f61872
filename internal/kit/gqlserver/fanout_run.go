package gqlserver

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

const (
	loadTimeout   = 5 * time.Second
	loadAhead     = 128                    // updates that are loaded in one go
	scanAhead     = 1 << 16                // queued deliveries that are searched for them
	minRetryPause = 100 * time.Millisecond // between two attempts
	maxRetryPause = 2 * time.Second
	maxAttempts   = 5 // to get a response without transient errors
	retryTime     = 10 * time.Second
)

// An outcome is the result of an execution.
type outcome int

const (
	executed outcome = iota
	personal         // the response may depend on the caller and cannot be shared
	stopped          // the shared execution has ended
)

// payload returns the response to an update, or nil if there is nothing to send.
func (p *sharedExecution) payload(u *broadcast.Update) ([]byte, outcome) {
	if payload, known := p.cache.find(u); known {
		return payload, executed
	}
	payload, cacheable, end := p.execute(u)
	if end == executed && cacheable && !p.single {
		p.cache.add(u, payload)
	}
	return payload, end
}

// execute retries until a response has no transient error, or the attempts are used up. While
// loading fails, it retries as long as there are subscribers. cacheable is false if another
// attempt could return another response.
func (p *sharedExecution) execute(u *broadcast.Update) (payload []byte, cacheable bool, _ outcome) {
	d := p.broadcasts.server
	p.sawPersonal = false
	start, pause := time.Now(), minRetryPause
	for tries := 0; ; {
		res, err := p.runUpdate(u)
		switch {
		case p.ctx.Err() != nil:
			return nil, false, stopped
		case p.sawPersonal && !p.single:
			return nil, false, personal
		case errors.Is(err, broadcast.ErrSkip):
			return nil, true, executed
		case err != nil:
			if p.broadcasts.loadWarnings.Allow() {
				d.log.WarnContext(p.ctx, "cannot load subscription update", "err", err)
			}
		default:
			// Each attempt runs as another subscriber, which may be allowed to subscribe.
			transient := isTransient(res.Errors) || p.op == nil && p.openRefused && !p.single
			if tries++; tries >= maxAttempts || time.Since(start) > retryTime || !transient {
				d.metrics.executions.Inc()
				return payloadOf(res), !transient, executed
			}
		}
		_ = clock.Sleep(p.ctx, pause)
		pause = min(2*pause, maxRetryPause)
	}
}

// isTransient reports whether a retry may remove some of the errors.
func isTransient(errs gqlerror.List) bool {
	return slices.ContainsFunc(errs, func(err *gqlerror.Error) bool {
		return slices.Contains([]string{errcode.Unavailable, errcode.Internal, errcode.Timeout}, errcode.CodeOf(err))
	})
}

// payloadOf returns the JSON of a response in one line.
func payloadOf(res *graphql.Response) []byte {
	text := appendResponse(nil, res)
	for i, c := range text {
		if c == '\n' || c == '\r' { // white space in JSON, but the end of a line in an event stream
			text[i] = ' '
		}
	}
	return text
}

// runUpdate loads and executes an update. If the operation gives no response, it opens another
// one and tries again, once. The error is that of the load.
func (p *sharedExecution) runUpdate(u *broadcast.Update) (res *graphql.Response, err error) {
	for range 2 {
		if p.op == nil {
			refused := p.open()
			if p.openRefused = refused != nil; p.openRefused {
				return refused, nil
			}
		}
		if res, err = p.runOperation(u); p.op != nil {
			break
		}
	}
	return res, err
}

// runOperation delivers an update to the operation and returns its response. It drops an
// operation that fails or ends.
func (p *sharedExecution) runOperation(u *broadcast.Update) (*graphql.Response, error) {
	op := p.op
	defer func() {
		if op.handoff.Personal() {
			p.sawPersonal = true
		}
	}()
	v, err := p.load(op, u)
	if errors.Is(err, errPanic) {
		return &graphql.Response{Errors: gqlerror.List{op.server.present(op.ctx, err)}}, nil
	}
	if err != nil {
		return nil, err
	}
	if err := op.handoff.Deliver(v); err != nil {
		p.drop()
		return &graphql.Response{Errors: gqlerror.List{op.server.present(op.ctx, err)}}, nil
	}
	ctx, cancel := timeout(op.ctx, op.server.cfg.Limits.OperationTime)
	defer cancel()
	res := op.respond(ctx)
	if res == nil || op.ended {
		p.drop()
	}
	if res == nil {
		res = &graphql.Response{Errors: gqlerror.List{errcode.Errorf(errcode.Internal, "internal error")}}
	}
	return res, nil
}

// preload loads the updates of a batch that are neither cached nor loaded, and with them those
// of the following deliveries, all in parallel. A source can then read their data together, and
// batches do not wait for it one by one. Failed loads are repeated during execution.
func (p *sharedExecution) preload(batch []*broadcast.Update, behind []delivery) {
	var wanted []*broadcast.Update
	want := func(u *broadcast.Update) {
		if _, known := p.cache.find(u); known {
			return
		}
		if _, known := p.loaded[u]; !known && !slices.Contains(wanted, u) {
			wanted = append(wanted, u)
		}
	}
	for _, u := range batch {
		want(u)
	}
	if len(wanted) == 0 {
		return
	}
	var last *broadcast.Update // deliveries of one update to many subscribers are next to each other
	for i := range behind[:min(len(behind), scanAhead)] {
		if e := &behind[i]; e.u != nil && e.u != last && e.current() {
			last = e.u
			if want(e.u); len(wanted) == loadAhead {
				break
			}
		}
	}
	if len(wanted) == 1 {
		return
	}
	if p.loaded == nil {
		p.loaded = make(map[*broadcast.Update]any, batchSize)
	}
	ctx, cancel := context.WithTimeout(p.ctx, loadTimeout)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, u := range wanted {
		all.Go(func() {
			v, err := p.loadOne(ctx, u)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				p.loaded[u] = v
			}
		})
	}
	all.Wait()
}

// load returns the value of an update, loading it unless preload did.
func (p *sharedExecution) load(op *operation, u *broadcast.Update) (v any, err error) {
	if v, ok := p.loaded[u]; ok {
		delete(p.loaded, u)
		return v, nil
	}
	ctx, cancel := context.WithTimeout(op.ctx, loadTimeout)
	defer cancel()
	return p.loadOne(ctx, u)
}

func (p *sharedExecution) loadOne(ctx context.Context, u *broadcast.Update) (v any, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = p.broadcasts.server.recovered(ctx, value)
		}
	}()
	return u.Load(ctx) //nolint:wrapcheck // the error is logged, or has a meaning for the caller
}

// open starts the operation as one of the subscribers would. It returns the response of a
// rejected operation, else nil.
func (p *sharedExecution) open() *graphql.Response {
	m := p.broadcasts.anySubscriber(p)
	if m == nil { // the shared execution has ended
		return &graphql.Response{}
	}
	params := m.params
	op, refused := p.broadcasts.server.start(context.WithoutCancel(m.ctx), m.caller, &params)
	if refused != nil {
		return refused
	}
	stop := context.AfterFunc(p.ctx, func() { op.cancel(nil) })
	if refused = op.run(); refused == nil && op.source() == nil {
		if refused = op.refused; refused == nil {
			refused = &graphql.Response{Errors: gqlerror.List{errcode.Errorf(errcode.Internal, "internal error")}}
		}
	}
	if refused != nil {
		stop()
		op.close()
		return refused
	}
	op.handoff.Personal() // discard the result: authorization to subscribe is checked for each subscriber
	p.op, p.stop = op, stop
	return nil
}

// drop closes the operation. The next execution opens another one.
func (p *sharedExecution) drop() {
	if p.op != nil {
		p.stop()
		p.op.close()
		p.op = nil
	}
}

// A payloadCache stores the payloads of the latest updates of a shared execution. Clients that
// reconnect together and need the same replay do not wait for an execution of it.
type payloadCache struct {
	total    *atomic.Int64 // bytes of all caches
	payloads map[*broadcast.Update][]byte
	order    []cachedPayload // oldest first
	bytes    int
}

type cachedPayload struct {
	u  *broadcast.Update
	at time.Time
}

const (
	cacheSize  = 4096 // entries; more than the longest replay, as a shorter cache would never hit
	cacheBytes = 4 * mb
	cacheTotal = 64 * mb // of all caches; when it is full, nothing is added until entries expire
	cacheTTL   = 10 * time.Second
)

func (m *payloadCache) empty() bool { return len(m.order) == 0 }

func (m *payloadCache) clear() {
	m.count(-m.bytes)
	*m = payloadCache{total: m.total}
}

func (m *payloadCache) count(bytes int) {
	m.bytes += bytes
	m.total.Add(int64(bytes))
}

func (m *payloadCache) find(u *broadcast.Update) (payload []byte, known bool) {
	m.evict(cacheSize, time.Now())
	payload, known = m.payloads[u]
	return payload, known
}

func (m *payloadCache) add(u *broadcast.Update, payload []byte) {
	now := time.Now()
	m.evict(cacheSize-1, now)
	if m.total.Load()+int64(len(payload)) > cacheTotal {
		return
	}
	if m.payloads == nil {
		m.payloads = map[*broadcast.Update][]byte{}
	}
	m.payloads[u] = slices.Clip(payload)
	m.order = append(m.order, cachedPayload{u, now})
	m.count(len(payload))
}

// evict removes entries that are too old or exceed the size.
func (m *payloadCache) evict(size int, now time.Time) {
	for len(m.order) > 0 && (len(m.order) > size || m.bytes > cacheBytes || now.Sub(m.order[0].at) > cacheTTL) {
		u := m.order[0].u
		m.count(-len(m.payloads[u]))
		delete(m.payloads, u)
		m.order[0] = cachedPayload{}
		m.order = m.order[1:]
	}
}
