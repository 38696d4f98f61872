package comment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"entgo.io/ent/dialect/sql"

	"github.com/tandian-dev/tandian/ent"
	entcomment "github.com/tandian-dev/tandian/ent/comment"
	"github.com/tandian-dev/tandian/ent/predicate"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

const (
	// MaxContent is how many characters a comment has at most, after its normalisation.
	MaxContent = 500

	// writeTimeout bounds one write, with what it tells after its commit.
	writeTimeout = 5 * time.Second

	insertsAtOnce = 500 // rows of one statement
)

// A Draft is a comment as its author writes it.
type Draft struct {
	NoteID   int64
	ParentID *int64 // the comment that it answers; nil of a comment on the note itself
	Content  string // 1 to MaxContent characters
}

// A draft is one that is to be stored.
type draft struct {
	Draft
	author int64
	at     time.Time
}

// Add stores a comment and returns it as stored. When it returns, every process sees it in
// its lists, and what others count of it.
//
// The content is stored as written, in composed characters (NFC) and with its lines, but
// for marks that hide or reorder text. Control characters are refused, not dropped: whoever
// sends them means something that nobody would see.
//
// A content out of its bounds, a note that is not there or was deleted, and a parent that
// is not on the note are [fault.UserErrors]; so is a comment above the author's hourly
// limit, with [quota.LimitReached]. Any other error means that the database failed.
// Calling it again makes another comment.
func (s *Service) Add(ctx context.Context, author int64, d Draft) (*Comment, error) {
	ctx, span := observe.Span(ctx, "comment.Add")
	defer span.End()
	// Not until the client hangs up: what was committed must be told.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	if _, err := clean(d.Content); err != nil {
		return nil, fmt.Errorf("add a comment of user %d to note %d: %w", author, d.NoteID, err)
	}
	use := s.quota.Take(ctx, author) // counted while the transaction begins
	w, err := s.write(ctx, []draft{{d, author, s.now()}}, use)
	if err != nil {
		use.Release(ctx)
		return nil, fmt.Errorf("add a comment of user %d to note %d: %w", author, d.NoteID, err)
	}
	return fromRow(w.rows[0]), nil
}

// clean returns the content as it is stored, or why it is refused.
func clean(content string) (string, error) {
	if text.HasControl(content) {
		return "", fault.Refuse(fault.InvalidInput, "The text has control characters.", "input", "content")
	}
	content = text.Paragraphs(content)
	if text.Blank(content) || text.Len(content) > MaxContent {
		return "", fault.Refuse(fault.InvalidInput, fmt.Sprintf("A comment has 1 to %d characters.", MaxContent), "input", "content")
	}
	return content, nil
}

// written is what one transaction stored, and what is to be told after its commit.
type written struct {
	rows    []*ent.Comment // in the order of the drafts
	roots   []*ent.Comment // of replies, as they are then
	notes   []func(context.Context) error
	shops   []int64
	counts  []outbox.Ticket // of the shops
	tickets []outbox.Ticket
}

// write stores drafts, all or none of them, and invalidates caches. It stores nothing if
// use was refused; a nil use has no limit.
func (s *Service) write(ctx context.Context, drafts []draft, use *quota.Use) (w written, err error) {
	for i := range drafts {
		if drafts[i].Content, err = clean(drafts[i].Content); err != nil {
			return written{}, err
		}
	}
	err = ent.WithTx(ctx, s.db, func(tx *ent.Tx) error { return s.store(ctx, tx, drafts, use, &w) })
	if err != nil {
		return written{}, err
	}
	s.announce(ctx, w)
	return w, nil
}

// store is the transaction of write. It locks comments, then counts of notes, then shops,
// each in the order of their ids, and inserts when it has all of them: so ids grow in the order of
// commits, and the scan, which locks one of the three, sees rows and counts that agree.
func (s *Service) store(ctx context.Context, tx *ent.Tx, drafts []draft, use *quota.Use, w *written) error {
	roots, err := rootsOf(ctx, tx, drafts)
	if err != nil {
		return err
	}
	// Before the first row lock. SQLite holds its write lock meanwhile, at most the deadline
	// of the count.
	if err := use.Wait(); err != nil {
		return err
	}
	if err := w.addReplies(ctx, tx, roots); err != nil {
		return err
	}
	if err := s.count(ctx, tx, drafts, w); err != nil {
		return err
	}
	if err := w.insert(ctx, tx, drafts, roots); err != nil {
		return err
	}
	ids := make([]int64, len(w.rows))
	for i, row := range w.rows {
		ids[i] = row.ID
	}
	w.tickets, err = outbox.AddBatch(ctx, s.outbox, tx, added, ids...)
	return err
}

// rootsOf returns the root of each draft, nil of one that is no reply. It locks nothing:
// the note and the root of a comment never change.
func rootsOf(ctx context.Context, tx *ent.Tx, drafts []draft) ([]*int64, error) {
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
	rows, err := tx.Comment.Query().Where(entcomment.IDIn(ids...)).
		Select(entcomment.FieldID, entcomment.FieldNoteID, entcomment.FieldRootID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select the parents: %w", err)
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
			return nil, fault.Refuse(fault.NotFound, "There is no such comment on the note.", "input", "parentId")
		}
		if roots[i] = parent.RootID; roots[i] == nil {
			roots[i] = &parent.ID
		}
	}
	return roots, nil
}

// addReplies counts replies into their roots.
func (w *written) addReplies(ctx context.Context, tx *ent.Tx, roots []*int64) error {
	replies := map[int64]int{}
	for _, root := range roots {
		if root != nil {
			replies[*root]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(replies)) {
		row, err := tx.Comment.UpdateOneID(id).AddReplyCount(replies[id]).AddVersion(1).Save(ctx)
		if err != nil {
			return fmt.Errorf("count replies into comment %d: %w", id, err)
		}
		w.roots = append(w.roots, row)
	}
	return nil
}

// count counts comments into their notes and shops.
func (s *Service) count(ctx context.Context, tx *ent.Tx, drafts []draft, w *written) error {
	notes, shops := map[int64]int{}, map[int64]int{}
	for _, d := range drafts {
		notes[d.NoteID]++
	}
	for _, note := range slices.Sorted(maps.Keys(notes)) {
		shop, tell, err := s.notes.AddComments(ctx, tx, note, notes[note])
		if err != nil {
			return fmt.Errorf("count comments into note %d: %w", note, err)
		}
		if tell == nil {
			return fault.Refuse(fault.NotFound, "There is no such note.", "input", "noteId")
		}
		w.notes = append(w.notes, tell)
		shops[shop] += notes[note]
	}
	w.shops = slices.Sorted(maps.Keys(shops))
	var err error
	if w.counts, err = s.shops.AddComments(ctx, tx, shops); err != nil {
		return fmt.Errorf("count comments into %d shops: %w", len(shops), err)
	}
	return nil
}

// insert stores the rows, whose ids grow in the order of the drafts.
func (w *written) insert(ctx context.Context, tx *ent.Tx, drafts []draft, roots []*int64) error {
	inserts := make([]*ent.CommentCreate, len(drafts))
	for i, d := range drafts {
		inserts[i] = tx.Comment.Create().SetNoteID(d.NoteID).SetAuthorID(d.author).SetNillableRootID(roots[i]).SetNillableParentID(d.ParentID).
			SetContent(d.Content).SetCreatedAt(d.at.UnixMilli())
	}
	for part := range slices.Chunk(inserts, insertsAtOnce) {
		rows, err := tx.Comment.CreateBulk(part...).Save(ctx)
		if err != nil {
			return fmt.Errorf("insert %d comments: %w", len(part), err)
		}
		w.rows = append(w.rows, rows...)
	}
	return nil
}

// announce tells of what was committed. A cached root is replaced, not dropped: the
// readers of a comment that many answer need no load after each reply.
//
// It has no error, because the write stands: a client that saw one would comment twice.
// What Redis could not be told is left to the outbox, and so is what a crash after the
// commit leaves untold.
func (s *Service) announce(ctx context.Context, w written) {
	var err error
	for _, root := range w.roots {
		err = errors.Join(err, s.put(ctx, root))
	}
	err = errors.Join(err, s.listsChanged(ctx, w.rows))
	for _, tell := range w.notes {
		err = errors.Join(err, tell(ctx))
	}
	s.outbox.Settle(ctx, err, w.tickets...)
	s.shops.AnnounceCounts(ctx, w.shops, w.counts)
}

const clearedAtOnce = 500 // rows of one statement

// ClearTexts clears the contents of all comments on deleted notes, in batches. It may be
// repeated: it skips what an earlier call has cleared.
func (s *Service) ClearTexts(ctx context.Context, notes []int64) error {
	for _, note := range notes { // one at a time, so that its index has its comments in the order of ids
		onNote := entcomment.And(entcomment.NoteID(note), entcomment.RootIDIsNil())
		for _, where := range []predicate.Comment{onNote, func(q *sql.Selector) { belowRoots(q, note) }} { // each by its index
			for last, more := int64(0), true; more; {
				var err error
				if last, more, err = s.clearSome(ctx, where, last); err != nil {
					return fmt.Errorf("clear comments on deleted note %d: %w", note, err)
				}
			}
		}
	}
	return nil
}

// clearSome clears one batch of comments with ids above after. It returns the last id, and
// whether there may be more.
func (s *Service) clearSome(ctx context.Context, where predicate.Comment, after int64) (last int64, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	ids, err := s.db.Comment.Query().Where(where, entcomment.IDGT(after), entcomment.ContentNEQ("")).
		Order(entcomment.ByID()).Limit(clearedAtOnce).IDs(ctx)
	if err != nil {
		return 0, false, fmt.Errorf("select comments above %d: %w", after, err)
	}
	if len(ids) == 0 {
		return after, false, nil
	}
	if err := s.db.Comment.Update().Where(entcomment.IDIn(ids...)).SetContent("").AddVersion(1).Exec(ctx); err != nil {
		return 0, false, fmt.Errorf("update %d comments: %w", len(ids), err)
	}
	return ids[len(ids)-1], len(ids) == clearedAtOnce, nil
}

// belowRoots adds the condition that a comment is a reply below a comment on a note.
func belowRoots(q *sql.Selector, note int64) {
	root := sql.Table(entcomment.Table)
	q.Where(sql.In(q.C(entcomment.FieldRootID), sql.Select(root.C(entcomment.FieldID)).From(root).
		Where(sql.And(sql.EQ(root.C(entcomment.FieldNoteID), note), sql.IsNull(root.C(entcomment.FieldRootID))))))
}
