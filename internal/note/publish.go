package note

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/notecount"
	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Limits of a note, in characters.
const (
	MaxTitle   = 100
	MaxContent = 2000
)

// maxStars is the best rating.
const maxStars = 5

const (
	writeTimeout = 5 * time.Second // per call
	maxBatch     = 100             // notes per transaction
	maxWaiting   = 1000            // notes waiting for a transaction
)

// errBusy is returned when too many notes wait to be published.
var errBusy = apierror.New(apierror.Unavailable, "Too many notes at the moment. Please try again.")

// Draft is a note as its author writes it. The title becomes one line, the content keeps
// its lines. Both are normalized to NFC.
type Draft struct {
	ShopID  int64
	Title   string
	Content string
	Images  []string // paths below /media, each once, at most [mediapath.MaxImages]
	Stars   *int     // rating of the shop, 1 to 5; nil for none
}

// check normalizes the texts and returns all their errors.
func (d Draft) check() (Draft, apierror.UserErrors) {
	var wrong apierror.UserErrors
	d.Title = checkText(&wrong, "title", d.Title, text.Line, MaxTitle)
	d.Content = checkText(&wrong, "content", d.Content, text.Paragraphs, MaxContent)
	if d.Stars != nil && (*d.Stars < 1 || *d.Stars > maxStars) {
		wrong.Add(apierror.InvalidInput, "stars", "Choose a value from 1 to %d.", maxStars)
	}
	return d, wrong
}

// checkText returns the normalized text. It rejects control characters instead of removing
// them: they indicate a text that differs from its display.
func checkText(wrong *apierror.UserErrors, field, raw string, clean func(string) string, limit int) string {
	t := clean(raw)
	switch {
	case text.HasControl(raw):
		wrong.Add(apierror.InvalidInput, field, "Remove control characters from the %s.", field)
	case text.Blank(t):
		wrong.Add(apierror.InvalidInput, field, "The %s must not be empty.", field)
	case text.Len(t) > limit:
		wrong.Add(apierror.InvalidInput, field, "Use at most %d characters for the %s.", limit, field)
	}
	return t
}

// images encodes the images at paths for a row, and adds errors to wrong.
func (s *Service) images(ctx context.Context, author int64, paths []string, wrong *apierror.UserErrors) (string, error) {
	why := mediapath.Check(paths)
	if why == "" {
		known, err := s.pictures.Sizes(ctx, mediapath.Editor{UserID: author}, paths)
		if err != nil {
			return "", err
		}
		if why = mediapath.CheckKnown(paths, known); why == "" {
			return mediapath.Column(paths, known), nil
		}
	}
	wrong.Add(mediapath.Rejected, "images", "%s", why)
	return "", nil
}

// Publish stores a note and returns it as stored. With stars, it also rates the shop, in the
// same transaction: both are stored or neither. Lists of its author and shop contain the
// note after Publish returns, in other processes within moments. Hot lists contain it
// within two seconds.
//
// It returns an [apierror.UserErrors] with all invalid fields, including a missing shop. Above the
// author's hourly limit, it returns one with [quota.LimitReached]. It returns UNAVAILABLE if too
// many notes wait. All other errors come from the database. Publish is not idempotent.
func (s *Service) Publish(ctx context.Context, author int64, d Draft) (*Note, error) {
	ctx, span := observe.Span(ctx, "note.Publish")
	defer span.End()
	d, wrong := d.check()
	var use *quota.Use // runs while images and the shop are read
	if len(wrong) == 0 {
		use = s.quota.Take(ctx, author)
	}
	published, err := s.publish(ctx, author, d, wrong, use)
	if err != nil {
		use.Release(ctx)
		return nil, err
	}
	return published, nil
}

// publish stores a note with checked texts. wrong holds the errors of that check.
func (s *Service) publish(ctx context.Context, author int64, d Draft, wrong apierror.UserErrors, use *quota.Use) (*Note, error) {
	images, err := s.images(ctx, author, d.Images, &wrong)
	if err != nil {
		return nil, err
	}
	_, known, err := s.shops.OwnerOf(ctx, d.ShopID)
	if err != nil {
		return nil, fmt.Errorf("read shop %d: %w", d.ShopID, err)
	}
	if !known {
		wrong.Add(apierror.NotFound, "shopId", "Shop not found.")
	}
	if err := wrong.OrNil(); err != nil {
		return nil, err
	}
	if err := use.Wait(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	n, err := s.publishing.Join(ctx, pendingNote{author, d, images})
	if err != nil {
		return nil, fmt.Errorf("publish note of user %d: %w", author, err)
	}
	return n, nil
}

type pendingNote struct {
	author int64
	draft  Draft  // checked
	images string // encoded for the row
}

type publications = []*batch.Call[pendingNote, *Note]

// publishAll stores a group of notes in one transaction. Separate transactions would wait
// for each other at the row that numbers notes.
func (s *Service) publishAll(ctx context.Context, group publications) (after func(), err error) {
	now := s.now().UnixMilli()
	var accepted publications
	var drafts []*ent.Note
	var effects commitEffects
	var rated func(ctx context.Context, committed bool)
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) (err error) {
		accepted, rated, err = s.rate(ctx, tx, group)
		if err != nil || len(accepted) == 0 {
			return err
		}
		for _, c := range accepted {
			d := c.In.draft
			drafts = append(drafts, &ent.Note{AuthorID: c.In.author, ShopID: d.ShopID, Title: d.Title, Content: d.Content, Images: c.In.images, CreatedAt: now})
		}
		if err := s.insert(ctx, tx, drafts); err != nil {
			return err
		}
		effects, err = s.publishRows(ctx, tx, drafts, false)
		return err
	})
	if err != nil {
		if rated != nil {
			rated(ctx, false)
		}
		return nil, err
	}
	for i, c := range accepted {
		if c.Out, err = fromRow(drafts[i]); err != nil {
			c.Err = err
		}
	}
	return func() {
		if len(accepted) > 0 {
			s.afterCommit(ctx, effects)
		}
		if rated != nil {
			rated(ctx, true)
		}
	}, nil
}

// rate stores the ratings of a group, first of all: it locks shops before the rows that all
// publishers lock. It sets the error of each call whose rating is refused, and returns the
// other calls. done is nil if no call of the group has stars.
func (s *Service) rate(ctx context.Context, tx *ent.Tx, group publications) (accepted publications, done func(ctx context.Context, committed bool), err error) {
	var stars []Stars
	for _, c := range group {
		if n := c.In.draft.Stars; n != nil {
			stars = append(stars, Stars{c.In.draft.ShopID, c.In.author, *n})
		}
	}
	if len(stars) == 0 {
		return group, nil, nil
	}
	refused, done, err := s.ratings.RateInTx(ctx, tx, stars)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range group {
		if c.In.draft.Stars != nil {
			c.Err, refused = refused[0], refused[1:]
		}
		if c.Err == nil {
			accepted = append(accepted, c)
		}
	}
	return accepted, done, nil
}

// publishRows completes the transaction that inserted notes. It records their images,
// updates the note counts, enqueues the fan-out and numbers the notes last. With program,
// any images may be shown.
func (s *Service) publishRows(ctx context.Context, tx *ent.Tx, rows []*ent.Note, program bool) (effects commitEffects, err error) {
	shown, err := shownBy(rows, program)
	if err != nil {
		return effects, err
	}
	if err := s.pictures.SetUsed(ctx, tx, shown); err != nil {
		return effects, err
	}
	if effects, err = s.prepare(ctx, tx, rows, 1); err != nil {
		return effects, err
	}
	last, follows, err := s.numberAll(ctx, tx, rows)
	if err != nil {
		return effects, err
	}
	return effects, effects.addEvents(rows, last, follows)
}

// insert inserts notes and their counters. It sets the ids of rows, which are ascending.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, rows []*ent.Note) error {
	type note struct {
		Author   int64   `json:"author"`
		Shop     int64   `json:"shop"`
		Title    string  `json:"title"`
		Content  string  `json:"content"`
		Images   string  `json:"images"`
		Created  int64   `json:"created"`
		External *string `json:"external"`
	}
	type count struct {
		ID  int64 `json:"id"`
		Hot int64 `json:"hot"`
	}
	notes, counts := make([]note, len(rows)), make([]count, len(rows))
	for i, r := range rows {
		notes[i] = note{r.AuthorID, r.ShopID, r.Title, r.Content, r.Images, r.CreatedAt, r.ExternalID}
	}
	var ids []int64
	err := sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.insert, []any{sqldb.JSON(notes)}, func(found *sql.Rows) error {
		var id int64
		err := found.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err == nil && len(ids) != len(rows) {
		err = fmt.Errorf("insert returned %d ids", len(ids))
	}
	if err != nil {
		return fmt.Errorf("insert %d notes: %w", len(rows), err)
	}
	slices.Sort(ids)
	for i, r := range rows {
		r.ID = ids[i]
		counts[i] = count{r.ID, hotRank(r.CreatedAt, 0)}
	}
	if _, err := tx.ExecContext(sqldb.Prepared(ctx), s.sql.insertCounts, sqldb.JSON(counts)); err != nil {
		return fmt.Errorf("insert counts of %d notes: %w", len(rows), err)
	}
	return nil
}

// Editor is the user who deletes a note.
type Editor struct {
	UserID  int64
	IsAdmin bool // may delete any note
}

// Delete marks a note as deleted. Readers no longer see the note or its comments. Lists
// omit it after Delete returns, in other processes within moments.
//
// It returns an [apierror.UserErrors] if there is no such note, and an [apierror.Forbidden]
// error if it belongs to another user. All other errors come from the database.
func (s *Service) Delete(ctx context.Context, by Editor, id int64) error {
	ctx, span := observe.Span(ctx, "note.Delete")
	defer span.End()
	// The end of the request must not prevent the invalidation after the commit.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	var effects commitEffects
	err := s.tx(ctx, func(tx *ent.Tx) (err error) {
		effects, err = s.deleteInTx(ctx, tx, by, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete note %d: %w", id, err)
	}
	s.afterCommit(ctx, effects)
	return nil
}

// deleteInTx is the transaction of Delete. It locks the note, its counts, the shop, the
// author and the feed head, in this order.
func (s *Service) deleteInTx(ctx context.Context, tx *ent.Tx, by Editor, id int64) (commitEffects, error) {
	one := tx.Note.Query().Where(entnote.ID(id), entnote.DeletedAtIsNil())
	one.Modify(sqldb.ForUpdate)
	row, err := one.Only(ctx)
	switch {
	case ent.IsNotFound(err):
		return commitEffects{}, apierror.Refuse(apierror.NotFound, "Note not found.", "id")
	case err != nil:
		return commitEffects{}, fmt.Errorf("select row: %w", err)
	case !by.IsAdmin && row.AuthorID != by.UserID:
		return commitEffects{}, apierror.New(apierror.Forbidden, "Only the author can delete this note.")
	}
	if err := tx.Note.UpdateOneID(id).SetDeletedAt(s.now().UnixMilli()).Exec(ctx); err != nil {
		return commitEffects{}, fmt.Errorf("mark deleted: %w", err)
	}
	locked, err := s.lockCounts(ctx, tx, []int64{id})
	counts := locked[id]
	if err == nil && counts == nil {
		err = errors.New("counts are missing")
	}
	if err != nil {
		return commitEffects{}, err
	}
	if err := s.pictures.SetUsed(ctx, tx, map[int64]mediapath.Usage{id: {}}); err != nil {
		return commitEffects{}, err
	}
	if err := tx.NoteCount.Update().Where(notecount.ID(id)).SetDeleted(true).AddVersion(1).Exec(ctx); err != nil {
		return commitEffects{}, fmt.Errorf("mark counts deleted: %w", err)
	}
	var shops []outbox.JobRef
	if counts.Comments > 0 {
		if shops, err = s.shops.AddComments(ctx, tx, map[int64]int{row.ShopID: -counts.Comments}); err != nil {
			return commitEffects{}, fmt.Errorf("count comments of shop %d: %w", row.ShopID, err)
		}
	}
	effects, err := s.prepare(ctx, tx, []*ent.Note{row}, -1)
	if err != nil {
		return commitEffects{}, err
	}
	effects.hasComments, effects.shopJobs = counts.Comments > 0, shops
	var follows int64
	if effects.last, follows, err = s.number(ctx, tx, noteevent.KindREMOVED, row); err != nil {
		return commitEffects{}, err
	}
	effects.events = []Event{{Seq: effects.last, NoteID: id, AuthorID: row.AuthorID, Follows: follows}}
	return effects, nil
}

// DropImage removes a deleted image from a note and invalidates the cached note. It is
// idempotent, and ignores a note that does not show the image.
func (s *Service) DropImage(ctx context.Context, id int64, path string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	err := s.tx(ctx, func(tx *ent.Tx) error {
		one := tx.Note.Query().Where(entnote.ID(id))
		one.Modify(sqldb.ForUpdate)
		row, err := one.Only(ctx)
		if ent.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		left, found, err := mediapath.Without(row.Images, path)
		if err != nil || !found {
			return err
		}
		return tx.Note.UpdateOneID(id).SetImages(left).Exec(ctx)
	})
	if err != nil {
		return fmt.Errorf("remove image from note %d: %w", id, err)
	}
	return outbox.Transient(s.notes.Invalidate(ctx, id)) // the caller retries
}

// Uncleared returns ids of notes that were deleted before a time and still have texts, by
// time of deletion.
func (s *Service) Uncleared(ctx context.Context, before time.Time, limit int) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ids, err := s.db.Note.Query().
		Where(entnote.DeletedAtNotNil(), entnote.ClearedAtIsNil(), entnote.DeletedAtLT(before.UnixMilli())).
		Order(entnote.ByDeletedAt()).Limit(limit).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("select deleted notes with texts: %w", err)
	}
	return ids, nil
}

// ClearTexts clears titles, contents and images of deleted notes. It is idempotent, and
// ignores notes that are not deleted.
func (s *Service) ClearTexts(ctx context.Context, ids []int64) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := s.db.Note.Update().Where(entnote.IDIn(ids...), entnote.DeletedAtNotNil(), entnote.ClearedAtIsNil()).
		SetTitle("").SetContent("").SetImages(mediapath.Column(nil, nil)).SetClearedAt(s.now().UnixMilli()).Exec(ctx)
	if err != nil {
		return fmt.Errorf("clear %d deleted notes: %w", len(ids), err)
	}
	return nil
}
