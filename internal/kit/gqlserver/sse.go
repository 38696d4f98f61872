package gqlserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Event streams follow the protocol "GraphQL over Server-Sent Events" in distinct connections
// mode: an event "next" for each response and "complete" at the end.

// stream serves a subscription until it ends, the client disconnects or the server stops.
func (t *httpTransport) stream(w http.ResponseWriter, r *http.Request, as request.Accepted, op *operation) {
	release, failed := t.acquireSlot(op)
	if failed != nil {
		t.refuse(w, r, failed.status, failed.Error)
		return
	}
	defer release()
	if last := r.Header.Get("Last-Event-ID"); len(last) <= maxEventID {
		op.lastEvent = last
	}
	if refused := op.run(); refused != nil {
		t.answerRefused(w, as, refused)
		return
	}
	t.metrics.streams.Inc()
	defer t.metrics.streams.Dec()
	s := newEventStream(t.Server, w)
	defer t.sessions.add(op.caller.admission.Session, s)()
	token := bearer(r.Header.Get("Authorization"))
	s.open()
	if source := op.source(); source != nil { //nolint:contextcheck // the operation has its own
		s.runShared(r.Context(), token, op, source)
		return
	}
	responses := make(chan *graphql.Response)
	var pump sync.WaitGroup
	pump.Go(func() {
		defer close(responses)
		for res := op.next(); res != nil; res = op.next() {
			select {
			case responses <- res:
			case <-op.ctx.Done():
				return
			}
		}
	})
	defer pump.Wait()
	defer op.cancel(nil)
	s.run(r.Context(), token, op, responses)
}

const maxEventID = 1 * kb // longest Last-Event-ID

func (t *httpTransport) streamOne(w http.ResponseWriter, res *graphql.Response) {
	s := newEventStream(t.Server, w)
	s.open()
	if res != nil {
		s.next(res)
	}
	s.complete()
}

// acquireSlot counts a stream against the limits of its caller. A new stream closes the oldest
// one of a user at the limit.
func (t *httpTransport) acquireSlot(op *operation) (release func(), failed *failure) {
	c := op.caller
	releaseAddress, ok := t.perAddress.Acquire(c.network)
	if !ok {
		return nil, &failure{http.StatusTooManyRequests, tooManyOpen()}
	}
	removeStream, ok := t.streams.add(op.cancel)
	if !ok {
		releaseAddress()
		return nil, &failure{http.StatusServiceUnavailable, errcode.RetryLater(errcode.Unavailable, "The server is stopping.", time.Second)}
	}
	releaseUser := func() {}
	if user := c.admission.User; user != "" {
		releaseUser = t.perUser.Acquire(user, func() { op.cancel(errReplaced) })
	}
	return func() { releaseUser(); removeStream(); releaseAddress() }, nil
}

// An eventStream writes events. Its methods belong to one goroutine, except those of [sink] and
// [sessionConn].
type eventStream struct {
	*Server
	w          http.ResponseWriter
	control    *http.ResponseController
	failed     error
	recheckNow chan struct{} // signals a check of the session
	subscriber *subscriber   // nil unless the subscription has a source
	queue      eventQueue
}

func newEventStream(d *Server, w http.ResponseWriter) *eventStream {
	return &eventStream{
		Server: d, w: w, control: http.NewResponseController(w), recheckNow: make(chan struct{}, 1),
		queue: eventQueue{wake: make(chan struct{}, 1)},
	}
}

func (s *eventStream) open() {
	h := s.w.Header()
	h.Set("Content-Type", request.MediaStream+"; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would buffer events
	h.Set("X-Content-Type-Options", "nosniff")
	h.Add("Vary", "Accept")
	s.w.WriteHeader(http.StatusOK)
	s.send(":\n\n") // sends the headers
}

func (s *eventStream) run(ctx context.Context, token string, op *operation, responses <-chan *graphql.Response) {
	alive, recheck := ticker(s.cfg.Limits.KeepAlive), ticker(clock.Jitter(s.cfg.Limits.Recheck))
	defer alive.Stop()
	defer recheck.Stop()
	age := time.NewTimer(positive(clock.Jitter(s.cfg.Limits.SocketAge)))
	defer age.Stop()
	for s.failed == nil {
		select {
		case res, ok := <-responses:
			if !ok || op.evicted() { // its last response only reports that
				s.end(ctx, op)
				return
			}
			if !s.event(op, res) {
				return
			}
		case <-alive.C:
			s.send(":\n\n")
		case <-recheck.C:
			if s.signedOut(ctx, op.caller, token) {
				return
			}
		case <-s.recheckNow:
			if s.signedOut(ctx, op.caller, token) {
				return
			}
		case <-s.queue.wake:
			if s.flush(op) {
				return
			}
		case <-age.C:
			return // without "complete", so that the client reconnects
		case <-op.ctx.Done():
			s.end(ctx, op)
			return
		}
	}
}

// event writes a response of a subscription. If memory is short, it ends the stream and returns
// false.
func (s *eventStream) event(op *operation, res *graphql.Response) bool {
	answer := s.memoryOf(op.caller)
	defer answer.Release()
	if !takeAnswer(answer, op, res) {
		s.fail(errcode.NoMemory())
		return false
	}
	s.next(res)
	return true
}

// signedOut reports whether the session has ended, after sending that to the client.
func (s *eventStream) signedOut(ctx context.Context, c caller, token string) bool {
	if token == "" {
		return false
	}
	current, _ := s.lookUpToken(ctx, c, token)
	if now := current.admission; !now.BadToken && (now.Unavailable || now.User == c.admission.User) {
		return false
	}
	s.fail(errcode.Errorf(errcode.Unauthenticated, "Your session has ended. Sign in again."))
	return true
}

// recheckSession implements [sessionConn].
func (s *eventStream) recheckSession() { signal(s.recheckNow) }

func (s *eventStream) fail(err *gqlerror.Error) {
	s.next(&graphql.Response{Errors: gqlerror.List{err}})
	s.complete()
}

// end sends the reason for the end of a stream. During a shutdown it sends nothing, so clients
// reconnect.
func (s *eventStream) end(ctx context.Context, op *operation) {
	switch reason := op.cause(); {
	case ctx.Err() != nil: // the client has gone
	case reason == nil:
		s.complete()
	case errors.Is(reason, errReplaced):
		s.fail(errcode.Errorf(errcode.RateLimited, "This stream was replaced by a newer one of the same user."))
	}
}

func (s *eventStream) next(res *graphql.Response) {
	event := appendResponse([]byte("event: next\ndata: "), res)
	for i := len("event: next\n"); i < len(event); i++ {
		if event[i] == '\n' { // white space in JSON, but the end of a line here
			event[i] = ' '
		}
	}
	s.sendBytes(append(event, "\n\n"...))
}

// complete sends an empty data line, as an EventSource ignores events without data.
func (s *eventStream) complete() { s.send("event: complete\ndata:\n\n") }

func (s *eventStream) send(text string) { s.sendBytes([]byte(text)) }

func (s *eventStream) sendBytes(text []byte) {
	if s.failed != nil {
		return
	}
	s.deadline(s.w, len(text))
	if _, s.failed = s.w.Write(text); s.failed == nil {
		s.failed = s.control.Flush()
	}
}

// ticker ticks every d, or never unless d is positive.
func ticker(d time.Duration) *time.Ticker { return time.NewTicker(positive(d)) }

// positive returns d, or [never] unless d is positive.
func positive(d time.Duration) time.Duration {
	if d <= 0 {
		return never
	}
	return d
}

// Reasons to end a subscription from outside.
var (
	errReplaced = errors.New("replaced by a newer stream")
	errStopping = errors.New("server is stopping")
)

// evicted reports whether a stream's operation was ended from outside.
func (op *operation) evicted() bool {
	return errors.Is(op.cause(), errStopping) || errors.Is(op.cause(), errReplaced)
}

// streams holds the open event streams. It is safe for concurrent use.
type streams struct {
	mu     sync.Mutex
	open   map[int]context.CancelCauseFunc
	last   int
	closed bool
	idle   chan struct{} // closed when the last stream has ended after close
}

func newStreams() *streams {
	return &streams{open: map[int]context.CancelCauseFunc{}, idle: make(chan struct{})}
}

// add registers a stream; ok is false if the server is stopping.
func (s *streams) add(cancel context.CancelCauseFunc) (release func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.last++
	id := s.last
	s.open[id] = cancel
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, id)
		s.signalIdle()
	}), true
}

// signalIdle lets close return if no stream is left. The caller holds mu.
func (s *streams) signalIdle() {
	if s.closed && len(s.open) == 0 {
		close(s.idle)
	}
}

// close ends all streams in random order, spread over the given time, and waits for them.
func (s *streams) close(ctx context.Context, over time.Duration) error {
	s.mu.Lock()
	cancels := slices.Collect(maps.Values(s.open))
	if !s.closed {
		s.closed = true
		s.signalIdle()
	}
	s.mu.Unlock()
	for i, cancel := range cancels {
		if i > 0 && clock.Sleep(ctx, spread(over, len(cancels))) != nil {
			break
		}
		cancel(errStopping)
	}
	for _, cancel := range cancels { // the rest if ctx has ended
		cancel(errStopping)
	}
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end event streams: %w", ctx.Err())
	}
}

// An eventQueue holds events of a shared execution for the goroutine of a stream.
type eventQueue struct {
	wake chan struct{} // signals queued events

	mu      sync.Mutex
	events  []byte
	spare   []byte
	refused bool // an event, since the queue was written
	drains  uint64
	ended   bool // after the queued events
	endErr  error
}

const maxEvents = 256 * kb // bytes queued for a stream

func (s *eventStream) runShared(ctx context.Context, token string, op *operation, source broadcast.Source) {
	m := s.broadcasts.subscribe(ctx, op, s)
	defer m.close()
	s.subscriber = m
	defer op.cancel(nil)
	op.responses = nil // the shared execution runs the operation
	if err := m.follow(source); err != nil {
		s.fail(s.present(ctx, err))
		return
	}
	s.run(ctx, token, op, nil)
}

// flush writes the queue and reports whether the stream has ended.
func (s *eventStream) flush(op *operation) (over bool) {
	q := &s.queue
	q.mu.Lock()
	events := q.events
	q.events, q.spare = q.spare[:0], nil
	q.mu.Unlock()
	if len(events) > 0 {
		s.sendBytes(events)
	}
	q.mu.Lock()
	if q.spare = events[:0]; cap(events) > maxEvents/4 {
		q.spare = nil // few streams need that much again
	}
	drained := q.refused && len(q.events) == 0
	if drained {
		q.refused = false
		q.drains++
	}
	over = q.ended && len(q.events) == 0
	q.mu.Unlock()
	switch {
	case s.failed != nil:
		return true
	case over && q.endErr != nil:
		s.fail(s.present(op.ctx, q.endErr))
	case over:
		s.complete()
	case drained:
		s.subscriber.drained()
	}
	return over
}

// appendNext implements [sink].
func (*eventStream) appendNext(out []byte, _ *subscriber, payload []byte, u *broadcast.Update) []byte {
	out = append(out, "event: next\n"...)
	if u.Cursor != "" && !strings.ContainsAny(u.Cursor, "\r\n\x00") {
		out = append(append(append(out, "id: "...), u.Cursor...), '\n')
	}
	return append(append(append(out, "data: "...), payload...), "\n\n"...)
}

// offer implements [sink].
func (s *eventStream) offer(events []byte) bool {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) > 0 && len(q.events)+len(events) > maxEvents {
		q.refused = true
		return false
	}
	q.events = append(q.events, events...)
	signal(q.wake)
	return true
}

// drains implements [sink].
func (s *eventStream) drains() uint64 {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.drains
}

// finishSubscriber implements [sink]. The stream's goroutine closes the subscriber.
func (s *eventStream) finishSubscriber(_ *subscriber, err error) {
	q := &s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.endErr = true, err
	signal(q.wake)
}

// signal sends to flag unless it is full.
func signal(flag chan struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}
