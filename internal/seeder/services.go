// Package seeder fills the stores with synthetic users, shops, notes, likes, follows,
// ratings, saves, check-ins and visits. The same seed makes the same data. It accesses
// stores only through [Services].
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
	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/save"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/visit"
)

// Services are the stores of generated data. A service without generated data may be nil.
type Services struct {
	Shops    Shops
	Accounts Accounts
	Notes    Notes
	Likes    Likes
	Follows  Follows
	Comments Comments         // used only by package demo
	Pictures drawing.Pictures // nil disables pictures
	Icons    drawing.Icons    // nil disables icons of shop types
	CheckIns CheckIns
	Visits   Visits
	Ratings  Ratings

	ShopSaves Saves
	NoteSaves Saves // used only by package demo
}

// Shops stores and finds shops.
type Shops interface {
	// Upsert stores the drafts in one transaction. After each batch it calls progress
	// with the number of drafts done. Calls of progress do not overlap, and none follows
	// the return.
	Upsert(ctx context.Context, drafts []shop.Draft, progress func(done int)) (shop.SaveCounts, error)
	// IDsByExternalID returns the ids of the stored shops among externalIDs, by external id.
	IDsByExternalID(ctx context.Context, externalIDs []string) (map[string]int64, error)
}

// Accounts stores users and their sessions.
type Accounts interface {
	// BulkInsert stores the new drafts in one transaction. It returns the ids of all
	// drafts, in their order.
	BulkInsert(ctx context.Context, drafts []account.Draft, progress func(done int)) ([]int64, error)
	// CreateSessions creates a session for each user. It returns their tokens, in the
	// order of users.
	CreateSessions(ctx context.Context, users []int64) ([]string, error)
}

// Notes stores notes.
type Notes interface {
	// BulkInsert stores the new notes in one transaction and in their order. It returns
	// the ids of all notes, in their order, and the number of new ones.
	BulkInsert(ctx context.Context, notes []note.Seed, progress func(done int)) (ids []int64, added int, err error)
}

// Likes stores likes of notes.
type Likes interface {
	// BulkInsert stores the new likes in one transaction and in their order. It returns
	// the number of new ones. It ignores likes of deleted notes.
	BulkInsert(ctx context.Context, drafts []like.Draft) (added int, err error)
}

// Follows stores follows between users.
type Follows interface {
	// BulkInsert stores the new follows in one transaction and in their order. It returns
	// the number of new ones.
	BulkInsert(ctx context.Context, drafts []follow.Draft) (added int, err error)
}

// Ratings stores ratings of shops.
type Ratings interface {
	// BulkInsert stores the new ratings in one transaction and in their order. It returns
	// the number of new ones. It ignores ratings by the owner of the shop.
	BulkInsert(ctx context.Context, seeds []rating.Seed) (added int, err error)
}

// Saves stores saves of shops or of notes.
type Saves interface {
	// BulkInsert stores the new saves in one transaction and in their order. It returns the
	// number of new ones.
	BulkInsert(ctx context.Context, seeds []save.Seed) (added int, err error)
}

// CheckIns stores check-ins.
type CheckIns interface {
	// BulkInsert stores the new check-ins and their points in one transaction. It returns
	// the number of new ones.
	BulkInsert(ctx context.Context, drafts []checkin.Draft) (added int, err error)
}

// Visits stores daily visits of the site and of shops.
type Visits interface {
	// BulkInsert stores the new days.
	BulkInsert(ctx context.Context, days []visit.Day) error
}

// Comments stores comments on notes.
type Comments interface {
	// BulkInsert stores comments in one transaction. It returns their ids, in their
	// order. The parents of replies must be stored.
	BulkInsert(ctx context.Context, drafts []comment.Seed) ([]int64, error)
}
