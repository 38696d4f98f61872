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
	scanInboxes = 50               // a second: each is a query for as many notes as it has
	scanLimit   = 30 * time.Second // of comparing one
	settle      = time.Second      // between two looks at what differs
)

// Scans are what this room compares: what lies in the inboxes.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "feed-inboxes", Description: "inboxes in Redis, with the notes of whom their owners follow", Rate: scanInboxes, Redis: true, Run: s.scan},
	}
}

// scan walks over the inboxes. One that is not there is right. None is kept for longer because
// it was seen.
func (s *Service) scan(ctx context.Context, r *reconcile.Run) error {
	for at, begun := (cache.ScanCursor{}), false; !begun || at != (cache.ScanCursor{}); begun = true {
		kept, next, err := s.inboxes.Window().Scan(ctx, at, parseDecimal)
		if err != nil {
			return fmt.Errorf("walk over the inboxes: %w", err)
		}
		at = next
		if err := r.Compare(ctx, len(kept)); err != nil {
			return err
		}
		if err := s.hear(ctx); err != nil {
			return err
		}
		flaws := map[int64]string{}
		for _, inbox := range kept {
			flaw, err := s.flawOf(ctx, inbox)
			if err != nil {
				return err
			}
			if flaw != "" {
				flaws[inbox.Key] = flaw
			}
		}
		if len(flaws) == 0 {
			continue
		}
		if err := s.secondLook(ctx, r, flaws); err != nil {
			return err
		}
	}
	return nil
}

// hear has this process know what is published, and which fan-outs are under way.
func (s *Service) hear(ctx context.Context) error {
	if _, err := s.tail.sync(ctx); err != nil {
		return err
	}
	return s.tail.look(ctx)
}

// secondLook looks again at inboxes that were wrong, after a moment in which a fan-out that
// was between Redis and the database has ended, and drops those that lack the same as before.
func (s *Service) secondLook(ctx context.Context, r *reconcile.Run, before map[int64]string) error {
	if err := errors.Join(clock.Sleep(ctx, settle), s.hear(ctx)); err != nil {
		return err
	}
	for user, flaw := range before {
		if err := r.WaitAgain(ctx, 1); err != nil {
			return err
		}
		again, err := s.look(ctx, user)
		if err != nil {
			return err
		}
		if again != flaw {
			continue
		}
		r.Report(fmt.Sprintf("inbox of user %d: %s", user, flaw))
		if r.DryRun {
			continue
		}
		if err := s.inboxes.Invalidate(ctx, user); err != nil {
			return fmt.Errorf("drop the wrong inbox of user %d: %w", user, err)
		}
		if again, err = s.look(ctx, user); err != nil { // a reader was quick
			return err
		}
		if again == "" {
			r.CountRepaired(1)
		}
	}
	return nil
}

// look says what is wrong with a user's inbox now, "" for nothing.
func (s *Service) look(ctx context.Context, user int64) (string, error) {
	kept, err := s.inboxes.Window().Peek(ctx, user)
	if err != nil || len(kept) == 0 {
		return "", err
	}
	return s.flawOf(ctx, kept[0])
}

// flawOf says what an inbox lacks. It may have more than its owner sees: what was deleted,
// and what those wrote whom he follows no more. It need not have what is still pushed to it,
// what stars wrote, nor what those wrote whom he has followed since it was last read.
func (s *Service) flawOf(ctx context.Context, inbox cache.WindowSnapshot[int64]) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	head := s.tail.known()
	open, known := s.tail.underWay(math.MaxInt64)
	if !known {
		return "", nil // more is on its way than can be told apart
	}
	onItsWay := map[int64]bool{}
	for _, e := range open {
		onItsWay[e.Note] = true
	}
	floor := int64(math.MinInt64)
	has := map[entry]bool{}
	for _, e := range inbox.Entries {
		if at, ours := spotOf(e); ours {
			has[at] = true
		}
		if !inbox.Whole {
			floor = e.Score
		}
	}
	followedSince := map[int64]bool{} // by author, of those who are asked about
	for below := head + 1; ; {        // stars may have written most of it
		wants, _, err := s.newest(ctx, inbox.Key, below, s.cfg.InboxSize, min(s.cfg.InboxSize, readOfEach), 0)
		if err != nil {
			return "", err
		}
		for _, at := range wants {
			if at.seq < floor || has[at] || onItsWay[at.note] || s.tail.knowsStar(at.author) || followedSince[at.author] {
				continue
			}
			if followedSince[at.author], err = s.followedSince(ctx, inbox.Key, at.author); err != nil {
				return "", err
			}
			if !followedSince[at.author] {
				return fmt.Sprintf("it lacks note %d, by user %d", at.note, at.author), nil
			}
		}
		if len(wants) < s.cfg.InboxSize || wants[len(wants)-1].seq < floor {
			return "", nil
		}
		below = wants[len(wants)-1].seq
	}
}

// followedSince reports whether a user has followed an author since his inbox was last read.
func (s *Service) followedSince(ctx context.Context, user, author int64) (bool, error) {
	seen, err := s.inboxes.NewestSource(ctx, user)
	if err != nil {
		return false, fmt.Errorf("read up to which follow the inbox of user %d goes: %w", user, err)
	}
	since, err := s.db.Follow.Query().Where(entfollow.FollowerID(user), entfollow.FolloweeID(author), entfollow.IDGT(seen)).Exist(ctx)
	return cmp.Or(since, seen == 0), err
}
