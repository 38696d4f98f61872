package note

import (
	"context"
	"errors"
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// topic of this room's jobs in the outbox: ids of notes that were published or deleted.
const topic = "notes"

// openOutbox says what is done for a committed write when its writer could not.
func (s *Service) openOutbox() {
	s.outbox.Handle(topic, outbox.Handler{Keep: outbox.Replayable, Do: outbox.DoBatch(s.Changed)})
}

// An announcement is what follows the commit of a note's publishing or its end.
type announcement struct {
	note, author, shop int64
	comments           bool // the shop's were counted anew
	ours, users, shops []outbox.Ticket
}

// prepare counts a note to its author and its comments to its shop, and adds to tx what
// must happen after its commit. Locks: the shop, then the author.
func (s *Service) prepare(ctx context.Context, tx *ent.Tx, n *ent.Note, notes, comments int) (a announcement, err error) {
	a = announcement{note: n.ID, author: n.AuthorID, shop: n.ShopID, comments: comments != 0}
	if a.comments {
		if a.shops, err = s.shops.AddComments(ctx, tx, map[int64]int{n.ShopID: comments}); err != nil {
			return a, fmt.Errorf("count comments to shop %d: %w", n.ShopID, err)
		}
	}
	if a.users, err = s.users.AddNotes(ctx, tx, map[int64]int{n.AuthorID: notes}); err != nil {
		return a, fmt.Errorf("count it to user %d: %w", n.AuthorID, err)
	}
	a.ours, err = outbox.AddBatch(ctx, s.outbox, tx, topic, n.ID)
	return a, err
}

// announce tells of it after the commit. It has no error, because the write stands: what
// cannot be told now is left to the outbox.
func (s *Service) announce(ctx context.Context, a announcement) {
	s.outbox.Settle(ctx, s.tell(ctx, []int64{a.note}, []int64{a.author}, []int64{a.shop}), a.ours...)
	s.users.Announce(ctx, []int64{a.author}, a.users)
	if a.comments {
		s.shops.AnnounceCounts(ctx, []int64{a.shop}, a.shops)
	}
}

// Changed tells Redis and the other processes that rows of notes were inserted or
// changed, by whomever: what is cached of them is dropped, and the lists of their
// authors and shops. It may be repeated, late too.
func (s *Service) Changed(ctx context.Context, ids ...int64) error {
	rows, err := s.db.Note.Query().Where(entnote.IDIn(ids...)).Select(entnote.FieldID, entnote.FieldAuthorID, entnote.FieldShopID).All(ctx)
	if err != nil {
		return outbox.Later(fmt.Errorf("select %d notes: %w", len(ids), err))
	}
	authors, shops := make([]int64, len(rows)), make([]int64, len(rows))
	for i, r := range rows {
		authors[i], shops[i] = r.AuthorID, r.ShopID
	}
	return s.tell(ctx, ids, authors, shops)
}

// tell drops what is cached. Rows come before lists: a reader of a new list finds them.
func (s *Service) tell(ctx context.Context, notes, authors, shops []int64) error {
	err := errors.Join(
		s.notes.Invalidate(ctx, notes...), s.counts.Invalidate(ctx, notes...),
		s.byAuthor.Invalidate(ctx, authors...), s.atShop.Invalidate(ctx, shops...),
	)
	return outbox.Later(err) // Redis is away
}
