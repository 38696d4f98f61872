package feed

import (
	"context"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// The updates of a live feed.
type (
	// An Update is an [Added], [Removed], [Ready] or [Resync].
	Update interface{ isUpdate() }

	// Added reports a new note of an author that the viewer follows.
	Added struct {
		Cursor page.Cursor
		Row    any // the note, as [Notes.Rows] returned it
	}
	// Removed reports a deleted note.
	Removed struct {
		Cursor page.Cursor
		Note   int64 // id
	}
	// Ready reports that the viewer received all missed updates.
	Ready struct{ Cursor page.Cursor }
	// Resync reports that the missed updates are not available: the viewer must reload the feed.
	Resync struct{ Cursor page.Cursor }
)

func (*Added) isUpdate()   {}
func (*Removed) isUpdate() {}
func (*Ready) isUpdate()   {}
func (*Resync) isUpdate()  {}

func logCursor(number int64) page.Cursor { return page.Encode(liveCursor, number) }

// Subscribe returns the live feed of a user. It sends the notes published and deleted after a
// cursor, then [Ready], then new ones as they happen. The cursor is that of a page or of the last
// update seen; without one, the feed begins with [Ready].
//
// Updates come in the order of the log, without gaps and repetitions. A client that is too far
// behind gets [Resync]. Subscribers share the values, so do not change them. An invalid cursor is
// an [apierror.BadUserInput] error.
func (s *Service) Subscribe(user int64, after page.Cursor) (broadcast.Source, error) {
	l := &liveFeed{s.hub, user, -1}
	if after != "" {
		if err := page.Decode(after, liveCursor, &l.after); err != nil {
			return nil, err
		}
		l.after = max(l.after, 0)
	}
	return l, nil
}

type liveFeed struct {
	hub   *liveHub
	user  int64
	after int64
}

// Subscribe implements [broadcast.Source].
func (l *liveFeed) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	return l.hub.join(l.user, l.after, r), nil
}

func (s *Service) newUpdate(e Event) *broadcast.Update {
	cursor := logCursor(e.Seq)
	u := &broadcast.Update{Seq: updateSeq(e.Seq), Cursor: string(cursor)}
	if e.Removed {
		u.Load = constLoader(&Removed{cursor, e.Note})
		return u
	}
	u.Load = func(ctx context.Context) (any, error) {
		if s.tail.isRemoved(e.Note) {
			return nil, broadcast.ErrSkip
		}
		row, err := s.loader.read(ctx, e.Note)
		if err != nil {
			return nil, err
		}
		if row == nil {
			return nil, broadcast.ErrSkip
		}
		return &Added{cursor, row}, nil
	}
	return u
}

func constLoader(u Update) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return u, nil }
}

// SeqCommitted announces committed events to the live feeds of all processes. Call it after a
// commit that took log numbers, with the last number and the events, or no events for a large
// batch. It does not wait.
func (s *Service) SeqCommitted(last int64, events ...Event) {
	s.hub.receive(last, events...)
	if s.cfg.Announce == nil {
		return
	}
	s.hints.add(events)
	select {
	case s.hintReady <- struct{}{}:
	default:
	}
}

// CheckLog rereads the log for live feeds. Call it if announcements may have been lost.
func (s *Service) CheckLog() { s.hub.receive(0) }

// RefreshFollows rereads the follows of users for their live feeds. Call it after a commit that
// changed them. It does not wait; the feeds change within moments.
func (s *Service) RefreshFollows(users ...int64) { s.hub.markDirty(users...) }

// MarkFollowsStale rechecks the follows of all viewers. Call it if changes may have been missed.
func (s *Service) MarkFollowsStale() { s.hub.markFollowsStale() }

// FolloweeCount returns the number of followees that the live feed of a user knows, or -1 if this
// process does not know. It lets callers wait until a change has arrived.
func (s *Service) FolloweeCount(user int64) int {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if v := s.hub.viewers[user]; v != nil && v.loaded {
		return len(v.follows)
	}
	return -1
}

// Lag is the delay of the live feeds of this process.
type Lag struct {
	Numbers int64         // known, but not delivered yet
	Joining int           // sessions that are not ready yet
	Oldest  time.Duration // age of the oldest undelivered number
}

// Lag returns the delay of the live feeds of this process.
func (s *Service) Lag() Lag {
	numbers, oldest, joining := s.hub.lag()
	return Lag{numbers, joining, oldest}
}

// announce publishes pending hints until ctx ends. Events that arrive during one announcement
// share the next.
func (s *Service) announce(ctx context.Context) {
	var warnings clock.Throttle
	for {
		select {
		case <-s.hintReady:
		case <-ctx.Done():
			return
		}
		text := s.nextHint()
		if text == nil {
			continue
		}
		if err := s.cfg.Announce(ctx, text); err != nil && ctx.Err() == nil && warnings.Allow() {
			s.cfg.Log.WarnContext(ctx, "cannot announce feed events", "err", err, "hint", "other processes check the log each second")
		}
	}
}

func (s *Service) runLive(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { s.hub.run(ctx) })
	if s.cfg.Announce != nil {
		both.Go(func() { s.announce(ctx) })
	}
	both.Wait()
}
