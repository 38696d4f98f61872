// Package comment manages comments on notes.
//
// Comments have two levels: comments on a note, newest first, and below each of them all
// replies, oldest first. A reply to a reply has the same root and stores its parent. Deeper
// trees are unreadable on phones, and one index cannot page them.
//
// Only the counters of a comment change. Reads hide comments on deleted notes with [Notes.Exist],
// so the deletion of a note writes nothing here. [Service.ClearTexts] clears their texts later.
//
// The database is the source of truth. Redis caches rows, and the first ids of lists.
// An insert locks the counts of the note until its commit, so the ids of the comments on a
// note follow the order of commits. A new comment never appears among entries that a reader
// has passed, and an id is a sufficient cursor.
package comment

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Comment is a comment on a note, or a reply to another comment.
type Comment struct {
	ID         int64     `json:"id"`
	NoteID     int64     `json:"note"`
	AuthorID   int64     `json:"author"`
	RootID     *int64    `json:"root,omitempty"`   // first comment of the thread; nil if this is not a reply
	ParentID   *int64    `json:"parent,omitempty"` // the comment that it answers: the root or another reply
	Content    string    `json:"content"`          // normalized plain text, without HTML or mentions
	LikeCount  int       `json:"likes,omitempty"`
	ReplyCount int       `json:"replies,omitempty"` // 0 for a reply
	Version    int64     `json:"version"`           // incremented by every update
	CreatedAt  time.Time `json:"created_at"`
}

// IsNode marks a Comment as a GraphQL Node.
func (Comment) IsNode() {}

// Notes provides the notes that comments are on.
type Notes interface {
	// AddComments adds to the comment counts of notes and locks the counts until tx ends.
	// Increments may be negative. It returns the shop of each note, without missing and
	// deleted notes, and a function to run after the commit.
	AddComments(ctx context.Context, tx *ent.Tx, more map[int64]int) (shops map[int64]int64, afterCommit func(context.Context) error, err error)
	// InvalidateComments invalidates the cached counts of notes. It is idempotent.
	InvalidateComments(ctx context.Context, notes ...int64) error
	// Exist reports which notes exist and are not deleted.
	Exist(ctx context.Context, ids []int64) (map[int64]bool, error)
}

// Shops provides the shops that notes are about.
type Shops interface {
	// AddComments adds to the comment counts of shops, by shop id. Increments may be
	// negative. It locks the shops in id order.
	AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error)
	// AfterCommitCounts invalidates the shops after the commit.
	AfterCommitCounts(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Service provides comments. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	comments *cache.Cache[int64, Comment]
	onNotes  *cache.FirstPages[int64] // comments on a note, by note
	replies  *cache.FirstPages[int64] // replies, by root
	sql      statements
	outbox   *outbox.Box
	notes    Notes
	shops    Shops
	quota    *quota.Limit
	now      func() time.Time
	adds     *batch.Batcher[draft, *Comment]
}

// statements holds the statements that ent cannot express.
type statements struct {
	onNotes, replies                     string // for lists
	countNotes, countShops, countReplies string // for scans
	insert, addCounts                    string
	lockNotes, lockComments              sqldb.IDQuery
}

//go:embed sql/*.sql
var files embed.FS

// Config holds the dependencies of a Service. Notes and Shops are required.
type Config struct {
	Notes Notes
	Shops Shops
	Quota *quota.Limit     // of new comments per user; nil for no limit
	Now   func() time.Time // default [time.Now]
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, outbox: box, notes: cfg.Notes, shops: cfg.Shops, quota: cfg.Quota, now: cfg.Now}
	var lockNotes, lockComments string
	err := sqldb.ReadStatements(files, db.Dialect(), map[string]*string{
		"insert": &s.sql.insert, "add_counts": &s.sql.addCounts, "lock_notes": &lockNotes, "lock_comments": &lockComments,
		"onnotes": &s.sql.onNotes, "below": &s.sql.replies,
		"count_notes": &s.sql.countNotes, "count_shops": &s.sql.countShops, "count_replies": &s.sql.countReplies,
	})
	if err != nil {
		panic(fmt.Sprintf("comment: %v", err))
	}
	s.sql.lockNotes, s.sql.lockComments = sqldb.NewIDQuery(db.Dialect(), lockNotes), sqldb.NewIDQuery(db.Dialect(), lockComments)
	if s.now == nil {
		s.now = time.Now
	}
	s.adds = batch.New(s.addAll, batch.Config{Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable})
	s.openCaches(hub)
	s.openOutbox()
	return s
}

// ByID returns one comment. It reflects all completed writes, and hides the comment as soon
// as [Notes.Exist] omits its note.
//
// It returns [apierror.ErrNotFound] if there is no such comment. If Redis is unavailable,
// it reads the row. All other errors come from the database or from Notes.
func (s *Service) ByID(ctx context.Context, id int64) (*Comment, error) {
	found, err := s.ByIDs(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	if c := found[id]; c != nil {
		return c, nil
	}
	return nil, apierror.ErrNotFound
}

// ByIDs returns the existing comments, like [Service.ByID]. It needs one round trip to the
// cache, at most one statement, and one read of their notes.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Comment, error) {
	ctx, span := observe.Span(ctx, "comment.ByIDs")
	defer span.End()
	found, err := s.rows(ctx, ids)
	if err != nil {
		return nil, err
	}
	notes := map[int64]bool{}
	for _, c := range found {
		notes[c.NoteID] = true
	}
	live, err := s.live(ctx, slices.Collect(maps.Keys(notes)))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(_ int64, c *Comment) bool { return !live[c.NoteID] })
	return found, nil
}

// rows returns comments, including those on deleted notes.
func (s *Service) rows(ctx context.Context, ids []int64) (map[int64]*Comment, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	found, err := s.comments.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d comments: %w", len(ids), err)
	}
	return found, nil
}

func (s *Service) live(ctx context.Context, notes []int64) (map[int64]bool, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	live, err := s.notes.Exist(ctx, notes)
	if err != nil {
		return nil, fmt.Errorf("read %d notes: %w", len(notes), err)
	}
	return live, nil
}
