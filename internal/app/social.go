package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/like"
	"github.com/tandian-dev/tandian/internal/media"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/save"
	"github.com/tandian-dev/tandian/internal/shop"
)

// Adapters between notes, likes, comments, follows, the feed and users. All of them lock
// rows in one order: notes, comments, counts of notes, shops, users, the head of the feed.

// openSocial builds the services of notes, likes, comments, follows and the feed.
func (c *Components) openSocial(cfg *config.Config, client *ent.Client, limits *quota.Set, reg prometheus.Registerer, log *slog.Logger) {
	counted := userCounters{c.Accounts}
	feeds := feedAdapter{c}
	c.Ratings = rating.New(client, c.hub, c.outbox, rating.Config{Shops: ratedShops{c.Shops}, Quota: limits.Limit("ratings", cfg.RatingsPerUser)})
	c.Notes = note.New(client, c.hub, c.outbox, note.Config{
		Shops: c.Shops, Users: counted, Pictures: c.Media.UsagesOf(media.OfNote), Feed: feeds, Ratings: noteRatings{c.Ratings},
		Quota: limits.Limit("notes", cfg.NotesPerUser),
	})
	likes := limits.Limit("likes", cfg.LikesPerUser) // of notes and comments together
	c.NoteLikes = like.New(client, c.hub, c.outbox, like.Config{Kind: like.Note, Target: c.Notes, Quota: likes})
	c.Comments = comment.New(client, c.hub, c.outbox, comment.Config{Notes: c.Notes, Shops: c.Shops, Quota: limits.Limit("comments", cfg.CommentsPerUser)})
	c.CommentLikes = like.New(client, c.hub, c.outbox, like.Config{Kind: like.Comment, Target: c.Comments, Quota: likes})
	c.Follows = follow.New(client, c.hub, c.outbox, follow.Config{
		Users: counted, Head: c.Notes.LockHead, Notify: c.publishFollows, Quota: limits.Limit("follows", cfg.FollowsPerUser),
	})
	saves := limits.Limit("saves", cfg.SavesPerUser) // of shops and notes together
	c.ShopSaves = save.New(client, c.hub, c.outbox, save.Config{Kind: save.Shop, Target: c.Shops, Quota: saves})
	c.NoteSaves = save.New(client, c.hub, c.outbox, save.Config{Kind: save.Note, Target: c.Notes, Quota: saves})
	hints := c.feedHints(cfg, reg, log)
	c.Feed = feed.New(client, c.hub, c.outbox, feed.Config{
		Notes: feeds, Follows: feeds, Threshold: cfg.FeedPushThreshold, Announce: hints.Publish, Registerer: reg, Log: log,
	})
	c.localWorkers["feed"] = c.Feed.Run
	c.localWorkers["feed hints"] = hints.Run
	c.subscribeLive()
}

// feedAdapter adapts notes and follows to the feed, and the feed to notes. It reads the
// services after all are built.
type feedAdapter struct{ c *Components }

// Rows returns notes by id.
func (f feedAdapter) Rows(ctx context.Context, ids []int64) (map[int64]any, error) {
	found, err := f.c.Notes.ByIDsVerified(ctx, ids)
	if err != nil {
		return nil, err
	}
	rows := make(map[int64]any, len(found))
	for id, n := range found {
		rows[id] = n
	}
	return rows, nil
}

// WriteRow encodes a note for another process.
func (feedAdapter) WriteRow(row any) ([]byte, error) {
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encode a note: %w", err)
	}
	return text, nil
}

// ReadRow decodes the result of WriteRow.
func (feedAdapter) ReadRow(text []byte) (any, error) {
	n := new(note.Note)
	if err := json.Unmarshal(text, n); err != nil {
		return nil, fmt.Errorf("decode a note: %w", err)
	}
	return n, nil
}

// Newest returns the newest notes of authors, at most limit of each.
func (f feedAdapter) Newest(ctx context.Context, authors []int64, limit int) (map[int64][]cache.ListItem, error) {
	return f.c.Notes.Newest(ctx, authors, limit)
}

// Window returns the cached follows of each user.
func (f feedAdapter) Window() *cache.Window[int64] { return f.c.Follows.Window() }

// Followers reads ranges of follower lists.
func (f feedAdapter) Followers(ctx context.Context, ranges []cache.ListRange[int64]) (map[int64][]cache.ListItem, error) {
	return f.c.Follows.ReadFollowers(ctx, ranges)
}

// EnqueueFanOut adds fan-out jobs to tx and returns which authors are celebrities.
func (f feedAdapter) EnqueueFanOut(ctx context.Context, tx *ent.Tx, authors map[int64]int64, followers map[int64]int) (celebrities map[int64]bool, err error) {
	return f.c.Feed.EnqueueFanOut(ctx, tx, authors, followers)
}

// FanOutCommitted notifies the feed of committed fan-out jobs.
func (f feedAdapter) FanOutCommitted() { f.c.Feed.FanOutCommitted() }

// SeqCommitted notifies the feed of a commit with new feed numbers.
func (f feedAdapter) SeqCommitted(last int64, events []note.Event) {
	out := make([]feed.Event, len(events))
	for i, e := range events {
		out[i] = feed.Event{Seq: e.Seq, Note: e.NoteID, Author: e.AuthorID, Removed: e.Note == nil, Celebrity: e.Celebrity, Follows: e.Follows}
		if e.Note != nil {
			out[i].Row = e.Note
		}
	}
	f.c.Feed.SeqCommitted(last, out...)
}

// ratedShops adapts shops to ratings.
type ratedShops struct{ *shop.Service }

// LockRatings locks shops until tx ends. set stores their changed counters.
func (r ratedShops) LockRatings(ctx context.Context, tx *ent.Tx, ids []int64) (
	shops map[int64]*rating.Shop, set func(ctx context.Context, changed []int64) error, err error,
) {
	locked, err := r.Service.LockRatings(ctx, tx, ids)
	if err != nil {
		return nil, nil, err
	}
	shops = make(map[int64]*rating.Shop, len(locked))
	for id, l := range locked {
		n := l.Ratings
		shops[id] = &rating.Shop{OwnerID: l.OwnerID, Counters: rating.Counters{
			Stars: n.Stars, Taste: rating.Sum(n.Taste), Environment: rating.Sum(n.Environment), Service: rating.Sum(n.Service),
		}}
	}
	return shops, func(ctx context.Context, changed []int64) error {
		rows := make([]*shop.RatedShop, len(changed))
		for i, id := range changed {
			rows[i] = locked[id]
			rows[i].Ratings = shopRatings(shops[id].Counters)
		}
		return r.SetRatings(ctx, tx, rows)
	}, nil
}

// Score returns the score of a shop.
func (r ratedShops) Score(c rating.Counters, imported float64) *float64 {
	return r.Service.Score(shopRatings(c), imported)
}

func shopRatings(c rating.Counters) shop.Ratings {
	return shop.Ratings{Stars: c.Stars, Taste: shop.Sum(c.Taste), Environment: shop.Sum(c.Environment), Service: shop.Sum(c.Service)}
}

// noteRatings adapts ratings to notes.
type noteRatings struct{ *rating.Service }

// RateInTx stores ratings that come with notes.
func (r noteRatings) RateInTx(ctx context.Context, tx *ent.Tx, stars []note.Stars) (
	refused []error, done func(ctx context.Context, committed bool), err error,
) {
	ratings := make([]rating.Rating, len(stars))
	for i, n := range stars {
		ratings[i] = rating.Rating{ShopID: n.ShopID, UserID: n.UserID, Stars: n.Stars}
	}
	return r.Service.RateInTx(ctx, tx, ratings)
}

// userCounters adapts users to the services that count notes and follows.
type userCounters struct{ *account.Service }

// AddNotes adds to the note counts of users and returns their follower counts.
func (u userCounters) AddNotes(ctx context.Context, tx *ent.Tx, notes map[int64]int) (followers map[int64]int, _ []outbox.JobRef, err error) {
	changes := make(map[int64]account.Counts, len(notes))
	for id, n := range notes {
		changes[id] = account.Counts{NoteCount: n}
	}
	now, jobs, err := u.AddCounts(ctx, tx, changes, false)
	followers = make(map[int64]int, len(now))
	for id, counts := range now {
		followers[id] = counts.FollowerCount
	}
	return followers, jobs, err
}

// LockFollows locks users and returns their followee counts.
func (u userCounters) LockFollows(ctx context.Context, tx *ent.Tx, ids []int64) (followees map[int64]int, err error) {
	now, err := u.LockCounts(ctx, tx, ids)
	followees = make(map[int64]int, len(now))
	for id, c := range now {
		followees[id] = c.FolloweeCount
	}
	return followees, err
}

// AddFollows adds to the follow counts of locked users.
func (u userCounters) AddFollows(ctx context.Context, tx *ent.Tx, followers, followees map[int64]int) ([]outbox.JobRef, error) {
	changes := make(map[int64]account.Counts, len(followers)+len(followees))
	for id, n := range followers {
		changes[id] = account.Counts{FolloweeCount: n}
	}
	for id, n := range followees {
		c := changes[id]
		c.FollowerCount = n
		changes[id] = c
	}
	_, jobs, err := u.AddCounts(ctx, tx, changes, true)
	return jobs, err
}

// Followees returns the followee counts of users.
func (u userCounters) Followees(ctx context.Context, ids []int64) (map[int64]int, error) {
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

// openCheckIns builds the service of check-ins, which earn points.
func (c *Components) openCheckIns(cfg *config.Config, client *ent.Client) {
	c.CheckIns = checkin.New(client, c.State, c.outbox, checkin.Config{
		Prefix: cfg.RedisPrefix, Zone: c.zone, Users: c.Accounts, Bitfield: cfg.RedisURL != "",
	})
}

// openQuotas returns the hourly content limits of users. The age of an account is in its
// cached row.
func (c *Components) openQuotas(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) *quota.Set {
	return quota.NewSet(quota.Config{
		Redis: c.State, Prefix: cfg.RedisPrefix, Registerer: reg, Log: log,
		CreatedAt: func(ctx context.Context, user int64) (time.Time, error) {
			u, err := c.Accounts.ByID(ctx, user)
			if err != nil {
				return time.Time{}, fmt.Errorf("read the age of user %d: %w", user, err)
			}
			return u.CreatedAt, nil
		},
	})
}
