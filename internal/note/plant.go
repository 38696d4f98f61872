package note

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/schema"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
)

// A Seedling is a note of a seed or the demo town, before the database has given it an
// id. Its texts are as they are stored.
type Seedling struct {
	ExternalID string // names the note in its seed; of a stored note it stands for that one
	AuthorID   int64
	ShopID     int64
	Title      string
	Content    string
	Images     []string // paths below /media
	At         time.Time
}

const bulk = 500 // rows in one statement

// Plant stores the notes that are not stored yet, all in one transaction, numbered in
// their order, and returns the ids of all of them, and how many are new. Stored notes
// stay as they are, deleted ones too. While it numbers them, nobody else publishes.
func (s *Service) Plant(ctx context.Context, notes []Seedling, progress func(done int)) (ids []int64, added int, err error) {
	var tickets, users []outbox.Ticket
	var fresh []*ent.Note
	err = s.tx(ctx, func(tx *ent.Tx) (err error) {
		ids, fresh, tickets, users = nil, nil, nil, nil
		for batch := range slices.Chunk(notes, bulk) {
			some, rows, err := plantRows(ctx, tx, batch)
			if err != nil {
				return err
			}
			ids, fresh = append(ids, some...), append(fresh, rows...)
			progress(len(ids))
		}
		if len(fresh) == 0 {
			return nil
		}
		if users, err = s.users.AddNotes(ctx, tx, tally(fresh, func(n *ent.Note) int64 { return n.AuthorID })); err != nil {
			return fmt.Errorf("count them to their authors: %w", err)
		}
		if tickets, err = outbox.AddBatch(ctx, s.outbox, tx, topic, idsOf(fresh)...); err != nil {
			return err
		}
		return s.numberAll(ctx, tx, idsOf(fresh))
	})
	if err != nil {
		return nil, 0, fmt.Errorf("store %d notes: %w", len(notes), err)
	}
	if len(fresh) > 0 {
		s.outbox.Settle(ctx, s.Changed(ctx, idsOf(fresh)...), tickets...)
		authors := make([]int64, 0, len(fresh))
		for id := range tally(fresh, func(n *ent.Note) int64 { return n.AuthorID }) {
			authors = append(authors, id)
		}
		s.users.Announce(ctx, authors, users)
	}
	return ids, len(fresh), nil
}

func idsOf(rows []*ent.Note) []int64 {
	ids := make([]int64, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
	}
	return ids
}

func tally(rows []*ent.Note, of func(*ent.Note) int64) map[int64]int {
	n := map[int64]int{}
	for _, r := range rows {
		n[of(r)]++
	}
	return n
}

// plantRows stores those of a batch that are missing, and returns all ids and the new
// rows.
func plantRows(ctx context.Context, tx *ent.Tx, batch []Seedling) (ids []int64, fresh []*ent.Note, err error) {
	names := make([]string, len(batch))
	for i, n := range batch {
		names[i] = n.ExternalID
	}
	stored, err := tx.Note.Query().Where(entnote.ExternalIDIn(names...)).Select(entnote.FieldID, entnote.FieldExternalID).All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("select %d notes: %w", len(batch), err)
	}
	byName := make(map[string]int64, len(batch))
	for _, r := range stored {
		byName[*r.ExternalID] = r.ID
	}
	var writes []*ent.NoteCreate
	for _, n := range batch {
		if _, ok := byName[n.ExternalID]; ok {
			continue
		}
		images := make([]schema.Image, len(n.Images))
		for i, path := range n.Images {
			images[i].URL = path
		}
		writes = append(writes, tx.Note.Create().SetExternalID(n.ExternalID).SetAuthorID(n.AuthorID).SetShopID(n.ShopID).
			SetTitle(n.Title).SetContent(n.Content).SetImages(images).SetCreatedAt(n.At.UnixMilli()))
	}
	if len(writes) > 0 {
		if fresh, err = tx.Note.CreateBulk(writes...).Save(ctx); err != nil {
			return nil, nil, fmt.Errorf("insert %d notes: %w", len(writes), err)
		}
		counts := make([]*ent.NoteCountCreate, len(fresh))
		for i, r := range fresh {
			byName[*r.ExternalID] = r.ID
			counts[i] = tx.NoteCount.Create().SetID(r.ID).SetHot(hotRank(r.CreatedAt, 0))
		}
		if err := tx.NoteCount.CreateBulk(counts...).Exec(ctx); err != nil {
			return nil, nil, fmt.Errorf("insert the counts of %d notes: %w", len(fresh), err)
		}
	}
	ids = make([]int64, len(batch))
	for i, n := range batch {
		ids[i] = byName[n.ExternalID]
	}
	return ids, fresh, nil
}

// numberAll gives notes that tx published a block of numbers, as [Service.number] gives
// one: as the last thing that tx does.
func (s *Service) numberAll(ctx context.Context, tx *ent.Tx, ids []int64) error {
	last, err := s.take(ctx, tx, len(ids))
	if err != nil {
		return err
	}
	before := last - int64(len(ids))
	for i := 0; i < len(ids); i += bulk {
		list, err := json.Marshal(ids[i:min(i+bulk, len(ids))])
		if err != nil {
			return fmt.Errorf("write down ids: %w", err)
		}
		if _, err := tx.ExecContext(ctx, s.sql.block, string(list), before+int64(i)); err != nil {
			return fmt.Errorf("number %d notes: %w", len(ids), err)
		}
	}
	if _, err := tx.ExecContext(ctx, s.sql.events, before, last); err != nil {
		return fmt.Errorf("write down %d numbers: %w", len(ids), err)
	}
	return nil
}
