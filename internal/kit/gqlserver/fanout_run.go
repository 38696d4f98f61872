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
	loadAhead     = 128                    // updates that are loaded together
	scanAhead     = 1 << 16                // entries among which they are looked for
	minRetryPause = 100 * time.Millisecond // between two tries
	maxRetryPause = 2 * time.Second
	maxAttempts   = 5 // at a response without such errors as go by
	retryTime     = 10 * time.Second
)

// An outcome is what became of an execution.
type outcome int

const (
	executed outcome = iota
	personal         // the answer may depend on who asks, and is not for all
	stopped          // the pipe has ended
)

// payload is the response to an update, nil if there is nothing to tell.
func (p *sharedExecution) payload(u *broadcast.Update) ([]byte, outcome) {
	if payload, known := p.cache.find(u); known {
		return payload, executed
	}
	payload, sure, end := p.execute(u)
	if end == executed && sure && !p.single {
		p.cache.add(u, payload)
	}
	return payload, end
}

// execute tries until there is a response that need not be tried again. It waits for
// stores as long as there are members. It is not sure if the next try could be another one.
func (p *sharedExecution) execute(u *broadcast.Update) (payload []byte, sure bool, _ outcome) {
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
				d.log.WarnContext(p.ctx, "an update cannot be loaded, and is tried again", "err", err)
			}
		default:
			// What one member may not begin another one may: each try asks another one.
			passes := isTransient(res.Errors) || p.op == nil && p.openRefused && !p.single
			if tries++; tries >= maxAttempts || time.Since(start) > retryTime || !passes {
				d.metrics.executions.Inc()
				return payloadOf(res), !passes, executed
			}
		}
		_ = clock.Sleep(p.ctx, pause)
		pause = min(2*pause, maxRetryPause)
	}
}

// isTransient says whether errors may be gone at the next try.
func isTransient(errs gqlerror.List) bool {
	return slices.ContainsFunc(errs, func(err *gqlerror.Error) bool {
		return slices.Contains([]string{errcode.Unavailable, errcode.Internal, errcode.Timeout}, errcode.Of(err))
	})
}

// payloadOf is the JSON of a response, in one line.
func payloadOf(res *graphql.Response) []byte {
	text := appendResponse(nil, res)
	for i, c := range text {
		if c == '\n' || c == '\r' { // in JSON that is blank space; in an event it would end the line
			text[i] = ' '
		}
	}
	return text
}

// runUpdate loads and executes an update. An operation that does not answer is made anew, once.
// The error is that of the update.
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

// runOperation drops an operation that gave no answer or ended with it.
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

// preload loads the updates of a batch, but for those that are executed or loaded already,
// and with them those that come behind it, all at once: so a source can read what they need
// together, and where that takes long it is not waited for by each batch. What fails is
// loaded again when it is executed.
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
	var last *broadcast.Update // of many for one it is told to stands behind the other
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

// load asks for the value of an update, unless it was loaded with others.
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
	return u.Load(ctx) //nolint:wrapcheck // it is logged, or has a meaning
}

// open begins the operation of the pipe as one of its members would. What is refused comes
// back.
func (p *sharedExecution) open() *graphql.Response {
	m := p.broadcasts.anySubscriber(p)
	if m == nil { // the pipe has ended
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
	op.handoff.Personal() // who may subscribe is asked of each
	p.op, p.stop = op, stop
	return nil
}

// drop closes the operation; the next execution begins another one.
func (p *sharedExecution) drop() {
	if p.op != nil {
		p.stop()
		p.op.close()
		p.op = nil
	}
}

// A payloadCache has the payloads of a pipe's latest updates: of many clients that come again at
// once and are told the same again, nobody has to wait for its execution.
type payloadCache struct {
	total    *atomic.Int64 // bytes of all memos
	payloads map[*broadcast.Update][]byte
	order    []cachedPayload // the oldest first
	bytes    int
}

type cachedPayload struct {
	u  *broadcast.Update
	at time.Time
}

const (
	cacheSize  = 4096 // more than the longest replay: else one that is longer would find nothing
	cacheBytes = 4 * mb
	cacheTotal = 64 * mb // of all pipes; when it is full, nothing more is remembered until something is old
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

// evict forgets what is too old or too much.
func (m *payloadCache) evict(size int, now time.Time) {
	for len(m.order) > 0 && (len(m.order) > size || m.bytes > cacheBytes || now.Sub(m.order[0].at) > cacheTTL) {
		u := m.order[0].u
		m.count(-len(m.payloads[u]))
		delete(m.payloads, u)
		m.order[0] = cachedPayload{}
		m.order = m.order[1:]
	}
}
