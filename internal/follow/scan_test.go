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

// scan runs one of the scans.
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

// wantRepaired checks that a dry run has want findings and changes nothing. The next run must
// repair all of them, and a third run must find none.
func (p process) wantRepaired(t *testing.T, name string, want int) {
	t.Helper()
	p.box.Wait()
	before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
	if dry := p.scan(t, name, true); dry.Found != want || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("dry run: got %+v, want %d findings", dry, want)
	}
	if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
		t.Errorf("dry run changed data (-before +after):\n%s", d)
	}
	if run := p.scan(t, name, false); run.Found != want || run.Repaired != want {
		t.Errorf("run: got %+v, want %d findings, all repaired", run, want)
	}
	if again := p.scan(t, name, false); again.Found != 0 {
		t.Errorf("next run: got %+v, want no findings", again)
	}
}

func TestScanRepairsCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.populate600(t)
		ctx := t.Context()
		p.mustFollow(t, ann, bob, cid)
		p.mustFollow(t, bob, cid, 700)
		p.wantRepaired(t, "follows", 0)

		p.db.User.UpdateOneID(ann).AddFollowerCount(2).ExecX(ctx)
		p.db.User.UpdateOneID(bob).AddFolloweeCount(-1).ExecX(ctx)
		p.db.User.UpdateOneID(700).AddFolloweeCount(1).AddFollowerCount(-1).ExecX(ctx)
		p.wantRepaired(t, "follows", 3)
		p.wantCounts(t, ann, 0, 2)
		p.wantCounts(t, bob, 1, 2)
		p.wantCounts(t, 700, 1, 0)
	})
}

// populate600 inserts 600 more users, two pages of a scan.
func (p process) populate600(t *testing.T) {
	t.Helper()
	for id := int64(201); id <= 800; id++ {
		if id%100 == 1 {
			p.store100(t, id)
		}
	}
}

// The scan ends follows of and by deleted users like an unfollow, in lists and sets too.
func TestScanEndsFollowsOfDeletedUsers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		ctx := t.Context()
		p.mustFollow(t, ann, bob, cid)
		p.mustFollow(t, cid, bob)
		p.mustFollow(t, bob, cid, dan)
		p.mustFollow(t, 8, 9)
		p.mustFollow(t, dan, ann)
		p.followed(t, ann)
		p.followersOf(t, dan).all(t, 10)
		p.db.User.DeleteOneID(bob).ExecX(ctx)
		p.db.User.DeleteOneID(8).ExecX(ctx)
		p.db.User.DeleteOneID(9).ExecX(ctx)
		p.wantRepaired(t, "follows", 5)
		wantEqual(t, "followees of Ann", []int64{cid}, p.followed(t, ann))
		wantEqual(t, "followers of Dan", []int64{}, p.followersOf(t, dan).all(t, 10))
		p.wantCounts(t, ann, 1, 1)
		p.wantCounts(t, cid, 1, 0)
		p.wantCounts(t, dan, 0, 1)
		if n := p.db.Follow.Query().CountX(ctx); n != 2 {
			t.Errorf("got %d follows, want 2", n)
		}
	})
}

// repairSets uses sets of five.
func repairSets(t *testing.T, p, _ process) {
	zadd := func(z redis.Z) func() error {
		return func() error { return p.from.Redis.ZAdd(t.Context(), keyOf(ann), z).Err() }
	}
	for _, c := range []struct {
		name  string
		rows  int64 // followees before the set is read
		harm  func() error
		found int
	}{
		{"correct set", 3, nil, 0},
		{"empty set", 0, nil, 0},
		{"full set", 5, nil, 0},
		{"incomplete set", 8, nil, 0},
		{"missing member", 4, func() error { return p.from.Redis.ZRem(t.Context(), keyOf(ann), decimal(cid)).Err() }, 1},
		{"missing member of incomplete set", 8, func() error { return p.from.Redis.ZRem(t.Context(), keyOf(ann), "7").Err() }, 1},
		{"ended follow", 3, zadd(redis.Z{Score: 1, Member: "19"}), 1},
		{"wrong follow id", 3, zadd(redis.Z{Score: 1, Member: decimal(dan)}), 1},
		{"incomplete set marked complete", 8, zadd(redis.Z{Score: math.Inf(-1), Member: ""}), 1},
		{"missing newest row", 3, func() error { p.store(t, ann, 15); return nil }, 1},
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
			p.wantRepaired(t, "follow-sets", c.found)
			want := p.storedSet(t, ann)
			wantEqual(t, "followees of Ann", ids(t, want), append([]int64{}, p.followed(t, ann)...))
		})
	}
}

// A writer between its commit and Redis causes no finding: the second check comes after its
// invalidation.
func TestSetScanChecksTwice(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := openOne(t, on)
		p.mustFollow(t, ann, bob, cid)
		p.followed(t, ann)
		row := p.storedSet(t, ann)[decimal(bob)]
		p.db.Follow.DeleteOneID(row).ExecX(t.Context())
		scans := reconcile.New(prometheus.NewRegistry(), nil)
		o, err := scans.RunOnce(t.Context(), reconcile.Scan{Name: "follow-sets", Run: func(ctx context.Context, r *reconcile.Run) error {
			sets, err := p.followees.Peek(ctx, ann)
			must(t, err)
			findings, err := p.checkSets(ctx, sets)
			must(t, err)
			if len(findings) != 1 {
				t.Errorf("first check: got %v, want one finding", findings)
			}
			must(t, p.invalidate(ctx, change{ann, bob, row}))
			return p.recheck(ctx, r, findings)
		}}, reconcile.Options{})
		must(t, err)
		if o.Found != 0 {
			t.Errorf("got %+v, want no findings", o)
		}
		if p.cachedSet(t, ann) == nil {
			t.Error("set was dropped")
		}
	})
}

// The scan of counts finds and repairs nothing while users follow and unfollow.
func TestCountScanIgnoresRunningWrites(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		a, b := openTwo(t, on)
		done := make(chan struct{})
		go func() {
			defer close(done)
			hammerBy(t, a, b, 3, 30) // few: waiters for the lock of SQLite starve
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			if o := a.scan(t, "follows", false); o.Found != 0 {
				t.Errorf("got findings %v, want none", o.Lines)
			}
		}
	})
}
