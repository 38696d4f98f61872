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

// topic is the outbox topic for ids of published or deleted notes.
const topic = "notes"

// openOutbox registers the outbox handler. It runs if the writer fails after its commit.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.Invalidate)})
}

// commitEffects holds the work after the commit of published notes or of one deletion.
type commitEffects struct {
	notes, authors, shops        []int64
	hasComments                  bool // whether the comment counts of shops changed
	published                    bool
	celebrities                  map[int64]bool // authors
	last                         int64          // last number taken
	events                       []Event        // events of the numbers; empty for a large batch
	noteJobs, userJobs, shopJobs []outbox.JobRef
}

// prepare adds n to the note count of the author of each row, enqueues the fan-out of new
// notes, and adds the outbox jobs. It locks the authors.
func (s *Service) prepare(ctx context.Context, tx *ent.Tx, rows []*ent.Note, n int) (a commitEffects, err error) {
	more, about := map[int64]int{}, map[int64]bool{}
	for _, r := range rows {
		more[r.AuthorID] += n
		about[r.ShopID] = true
	}
	a = commitEffects{notes: idsOf(rows), authors: slices.Sorted(maps.Keys(more)), shops: slices.Sorted(maps.Keys(about))}
	followers, jobs, err := s.users.AddNotes(ctx, tx, more)
	if err != nil {
		return a, fmt.Errorf("count notes of %d users: %w", len(more), err)
	}
	a.userJobs = jobs
	if a.published = n > 0; a.published {
		authors := make(map[int64]int64, len(rows))
		for _, r := range rows {
			authors[r.ID] = r.AuthorID
		}
		if a.celebrities, err = s.feed.EnqueueFanOut(ctx, tx, authors, followers); err != nil {
			return a, fmt.Errorf("enqueue fan-out: %w", err)
		}
	}
	a.noteJobs, err = outbox.AddBatch(ctx, s.outbox, tx, topic, a.notes...)
	return a, err
}

// addEvents adds the events of rows, in the order of their numbers. It skips large batches.
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
			Seq: last - int64(len(rows)-1-i), NoteID: r.ID, AuthorID: r.AuthorID, Note: note, Celebrity: a.celebrities[r.AuthorID], Follows: follows,
		})
	}
	return nil
}

// afterCommit publishes the effects. The write succeeded, so the outbox retries errors of Redis.
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

// Invalidate publishes that rows of notes were inserted or changed, by any program. It invalidates
// the cached notes, and the lists of their authors and shops. It is idempotent and may run late.
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

// invalidate invalidates rows before lists, so that readers of a new list find its rows.
func (s *Service) invalidate(ctx context.Context, notes, authors, shops []int64) error {
	s.shops.Touch(shops...)
	err := errors.Join(
		s.notes.Invalidate(ctx, notes...), s.counts.Invalidate(ctx, notes...),
		s.byAuthor.Invalidate(ctx, authors...), s.byShop.Invalidate(ctx, shops...),
	)
	return outbox.Transient(err) // Redis is unavailable
}
