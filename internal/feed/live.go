package feed

import (
	"context"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/page"
)

// What a live feed tells.
type (
	// An Update is one of the others.
	Update interface{ isUpdate() }

	// Added is a note that was published by somebody whom the viewer follows.
	Added struct {
		Cursor page.Cursor
		Row    any // of the note, as [Notes.Rows] returned it
	}
	// Removed is a note that was deleted.
	Removed struct {
		Cursor page.Cursor
		Note   int64 // its id
	}
	// Ready says that what the viewer missed is told.
	Ready struct{ Cursor page.Cursor }
	// Resync says that it cannot be told: the viewer reads the feed anew.
	Resync struct{ Cursor page.Cursor }
)

func (*Added) isUpdate()   {}
func (*Removed) isUpdate() {}
func (*Ready) isUpdate()   {}
func (*Resync) isUpdate()  {}

// livePlace is the cursor of a number of the log.
func livePlace(number int64) page.Cursor { return page.Encode(liveCursor, number) }

// Subscribe is a user's feed as it happens: what was published and deleted behind a cursor, which
// is that of a page or of the last update that was seen, then [Ready], then what happens.
// Without a cursor it begins with [Ready]. Nothing is missed and nothing repeated, in the order
// of the log; a client that is too far behind for that is told [Resync].
//
// What is told is the same for all. A cursor that makes no sense is a fault.
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

// Subscribe implements [live.Source].
func (l *liveFeed) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	return l.hub.join(l.user, l.after, r), nil
}

// updateOf is what is told of an event.
func (s *Service) updateOf(e Event) *broadcast.Update {
	cursor := livePlace(e.Seq)
	u := &broadcast.Update{Seq: placeOf(e.Seq), Cursor: string(cursor)}
	if e.Removed {
		u.Load = told(&Removed{cursor, e.Note})
		return u
	}
	u.Load = func(ctx context.Context) (any, error) {
		if s.tail.gone(e.Note) {
			return nil, broadcast.ErrSkip
		}
		row, err := s.rows.read(ctx, e.Note)
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

func told(u Update) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return u, nil }
}

// SeqCommitted is called after a commit that took numbers of the log, with the last of them, and
// what they are of, or nothing if that is much. It tells the live feeds of all processes,
// and does not wait.
func (s *Service) SeqCommitted(last int64, events ...Event) {
	s.hub.announced(last, events...)
	if s.cfg.Announce == nil {
		return
	}
	s.hints.add(events)
	select {
	case s.numbered <- struct{}{}:
	default:
	}
}

// CheckLog says that announcements may have been lost: the log is looked at.
func (s *Service) CheckLog() { s.hub.announced(0) }

// RefreshFollows says that users follow others than before, after the commit. It does not
// wait; their live feeds follow within moments.
func (s *Service) RefreshFollows(users ...int64) { s.hub.followsChanged(users...) }

// MarkFollowsStale says that follows may have changed unheard: those of live feeds are looked
// at.
func (s *Service) MarkFollowsStale() { s.hub.followsMissed() }

// FolloweeCount is how many authors the live feed of a user knows that he follows, -1 if this
// process does not know: for whoever waits until a change is heard of.
func (s *Service) FolloweeCount(user int64) int {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if v := s.hub.viewers[user]; v != nil && v.loaded {
		return len(v.follows)
	}
	return -1
}

// Lag is how far live feeds of this process are behind.
type Lag struct {
	Numbers int64         // of the log that are known and not told yet
	Joining int           // sessions that wait for their beginning
	Oldest  time.Duration // since when the first of the numbers waits
}

// Lag says how far live feeds of this process are behind.
func (s *Service) Lag() Lag {
	numbers, oldest, joining := s.hub.lag()
	return Lag{numbers, joining, oldest}
}

// announce publishes what is new whenever there is something, until ctx ends: what comes
// while it does is one announcement.
func (s *Service) announce(ctx context.Context) {
	var complaints clock.Throttle
	for {
		select {
		case <-s.numbered:
		case <-ctx.Done():
			return
		}
		text := s.nextHint()
		if text == nil {
			continue
		}
		if err := s.cfg.Announce(ctx, text); err != nil && ctx.Err() == nil && complaints.Allow() {
			s.cfg.Log.WarnContext(ctx, "other processes are not told what is new in feeds: they look each second", "err", err)
		}
	}
}

// runLive runs what live feeds need until ctx ends.
func (s *Service) runLive(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { s.hub.run(ctx) })
	if s.cfg.Announce != nil {
		both.Go(func() { s.announce(ctx) })
	}
	both.Wait()
}
