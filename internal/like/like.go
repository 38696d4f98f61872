// Package like keeps who likes what: notes and comments.
//
// The rows of the table likes are the truth, and its unique index (kind, target, user)
// is what holds one like per user, whatever Redis says. Two sorted sets in Redis answer
// most questions. They are windows of kit/cache, so each is there as a whole or not at
// all, and Redis away means that the rows answer.
//
// Who liked a note first is read with every page that shows the note. Its set holds the
// first 200: a like behind them changes nothing in Redis but what its user likes, so the
// ten thousandth like of a note costs no more than the tenth.
//
// Whether a user likes what a page shows is answered from what the user likes, not from
// who likes the target. So a note with a million likes has no set of a million, and all
// targets of a page are one round trip on one key.
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

// Kind is what a target is.
type Kind string

// All kinds.
const (
	Note    Kind = "NOTE"
	Comment Kind = "COMMENT"
)

// Target is what is liked, as this room needs it.
type Target interface {
	// LockLikes locks the counts of targets until tx ends. It returns how many likes each has,
	// without the targets that are missing or deleted. add adds to the likes of these
	// targets, negative numbers too; afterCommit updates the cache.
	LockLikes(ctx context.Context, tx *ent.Tx, ids []int64) (
		likes map[int64]int, add func(ctx context.Context, more map[int64]int) (afterCommit func(*cache.Pipeline), err error), err error)
	// InvalidateLikes forgets what is cached of the counts of targets, whoever changed them.
	InvalidateLikes(ctx context.Context, ids ...int64) error
}

// NoteTarget is the [Target] of likes of notes. New panics without it.
type NoteTarget interface {
	Target
	// LikesCounted updates the cache after the commit of counts of a note that this package
	// has stored. hot is its rank among hot notes.
	LikesCounted(p *cache.Pipeline, id int64, likes, comments int, hot, version int64)
}

const (
	// readTimeout bounds one statement that looks, but for those of scans.
	readTimeout = 2 * time.Second
	// writeTimeout bounds one like, with what follows its commit.
	writeTimeout = 5 * time.Second
	// setTTL is how long a set that nobody reads is kept.
	setTTL = 24 * time.Hour
)

// Service answers for the likes of one kind of target. It is safe for concurrent use.
type Service struct {
	db     *ent.Client
	hub    *cache.Client
	outbox *outbox.Box
	kind   Kind
	target Target
	notes  NoteTarget // the target if it is notes, else nil
	quota  *quota.Limit
	now    func() time.Time
	pause  time.Duration        // between the two looks of a scan at a set
	likers *cache.Window[int64] // of notes: who liked each first; else nil
	liked  *cache.Window[int64] // by user
	sql    statements

	querier        sqldb.Querier // runs sql.likeNotes
	likes, unlikes *batch.Batcher[Draft, result]
}

// statements are the texts of sql/, in the dialect of the database.
type statements struct {
	first, newest, find, insert, remove, count string

	likeNotes string // of notes in Postgres, else ""
}

//go:embed sql/*.sql
var files embed.FS

// Config holds the dependencies of a Service. Kind and Target are required.
type Config struct {
	Kind   Kind
	Target Target           // a [NoteTarget] if Kind is [Note]
	Quota  *quota.Limit     // of new likes of a user; nil for no limit
	Now    func() time.Time // default [time.Now]
}

// New returns the Service of one kind of target. A hub and a box take one of each kind. It
// starts nothing, and the caller closes the dependencies. It panics if the target does not
// suit the kind.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	s := &Service{db: db, querier: db, hub: hub, outbox: box, kind: cfg.Kind, target: cfg.Target, quota: cfg.Quota, now: cfg.Now, pause: recheckDelay}
	if s.now == nil {
		s.now = time.Now
	}
	likedName, count := likedNotes, "count_notes"
	switch s.kind {
	case Note:
		var ok bool
		if s.notes, ok = s.target.(NoteTarget); !ok {
			panic("like: the target of likes of notes is no NoteTarget")
		}
		policy := cache.WindowPolicy{Name: likersName, Size: likersSize, TTL: setTTL, LoadTimeout: readTimeout}
		s.likers = cache.NewWindow(hub, policy, decimal, s.loadLikers)
	case Comment:
		likedName, count = likedComments, "count_comments"
	default:
		panic(fmt.Sprintf("like: there is no kind %q", s.kind))
	}
	policy := cache.WindowPolicy{Name: likedName, Size: likedSize, TTL: setTTL, LoadTimeout: readTimeout}
	s.liked = cache.NewWindow(hub, policy, decimal, s.loadLiked)
	texts := map[string]*string{
		"first": &s.sql.first, "newest": &s.sql.newest, "find": &s.sql.find, "plant": &s.sql.insert, "remove": &s.sql.remove, count: &s.sql.count,
	}
	if s.kind == Note && db.Dialect() == "postgres" {
		texts["like_notes"] = &s.sql.likeNotes
	}
	if err := sqldb.Read(files, db.Dialect(), texts); err != nil {
		panic(fmt.Sprintf("like: %v", err))
	}
	s.likes, s.unlikes = newBatcher(s.likeAll), newBatcher(s.unlikeAll)
	box.Handle(s.topic(), outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidate)})
	return s
}

// noun is what users call a target.
func (s *Service) noun() string {
	if s.kind == Comment {
		return "comment"
	}
	return "note"
}
