// Package note is the room of notes: what people write about shops. It publishes
// and deletes them, lists them by author, by shop and by how hot they are, and keeps
// their counts. Who likes a note is the room internal/like's business, what is said
// about it that of internal/comment.
//
// The rows of the database are the truth. A note changes only when it loses a deleted
// picture, is deleted, or is cleared. Its row is cached for long; its counters change
// often and have a cache of their own.
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

// A Note is what somebody wrote about a shop.
type Note struct {
	ID        int64             `json:"id"`
	AuthorID  int64             `json:"author"`
	ShopID    int64             `json:"shop"`
	Title     string            `json:"title"`
	Content   string            `json:"content"` // may have several lines; means nothing but what it says
	Images    []mediapath.Image `json:"images,omitempty"`
	Seq       int64             `json:"seq"` // its place among all that was published or deleted
	CreatedAt time.Time         `json:"created_at"`
}

// Counts are what of a note is counted.
type Counts struct {
	Likes    int   `json:"likes"`
	Comments int   `json:"comments"` // replies too
	Hot      int64 `json:"hot"`      // see hot.go
	Version  int64 `json:"version"`  // raised by every change
}

// Shops are the shops, as notes need them.
type Shops interface {
	// OwnerOf returns the merchant that a shop belongs to, and whether there is such a
	// shop.
	OwnerOf(ctx context.Context, shopID int64) (owner *int64, ok bool, err error)
	// AddComments adds to the comments on notes about shops, by id, in tx.
	AddComments(ctx context.Context, tx *ent.Tx, comments map[int64]int) ([]outbox.JobRef, error)
	// AfterCommitCounts tells of that after the commit.
	AfterCommitCounts(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Users are the users, as notes need them.
type Users interface {
	// AddNotes adds to how many notes users have, by id, in tx, and keeps their rows
	// locked. It returns how many follow each of them. Users that do not exist are
	// overlooked.
	AddNotes(ctx context.Context, tx *ent.Tx, notes map[int64]int) (followers map[int64]int, jobs []outbox.JobRef, err error)
	// AfterCommit tells of that after the commit.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Pictures are those that notes show.
type Pictures interface {
	// Known returns the sizes of the pictures that the editor may show, by path.
	Known(ctx context.Context, by mediapath.Editor, paths []string) (map[string]mediapath.Size, error)
	// Show records in tx which pictures notes show, by id of the note. It returns a
	// [fault.UserErrors] if the editor may not show one of them.
	Show(ctx context.Context, tx *ent.Tx, shown map[int64]mediapath.Shown) error
}

// Feed is where notes go when they are published.
type Feed interface {
	// EnqueueFanOut has tx bring notes to those who follow their authors. authors has the author
	// of each note, followers how many follow each author. It returns which authors are
	// stars by that.
	EnqueueFanOut(ctx context.Context, tx *ent.Tx, authors map[int64]int64, followers map[int64]int) (celebrities map[int64]bool, err error)
	// FanOutCommitted is called after the commit.
	FanOutCommitted()
	// SeqCommitted is called after each commit that took numbers, with the last of them, and
	// what they are of, in their order, unless that is much.
	SeqCommitted(last int64, events []Event)
}

// An Event is what a number of the feed is of, as its writer tells of it after the commit.
type Event struct {
	Seq              int64
	NoteID, AuthorID int64
	Note             *Note // as published; nil if it was deleted
	Star             bool  // its author became a star with it, or was one
	Follows          int64 // how many transactions had follows begin before it
}

//go:embed sql/*.sql
var files embed.FS

// statements are those that ent cannot say.
type statements struct {
	number, take, head, block, events, byAuthors, byShops, counts, updateCounts, insert, insertCounts string

	notes, hasComments sqldb.IDQuery // of every miss of the caches
	lockCounts         sqldb.IDQuery
}

// Service answers for notes. It is safe for concurrent use.
type Service struct {
	db       *ent.Client
	postgres bool
	outbox   *outbox.Box
	shops    Shops
	users    Users
	pictures Pictures
	feed     Feed
	quota    *quota.Limit
	now      func() time.Time
	sql      statements

	notes    *cache.Cache[int64, Note]
	counts   *cache.Cache[int64, Counts]
	byAuthor *cache.FirstPages[int64]
	byShop   *cache.FirstPages[int64]
	hot      *cache.Cache[int64, []rankedNote] // rankings, by their number

	publishing *batch.Batcher[pendingNote, *Note]
}

// Config holds the dependencies of a Service. All but Quota are required.
type Config struct {
	Shops    Shops
	Users    Users
	Pictures Pictures
	Feed     Feed
	Quota    *quota.Limit // of new notes of a user; nil for no limit
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: db, postgres: db.Dialect() == dialect.Postgres, outbox: box,
		shops: cfg.Shops, users: cfg.Users, pictures: cfg.Pictures, feed: cfg.Feed, quota: cfg.Quota, now: time.Now,
	}
	var notes, counted, lockCounts string
	err := sqldb.Read(files, db.Dialect(), map[string]*string{
		"notes": &notes, "counted": &counted, "lock_counts": &lockCounts, "update_counts": &s.sql.updateCounts,
		"insert": &s.sql.insert, "insert_counts": &s.sql.insertCounts,
		"take": &s.sql.take, "head": &s.sql.head, "block": &s.sql.block, "events": &s.sql.events, "byauthors": &s.sql.byAuthors, "atshops": &s.sql.byShops, "counts": &s.sql.counts,
	})
	if err == nil && s.postgres {
		err = sqldb.Read(files, db.Dialect(), map[string]*string{"number": &s.sql.number})
	}
	if err != nil {
		panic(fmt.Sprintf("note: %v", err)) // the files are part of the program
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

// ByID returns one note, or [fault.ErrNotFound] if there is none or it was deleted. It
// sees every write whose call returned in this process, those of other processes within
// moments, a second at most. When Redis is down it reads the row, so any other
// error means that the database failed.
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

// ByIDs returns those of the notes that exist, as [Service.ByID] would, with one round
// trip to the cache and at most one statement.
func (s *Service) ByIDs(ctx context.Context, ids []int64) (map[int64]*Note, error) {
	ctx, span := observe.Span(ctx, "note.ByIDs")
	defer span.End()
	found, err := s.notes.Refs(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("read %d notes: %w", len(ids), err)
	}
	return found, nil
}

// ByIDsOrSnapshot is [Service.ByIDs] for what belongs to the notes and was read before: one that was
// deleted meanwhile is returned as it was.
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
		return nil, fmt.Errorf("select %d notes that are gone: %w", len(missing), err)
	}
	for _, r := range rows {
		if found[r.ID], err = fromRow(r); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// Exist says which of the notes exist and were not deleted, as [Service.ByIDs] would.
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

// tx runs work in a transaction, and once more if the database undid it for the sake of
// another one. So work begins from nothing that it left behind.
func (s *Service) tx(ctx context.Context, work func(*ent.Tx) error) error {
	return ent.WithTxAgain(ctx, s.db, sqldb.Retryable, work)
}

// IsNode says that there is a global id.
func (Note) IsNode() {}
