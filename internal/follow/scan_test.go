package follow

import (
	"context"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// scan runs a scan of the room.
func (p process) scan(t *testing.T, name string, dry bool) reconcile.Outcome {
	t.Helper()
	scans := reconcile.New(prometheus.NewRegistry(), nil)
	scans.Add(p.Scans()...)
	found, err := scans.ByName(name)
	must(t, err)
	o, err := scans.RunOnce(t.Context(), found[0], reconcile.Options{DryRun: dry, Rate: -1})
	must(t, err)
	return o
}

// findsAndMends wants a dry run to find so much and to change nothing, the next run to
// mend all of it, and the one after to find nothing.
func (p process) findsAndMends(t *testing.T, name string, want int) {
	t.Helper()
	p.box.Wait()
	before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
	if dry := p.scan(t, name, true); dry.Found != want || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("the dry run: %+v, want %d findings", dry, want)
	}
	if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
		t.Errorf("the dry run changed something (-before +after):\n%s", d)
	}
	if run := p.scan(t, name, false); run.Found != want || run.Repaired != want {
		t.Errorf("the run: %+v, want %d findings and all of them mended", run, want)
	}
	if again := p.scan(t, name, false); again.Found != 0 {
		t.Errorf("afterwards: %+v, want nothing", again)
	}
}

func TestTheScanMendsWhatIsCountedOfFollows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.populate600(t)
		ctx := t.Context()
		p.follows(t, ann, bob, cid)
		p.follows(t, bob, cid, 700)
		p.findsAndMends(t, "follows", 0)

		p.db.User.UpdateOneID(ann).AddFollowerCount(2).ExecX(ctx)
		p.db.User.UpdateOneID(bob).AddFolloweeCount(-1).ExecX(ctx)
		p.db.User.UpdateOneID(700).AddFolloweeCount(1).AddFollowerCount(-1).ExecX(ctx)
		p.findsAndMends(t, "follows", 3)
		p.wantCounted(t, ann, 0, 2)
		p.wantCounted(t, bob, 1, 2)
		p.wantCounted(t, 700, 1, 0)
	})
}

// populate600 stores 600 users more: two pages of a scan.
func (p process) populate600(t *testing.T) {
	t.Helper()
	for id := int64(201); id <= 800; id++ {
		if id%100 == 1 {
			p.store100(t, id)
		}
	}
}

// Users that are gone follow nobody, and nobody follows them: their follows end as if they
// had been unfollowed, in lists and sets too.
func TestTheScanEndsFollowsOfUsersWhoAreGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		ctx := t.Context()
		p.follows(t, ann, bob, cid)
		p.follows(t, cid, bob)
		p.follows(t, bob, cid, dan)
		p.follows(t, 8, 9)
		p.follows(t, dan, ann)
		p.followed(t, ann)
		p.followersOf(t, dan).all(t, 10)
		p.db.User.DeleteOneID(bob).ExecX(ctx)
		p.db.User.DeleteOneID(8).ExecX(ctx)
		p.db.User.DeleteOneID(9).ExecX(ctx)
		p.findsAndMends(t, "follows", 5)
		same(t, "whom Ann follows", []int64{cid}, p.followed(t, ann))
		same(t, "who follows Dan", []int64{}, p.followersOf(t, dan).all(t, 10))
		p.wantCounted(t, ann, 1, 1)
		p.wantCounted(t, cid, 1, 0)
		p.wantCounted(t, dan, 0, 1)
		if n := p.db.Follow.Query().CountX(ctx); n != 2 {
			t.Errorf("%d follows are left, want 2", n)
		}
	})
}

// scanOfSets has sets of five.
func scanOfSets(t *testing.T, p, _ process) {
	zadd := func(z redis.Z) func() error {
		return func() error { return p.from.Redis.ZAdd(t.Context(), keyOf(ann), z).Err() }
	}
	for _, c := range []struct {
		name  string
		rows  int64 // users whom Ann follows before the set is read
		harm  func() error
		found int
	}{
		{"a right one", 3, nil, 0},
		{"an empty one", 0, nil, 0},
		{"a full one", 5, nil, 0},
		{"one that goes on below", 8, nil, 0},
		{"a member is missing", 4, func() error { return p.from.Redis.ZRem(t.Context(), keyOf(ann), decimal(cid)).Err() }, 1},
		{"a member is missing of one that goes on below", 8, func() error { return p.from.Redis.ZRem(t.Context(), keyOf(ann), "7").Err() }, 1},
		{"a member that was unfollowed", 3, zadd(redis.Z{Score: 1, Member: "19"}), 1},
		{"a member with another follow's id", 3, zadd(redis.Z{Score: 1, Member: decimal(dan)}), 1},
		{"it says that it is whole, and is not", 8, zadd(redis.Z{Score: math.Inf(-1), Member: ""}), 1},
		{"the newest row was told to nobody", 3, func() error { p.store(t, ann, 15); return nil }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.clear(t)
			for n := range c.rows {
				p.store(t, ann, bob+n)
			}
			p.followed(t, ann)
			p.followed(t, bob)
			if c.harm != nil {
				must(t, c.harm())
			}
			p.findsAndMends(t, "follow-sets", c.found)
			want := p.rowsOf(t, ann)
			same(t, "whom Ann follows", ids(t, want), append([]int64{}, p.followed(t, ann)...))
		})
	}
}

// A writer that is between its commit and Redis makes no finding: the second look comes
// when it has told.
func TestTheScanOfSetsLooksTwice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.follows(t, ann, bob, cid)
		p.followed(t, ann)
		row := p.rowsOf(t, ann)[decimal(bob)]
		p.db.Follow.DeleteOneID(row).ExecX(t.Context())
		scans := reconcile.New(prometheus.NewRegistry(), nil)
		o, err := scans.RunOnce(t.Context(), reconcile.Scan{Name: "follow-sets", Run: func(ctx context.Context, r *reconcile.Run) error {
			kept, err := p.out.Peek(ctx, ann)
			must(t, err)
			flaws, err := p.flaws(ctx, kept)
			must(t, err)
			if len(flaws) != 1 {
				t.Errorf("the first look found %v, want one", flaws)
			}
			must(t, p.tell(ctx, change{ann, bob, row}))
			return p.secondLook(ctx, r, flaws)
		}}, reconcile.Options{})
		must(t, err)
		if o.Found != 0 {
			t.Errorf("%+v, want nothing found", o)
		}
		if p.setOf(t, ann) == nil {
			t.Error("the set was dropped")
		}
	})
}

// While many follow and unfollow, the scan of counts finds nothing, and mends nothing away.
func TestTheScanOfFollowsDisturbsNobody(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		done := make(chan struct{})
		go func() {
			defer close(done)
			hammerBy(t, a, b, 3, 30) // few: SQLite lets those who wait for its lock starve
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			if o := a.scan(t, "follows", false); o.Found != 0 {
				t.Errorf("it found %v", o.Lines)
			}
		}
	})
}
