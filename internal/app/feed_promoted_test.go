package app_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent/feedhead"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/ent/noteevent"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// A promoted standby lacks the last notes, and their numbers are assigned again.
func TestFeedFollowsAPromotedDatabase(t *testing.T) {
	t.Parallel()
	for name, notified := range map[string]bool{"detected at the head": false, "notified": true} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, on storetest.Stores) {
				p := openFeed(t, storetest.Open(t, on), nil, cache.Options{}, outbox.Options{}, feedSmall)
				ctx := t.Context()
				var users [3]int64
				for i := range users {
					users[i] = p.on.DB.User.Create().SetNickname("a user").SaveX(ctx).ID
				}
				reader, ann, bob := users[0], users[1], users[2]
				for _, author := range []int64{ann, bob} {
					if err := p.Follows.Follow(ctx, reader, author); err != nil {
						t.Fatal(err)
					}
				}
				publish := func(author int64, n int) {
					for range n {
						if _, err := p.publish(ctx, author); err != nil {
							t.Fatal(err)
						}
					}
				}
				shows := func(when string) {
					t.Helper()
					want, err := due(ctx, p.on.DB, reader, math.MaxInt64)
					if err != nil {
						t.Fatal(err)
					}
					got, _, err := p.read(ctx, reader, 50, "")
					if err != nil {
						t.Fatal(err)
					}
					if d := cmp.Diff(want, got, cmp.AllowUnexported(entry{})); d != "" {
						t.Errorf("%s (-want +got):\n%s", when, d)
					}
				}
				publish(ann, 6)
				shows("before")
				const kept = 3
				p.on.DB.Note.Delete().Where(entnote.SeqGT(kept)).ExecX(ctx)
				p.on.DB.NoteEvent.Delete().Where(noteevent.IDGT(kept)).ExecX(ctx)
				p.on.DB.FeedHead.Update().Where(feedhead.ID(1)).SetSeq(kept).ExecX(ctx)
				if err := p.hub.InvalidateAll(ctx); err != nil {
					t.Fatal(err)
				}
				if notified {
					p.Feed.MarkSuspect()
				} else {
					shows("without the head")
				}
				publish(bob, 2)
				shows("with reassigned numbers")
				publish(bob, 3)
				shows("beyond the old head")
			})
		})
	}
}
