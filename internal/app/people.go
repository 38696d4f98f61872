package app

import (
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/media"
	"github.com/tandian-dev/tandian/internal/note"
)

// How the rooms of notes, likes, comments and follows know each other, and the users
// whose counts they keep. All lock in one order: notes, comments, counts of
// notes, shops, users, the head of the feed.

// openPeople builds the rooms of what people write and whom they follow.
func (h *House) openPeople(client *ent.Client) {
	counted := countedUsers{h.Accounts}
	h.Notes = note.New(client, h.DB.Dialect, h.hub, h.outbox, h.Shops, counted, h.Media.For(media.OfNote))
	h.NoteLikes = like.New(client, h.DB.Dialect, h.hub, h.outbox, like.Note, h.Notes, nil)
	h.Comments = comment.New(client, h.DB.Dialect, h.hub, h.outbox, h.Notes, h.Shops, nil)
	h.CommentLikes = like.New(client, h.DB.Dialect, h.hub, h.outbox, like.Comment, h.Comments, nil)
	h.Follows = follow.New(client, h.DB.Dialect, h.hub, h.outbox, follow.Config{Users: counted, Head: h.Notes.Head})
}

// countedUsers are the users as those need them who count something of them.
type countedUsers struct{ *account.Service }

// AddNotes adds to how many notes users have.
func (u countedUsers) AddNotes(ctx context.Context, tx *ent.Tx, notes map[int64]int) ([]outbox.Ticket, error) {
	more := make(map[int64]account.Counts, len(notes))
	for id, n := range notes {
		more[id] = account.Counts{NoteCount: n}
	}
	_, tickets, err := u.AddCounts(ctx, tx, more)
	return tickets, err
}

// AddFollows counts that one user follows another, or does so no more.
func (u countedUsers) AddFollows(ctx context.Context, tx *ent.Tx, follower, followee int64, n int) (follow.Counted, []outbox.Ticket, error) {
	now, tickets, err := u.AddCounts(ctx, tx, map[int64]account.Counts{follower: {FolloweeCount: n}, followee: {FollowerCount: n}})
	_, there := now[follower]
	_, also := now[followee]
	return follow.Counted{Followees: now[follower].FolloweeCount, Follower: there, Followee: also}, tickets, err
}

// AddFollowsOf is AddFollows of many.
func (u countedUsers) AddFollowsOf(ctx context.Context, tx *ent.Tx, followers, followees map[int64]int) ([]outbox.Ticket, error) {
	more := make(map[int64]account.Counts, len(followers)+len(followees))
	for id, n := range followers {
		more[id] = account.Counts{FolloweeCount: n}
	}
	for id, n := range followees {
		c := more[id]
		c.FollowerCount = n
		more[id] = c
	}
	_, tickets, err := u.AddCounts(ctx, tx, more)
	return tickets, err
}

// Followees says how many users follow.
func (u countedUsers) Followees(ctx context.Context, ids []int64) (map[int64]int, error) {
	found, err := u.ByIDs(ctx, ids)
	if err != nil {
		return nil, err
	}
	n := make(map[int64]int, len(found))
	for id, user := range found {
		n[id] = user.FolloweeCount
	}
	return n, nil
}
