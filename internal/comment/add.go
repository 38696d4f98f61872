package comment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

const (
	// MaxContent is the maximum length of a normalized comment, in characters.
	MaxContent = 500

	writeTimeout = 5 * time.Second // of one write, including the work after its commit
)

// errBusy is returned when too many comments wait to be written.
var errBusy = apierror.New(apierror.Unavailable, "Too many comments at the moment. Please try again.")

// Draft is a comment as its author writes it.
type Draft struct {
	NoteID   int64
	ParentID *int64 // the comment that it answers; nil for the note
	Content  string // 1 to MaxContent characters
}

// draft is a checked comment to store.
type draft struct {
	Draft
	author int64
	at     time.Time
}

// Add stores a comment and returns it as stored. All processes see it in lists and counters
// after Add returns.
//
// The content keeps its lines. It is normalized to NFC, without marks that hide or reorder text.
// Control characters are rejected, not removed: they indicate a text that differs from its display.
//
// It returns an [apierror.UserErrors] for an invalid content, a missing or deleted note, and
// a parent on another note. Above the author's hourly limit, it returns one with
// [quota.LimitReached]. It returns UNAVAILABLE if too many comments wait. All other errors
// come from the database. Add is not idempotent.
func (s *Service) Add(ctx context.Context, author int64, d Draft) (*Comment, error) {
	ctx, span := observe.Span(ctx, "comment.Add")
	defer span.End()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	content, err := clean(d.Content)
	if err != nil {
		return nil, fmt.Errorf("add comment of user %d to note %d: %w", author, d.NoteID, err)
	}
	d.Content = content
	c, err := s.adds.Join(ctx, draft{d, author, s.now()})
	if err != nil {
		return nil, fmt.Errorf("add comment of user %d to note %d: %w", author, d.NoteID, err)
	}
	return c, nil
}

func (s *Service) addAll(ctx context.Context, calls []*batch.Call[draft, *Comment]) (after func(), err error) {
	drafts, uses := make([]draft, len(calls)), make([]*quota.Use, len(calls))
	for i, c := range calls {
		drafts[i] = c.In
		uses[i] = s.quota.Take(ctx, c.In.author) // runs while the transaction begins
	}
	var w written
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return s.store(ctx, tx, drafts, uses, &w) })
	for i, c := range calls {
		if err == nil && w.refused[i] == nil {
			c.Out = w.rows[i]
			continue
		}
		uses[i].Release(ctx)
		if err == nil {
			c.Err = w.refused[i]
		}
	}
	if err != nil {
		return nil, err
	}
	return func() { s.afterCommit(ctx, w) }, nil
}

// clean returns the normalized content, or an error for the client.
func clean(content string) (string, error) {
	if text.HasControl(content) {
		return "", apierror.Refuse(apierror.InvalidInput, "Remove control characters from the comment.", "input", "content")
	}
	content = text.Paragraphs(content)
	if text.Blank(content) || text.Len(content) > MaxContent {
		return "", apierror.Refuse(apierror.InvalidInput, fmt.Sprintf("A comment must have 1 to %d characters.", MaxContent), "input", "content")
	}
	return content, nil
}

// written is the result of one transaction.
type written struct {
	rows    []*Comment // in the order of the drafts; nil if rejected
	refused []error    // in the same order; nil if stored
	roots   []*Comment // roots of the replies, with new counts

	notesAfterCommit func(context.Context) error
	shops            []int64
	shopJobs         []outbox.JobRef // of the shops
	jobs             []outbox.JobRef
}

// store is the transaction that adds comments. It rejects drafts with a missing note or
// parent, or above the author's limit. Nil uses have no limit.
//
// It locks comments, counts of notes, and shops, each in id order, before it inserts. So
// ids follow the order of commits. A repair locks one of the three, so the count that it
// reads does not change before its commit.
func (s *Service) store(ctx context.Context, tx *ent.Tx, drafts []draft, uses []*quota.Use, w *written) error {
	*w = written{rows: make([]*Comment, len(drafts)), refused: make([]error, len(drafts))}
	roots, err := rootsOf(ctx, tx, drafts, w.refused)
	if err != nil {
		return err
	}
	// Wait before the first row lock. SQLite holds its write lock meanwhile, at most until the
	// deadline of the limiter.
	for i, use := range uses {
		if err := use.Wait(); err != nil && w.refused[i] == nil {
			w.refused[i] = err
		}
	}
	if err := s.lockRoots(ctx, tx, roots, w.refused); err != nil {
		return err
	}
	if err := s.count(ctx, tx, drafts, w); err != nil {
		return err
	}
	if !slices.Contains(w.refused, nil) {
		return nil
	}
	replies := map[int64]int{}
	for i, root := range roots {
		if root != nil && w.refused[i] == nil {
			replies[*root]++
		}
	}
	if w.roots, err = s.addCounts(ctx, tx, nil, replies); err != nil {
		return err
	}
	ids, err := s.insert(ctx, tx, drafts, roots, w)
	if err != nil {
		return err
	}
	w.jobs, err = outbox.AddBatch(ctx, s.outbox, tx, addedTopic, ids...)
	return err
}

// rootsOf returns the root of each draft, nil for a comment on the note. It rejects drafts with a
// parent on another note. It locks nothing, because the note and root of a comment never change.
func rootsOf(ctx context.Context, tx *ent.Tx, drafts []draft, refused []error) ([]*int64, error) {
	roots := make([]*int64, len(drafts))
	var ids []int64
	for _, d := range drafts {
		if d.ParentID != nil {
			ids = append(ids, *d.ParentID)
		}
	}
	if len(ids) == 0 {
		return roots, nil
	}
	rows, err := tx.Comment.Query().Where(entcomment.IDIn(unique(ids)...)).
		Select(entcomment.FieldID, entcomment.FieldNoteID, entcomment.FieldRootID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select parents: %w", err)
	}
	parents := make(map[int64]*ent.Comment, len(rows))
	for _, r := range rows {
		parents[r.ID] = r
	}
	for i, d := range drafts {
		if d.ParentID == nil {
			continue
		}
		parent := parents[*d.ParentID]
		if parent == nil || parent.NoteID != d.NoteID {
			refused[i] = apierror.Refuse(apierror.NotFound, "This note has no such comment.", "input", "parentId")
			continue
		}
		if roots[i] = parent.RootID; roots[i] == nil {
			roots[i] = &parent.ID
		}
	}
	return roots, nil
}

func (s *Service) lockRoots(ctx context.Context, tx *ent.Tx, roots []*int64, refused []error) error {
	var ids []int64
	for i, root := range roots {
		if root != nil && refused[i] == nil {
			ids = append(ids, *root)
		}
	}
	_, err := s.lockComments(ctx, tx, unique(ids))
	return err
}

// count adds the drafts to the counters of notes and shops. It rejects missing and deleted notes.
func (s *Service) count(ctx context.Context, tx *ent.Tx, drafts []draft, w *written) error {
	notes, shops := map[int64]int{}, map[int64]int{}
	for i, d := range drafts {
		if w.refused[i] == nil {
			notes[d.NoteID]++
		}
	}
	if len(notes) == 0 {
		return nil
	}
	shopOf, afterCommit, err := s.notes.AddComments(ctx, tx, notes)
	if err != nil {
		return fmt.Errorf("count comments of %d notes: %w", len(notes), err)
	}
	w.notesAfterCommit = afterCommit
	for i, d := range drafts {
		if w.refused[i] != nil {
			continue
		}
		if shop, ok := shopOf[d.NoteID]; ok {
			shops[shop]++
		} else {
			w.refused[i] = apierror.Refuse(apierror.NotFound, "Note not found.", "input", "noteId")
		}
	}
	if w.shops = slices.Sorted(maps.Keys(shops)); len(w.shops) == 0 {
		return nil
	}
	if w.shopJobs, err = s.shops.AddComments(ctx, tx, shops); err != nil {
		return fmt.Errorf("count comments of %d shops: %w", len(shops), err)
	}
	return nil
}

// insert stores the accepted drafts, fills w.rows and returns the ids, which are ascending.
func (s *Service) insert(ctx context.Context, tx *ent.Tx, drafts []draft, roots []*int64, w *written) ([]int64, error) {
	type row struct {
		Note    int64  `json:"note"`
		Author  int64  `json:"author"`
		Root    *int64 `json:"root"`
		Parent  *int64 `json:"parent"`
		Content string `json:"content"`
		At      int64  `json:"at"`
	}
	var rows []row
	for i, d := range drafts {
		if w.refused[i] == nil {
			rows = append(rows, row{d.NoteID, d.author, roots[i], d.ParentID, d.Content, d.at.UnixMilli()})
		}
	}
	var ids []int64
	err := sqldb.Each(sqldb.Prepared(ctx), tx, s.sql.insert, []any{sqldb.JSON(rows)}, func(found *sql.Rows) error {
		var id int64
		err := found.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err == nil && len(ids) != len(rows) {
		err = fmt.Errorf("insert returned %d ids", len(ids))
	}
	if err != nil {
		return nil, fmt.Errorf("insert %d comments: %w", len(rows), err)
	}
	slices.Sort(ids)
	left := ids
	for i, d := range drafts {
		if w.refused[i] != nil {
			continue
		}
		w.rows[i] = &Comment{
			ID: left[0], NoteID: d.NoteID, AuthorID: d.author, RootID: roots[i], ParentID: d.ParentID, Content: d.Content,
			Version: 1, CreatedAt: fromMilli(d.at.UnixMilli()),
		}
		left = left[1:]
	}
	return ids, nil
}

// afterCommit updates the caches. It replaces cached roots: readers of a comment with many replies
// then need no load after each reply.
//
// It returns no error, because the write succeeded: after an error, a client would add the comment
// twice. The outbox repeats the update if Redis fails or the process crashes.
func (s *Service) afterCommit(ctx context.Context, w written) {
	if len(w.jobs) == 0 {
		return
	}
	s.outbox.Finish(ctx, errors.Join(s.put(ctx, w.roots...), s.invalidateLists(ctx, w.rows), w.notesAfterCommit(ctx)), w.jobs...)
	s.shops.AfterCommitCounts(ctx, w.shops, w.shopJobs)
}

const clearBatch = 500 // rows per statement

// ClearTexts clears the contents of all comments on deleted notes, in batches. It is idempotent.
func (s *Service) ClearTexts(ctx context.Context, notes []int64) error {
	for _, note := range notes { // one at a time, so that the index returns comments in id order
		onNote := entcomment.And(entcomment.NoteID(note), entcomment.RootIDIsNil())
		for _, where := range []predicate.Comment{onNote, func(q *entsql.Selector) { belowRoots(q, note) }} { // one index each
			for last, more := int64(0), true; more; {
				var err error
				if last, more, err = s.clearSome(ctx, where, last); err != nil {
					return fmt.Errorf("clear comments on note %d: %w", note, err)
				}
			}
		}
	}
	return nil
}

// clearSome clears one batch of comments above an id, and reports whether there may be more.
func (s *Service) clearSome(ctx context.Context, where predicate.Comment, after int64) (last int64, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ids, err := s.db.Comment.Query().Where(where, entcomment.IDGT(after), entcomment.ContentNEQ("")).
		Order(entcomment.ByID()).Limit(clearBatch).IDs(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("select comments after %d: %w", after, err)
	}
	if len(ids) == 0 {
		return after, false, nil
	}
	if err := s.db.Comment.Update().Where(entcomment.IDIn(ids...)).SetContent("").AddVersion(1).Exec(ctx); err != nil {
		return 0, false, fmt.Errorf("update %d comments: %w", len(ids), err)
	}
	return ids[len(ids)-1], len(ids) == clearBatch, nil
}

// belowRoots selects the replies to comments on a note.
func belowRoots(q *entsql.Selector, note int64) {
	root := entsql.Table(entcomment.Table)
	q.Where(entsql.In(q.C(entcomment.FieldRootID), entsql.Select(root.C(entcomment.FieldID)).From(root).
		Where(entsql.And(entsql.EQ(root.C(entcomment.FieldNoteID), note), entsql.IsNull(root.C(entcomment.FieldRootID))))))
}
