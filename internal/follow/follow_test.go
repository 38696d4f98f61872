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

func TestFollowsAreRefusedOrCountOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on, limit(3))
		ctx := t.Context()
		for _, c := range []struct {
			name      string
			do        func() error
			want      string
			followees []int64 // of Ann
		}{
			{"following oneself", func() error { return a.Follow(ctx, ann, ann) }, "CANNOT_FOLLOW_SELF userId", nil},
			{"following nobody", func() error { return a.Follow(ctx, ann, nobody) }, "NOT_FOUND userId", nil},
			{"unfollowing nobody", func() error { return a.Unfollow(ctx, ann, nobody) }, "NOT_FOUND userId", nil},
			{"unfollowing whom one does not follow", func() error { return a.Unfollow(ctx, ann, bob) }, "", nil},
			{"unfollowing oneself", func() error { return a.Unfollow(ctx, ann, ann) }, "", nil},
			{"following", func() error { return a.Follow(ctx, ann, bob) }, "", []int64{bob}},
			{"following again", func() error { return a.Follow(ctx, ann, bob) }, "", []int64{bob}},
			{"following again elsewhere", func() error { return b.Follow(ctx, ann, bob) }, "", []int64{bob}},
			{"following another", func() error { return b.Follow(ctx, ann, cid) }, "", []int64{bob, cid}},
			{"following a third", func() error { return b.Follow(ctx, ann, dan) }, "", []int64{bob, cid, dan}},
			{"following one too many", func() error { return a.Follow(ctx, ann, 5) }, "LIMIT_REACHED userId", []int64{bob, cid, dan}},
			{"following again at the limit", func() error { return a.Follow(ctx, ann, cid) }, "", []int64{bob, cid, dan}},
			{"unfollowing", func() error { return a.Unfollow(ctx, ann, bob) }, "", []int64{cid, dan}},
			{"unfollowing again", func() error { return b.Unfollow(ctx, ann, bob) }, "", []int64{cid, dan}},
			{"following where there is room", func() error { return a.Follow(ctx, ann, 5) }, "", []int64{cid, dan, 5}},
			{"following back", func() error { return a.Follow(ctx, cid, ann) }, "", []int64{cid, dan, 5}},
		} {
			if got := refusal(c.do()); got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
			for _, p := range []process{a, b} {
				same(t, c.name, c.followees, p.followed(t, ann))
			}
			if got := a.counted(t, ann)[1]; got != len(c.followees) {
				t.Errorf("%s: Ann follows %d by her row, want %d", c.name, got, len(c.followees))
			}
		}
		a.wantCounted(t, ann, 1, 3)
		a.wantCounted(t, bob, 0, 0)
		a.wantCounted(t, cid, 1, 1)
		if err := a.Follow(ctx, nobody, ann); apierror.KindOf(err) != apierror.Unauthenticated {
			t.Errorf("a follower who is gone: %v", err)
		}
		a.wantCounted(t, ann, 1, 3)
		b.box.Wait() // their jobs lie in one table
		if n := a.waits(t); n != 0 {
			t.Errorf("%d jobs wait, and all was told", n)
		}
	})
}

// What ends with the client's request is the look before the transaction alone.
func TestAFollowThatBeganDoesNotEndWithItsRequest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var p process
		var hangUp func()
		p = openOne(t, on, func(c *Config) {
			c.Head = func(ctx context.Context, tx *ent.Tx) (int64, error) {
				hangUp()
				if _, ok := ctx.Deadline(); !ok {
					t.Error("it may take for ever")
				}
				return head(ctx, tx)
			}
		})
		p.followed(t, ann) // the set is there
		ctx, cancel := context.WithCancel(t.Context())
		hangUp = cancel
		must(t, p.Follow(ctx, ann, bob))
		same(t, "whom Ann follows", []int64{bob}, p.followed(t, ann))
		if err := p.Follow(ctx, ann, cid); !errors.Is(err, context.Canceled) {
			t.Errorf("a request that is over: %v", err)
		}
		same(t, "who was told of", []int64{ann, bob}, p.people.told)
	})
}

// Twelve follow requests of one user at once, from two processes, where there is room for
// three; each of four users is asked for three times.
func TestTheLimitIsExactUnderRaces(t *testing.T) {
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
				t.Errorf("Ann follows %v, want three", rows)
			}
			a.wantCounted(t, ann, 0, 3)
			for followee, got := range outcomes {
				want := "LIMIT_REACHED userId"
				if slices.Contains(rows, followee) {
					want = ""
				}
				same(t, fmt.Sprintf("the answers about user %d", followee), []string{want, want, want}, got)
			}
		}
	})
}

// Whoever takes the next number of the feed after a follow has read the head waits for the
// end of the follow: so what it stores is the head at its commit.
func TestAFollowKnowsTheHeadOfTheFeedAtItsCommit(t *testing.T) {
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
		follower.follows(t, ann, bob)
		if got := publisher.db.Follow.Query().OnlyX(t.Context()).SinceSeq; got != 41 {
			t.Errorf("the follow began at %d, want 41", got)
		}
		if n := <-seen; n != 1 {
			t.Errorf("who published next saw %d follows, want the one that keeps the head", n)
		}
	})
}

func TestSomebodyWhoDisappearedCanBeUnfollowed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.follows(t, ann, bob, cid)
		p.follows(t, bob, cid)
		p.followed(t, ann)
		p.db.User.DeleteOneID(bob).ExecX(t.Context())
		same(t, "whom Ann follows", []int64{bob, cid}, p.followed(t, ann))
		p.unfollows(t, ann, bob)
		same(t, "whom Ann follows then", []int64{cid}, p.followed(t, ann))
		p.wantCounted(t, ann, 0, 1)
		if got := refusal(p.Unfollow(t.Context(), ann, bob)); got != "NOT_FOUND userId" {
			t.Errorf("once more: %q", got)
		}
		if got := refusal(p.Follow(t.Context(), ann, bob)); got != "NOT_FOUND userId" {
			t.Errorf("following again: %q", got)
		}
	})
}

// The writer dies between its commit and Redis: whoever runs the outbox tells instead.
func TestOutboxInvalidatesCommentsAfterWriterCrash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var toWriter wire
		reader := openOne(t, on)
		writer := open(t, toWriter.through(on), nil)
		reader.follows(t, ann, bob, cid)
		look := func() ([]int64, []int64) {
			return reader.followed(t, ann), reader.followersOf(t, dan).all(t, 10)
		}
		look() // both lists are cached
		toWriter.set(true)
		writer.follows(t, ann, dan)
		writer.unfollows(t, ann, bob)
		followed, followers := look()
		same(t, "whom Ann follows before the outbox ran", []int64{bob, cid}, followed)
		same(t, "who follows Dan before the outbox ran", []int64{}, followers)
		if n := reader.waits(t); n != 2 {
			t.Fatalf("%d jobs wait, want 2", n)
		}
		storetest.Relay(t, reader.box)
		eventually(t, func() bool {
			reader.box.Wake()
			return reader.waits(t) == 0
		})
		followed, followers = look()
		same(t, "whom Ann follows", []int64{cid, dan}, followed)
		same(t, "who follows Dan", []int64{ann}, followers)
	})
}

func TestRowsAnswerWhileRedisIsAway(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var w wire
		p := open(t, w.through(on), nil)
		p.populate(t, population)
		p.follows(t, ann, bob, cid)
		w.set(true)
		p.follows(t, ann, dan)
		p.follows(t, bob, cid)
		p.unfollows(t, ann, bob)
		same(t, "whom Ann follows", []int64{cid, dan}, p.followed(t, ann))
		same(t, "whom Ann follows, listed", []int64{dan, cid}, p.followeesOf(t, ann).all(t, 1))
		same(t, "who follows Cid", []int64{bob, ann}, p.followersOf(t, cid).all(t, 1))
		same(t, "whom both follow", []int64{cid}, p.commonOf(t, ann, bob).all(t, 1))
		if n := p.waits(t); n != 3 {
			t.Errorf("%d jobs wait, want 3", n)
		}
	})
}

func TestAFollowBeginsWhenItIsStored(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := time.UnixMilli(1_795_303_468_123)
		p := openOne(t, on, func(c *Config) { c.Now = func() time.Time { return now } })
		p.follows(t, ann, bob)
		now = now.Add(time.Hour)
		p.follows(t, ann, bob)
		if got := p.db.Follow.Query().Where(entfollow.FollowerID(ann)).OnlyX(t.Context()).CreatedAt; got != 1_795_303_468_123 {
			t.Errorf("it began at %d", got)
		}
	})
}

// Two taps race: both looked before either wrote. The slower one writes nothing, and what
// it returned holds all the same, also if the faster one has not told Redis yet.
func TestWhoeverIsSlowerWritesNothingAndTells(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		a.follows(t, ann, cid)
		a.followed(t, ann)
		var row int64
		b.db = b.from.AtFirstTx(func() {
			row = a.store(t, ann, bob) // told to nobody
			same(t, "whom Ann follows as far as Redis knows", []int64{cid}, a.followed(t, ann))
		}, nil)
		b.follows(t, ann, bob)
		same(t, "whom Ann follows", []int64{bob, cid}, a.followed(t, ann))
		a.wantCounted(t, ann, 0, 2)
		a.wantCounted(t, bob, 1, 0)

		b.db = b.from.AtFirstTx(func() {
			a.db.Follow.DeleteOneID(row).ExecX(t.Context())
			a.db.User.UpdateOneID(ann).AddFolloweeCount(-1).ExecX(t.Context())
			a.db.User.UpdateOneID(bob).AddFollowerCount(-1).ExecX(t.Context())
			same(t, "whom Ann follows as far as Redis knows", []int64{bob, cid}, a.followed(t, ann))
		}, nil)
		b.unfollows(t, ann, bob)
		same(t, "whom Ann follows then", []int64{cid}, a.followed(t, ann))
		a.wantCounted(t, ann, 0, 1)
		a.wantCounted(t, bob, 0, 0)
		if n := a.db.OutboxJob.Query().CountX(t.Context()); n != 1 { // that of the first follow
			t.Errorf("%d jobs, want none of whoever was slower", n)
		}
	})
}

// The callers of one moment share a transaction, in which a refused one fails alone.
func TestARefusedFollowFailsAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on, limit(3))
		a.follows(t, bob, ann, cid)
		a.follows(t, ann, dan)
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
		begin := group(pair{ann, bob}, pair{ann, nobody}, pair{ann, dan}, pair{bob, dan}, pair{bob, 5}, pair{ann, bob}, pair{nobody, ann}, pair{cid, bob})
		after, err := a.followAll(t.Context(), begin)
		must(t, err)
		after()
		got := answers(begin)
		if apierror.KindOf(begin[6].Err) != apierror.Unauthenticated {
			t.Errorf("a follower who is gone: %v", begin[6].Err)
		}
		got[6] = ""
		same(t, "the answers to follows", []string{"", "NOT_FOUND userId", "", "", "LIMIT_REACHED userId", "", "", ""}, got)
		same(t, "whom Ann follows", []int64{bob, dan}, b.followed(t, ann))
		same(t, "whom Bob follows", []int64{ann, cid, dan}, b.followed(t, bob))
		same(t, "who follows Bob", []int64{cid, ann}, b.followersOf(t, bob).all(t, 10))
		a.wantCounted(t, ann, 1, 2)
		a.wantCounted(t, bob, 2, 3)
		a.wantCounted(t, dan, 2, 0)

		end := group(pair{ann, bob}, pair{ann, nobody}, pair{cid, ann}, pair{bob, dan}, pair{ann, bob})
		after, err = a.unfollowAll(t.Context(), end)
		must(t, err)
		after()
		same(t, "the answers to unfollows", []string{"", "NOT_FOUND userId", "", "", ""}, answers(end))
		same(t, "whom Ann follows then", []int64{dan}, b.followed(t, ann))
		same(t, "who follows Dan then", []int64{ann}, b.followersOf(t, dan).all(t, 10))
		a.wantCounted(t, ann, 1, 1)
		a.wantCounted(t, bob, 1, 2)
		a.wantCounted(t, dan, 1, 0)
		if n := a.waits(t); n != 0 {
			t.Errorf("%d jobs wait, and all was told", n)
		}
	})
}
