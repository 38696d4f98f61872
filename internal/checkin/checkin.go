// Package checkin implements daily check-ins, which earn points.
//
// The table check_ins is the source of truth: a row for each user and month, with the days
// as bits. One statement sets the bit of today and earns the points, or finds it set and
// earns nothing, regardless of Redis.
//
// Redis has a bitmap for each user and month, of the last 13 months. It serves the days of
// a month and the streak. Bit 0 marks a whole bitmap: it has all days of the row. A bitmap
// without the mark counts as missing, and the next reader rebuilds it from the row. Bits
// are only added, so updates may be late, repeated and in any order.
package checkin

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// Points is the number of points of a check-in.
const Points = 5

const (
	readTimeout  = 2 * time.Second // of one read, with its round trips and statements
	writeTimeout = 5 * time.Second // of one check-in and the work after its commit
)

// A Month is the check-ins of a user in one month.
type Month struct {
	Month  string     // yyyy-mm
	Days   []int      // ascending
	Streak int        // consecutive days up to today, or up to yesterday if today has no check-in
	Today  civil.Date // the current day in the zone, for any month
}

// Count returns the number of days with a check-in.
func (m *Month) Count() int { return len(m.Days) }

// Users stores the points of users.
type Users interface {
	// AddPoints adds to the points of users, by id, and locks their rows until tx ends.
	AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error)
	// AfterCommit invalidates the users after the commit.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Config holds the dependencies and settings of a Service.
type Config struct {
	Prefix   string           // prefix of the Redis keys
	Zone     *time.Location   // time zone of the days; default UTC
	Users    Users            // required
	Now      func() time.Time // default time.Now
	Bitfield bool             // Redis supports BITFIELD_RO; the embedded one does not
}

// Service implements check-ins. It is safe for concurrent use.
type Service struct {
	db      *ent.Client
	outbox  *outbox.Box
	users   Users
	zone    *time.Location
	now     func() time.Time
	bitmaps bitmaps
	pause   time.Duration // between the two comparisons of a bitmap in the scan
	sql     statements

	checkIns *batch.Batcher[Draft, checkedIn]
}

type statements struct{ months, upsert string }

//go:embed sql/*.sql
var files embed.FS

// New returns a Service, one for each outbox. It starts nothing, and the caller closes the
// dependencies.
func New(client *ent.Client, rdb redis.Cmdable, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: client, outbox: box, users: cfg.Users, zone: cmp.Or(cfg.Zone, time.UTC), now: cfg.Now,
		bitmaps: newBitmaps(rdb, cfg.Prefix, cfg.Bitfield), pause: recheckAfter,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := sqldb.ReadStatements(files, client.Dialect(), map[string]*string{"months": &s.sql.months, "upsert": &s.sql.upsert}); err != nil {
		panic(fmt.Sprintf("checkin: %v", err))
	}
	s.checkIns = batch.New(s.checkInAll, batch.Config{Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable})
	box.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.changed)})
	return s
}

func (s *Service) today() civil.Date { return civil.DateOf(s.now().In(s.zone)) }
