package door

import (
	"context"
	"strings"
	"sync"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
)

// An eventQueue is what waits for the goroutine of a stream that is told what others are
// told too.
type eventQueue struct {
	wake chan struct{} // has something in it when something waits

	mu      sync.Mutex
	events  []byte
	spare   []byte
	refused bool // something, since all was written
	drains  uint64
	ended   bool // after what waits
	why     error
}

const maxEvents = 256 * kb // that wait for a stream

// follow serves a subscription whose source tells many the same.
func (s *eventStream) follow(ctx context.Context, token string, op *operation, source broadcast.Source) {
	m := s.broadcasts.join(ctx, op, s)
	defer m.close()
	s.member = m
	defer op.cancel(nil)
	op.responses = nil // it is the pipe that executes
	if err := m.follow(source); err != nil {
		s.fail(s.present(ctx, err))
		return
	}
	s.run(ctx, token, op, nil)
}

// flush writes what waits. It returns true at the end.
func (s *eventStream) flush(op *operation) (over bool) {
	q := &s.shared
	q.mu.Lock()
	events := q.events
	q.events, q.spare = q.spare[:0], nil
	q.mu.Unlock()
	if len(events) > 0 {
		s.sendBytes(events)
	}
	q.mu.Lock()
	if q.spare = events[:0]; cap(events) > maxEvents/4 {
		q.spare = nil // few are ever that far behind
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
	case over && q.why != nil:
		s.fail(s.present(op.ctx, q.why))
	case over:
		s.complete()
	case drained:
		s.member.drained()
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
	q := &s.shared
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.events) > 0 && len(q.events)+len(events) > maxEvents {
		q.refused = true
		return false
	}
	q.events = append(q.events, events...)
	raise(q.wake)
	return true
}

// drains implements [sink].
func (s *eventStream) drains() uint64 {
	s.shared.mu.Lock()
	defer s.shared.mu.Unlock()
	return s.shared.drains
}

// conclude implements [sink]. The stream's goroutine closes the member.
func (s *eventStream) conclude(_ *subscriber, err error) {
	q := &s.shared
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended, q.why = true, err
	raise(q.wake)
}

// raise has a flag up.
func raise(flag chan struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}
