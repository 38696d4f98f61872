// Package follow stores the follows between users.
//
// The source of truth is the table follows. Its unique index of follower and followee prevents
// duplicates, in any state of Redis. The rest is derived. The transaction of a follow locks and
// changes the counts in the users' rows. Redis caches the followees of each user in one sorted
// set, so one read of one key answers for a whole page.
//
// Transactions lock the users' rows before they insert, in the order of ids. That makes the limit
// exact. It also makes the follow ids of each user grow in commit order, so a list ordered by id
// only grows at its end.
package follow

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// MaxFollowees is the maximum number of followees per user. The sorted set of a user holds as many,
// so it is complete.
const MaxFollowees = 5000

// CannotFollowSelf is the error code for following oneself.
const CannotFollowSelf apierror.Code = "CANNOT_FOLLOW_SELF"

// Users provides users to a [Service]. Implementations must be safe for concurrent use.
type Users interface {
	// LockFollows locks users until tx ends, in the order of ids. It returns the number of
	// followees of each, without missing users.
	LockFollows(ctx context.Context, tx *ent.Tx, ids []int64) (followees map[int64]int, err error)
	// AddFollows adds to the counts of users locked by [Users.LockFollows]. followers maps a user
	// to the change of its followee count, followees to the change of its follower count. Changes
	// may be negative. It raises the follow version of the followers. It ignores missing users.
	AddFollows(ctx context.Context, tx *ent.Tx, followers, followees map[int64]int) ([]outbox.JobRef, error)
	// Followees returns the cached number of followees of each user, without missing users.
	Followees(ctx context.Context, ids []int64) (map[int64]int, error)
	// AfterCommit invalidates changed counts. Call it after the commit.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Config holds the dependencies and limits of a [Service]. Users and Head are required.
type Config struct {
	Users Users
	// Head returns the newest log number of the feed, and locks it against the next number until
	// tx ends. So a follow stores the exact head at its commit.
	Head  func(ctx context.Context, tx *ent.Tx) (int64, error)
	Now   func() time.Time // default time.Now
	Quota *quota.Limit     // default: no limit
	// Notify publishes to all processes, after the commit, that the followees of users have
	// changed. It is repeated after an error. It may be nil.
	Notify func(ctx context.Context, followers ...int64) error

	limit        int           // followees per user, and members per set; default MaxFollowees
	probe        int           // members of the smaller set in the first lookup; default firstProbe
	recheckDelay time.Duration // before a finding is checked again; default 1 s
}

// A Page is one page of a list of users.
type Page struct {
	Edges []Edge
	Info  page.Info
}

// An Edge is a user in a list.
type Edge struct {
	Cursor page.Cursor
	User   int64
}

// Service stores and lists follows. It is safe for concurrent use.
type Service struct {
	db        *ent.Client
	outbox    *outbox.Box
	cfg       Config
	sql       statements
	followees *cache.Window[int64]     // of each user
	followers *cache.FirstPages[int64] // newest ones of each user

	begins, ends *batch.Batcher[pair, struct{}]
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.limit = cmp.Or(cfg.limit, MaxFollowees)
	cfg.probe = cmp.Or(cfg.probe, firstProbe)
	cfg.recheckDelay = cmp.Or(cfg.recheckDelay, time.Second)
	s := &Service{db: db, outbox: box, cfg: cfg, sql: loadStatements(db.Dialect())}
	s.begins, s.ends = newBatcher(s.followAll), newBatcher(s.unfollowAll)
	s.openCaches(hub)
	s.openOutbox()
	return s
}

//go:embed sql/*.sql
var files embed.FS

type statements struct{ followees, followers, find, insert, remove, counts, orphans string }

func loadStatements(dialect string) (s statements) {
	err := sqldb.ReadStatements(files, dialect, map[string]*string{
		"followees": &s.followees, "followers": &s.followers, "find": &s.find, "insert": &s.insert, "remove": &s.remove, "counts": &s.counts, "orphans": &s.orphans,
	})
	if err != nil {
		panic(fmt.Sprintf("follow: %v", err))
	}
	return s
}
