// Package like stores the likes of notes and comments.
//
// The table likes is the source of truth. Its unique index (kind, target, user) guarantees
// one like per user, in any state of Redis. Two kinds of sorted sets in Redis answer most
// reads. They are windows of kit/cache: a set has all entries above its floor, or is
// missing. If Redis is unavailable, reads use the rows.
//
// Each page that shows a note reads its first likers. The set of a note holds the first
// 200. A later like changes only the set of its user in Redis, so its cost does not depend
// on the number of likes.
//
// The set of a user answers whether the user likes the targets of a page. So a note with a
// million likes needs no set of a million users, and a page needs one round trip on one key.
package like

import (
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Kind is the kind of a target.
type Kind string

// Kinds of targets.
const (
	Note    Kind = "NOTE"
	Comment Kind = "COMMENT"
)

// Target provides the targets of likes.
type Target interface {
	// LockLikes locks the counts of targets until tx ends. It returns the likes of each,
	// without missing and deleted targets. add adds to the likes of these targets;
	// increments may be negative. afterCommit updates the cache.
	LockLikes(ctx context.Context, tx *ent.Tx, ids []int64) (
		likes map[int64]int, add func(ctx context.Context, more map[int64]int) (afterCommit func(*cache.Pipeline), err error), err error)
	// InvalidateLikes invalidates the cached counts of targets.
	InvalidateLikes(ctx context.Context, ids ...int64) error
}

// NoteTarget is the [Target] of likes of notes.
type NoteTarget interface {
	Target
	// LikesCounted caches the counts of a note after the commit of this package. hot is the
	// hot rank.
	LikesCounted(p *cache.Pipeline, id int64, likes, comments, saves int, hot, version int64)
}

const (
	readTimeout  = 2 * time.Second // of one read, except in scans
	writeTimeout = 5 * time.Second // of one like, including the work after its commit
	setTTL       = 24 * time.Hour  // of a set without readers
)

// Service provides the likes of one kind of target. It is safe for concurrent use.
type Service struct {
	db     *ent.Client
	hub    *cache.Client
	outbox *outbox.Box
	kind   Kind
	target Target
	notes  NoteTarget // the target of likes of notes, else nil
	quota  *quota.Limit
	now    func() time.Time
	pause  time.Duration        // of a scan, before it rechecks a set; 0 for the default
	likers *cache.Window[int64] // first likers of notes, else nil
	liked  *cache.Window[int64] // targets by user
	sql    statements

	querier        sqldb.Querier // runs sql.likeNotes
	likes, unlikes *batch.Batcher[Draft, result]
}

type statements struct {
	first, newest, find, insert, remove, count string

	likeNotes string // for notes on Postgres, else ""
}

//go:embed sql/*.sql
var files embed.FS

// Config holds the dependencies of a Service. Kind and Target are required.
type Config struct {
	Kind   Kind
	Target Target           // a [NoteTarget] if Kind is [Note]
	Quota  *quota.Limit     // of new likes per user; nil for no limit
	Now    func() time.Time // default [time.Now]
}

// New returns the Service of one kind of target. It starts nothing, and the caller closes
// the dependencies. A hub and a box accept one Service of each kind. New panics if the kind
// is unknown, or if Kind is [Note] and the target is not a [NoteTarget].
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, querier: db, hub: hub, outbox: box, kind: cfg.Kind, target: cfg.Target, quota: cfg.Quota, now: cfg.Now}
	if s.now == nil {
		s.now = time.Now
	}
	likedName, count := likedNotes, "count_notes"
	switch s.kind {
	case Note:
		var ok bool
		if s.notes, ok = s.target.(NoteTarget); !ok {
			panic("like: the target of likes of notes is not a NoteTarget")
		}
		policy := cache.WindowPolicy{Name: likersName, Size: likersSize, TTL: setTTL, LoadTimeout: readTimeout}
		s.likers = cache.NewWindow(hub, policy, decimal, s.loadLikers)
	case Comment:
		likedName, count = likedComments, "count_comments"
	default:
		panic(fmt.Sprintf("like: unknown kind %q", s.kind))
	}
	policy := cache.WindowPolicy{Name: likedName, Size: likedSize, TTL: setTTL, LoadTimeout: readTimeout}
	s.liked = cache.NewWindow(hub, policy, decimal, s.loadLiked)
	texts := map[string]*string{
		"first": &s.sql.first, "newest": &s.sql.newest, "find": &s.sql.find, "insert": &s.sql.insert, "remove": &s.sql.remove, count: &s.sql.count,
	}
	if s.kind == Note && db.Dialect() == "postgres" {
		texts["like_notes"] = &s.sql.likeNotes
	}
	if err := sqldb.ReadStatements(files, db.Dialect(), texts); err != nil {
		panic(fmt.Sprintf("like: %v", err))
	}
	s.likes, s.unlikes = newBatcher(s.likeAll), newBatcher(s.unlikeAll)
	box.Handle(s.topic(), outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidate)})
	return s
}

func (s *Service) noun() string {
	if s.kind == Comment {
		return "comment"
	}
	return "note"
}
