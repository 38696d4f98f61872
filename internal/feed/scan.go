package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	entfollow "github.com/tandian-dev/tandian/ent/follow"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
)

const (
	scanRate     = 50               // inboxes per second; each needs a query for all its notes
	scanTimeout  = 30 * time.Second // per inbox
	recheckDelay = time.Second      // before a finding is checked again
)

// Scans returns the reconcile scan of the inboxes.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "feed-inboxes", Description: "inboxes in Redis, with the notes by followees", Rate: scanRate, Redis: true, Run: s.scan},
	}
}

// scan compares all inboxes in Redis with the notes. A missing inbox is no finding. A scan does
// not extend the lifetime of an inbox.
func (s *Service) scan(ctx context.Context, r *reconcile.Run) error {
	for at, started := (cache.ScanCursor{}), false; !started || at != (cache.ScanCursor{}); started = true {
		cached, next, err := s.inboxes.Window().Scan(ctx, at, parseDecimal)
		if err != nil {
			return fmt.Errorf("scan inboxes: %w", err)
		}
		at = next
		if err := r.Compare(ctx, len(cached)); err != nil {
			return err
		}
		if err := s.refreshLog(ctx); err != nil {
			return err
		}
		suspects := map[int64]string{}
		for _, inbox := range cached {
			missing, err := s.compareInbox(ctx, inbox)
			if err != nil {
				return err
			}
			if missing != "" {
				suspects[inbox.Key] = missing
			}
		}
		if len(suspects) == 0 {
			continue
		}
		if err := s.recheck(ctx, r, suspects); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) refreshLog(ctx context.Context) error {
	if _, err := s.tail.sync(ctx); err != nil {
		return err
	}
	return s.tail.refreshOpen(ctx)
}

// recheck compares inboxes again after a delay, in which running fan-outs store their progress. It
// drops the inboxes with the same finding as before.
func (s *Service) recheck(ctx context.Context, r *reconcile.Run, before map[int64]string) error {
	if err := errors.Join(clock.Sleep(ctx, recheckDelay), s.refreshLog(ctx)); err != nil {
		return err
	}
	for user, missing := range before {
		if err := r.WaitAgain(ctx, 1); err != nil {
			return err
		}
		again, err := s.checkInbox(ctx, user)
		if err != nil {
			return err
		}
		if again != missing {
			continue
		}
		r.Report(fmt.Sprintf("inbox of user %d: %s", user, missing))
		if r.DryRun {
			continue
		}
		if err := s.inboxes.Invalidate(ctx, user); err != nil {
			return fmt.Errorf("drop inbox of user %d: %w", user, err)
		}
		if again, err = s.checkInbox(ctx, user); err != nil { // a reader may have loaded it
			return err
		}
		if again == "" {
			r.CountRepaired(1)
		}
	}
	return nil
}

// checkInbox returns the finding about a user's inbox, "" for none.
func (s *Service) checkInbox(ctx context.Context, user int64) (string, error) {
	cached, err := s.inboxes.Window().Peek(ctx, user)
	if err != nil || len(cached) == 0 {
		return "", err
	}
	return s.compareInbox(ctx, cached[0])
}

// compareInbox returns a finding if an inbox lacks a note. An inbox may contain deleted notes and
// notes by unfollowed authors. It may lack notes with an open fan-out, notes of celebrities, and
// notes by authors followed since the last read.
func (s *Service) compareInbox(ctx context.Context, inbox cache.WindowSnapshot[int64]) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scanTimeout)
	defer cancel()
	head := s.tail.knownHead()
	open, known := s.tail.openUpTo(math.MaxInt64)
	if !known {
		return "", nil // too many open fan-outs to decide
	}
	pending := map[int64]bool{}
	for _, e := range open {
		pending[e.Note] = true
	}
	floor := int64(math.MinInt64)
	has := map[entry]bool{}
	for _, e := range inbox.Entries {
		if at, valid := parseEntry(e); valid {
			has[at] = true
		}
		if !inbox.Whole {
			floor = e.Score
		}
	}
	followedSince := map[int64]bool{} // by author, as far as checked
	for below := head + 1; ; {        // most notes may be by celebrities
		expected, _, err := s.newest(ctx, inbox.Key, below, s.cfg.InboxSize, min(s.cfg.InboxSize, firstPerAuthor), 0)
		if err != nil {
			return "", err
		}
		for _, at := range expected {
			if at.seq < floor || has[at] || pending[at.note] || s.tail.isCelebrity(at.author) || followedSince[at.author] {
				continue
			}
			if followedSince[at.author], err = s.followedSince(ctx, inbox.Key, at.author); err != nil {
				return "", err
			}
			if !followedSince[at.author] {
				return fmt.Sprintf("note %d by user %d is missing", at.note, at.author), nil
			}
		}
		if len(expected) < s.cfg.InboxSize || expected[len(expected)-1].seq < floor {
			return "", nil
		}
		below = expected[len(expected)-1].seq
	}
}

// followedSince reports whether a user has followed an author since the inbox was last read.
func (s *Service) followedSince(ctx context.Context, user, author int64) (bool, error) {
	seen, err := s.inboxes.NewestSource(ctx, user)
	if err != nil {
		return false, fmt.Errorf("read newest follow of inbox of user %d: %w", user, err)
	}
	since, err := s.db.Follow.Query().Where(entfollow.FollowerID(user), entfollow.FolloweeID(author), entfollow.IDGT(seen)).Exist(ctx)
	return cmp.Or(since, seen == 0), err
}
