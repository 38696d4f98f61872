// Package follow knows who follows whom.
//
// The truth is the table follows: its unique index of follower and followee holds one
// follow of one user, whatever Redis says and whoever races. Everything else is made of
// it: how many follow whom stands in the users' rows, which the transaction of a follow
// locks and changes too; whom somebody follows lies in Redis as one sorted set, so that
// a whole page is asked about by one read of one key.
//
// The users' rows are locked before the follow is stored, in the order of their ids.
// That makes the limit exact, and it has the ids of one follower's follows, and of those
// of one followee, grow in the order of their commits: a list that is ordered by id grows
// at its end alone.
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

// MaxFollowees is how many one user may follow. As many fit the sorted set of a user,
// which is therefore all there is to know, and may be read as a whole.
const MaxFollowees = 5000

// CannotFollowSelf is the code of a follow of oneself.
const CannotFollowSelf apierror.Code = "CANNOT_FOLLOW_SELF"

// Users are the users, as follows need them.
type Users interface {
	// LockFollows locks users until tx ends, in the order of their ids. It returns how many
	// others each follows, without users that do not exist.
	LockFollows(ctx context.Context, tx *ent.Tx, ids []int64) (followees map[int64]int, err error)
	// AddFollows adds to the counts of users that [Users.LockFollows] has locked, by id:
	// followers says how many more others each of them follows, followees how many more
	// follow each. Negative numbers take away. It raises the follow version of the
	// followers. Users that do not exist are left out.
	AddFollows(ctx context.Context, tx *ent.Tx, followers, followees map[int64]int) ([]outbox.JobRef, error)
	// Followees says how many each follows, from the cache. Who is missing is no user.
	Followees(ctx context.Context, ids []int64) (map[int64]int, error)
	// AfterCommit tells of changed counts after the commit.
	AfterCommit(ctx context.Context, ids []int64, tickets []outbox.JobRef)
}

// Config joins a Service with the other rooms, and tunes it. Users and Head are required.
type Config struct {
	Users Users
	// Head returns the number of the newest thing in the feed, and keeps its row locked
	// against whoever would take the next one, until tx ends. So what a follow stores of it
	// is the head at its commit, exactly.
	Head  func(ctx context.Context, tx *ent.Tx) (int64, error)
	Now   func() time.Time // default time.Now
	Quota *quota.Limit     // default no limit
	// Notify tells whoever wants to know, in all processes, that these users follow others than
	// before, after the commit. With an error it is done again. It may be nil.
	Notify func(ctx context.Context, followers ...int64) error

	limit  int           // of followees, and the size of a set; default MaxFollowees
	ask    int           // members of one set that the other is asked for at first; default askAtOnce
	settle time.Duration // between two looks at what differs; default 1 s
}

// A Page is a part of a list of users.
type Page struct {
	Edges []Edge
	Info  page.Info
}

// An Edge is a user's place in a list.
type Edge struct {
	Cursor page.Cursor
	User   int64
}

// Service answers for follows. It is safe for concurrent use.
type Service struct {
	db        *ent.Client
	outbox    *outbox.Box
	cfg       Config
	sql       statements
	out       *cache.Window[int64]     // whom each follows
	followers *cache.FirstPages[int64] // the newest followers of each

	begins, ends *batch.Batcher[pair, struct{}]
}

// New returns a Service. It starts nothing, and the caller closes the dependencies.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.limit = cmp.Or(cfg.limit, MaxFollowees)
	cfg.ask = cmp.Or(cfg.ask, askAtOnce)
	cfg.settle = cmp.Or(cfg.settle, time.Second)
	s := &Service{db: db, outbox: box, cfg: cfg, sql: statementsOf(db.Dialect())}
	s.begins, s.ends = newBatcher(s.followAll), newBatcher(s.unfollowAll)
	s.openCaches(hub)
	s.openOutbox()
	return s
}

//go:embed sql/*.sql
var files embed.FS

type statements struct{ followees, followers, find, insert, remove, counts, orphans string }

func statementsOf(dialect string) (s statements) {
	err := sqldb.Read(files, dialect, map[string]*string{
		"followees": &s.followees, "followers": &s.followers, "find": &s.find, "insert": &s.insert, "remove": &s.remove, "counts": &s.counts, "orphans": &s.orphans,
	})
	if err != nil {
		panic(fmt.Sprintf("follow: %v", err))
	}
	return s
}
