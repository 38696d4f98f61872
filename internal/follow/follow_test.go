package follow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/feedhead"
	entfollow "github.com/tandian-dev/tandian/ent/follow"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestFollowsCountOnceWithinLimits(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on, limit(3))
		ctx := t.Context()
		for _, c := range []struct {
			name      string
			do        func() error
			want      string
			followees []int64 // of Ann
		}{
			{"follow oneself", func() error { return a.Follow(ctx, ann, ann) }, "CANNOT_FOLLOW_SELF userId", nil},
			{"follow missing user", func() error { return a.Follow(ctx, ann, missingUser) }, "NOT_FOUND userId", nil},
			{"unfollow missing user", func() error { return a.Unfollow(ctx, ann, missingUser) }, "NOT_FOUND userId", nil},
			{"unfollow without follow", func() error { return a.Unfollow(ctx, ann, bob) }, "", nil},
			{"unfollow oneself", func() error { return a.Unfollow(ctx, ann, ann) }, "", nil},
			{"follow", func() error { return a.Follow(ctx, ann, bob) }, "", []int64{bob}},
			{"repeat", func() error { return a.Follow(ctx, ann, bob) }, "", []int64{bob}},
			{"repeat in other process", func() error { return b.Follow(ctx, ann, bob) }, "", []int64{bob}},
			{"second follow", func() error { return b.Follow(ctx, ann, cid) }, "", []int64{bob, cid}},
			{"third follow", func() error { return b.Follow(ctx, ann, dan) }, "", []int64{bob, cid, dan}},
			{"above limit", func() error { return a.Follow(ctx, ann, 5) }, "LIMIT_REACHED userId", []int64{bob, cid, dan}},
			{"repeat at limit", func() error { return a.Follow(ctx, ann, cid) }, "", []int64{bob, cid, dan}},
			{"unfollow", func() error { return a.Unfollow(ctx, ann, bob) }, "", []int64{cid, dan}},
			{"repeat unfollow", func() error { return b.Unfollow(ctx, ann, bob) }, "", []int64{cid, dan}},
			{"follow below limit", func() error { return a.Follow(ctx, ann, 5) }, "", []int64{cid, dan, 5}},
			{"follow back", func() error { return a.Follow(ctx, cid, ann) }, "", []int64{cid, dan, 5}},
		} {
			if got := refusal(c.do()); got != c.want {
				t.Errorf("%s: got %q, want %q", c.name, got, c.want)
			}
			for _, p := range []process{a, b} {
				wantEqual(t, c.name, c.followees, p.followed(t, ann))
			}
			if got := a.rowCounts(t, ann)[1]; got != len(c.followees) {
				t.Errorf("%s: got followee count %d, want %d", c.name, got, len(c.followees))
			}
		}
		a.wantCounts(t, ann, 1, 3)
		a.wantCounts(t, bob, 0, 0)
		a.wantCounts(t, cid, 1, 1)
		if err := a.Follow(ctx, missingUser, ann); apierror.KindOf(err) != apierror.Unauthenticated {
			t.Errorf("missing follower: got %v, want UNAUTHENTICATED", err)
		}
		a.wantCounts(t, ann, 1, 3)
		b.box.Wait() // both processes share the job table
		if n := a.pendingJobs(t); n != 0 {
			t.Errorf("got %d pending jobs, want 0", n)
		}
	})
}

// Only the lookup before the transaction ends with the request.
func TestRunningFollowOutlivesItsRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var p process
		var hangUp func()
		p = openOne(t, on, func(c *Config) {
			c.Head = func(ctx context.Context, tx *ent.Tx) (int64, error) {
				hangUp()
				if _, ok := ctx.Deadline(); !ok {
					t.Error("got no deadline, want one")
				}
				return head(ctx, tx)
			}
		})
		p.followed(t, ann) // cache the set
		ctx, cancel := context.WithCancel(t.Context())
		hangUp = cancel
		must(t, p.Follow(ctx, ann, bob))
		wantEqual(t, "followees of Ann", []int64{bob}, p.followed(t, ann))
		if err := p.Follow(ctx, ann, cid); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled request: got %v, want %v", err, context.Canceled)
		}
		wantEqual(t, "notified users", []int64{ann, bob}, p.users.notified)
	})
}

// Two processes run twelve concurrent follows by one user with a limit of three. Each of four
// users is followed three times.
func TestLimitIsExactUnderRaces(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on, limit(3))
		for range 5 {
			a.clear(t)
			var wg sync.WaitGroup
			var mu sync.Mutex
			outcomes := map[int64][]string{}
			for i := range 12 {
				p, followee := []process{a, b}[i%2], int64(i/3)+2
				wg.Go(func() {
					got := refusal(p.Follow(t.Context(), ann, followee))
					mu.Lock()
					defer mu.Unlock()
					outcomes[followee] = append(outcomes[followee], got)
				})
			}
			wg.Wait()
			rows := a.followed(t, ann)
			if len(rows) != 3 {
				t.Errorf("got followees %v, want three", rows)
			}
			a.wantCounts(t, ann, 0, 3)
			for followee, got := range outcomes {
				want := "LIMIT_REACHED userId"
				if slices.Contains(rows, followee) {
					want = ""
				}
				wantEqual(t, fmt.Sprintf("results for user %d", followee), []string{want, want, want}, got)
			}
		}
	})
}

// A publisher that takes the next feed number waits for a follow that has read the head. So the
// follow stores the head at its commit.
func TestFollowStoresFeedHeadAtCommit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		publisher := openOne(t, on)
		publisher.db.FeedHead.Update().SetSeq(41).ExecX(t.Context())
		seen := make(chan int, 1)
		follower := open(t, on, nil, func(c *Config) {
			c.Head = func(ctx context.Context, tx *ent.Tx) (int64, error) {
				seq, err := head(ctx, tx)
				go func() {
					var n int
					err := publisher.tx(context.WithoutCancel(ctx), func(tx *ent.Tx) error {
						last := tx.FeedHead.Query().Where(feedhead.ID(1))
						last.Modify(sqldb.ForUpdate)
						if _, err := last.Only(context.WithoutCancel(ctx)); err != nil {
							return err
						}
						var err error
						n, err = tx.Follow.Query().Count(context.WithoutCancel(ctx))
						return errors.Join(err, tx.FeedHead.UpdateOneID(1).AddSeq(1).Exec(context.WithoutCancel(ctx)))
					})
					if err != nil {
						t.Error(err)
					}
					seen <- n
				}()
				return seq, err
			}
		})
		follower.mustFollow(t, ann, bob)
		if got := publisher.db.Follow.Query().OnlyX(t.Context()).SinceSeq; got != 41 {
			t.Errorf("got number %d, want 41", got)
		}
		if n := <-seen; n != 1 {
			t.Errorf("next publisher: got %d follows, want 1", n)
		}
	})
}

func TestDeletedUserCanBeUnfollowed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.mustFollow(t, ann, bob, cid)
		p.mustFollow(t, bob, cid)
		p.followed(t, ann)
		p.db.User.DeleteOneID(bob).ExecX(t.Context())
		wantEqual(t, "followees of Ann", []int64{bob, cid}, p.followed(t, ann))
		p.mustUnfollow(t, ann, bob)
		wantEqual(t, "followees of Ann then", []int64{cid}, p.followed(t, ann))
		p.wantCounts(t, ann, 0, 1)
		if got := refusal(p.Unfollow(t.Context(), ann, bob)); got != "NOT_FOUND userId" {
			t.Errorf("repeated unfollow: got %q, want NOT_FOUND", got)
		}
		if got := refusal(p.Follow(t.Context(), ann, bob)); got != "NOT_FOUND userId" {
			t.Errorf("follow again: got %q, want NOT_FOUND", got)
		}
	})
}

// A writer dies between its commit and Redis. The outbox invalidates instead.
func TestOutboxReplacesDeadWriter(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var toWriter link
		reader := openOne(t, on)
		writer := open(t, toWriter.through(on), nil)
		reader.mustFollow(t, ann, bob, cid)
		lists := func() ([]int64, []int64) {
			return reader.followed(t, ann), reader.followersOf(t, dan).all(t, 10)
		}
		lists() // cache both
		toWriter.set(true)
		writer.mustFollow(t, ann, dan)
		writer.mustUnfollow(t, ann, bob)
		followed, followers := lists()
		wantEqual(t, "followees of Ann before the outbox ran", []int64{bob, cid}, followed)
		wantEqual(t, "followers of Dan before the outbox ran", []int64{}, followers)
		if n := reader.pendingJobs(t); n != 2 {
			t.Fatalf("got %d pending jobs, want 2", n)
		}
		storetest.Relay(t, reader.box)
		eventually(t, func() bool {
			reader.box.Wake()
			return reader.pendingJobs(t) == 0
		})
		followed, followers = lists()
		wantEqual(t, "followees of Ann", []int64{cid, dan}, followed)
		wantEqual(t, "followers of Dan", []int64{ann}, followers)
	})
}

func TestRowsAnswerWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var w link
		p := open(t, w.through(on), nil)
		p.populate(t, population)
		p.mustFollow(t, ann, bob, cid)
		w.set(true)
		p.mustFollow(t, ann, dan)
		p.mustFollow(t, bob, cid)
		p.mustUnfollow(t, ann, bob)
		wantEqual(t, "followees of Ann", []int64{cid, dan}, p.followed(t, ann))
		wantEqual(t, "listed followees of Ann", []int64{dan, cid}, p.followeesOf(t, ann).all(t, 1))
		wantEqual(t, "followers of Cid", []int64{bob, ann}, p.followersOf(t, cid).all(t, 1))
		wantEqual(t, "common followees", []int64{cid}, p.commonOf(t, ann, bob).all(t, 1))
		if n := p.pendingJobs(t); n != 3 {
			t.Errorf("got %d pending jobs, want 3", n)
		}
	})
}

func TestFollowTimeIsFirstInsert(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := time.UnixMilli(1_795_303_468_123)
		p := openOne(t, on, func(c *Config) { c.Now = func() time.Time { return now } })
		p.mustFollow(t, ann, bob)
		now = now.Add(time.Hour)
		p.mustFollow(t, ann, bob)
		if got := p.db.Follow.Query().Where(entfollow.FollowerID(ann)).OnlyX(t.Context()).CreatedAt; got != 1_795_303_468_123 {
			t.Errorf("got created_at %d, want 1795303468123", got)
		}
	})
}

// Two requests race after both lookups. The slower one writes nothing. Its result holds even if the
// faster one has not invalidated Redis yet.
func TestSlowerWriterOnlyInvalidates(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		a.mustFollow(t, ann, cid)
		a.followed(t, ann)
		var row int64
		b.db = b.from.AtFirstTx(func() {
			row = a.store(t, ann, bob) // without invalidation
			wantEqual(t, "cached followees of Ann", []int64{cid}, a.followed(t, ann))
		}, nil)
		b.mustFollow(t, ann, bob)
		wantEqual(t, "followees of Ann", []int64{bob, cid}, a.followed(t, ann))
		a.wantCounts(t, ann, 0, 2)
		a.wantCounts(t, bob, 1, 0)

		b.db = b.from.AtFirstTx(func() {
			a.db.Follow.DeleteOneID(row).ExecX(t.Context())
			a.db.User.UpdateOneID(ann).AddFolloweeCount(-1).ExecX(t.Context())
			a.db.User.UpdateOneID(bob).AddFollowerCount(-1).ExecX(t.Context())
			wantEqual(t, "cached followees of Ann", []int64{bob, cid}, a.followed(t, ann))
		}, nil)
		b.mustUnfollow(t, ann, bob)
		wantEqual(t, "followees of Ann then", []int64{cid}, a.followed(t, ann))
		a.wantCounts(t, ann, 0, 1)
		a.wantCounts(t, bob, 0, 0)
		if n := a.db.OutboxJob.Query().CountX(t.Context()); n != 1 { // the job of the first follow
			t.Errorf("got %d jobs, want 1", n)
		}
	})
}

// Concurrent callers share a transaction. A refused one fails alone.
func TestRefusedFollowFailsAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on, limit(3))
		a.mustFollow(t, bob, ann, cid)
		a.mustFollow(t, ann, dan)
		b.followed(t, ann)
		group := func(pairs ...pair) (all calls) {
			for _, p := range pairs {
				all = append(all, &batch.Call[pair, struct{}]{In: p})
			}
			return all
		}
		answers := func(all calls) (texts []string) {
			for _, c := range all {
				texts = append(texts, refusal(c.Err))
			}
			return texts
		}
		begin := group(pair{ann, bob}, pair{ann, missingUser}, pair{ann, dan}, pair{bob, dan}, pair{bob, 5}, pair{ann, bob}, pair{missingUser, ann}, pair{cid, bob})
		after, err := a.followAll(t.Context(), begin)
		must(t, err)
		after()
		got := answers(begin)
		if apierror.KindOf(begin[6].Err) != apierror.Unauthenticated {
			t.Errorf("missing follower: got %v, want UNAUTHENTICATED", begin[6].Err)
		}
		got[6] = ""
		wantEqual(t, "results of follows", []string{"", "NOT_FOUND userId", "", "", "LIMIT_REACHED userId", "", "", ""}, got)
		wantEqual(t, "followees of Ann", []int64{bob, dan}, b.followed(t, ann))
		wantEqual(t, "followees of Bob", []int64{ann, cid, dan}, b.followed(t, bob))
		wantEqual(t, "followers of Bob", []int64{cid, ann}, b.followersOf(t, bob).all(t, 10))
		a.wantCounts(t, ann, 1, 2)
		a.wantCounts(t, bob, 2, 3)
		a.wantCounts(t, dan, 2, 0)

		end := group(pair{ann, bob}, pair{ann, missingUser}, pair{cid, ann}, pair{bob, dan}, pair{ann, bob})
		after, err = a.unfollowAll(t.Context(), end)
		must(t, err)
		after()
		wantEqual(t, "results of unfollows", []string{"", "NOT_FOUND userId", "", "", ""}, answers(end))
		wantEqual(t, "followees of Ann then", []int64{dan}, b.followed(t, ann))
		wantEqual(t, "followers of Dan then", []int64{ann}, b.followersOf(t, dan).all(t, 10))
		a.wantCounts(t, ann, 1, 1)
		a.wantCounts(t, bob, 1, 2)
		a.wantCounts(t, dan, 1, 0)
		if n := a.pendingJobs(t); n != 0 {
			t.Errorf("got %d pending jobs, want 0", n)
		}
	})
}
