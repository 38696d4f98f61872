package note

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Seed is a note of seed or demo data, before it has an id. Its texts are stored unchanged.
type Seed struct {
	ExternalID string // identifies the note in its seed; a stored note is not inserted again
	AuthorID   int64
	ShopID     int64
	Title      string
	Content    string
	Images     []string // paths of uploaded images
	At         time.Time
}

const (
	rowsPerStatement  = 500
	bulkInsertTimeout = time.Minute // per call
)

// BulkInsert stores the missing notes in one transaction and numbers them in order. It
// returns the ids of all notes and the number of new ones. It does not change stored notes,
// and does not restore deleted ones. Other publishers wait while it numbers the notes.
func (s *Service) BulkInsert(ctx context.Context, notes []Seed, progress func(done int)) (ids []int64, added int, err error) {
	ctx, cancel := context.WithTimeout(ctx, bulkInsertTimeout)
	defer cancel()
	var effects commitEffects
	var fresh []*ent.Note
	var paths []string
	for _, n := range notes {
		paths = append(paths, n.Images...)
	}
	known, err := s.pictures.Sizes(ctx, mediapath.SeedEditor(), slices.Compact(slices.Sorted(slices.Values(paths))))
	if err != nil {
		return nil, 0, err
	}
	err = s.tx(ctx, func(tx *ent.Tx) (err error) {
		ids, fresh = nil, nil
		for batch := range slices.Chunk(notes, rowsPerStatement) {
			some, rows, err := s.insertMissing(ctx, tx, batch, known)
			if err != nil {
				return err
			}
			ids, fresh = append(ids, some...), append(fresh, rows...)
			progress(len(ids))
		}
		if len(fresh) == 0 {
			return nil
		}
		effects, err = s.publishRows(ctx, tx, fresh, true)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("store %d notes: %w", len(notes), err)
	}
	if len(fresh) > 0 {
		s.afterCommit(ctx, effects)
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

// insertMissing stores the missing notes of a batch. It returns all ids and the new rows.
func (s *Service) insertMissing(ctx context.Context, tx *ent.Tx, batch []Seed, known map[string]mediapath.Size) (ids []int64, fresh []*ent.Note, err error) {
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
	for _, n := range batch {
		if _, ok := byName[n.ExternalID]; !ok {
			fresh = append(fresh, &ent.Note{
				ExternalID: &n.ExternalID, AuthorID: n.AuthorID, ShopID: n.ShopID,
				Title: n.Title, Content: n.Content, Images: mediapath.Column(n.Images, known), CreatedAt: n.At.UnixMilli(),
			})
		}
	}
	if len(fresh) > 0 {
		if err := s.insert(ctx, tx, fresh); err != nil {
			return nil, nil, err
		}
		for _, r := range fresh {
			byName[*r.ExternalID] = r.ID
		}
	}
	ids = make([]int64, len(batch))
	for i, n := range batch {
		ids[i] = byName[n.ExternalID]
	}
	return ids, fresh, nil
}

// numberAll is [Service.number] for several published notes, in order.
func (s *Service) numberAll(ctx context.Context, tx *ent.Tx, rows []*ent.Note) (last, follows int64, err error) {
	if len(rows) == 1 {
		return s.numberOne(ctx, tx, rows[0])
	}
	if last, follows, err = s.take(ctx, tx, len(rows)); err != nil {
		return 0, 0, err
	}
	before := last - int64(len(rows))
	for i, r := range rows {
		seq := before + int64(i) + 1
		r.Seq = &seq
	}
	from := before
	for part := range slices.Chunk(idsOf(rows), rowsPerStatement) {
		if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.block, sqldb.JSON(part), from); err != nil {
			return 0, 0, fmt.Errorf("assign feed numbers to %d notes: %w", len(rows), err)
		}
		from += int64(len(part))
	}
	if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.events, before, last); err != nil {
		return 0, 0, fmt.Errorf("store %d events: %w", len(rows), err)
	}
	return last, follows, nil
}

// numberOne is numberAll for a single note, in one statement.
func (s *Service) numberOne(ctx context.Context, tx *ent.Tx, row *ent.Note) (seq, follows int64, err error) {
	seq, follows, err = s.number(ctx, tx, noteevent.KindADDED, row)
	row.Seq = &seq
	return seq, follows, err
}
