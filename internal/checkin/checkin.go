// Package checkin lets people check in, once a day.
//
// The rows of the table check_ins are the truth: one for each user and month, whose days
// are bits. One statement sets the bit of today and earns the points, or finds it set and
// earns nothing, whatever Redis says.
//
// Redis has a bitmap for each user and month, of the last 13 months. It answers which
// days a month has, and how many days in a row there are. Its bit 0 is the mark that it
// has all that the row had; a bitmap without the mark counts as missing, and the next
// reader rebuilds it from the row. Bits are only ever added, here and there, so whoever
// is slow takes nothing back: all that is told may be told late, twice and in any order.
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

// Points is what each check-in earns.
const Points = 5

const (
	// readTimeout bounds one answer, with its round trips and statements.
	readTimeout = 2 * time.Second
	// writeTimeout bounds one check-in, with what follows its commit.
	writeTimeout = 5 * time.Second
)

// A Month is on which days of a month somebody checked in.
type Month struct {
	Month  string     // yyyy-mm
	Days   []int      // ascending
	Streak int        // days in a row up to today, or up to yesterday as long as today has none
	Today  civil.Date // in the zone, whatever the month
}

// Count is how many days have a check-in.
func (m *Month) Count() int { return len(m.Days) }

// Users are those who check in, as this room needs them.
type Users interface {
	// AddPoints adds to the points of users, by id, and locks their rows until tx ends.
	AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error)
	// AfterCommit tells of it after the commit.
	AfterCommit(ctx context.Context, ids []int64, jobs []outbox.JobRef)
}

// Config is what a Service needs besides its stores.
type Config struct {
	Prefix   string           // of the keys in Redis
	Zone     *time.Location   // whose days count; default UTC
	Users    Users            // required
	Now      func() time.Time // default time.Now
	Bitfield bool             // Redis serves BITFIELD_RO, which the embedded one does not
}

// Service is the room. It is safe for concurrent use.
type Service struct {
	db      *ent.Client
	outbox  *outbox.Box
	users   Users
	zone    *time.Location
	now     func() time.Time
	bitmaps bitmaps
	pause   time.Duration // between the two looks of the scan at a bitmap
	sql     statements

	checkIns *batch.Batcher[Draft, checkedIn]
}

// statements are the texts of sql/, in the dialect of the database.
type statements struct{ months, upsert string }

//go:embed sql/*.sql
var files embed.FS

// New builds the Service, of which a box has one. It starts nothing and closes nothing:
// what it is given belongs to the caller.
func New(client *ent.Client, rdb redis.Cmdable, box *outbox.Box, cfg Config) *Service {
	s := &Service{
		db: client, outbox: box, users: cfg.Users, zone: cmp.Or(cfg.Zone, time.UTC), now: cfg.Now,
		bitmaps: newBitmaps(rdb, cfg.Prefix, cfg.Bitfield), pause: recheckAfter,
	}
	if s.now == nil {
		s.now = time.Now
	}
	if err := sqldb.Read(files, client.Dialect(), map[string]*string{"months": &s.sql.months, "plant": &s.sql.upsert}); err != nil {
		panic(fmt.Sprintf("checkin: %v", err))
	}
	s.checkIns = batch.New(s.checkInAll, batch.Config{Timeout: writeTimeout, Busy: errBusy, Retryable: sqldb.Retryable, Shared: sqldb.Unavailable})
	box.Handle(topic, outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.changed)})
	return s
}

// today is the day that it is in the zone.
func (s *Service) today() civil.Date { return civil.DateOf(s.now().In(s.zone)) }
