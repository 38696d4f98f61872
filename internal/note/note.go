// Package note manages notes, which users write about shops. It publishes and deletes
// notes, lists them by author, shop and hot rank, and stores their counters. Package like
// stores the likes of notes, package comment their comments.
//
// The database is the source of truth. A note changes only when it loses a deleted image
// or is deleted. So its row is cached for long, and its counters, which change often, have
// their own cache. The texts of deleted notes are cleared later.
package note

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"github.com/tandian-dev/tandian/ent"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Note is a text about a shop.
type Note struct {
	ID        int64             `json:"id"`
	AuthorID  int64             `json:"author"`
	ShopID    int64             `json:"shop"`
	Title     string            `json:"title"`
	Content   string            `json:"content"` // plain text, may have several lines
	Images    []mediapath.Image `json:"images,omitempty"`
	Seq       int64             `json:"seq"` // position in the feed log
	CreatedAt time.Time         `json:"created_at"`
}

// Counts holds the counters of a note.
type Counts struct {
	Likes    int   `json:"likes"`
	Comments int   `json:"comments"`        // including replies
	Saves    int   `json:"saves,omitempty"` // users who saved it
	Hot      int64 `json:"hot"`             // hot rank, see hotRank
	Version  int64 `json:"version"`         // incremented by every change
}

// Shops provides the shops that notes are about.
type Shops interface {
	// OwnerOf returns the owner of a shop, and whether the shop exists.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
	// AddComments adds to the comment counts of shops, by shop id, in tx.
	AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error)
	// AfterCommitCounts invalidates the shops after the commit.
	AfterCommitCounts(ctx context.Context, ids []int64, jobs []outbox.JobRef)
	// Touch marks shops whose notes changed. It must not block.
	Touch(ids ...int64)
}

// Users provides the authors of notes.
type Users interface {
	// AddNotes adds to the note counts of users, by id, and locks their rows until tx ends.
	// It returns the number of followers of each user. It ignores missing users.
	AddNotes(ctx context.Context, tx *ent.Tx, notes map[int64]int) (followers map[int64]int, jobs []outbox.JobRef, err error)
	// AfterCommit invalidates the users after the commit.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Pictures manages the images of notes.
type Pictures interface {
	// Sizes returns the sizes of the images that the editor may show, by path.
	Sizes(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error)
	// SetUsed records in tx the images that notes show, by note id. It returns an
	// [apierror.UserErrors] if the editor may not show one of them.
	SetUsed(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Usage) error
}

// Feed delivers published notes to followers.
type Feed interface {
	// EnqueueFanOut adds the delivery of notes to tx. authors maps notes to authors, followers maps
	// authors to their number of followers. It returns the authors that are celebrities.
	EnqueueFanOut(ctx context.Context, tx *ent.Tx, authors map[int64]int64, followers map[int64]int) (celebrities map[int64]bool, err error)
	// FanOutCommitted is called after the commit.
	FanOutCommitted()
	// SeqCommitted is called after each commit that took numbers, with the last number. It
	// receives the events in order, or none for a large batch.
	SeqCommitted(last int64, events []Event)
}

// Ratings stores the ratings of authors.
type Ratings interface {
	// RateInTx stores ratings in tx and locks their shops until it ends. It returns the reason
	// for each refused rating, else nil. The caller calls done after tx, with the outcome.
	RateInTx(ctx context.Context, tx *ent.Tx, stars []Stars) (refused []error, done func(ctx context.Context, committed bool), err error)
}

// Stars is the rating of a shop that its user publishes with a note.
type Stars struct {
	ShopID, UserID int64
	Stars          int // 1 to 5
}

// Event is one entry of the feed log. The writer sends it after the commit.
type Event struct {
	Seq              int64
	NoteID, AuthorID int64
	Note             *Note // as published; nil for a deletion
	Celebrity        bool  // whether its author is a celebrity
	Follows          int64 // number of earlier transactions that added follows
}

//go:embed sql/*.sql
var files embed.FS

// statements holds the statements that ent cannot express.
type statements struct {
	number, take, head, block, events, byAuthors, byShops, counts, updateCounts, insert, insertCounts string

	notes, hasComments sqldb.IDQuery // for cache misses
	lockCounts         sqldb.IDQuery
}

// Service provides notes. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	postgres bool
	outbox   *outbox.Box
	shops    Shops
	users    Users
	pictures Pictures
	feed     Feed
	ratings  Ratings
	quota    *quota.Limit
	now      func() time.Time
	sql      statements

	notes    *cache.Cache[int64, Note]
	counts   *cache.Cache[int64, Counts]
	byAuthor *cache.FirstPages[int64]
	byShop   *cache.FirstPages[int64]
	hot      *cache.Cache[int64, []rankedNote] // rankings, by number

	publishing *batch.Batcher[pendingNote, *Note]
}

// Config holds the dependencies of a Service. Only Quota is optional.
type Config struct {
	Shops    Shops
	Users    Users
	Pictures Pictures
	Feed     Feed
	Ratings  Ratings
	Quota    *quota.Limit // of new notes per user; nil for no limit
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: db, postgres: db.Dialect() == dialect.Postgres, outbox: box,
		shops: cfg.Shops, users: cfg.Users, pictures: cfg.Pictures, feed: cfg.Feed, ratings: cfg.Ratings, quota: cfg.Quota, now: time.Now,
	}
	var notes, counted, lockCounts string
	err := sqldb.ReadStatements(files, db.Dialect(), map[string]*string{
		"notes": &notes, "counted": &counted, "lock_counts": &lockCounts, "update_counts": &s.sql.updateCounts,
		"insert": &s.sql.insert, "insert_counts": &s.sql.insertCounts,
		"take": &s.sql.take, "head": &s.sql.head, "block": &s.sql.block, "events": &s.sql.events, "byauthors": &s.sql.byAuthors, "atshops": &s.sql.byShops, "counts": &s.sql.counts,
	})
	if err == nil && s.postgres {
		err = sqldb.ReadStatements(files, db.Dialect(), map[string]*string{"number": &s.sql.number})
	}
	if err != nil {
		panic(fmt.Sprintf("note: %v", err)) // the files are embedded
	}
	s.sql.notes, s.sql.hasComments = sqldb.NewIDQuery(db.Dialect(), notes), sqldb.NewIDQuery(db.Dialect(), counted)
	s.sql.lockCounts = sqldb.NewIDQuery(db.Dialect(), lockCounts)
	s.publishing = batch.New(s.publishAll, batch.Config{
		Max: maxBatch, MaxWaiting: maxWaiting, Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable,
	})
	s.openCaches(hub)
	s.openOutbox()
	return s
}

// ByID returns one note. It reflects all completed writes of this process, and those of
// other processes within at most one second.
//
// It returns [apierror.ErrNotFound] if the note is missing or deleted. If Redis is
// unavailable, it reads the row. All other errors come from the database.
func (s *Service) ByID(ctx context.Context, id int64) (*Note, error) {
	found, err := s.ByIDs(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	if n := found[id]; n != nil {
		return n, nil
	}
	return nil, apierror.ErrNotFound
}

// ByIDs returns the existing notes, like [Service.ByID]. It needs one round trip to the
// cache and at most one statement.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Note, error) {
	ctx, span := observe.Span(ctx, "note.ByIDs")
	defer span.End()
	found, err := s.notes.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d notes: %w", len(ids), err)
	}
	return found, nil
}

// ByIDsOrSnapshot is [Service.ByIDs] for callers that have already read children of the
// notes. It returns notes that were deleted meanwhile as they were.
func (s *Service) ByIDsOrSnapshot(ctx context.Context, ids []int64) (map[int64]*Note, error) {
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return found[id] != nil })
	if len(missing) == 0 {
		return found, nil
	}
	rows, err := s.db.Note.Query().Where(entnote.IDIn(missing...)).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("select %d deleted notes: %w", len(missing), err)
	}
	for _, r := range rows {
		if found[r.ID], err = fromRow(r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Exist reports which notes exist and are not deleted, like [Service.ByIDs].
func (s *Service) Exist(ctx context.Context, ids []int64) (map[int64]bool, error) {
	found, err := s.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	live := make(map[int64]bool, len(found))
	for id := range found {
		live[id] = true
	}
	return live, nil
}

// tx runs work in a transaction, and retries once if the database aborts it because of
// another one. So work must not depend on results of an earlier run.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}

// IsNode marks a Note as a GraphQL Node.
func (Note) IsNode() {}
