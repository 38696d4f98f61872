// Package comment is the room of comments on notes.
//
// Two levels are shown: comments on a note, the newest first, and below each of them all
// replies, the oldest first. A reply to a reply stands below the same comment, its root,
// and remembers whom it answers: deeper trees cannot be read on a phone, nor paged by one
// index.
//
// Nothing of a comment ever changes but its counts, and a comment stays as long as its
// note. One on a note that was deleted is not there, whoever asks and however: that is
// looked at when it is read ([Notes.Live]), so the end of a note has nothing to tell here.
//
// The rows of the database are the truth; Redis has copies of rows, and of the ids in the
// first places of lists. Of one note the ids of comments grow in the order of their
// commits: an insert begins when the note's counts are locked, and the lock ends with its
// transaction. So a new comment is never put among those that a reader has seen, and an
// id is all that a cursor needs.
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

// A Comment is what somebody wrote about a note, or in reply to another comment on it.
type Comment struct {
	ID         int64     `json:"id"`
	NoteID     int64     `json:"note"`
	AuthorID   int64     `json:"author"`
	RootID     *int64    `json:"root,omitempty"`   // the comment below which this reply stands; nil of one that is no reply
	ParentID   *int64    `json:"parent,omitempty"` // the comment that it answers: the root, or another reply
	Content    string    `json:"content"`          // as written, but for its normalisation: HTML and mentions mean nothing
	LikeCount  int       `json:"likes,omitempty"`
	ReplyCount int       `json:"replies,omitempty"` // below it; 0 of a reply
	Version    int64     `json:"version"`           // raised by every update
	CreatedAt  time.Time `json:"created_at"`
}

// IsNode says that there is a global id.
func (Comment) IsNode() {}

// Notes are the notes, as comments need them.
type Notes interface {
	// AddComments adds to the comments of notes, negative numbers too, and keeps their counts
	// locked until tx ends. It returns the shop of each note, without the notes that are
	// missing or deleted, and what the caller calls after the commit.
	AddComments(ctx context.Context, tx *ent.Tx, more map[int64]int) (shops map[int64]int64, afterCommit func(context.Context) error, err error)
	// InvalidateComments forgets what is cached of the counts of notes. It may be repeated.
	InvalidateComments(ctx context.Context, notes ...int64) error
	// Exist says which of the notes exist and were not deleted.
	Exist(ctx context.Context, ids []int64) (map[int64]bool, error)
}

// Shops are the shops, as comments need them.
type Shops interface {
	// AddComments adds to the comments on notes about shops, by shop, negative numbers too.
	// It locks them in the order of their ids.
	AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error)
	// AfterCommitCounts tells of it after the commit.
	AfterCommitCounts(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Service answers for comments. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	comments *cache.Cache[int64, Comment]
	onNotes  *cache.FirstPages[int64] // lists of comments on a note, by note
	replies  *cache.FirstPages[int64] // lists of replies, by root
	sql      statements
	outbox   *outbox.Box
	notes    Notes
	shops    Shops
	quota    *quota.Limit
	now      func() time.Time
	adds     *batch.Batcher[draft, *Comment]
}

// statements are those that ent cannot say.
type statements struct {
	onNotes, replies                     string // the lists
	countNotes, countShops, countReplies string // the scan
	insert, addCounts                    string
	lockNotes, lockComments              sqldb.IDQuery
}

//go:embed sql/*.sql
var files embed.FS

// Config holds the dependencies of a Service. Notes and Shops are required.
type Config struct {
	Notes Notes
	Shops Shops
	Quota *quota.Limit     // of new comments of a user; nil for no limit
	Now   func() time.Time // default [time.Now]
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, outbox: box, notes: cfg.Notes, shops: cfg.Shops, quota: cfg.Quota, now: cfg.Now}
	var lockNotes, lockComments string
	err := sqldb.Read(files, db.Dialect(), map[string]*string{
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

// ByID returns one comment. It sees every write whose call returned, and hides the
// comment as soon as [Notes.Live] says that its note is gone. It returns
// [fault.ErrNotFound] if there is none. When Redis is down it reads the row, so any other
// error means that the database failed, or the notes did.
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

// ByIDs returns those of the comments that exist, as [Service.ByID] would, with one round
// trip to the cache, at most one statement, and one look at their notes.
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

// rows are comments, also those on notes that were deleted.
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

// live is [Notes.Live].
func (s *Service) live(ctx context.Context, notes []int64) (map[int64]bool, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	live, err := s.notes.Exist(ctx, notes)
	if err != nil {
		return nil, fmt.Errorf("look whether %d notes are there: %w", len(notes), err)
	}
	return live, nil
}
