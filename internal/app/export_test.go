package app

import (
	"context"
	"net/http"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/stream"
)

// What tests of several rooms join them by, without a whole House.
type (
	CountedUsers = countedUsers
	FeedRooms    = feedRooms
)

// FeedRoomsOf joins the rooms of h that the feed needs, once they are there.
func FeedRoomsOf(h *House) FeedRooms { return feedRooms{h} }

// Handler is what the HTTP server of an App answers with.
func (a *App) Handler() http.Handler { return a.server().Handler }

// OpenWith ends the start: from now on handler answers.
func (a *App) OpenWith(handler http.Handler) {
	a.opened.Store(&handler)
	close(a.ready)
}

// Recover makes up for a Redis that lost an unknown lot, within a time.
func (h *House) Recover(ctx context.Context, within time.Duration) error {
	return h.recover(ctx, within, stream.Loss{}, true, true)
}
