package app

import "net/http"

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
