// Package town fills an installation with shops: the demo town of a first
// start, real shops imported from files, and synthetic regions of any size. It
// knows no store; what it makes goes to a [Sink].
package town

import (
	"context"

	"github.com/tandian-dev/tandian/internal/shop"
)

// A Sink stores shops.
type Sink interface {
	// Upsert stores the drafts in one transaction, whatever their number, and
	// reports after each batch how many of them are done. It calls progress
	// from one goroutine at a time, and not after it has returned.
	Upsert(ctx context.Context, drafts []shop.Draft, progress func(done int)) (shop.Tally, error)
}
