// Package save stores the shops and notes that users save.
//
// The table saves is the source of truth. Its unique index (kind, target, user) guarantees one
// save per user, in any state of Redis. The number of saves is a column of the target, which
// changes in the transaction of the save.
//
// Redis caches the newest saves of each user in one sorted set, a window of kit/cache. It answers
// which targets of a page the user saved, and the first pages of the list. If Redis is
// unavailable, reads use the rows.
package save

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/ent"
	entsave "github.com/tandian-dev/tandian/ent/save"
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
	Shop Kind = "SHOP"
	Note Kind = "NOTE"
)

// Target provides the targets of saves.
type Target interface {
	// LockSaves locks targets until tx ends. It returns the number of saves of each, without
	// missing and deleted targets. add adds to the numbers; increments may be negative.
	LockSaves(ctx context.Context, tx *ent.Tx, ids []int64) (
		saves map[int64]int, add func(ctx context.Context, more map[int64]int) error, err error)
	// InvalidateSaves invalidates the cached numbers of targets.
	InvalidateSaves(ctx context.Context, ids ...int64) error
	// Exist returns the ids of the existing targets.
	Exist(ctx context.Context, ids []int64) (map[int64]bool, error)
}

const (
	readTimeout  = 2 * time.Second // of one read, except in scans
	writeTimeout = 5 * time.Second // of one save, including the work after its commit
	setTTL       = 24 * time.Hour  // of a set without readers
	// savedSize is the number of saves in the set of a user. With its marker the set has fewer
	// than 128 members, so Redis stores it compactly.
	savedSize = 120
)

// Service provides the saves of one kind of target. It is safe for concurrent use.
type Service struct {
	db     *ent.Client
	outbox *outbox.Box
	cfg    Config
	saved  *cache.Window[int64] // newest saves by user
	sql    statements
	pause  time.Duration // of a scan, before it rechecks a set; 0 for the default

	saves, unsaves *batch.Batcher[pair, struct{}]
}

type statements struct {
	find, insert, newest, count string

	remove sqldb.IDQuery
}

//go:embed sql/*.sql
var files embed.FS

// Config holds the dependencies of a Service. Kind and Target are required.
type Config struct {
	Kind   Kind
	Target Target
	Quota  *quota.Limit     // of changes per user; nil for no limit
	Now    func() time.Time // default [time.Now]
}

// New returns the Service of one kind of target. It starts nothing, and the caller closes the
// dependencies. A hub and a box accept one Service of each kind. New panics if the kind is
// unknown.
func New(db *ent.Client, hub *cache.Client, box *outbox.Box, cfg Config) *Service {
	if err := entsave.KindValidator(entsave.Kind(cfg.Kind)); err != nil {
		panic(fmt.Sprintf("save: unknown kind %q", cfg.Kind))
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	s := &Service{db: db, outbox: box, cfg: cfg}
	policy := cache.WindowPolicy{Name: s.savedName(), Size: savedSize, TTL: setTTL, LoadTimeout: readTimeout}
	s.saved = cache.NewWindow(hub, policy, decimal, s.loadSaved)
	var remove string
	err := sqldb.ReadStatements(files, db.Dialect(), map[string]*string{
		"find": &s.sql.find, "insert": &s.sql.insert, "remove": &remove, "newest": &s.sql.newest, "count_" + s.noun() + "s": &s.sql.count,
	})
	if err != nil {
		panic(fmt.Sprintf("save: %v", err)) // the files are embedded
	}
	s.sql.remove = sqldb.NewIDQuery(db.Dialect(), remove)
	s.saves, s.unsaves = newBatcher(s.saveAll), newBatcher(s.unsaveAll)
	box.Handle(s.topic(), outbox.Handler{Retention: outbox.ReplayRetention, Do: outbox.DoBatch(s.invalidate)})
	return s
}

func (s *Service) noun() string { return strings.ToLower(string(s.cfg.Kind)) }

func (s *Service) kind() entsave.Kind { return entsave.Kind(s.cfg.Kind) }
