// Package seeder fills the stores with synthetic users, shops, notes, likes, follows,
// check-ins and visits. The same seed makes the same data. It accesses stores only
// through [Services].
package seeder

import (
	"context"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/visit"
)

// Services are where things go that a town is made of. What makes nothing for a room does
// without it.
type Services struct {
	Shops    Shops
	Accounts Accounts
	Notes    Notes
	Likes    Likes // of notes
	Follows  Follows
	Comments Comments         // for the demo town alone
	Pictures drawing.Pictures // nil: the town has none
	Icons    drawing.Icons    // of types of shops; nil: they get none
	CheckIns CheckIns
	Visits   Visits
}

// Shops store shops, and know them again.
type Shops interface {
	// Upsert stores the drafts in one transaction, whatever their number, and
	// reports after each batch how many of them are done. It calls progress
	// from one goroutine at a time, and not after it has returned.
	Upsert(ctx context.Context, drafts []shop.Draft, progress func(done int)) (shop.SaveCounts, error)
	// IDsOf returns the ids of the stored shops that have external ids, by these.
	IDsOf(ctx context.Context, externalIDs []string) (map[string]int64, error)
}

// Accounts store users and sign them in.
type Accounts interface {
	// BulkInsert stores the drafts that are not stored yet, in one transaction, and
	// returns the ids of all of them, in their order.
	BulkInsert(ctx context.Context, drafts []account.Draft, progress func(done int)) ([]int64, error)
	// CreateSessions begins a session for each user and returns the tokens, in their order.
	CreateSessions(ctx context.Context, users []int64) ([]string, error)
}

// Notes store what people write.
type Notes interface {
	// BulkInsert stores the notes that are not stored yet, in one transaction and in their
	// order, and returns the ids of all of them, in it, and how many are new.
	BulkInsert(ctx context.Context, notes []note.Seed, progress func(done int)) (ids []int64, added int, err error)
}

// Likes store who likes what.
type Likes interface {
	// BulkInsert stores the likes that are not stored yet, in one transaction and in their
	// order, and returns how many are new. Likes of what was deleted are left out.
	BulkInsert(ctx context.Context, drafts []like.Draft) (added int, err error)
}

// Follows store who follows whom.
type Follows interface {
	// BulkInsert stores the follows that are not stored yet, in one transaction and in their
	// order, and returns how many are new.
	BulkInsert(ctx context.Context, drafts []follow.Draft) (added int, err error)
}

// CheckIns store who checks in.
type CheckIns interface {
	// BulkInsert stores the check-ins that are not stored yet, with the points that they earn, in
	// one transaction, and returns how many are new.
	BulkInsert(ctx context.Context, drafts []checkin.Draft) (added int, err error)
}

// Visits store how often shops and the site were visited.
type Visits interface {
	// BulkInsert stores the days that are not stored yet.
	BulkInsert(ctx context.Context, days []visit.Day) error
}

// Comments store what people say about notes.
type Comments interface {
	// BulkInsert stores comments in one transaction and returns their ids, in their order.
	// What they answer is stored already.
	BulkInsert(ctx context.Context, drafts []comment.Seed) ([]int64, error)
}
