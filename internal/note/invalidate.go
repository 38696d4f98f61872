package note

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// topic of this room's jobs in the outbox: ids of notes that were published or deleted.
const topic = "notes"

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
}

// An commitEffects is what follows the commit of the publishing of notes, or the end of one.
type commitEffects struct {
	notes, authors, shops        []int64
	hasComments                  bool // comments of the shops were
	published                    bool
	celebrities                  map[int64]bool // authors
	last                         int64          // of the numbers that it took
	events                       []Event        // what they are of; none if that is much
	noteJobs, userJobs, shopJobs []outbox.JobRef
}

// prepare counts notes to their authors, each so often, and adds to tx what must happen
// after its commit. It locks the authors.
func (s *Service) prepare(ctx context.Context, tx *ent.Tx, rows []*ent.Note, n int) (a commitEffects, err error) {
	more, about := map[int64]int{}, map[int64]bool{}
	for _, r := range rows {
		more[r.AuthorID] += n
		about[r.ShopID] = true
	}
	a = commitEffects{notes: idsOf(rows), authors: slices.Sorted(maps.Keys(more)), shops: slices.Sorted(maps.Keys(about))}
	followers, jobs, err := s.users.AddNotes(ctx, tx, more)
	if err != nil {
		return a, fmt.Errorf("count them to %d users: %w", len(more), err)
	}
	a.userJobs = jobs
	if a.published = n > 0; a.published {
		authors := make(map[int64]int64, len(rows))
		for _, r := range rows {
			authors[r.ID] = r.AuthorID
		}
		if a.celebrities, err = s.feed.EnqueueFanOut(ctx, tx, authors, followers); err != nil {
			return a, fmt.Errorf("deliver them: %w", err)
		}
	}
	a.noteJobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, a.notes...)
	return a, err
}

// addEvents notes which numbers notes have that tx published, in their order.
func (a *commitEffects) addEvents(rows []*ent.Note, last, follows int64) error {
	a.last = last
	if len(rows) > maxBatch {
		return nil
	}
	for i, r := range rows {
		note, err := fromRow(r)
		if err != nil {
			return err
		}
		a.events = append(a.events, Event{
			Seq: last - int64(len(rows)-1-i), NoteID: r.ID, AuthorID: r.AuthorID, Note: note, Star: a.celebrities[r.AuthorID], Follows: follows,
		})
	}
	return nil
}

// afterCommit tells of it after the commit. It has no error, because the write stands: what
// cannot be told now is left to the outbox.
func (s *Service) afterCommit(ctx context.Context, a commitEffects) {
	if a.published {
		s.feed.FanOutCommitted()
	}
	s.feed.SeqCommitted(a.last, a.events)
	s.outbox.Finish(ctx, s.invalidate(ctx, a.notes, a.authors, a.shops), a.noteJobs...)
	s.users.AfterCommit(ctx, a.authors, a.userJobs)
	if a.hasComments {
		s.shops.AfterCommitCounts(ctx, a.shops, a.shopJobs)
	}
}

// Invalidate tells Redis and the other processes that rows of notes were inserted or
// changed, by whomever: what is cached of them is dropped, and the lists of their
// authors and shops. It may be repeated, late too.
func (s *Service) Invalidate(ctx context.Context, ids ...int64) error {
	rows, err := s.db.Note.Query().Where(entnote.IDIn(ids...)).Select(entnote.FieldID, entnote.FieldAuthorID, entnote.FieldShopID).All(ctx)
	if err != nil {
		return outbox.Transient(fmt.Errorf("select %d notes: %w", len(ids), err))
	}
	authors, shops := make([]int64, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		authors[i], shops[i] = r.AuthorID, r.ShopID
	}
	return s.invalidate(ctx, ids, authors, shops)
}

// invalidate drops what is cached. Rows come before lists: a reader of a new list finds them.
func (s *Service) invalidate(ctx context.Context, notes, authors, shops []int64) error {
	err := errors.Join(
		s.notes.Invalidate(ctx, notes...), s.counts.Invalidate(ctx, notes...),
		s.byAuthor.Invalidate(ctx, authors...), s.byShop.Invalidate(ctx, shops...),
	)
	return outbox.Transient(err) // Redis is away
}
