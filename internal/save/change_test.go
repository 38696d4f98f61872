package save

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entsave "github.com/tandian-dev/tandian/ent/save"
	"github.com/tandian-dev/tandian/internal/kit/batch"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestSaveCountsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			for _, step := range []struct {
				name    string
				do      func() error
				savers  []int64
				changed []int64 // invalidated targets
			}{
				{"no saves", func() error { return nil }, nil, nil},
				{"ann saves", func() error { return s.Save(t.Context(), ann, 1) }, []int64{ann}, []int64{1}},
				{"and again", func() error { return s.Save(t.Context(), ann, 1) }, []int64{ann}, nil},
				{"bob saves", func() error { return s.Save(t.Context(), bob, 1) }, []int64{ann, bob}, []int64{1}},
				{"ann unsaves", func() error { return s.Unsave(t.Context(), ann, 1) }, []int64{bob}, []int64{1}},
				{"and again", func() error { return s.Unsave(t.Context(), ann, 1) }, []int64{bob}, nil},
				{"cid unsaves", func() error { return s.Unsave(t.Context(), cid, 1) }, []int64{bob}, nil},
				{"bob unsaves", func() error { return s.Unsave(t.Context(), bob, 1) }, nil, []int64{1}},
			} {
				if err := step.do(); err != nil {
					t.Fatalf("%s: %v", step.name, err)
				}
				if got := r.takeInvalidated(); !slices.Equal(got, step.changed) {
					t.Errorf("%s: invalidated %v, want %v", step.name, got, step.changed)
				}
				if n := r.count(t, 1); n != len(step.savers) {
					t.Errorf("%s: got %d saves, want %d", step.name, n, len(step.savers))
				}
				for _, user := range []int64{ann, bob, cid} {
					var want []int64
					if slices.Contains(step.savers, user) {
						want = []int64{1}
					}
					wantSaved(t, s, user, upTo(2), want...)
				}
			}
			if n := p.waitingJobs(t); n != 0 {
				t.Errorf("got %d waiting outbox jobs, want none", n)
			}
		})
	})
}

func TestMissingTargetCannotBeSaved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2, 3)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			mustSave(t, s, ann, 3)
			r.remove(t, 2, 3)
			p.box.Wait()
			before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
			for name, err := range map[string]error{
				"save a missing one":   s.Save(t.Context(), ann, 9),
				"save a deleted one":   s.Save(t.Context(), ann, 2),
				"unsave a deleted one": s.Unsave(t.Context(), ann, 3),
			} {
				if !notFound(err) {
					t.Errorf("%s: got %v", name, err)
				}
			}
			if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
				t.Errorf("data changed (-before +after):\n%s", d)
			}
			mustUnsave(t, s, bob, 9)
			mustSave(t, s, ann, 3) // a repeat
		})
	})
}

func TestSaveStoresItsTime(t *testing.T) {
	p := open(t, storetest.Real(t))
	p.insertTargets(t, 1)
	p.shops.cfg.Now = func() time.Time { return time.UnixMilli(7) }
	mustSave(t, p.shops, ann, 1)
	if at := p.db.Save.Query().OnlyX(t.Context()).CreatedAt; at != 7 {
		t.Errorf("got %d, want 7", at)
	}
}

// Both calls have read before one of them writes.
func TestConcurrentSavesOfOneUserCountOnce(t *testing.T) {
	on := storetest.Real(t) // SQLite has one writer at a time
	a, b := open(t, on), open(t, on)
	a.insertTargets(t, 1)
	for _, tap := range []struct {
		name string
		do   func(s *Service, ctx context.Context, user, id int64) error
		want int
	}{{"save", (*Service).Save, 1}, {"unsave", (*Service).Unsave, 0}} {
		inner := true // runs while the outer call is in its transaction, before the lock
		a.note.hook(func(ctx context.Context) error {
			if !inner {
				return nil
			}
			inner = false
			return tap.do(b.notes, ctx, ann, 1)
		})
		if err := tap.do(a.notes, t.Context(), ann, 1); err != nil {
			t.Errorf("%s: %v", tap.name, err)
		}
		if n, rows := a.note.count(t, 1), a.notes.rowsOf(t, ann); n != tap.want || len(rows) != tap.want {
			t.Errorf("%s: got count %d and rows %v, want %d", tap.name, n, rows, tap.want)
		}
	}
}

// Between the lookup and the lock, another process removes the save and adds a new one.
func TestUnsaveKeepsSaveAddedAfterLookup(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.insertTargets(t, 1)
	mustSave(t, p.notes, ann, 1)
	again := true
	p.note.hook(func(ctx context.Context) error {
		if !again {
			return nil
		}
		again = false
		return errors.Join(other.notes.Unsave(ctx, ann, 1), other.notes.Save(ctx, ann, 1))
	})
	mustUnsave(t, p.notes, ann, 1)
	if n := p.note.count(t, 1); n != 1 {
		t.Errorf("got %d saves, want 1", n)
	}
	wantSaved(t, p.notes, ann, upTo(1), 1)
}

func TestConcurrentSavesShareATransaction(t *testing.T) {
	const dan, eve = int64(14), int64(15)
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2, 3)
		s, r := p.shops, p.shop
		mustSave(t, s, bob, 2)
		s.cfg.Quota = limitOf(p, 4)
		for range 4 { // use up the limit of cid
			if err := s.cfg.Quota.Take(t.Context(), cid).Wait(); err != nil {
				t.Fatal(err)
			}
		}
		taps := []pair{{3, dan}, {1, bob}, {1, ann}, {404, ann}, {2, bob}, {2, ann}, {1, ann}, {1, cid}, {2, eve}}
		run := func(b *batch.Batcher[pair, struct{}], do func(ctx context.Context, user, id int64) error) []error {
			var calls []func() error
			for _, c := range taps {
				calls = append(calls, func() error { return do(t.Context(), c.User, c.Target) })
			}
			return storetest.InOneGroup(t, r.hook, b.Waiting, calls[0], calls[1:]...)
		}
		r.takeInvalidated()
		for i, err := range run(s.saves, s.Save) {
			ok := err == nil
			switch taps[i] {
			case pair{404, ann}:
				ok = notFound(err)
			case pair{1, cid}:
				ok = limited(err)
			}
			if !ok {
				t.Errorf("save %v: got %v", taps[i], err)
			}
		}
		invalidated := r.takeInvalidated()
		if slices.Sort(invalidated); !slices.Equal(invalidated, upTo(3)) { // the two groups finish in any order
			t.Errorf("got invalidations of %v, want each target once", invalidated)
		}
		for id, want := range map[int64]int{1: 2, 2: 3, 3: 1} {
			if n := r.count(t, id); n != want {
				t.Errorf("shop %d: got %d saves, want %d", id, n, want)
			}
		}
		wantSaved(t, s, ann, upTo(3), 2, 1)
		for user, want := range map[int64]int{ann: 2, bob: 1, dan: 1, eve: 1} { // changes, without repeats and failures
			for range 4 - want {
				if err := s.cfg.Quota.Take(t.Context(), user).Wait(); err != nil {
					t.Errorf("user %d: got more than %d uses of the limit", user, want)
				}
			}
			if err := s.cfg.Quota.Take(t.Context(), user).Wait(); err == nil {
				t.Errorf("user %d: got fewer than %d uses of the limit", user, want)
			}
		}
		s.cfg.Quota = nil
		if err := errors.Join(run(s.unsaves, s.Unsave)...); err != nil {
			t.Errorf("unsave: %v", err)
		}
		if n := s.db.Save.Query().CountX(t.Context()); n != 0 || r.count(t, 1)+r.count(t, 2)+r.count(t, 3) != 0 {
			t.Errorf("got %d rows after all were removed", n)
		}
		if n := p.waitingJobs(t); n != 0 {
			t.Errorf("got %d waiting outbox jobs, want none", n)
		}
	})
}

func TestOnlyChangesCountAgainstTheLimit(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2, 3)
		s := p.notes
		s.cfg.Quota = limitOf(p, 3)
		if err := s.Save(t.Context(), ann, 404); !notFound(err) {
			t.Fatal(err)
		}
		mustSave(t, s, ann, 1)
		for range 5 { // no change
			mustSave(t, s, ann, 1)
			mustUnsave(t, s, ann, 2)
		}
		mustUnsave(t, s, ann, 1)
		mustSave(t, s, ann, 2)
		for _, change := range []error{s.Save(t.Context(), ann, 3), s.Unsave(t.Context(), ann, 2)} {
			if !limited(change) {
				t.Errorf("fourth change: got %v, want a limit error", change)
			}
		}
		mustSave(t, s, ann, 2) // repeats still succeed
		mustUnsave(t, s, ann, 3)
		mustSave(t, s, bob, 3)
		if n := p.note.count(t, 3); n != 1 {
			t.Errorf("got %d saves, want 1", n)
		}
	})
}

// A number that is too low does not block unsaves.
func TestUncountedSaveCanBeRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			mustSave(t, s, ann, 1)
			r.setCount(t, 1, 0)
			mustUnsave(t, s, ann, 1)
			if n := r.count(t, 1); n != 0 {
				t.Errorf("got %d saves, want none", n)
			}
		})
	})
}

func TestDeadlockedSaveIsRetriedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		for id, times := range map[int64]int{1: 1, 2: 2} {
			left := times
			p.note.hook(func(context.Context) error {
				if left--; left >= 0 {
					return fmt.Errorf("update: %w", storetest.DeadlockError{})
				}
				return nil
			})
			err := p.notes.Save(t.Context(), ann, id)
			if times == 1 && (err != nil || p.note.count(t, id) != 1) || times == 2 && !errors.Is(err, storetest.DeadlockError{}) {
				t.Errorf("%d deadlocks: got %v", times, err)
			}
		}
	})
}

func TestOutboxInvalidatesSavesAfterWriterCrash(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dying, other := open(t, on), open(t, on)
		other.insertTargets(t, 1, 2)
		s := other.notes
		mustSave(t, s, ann, 2)
		wantSaved(t, s, ann, upTo(2), 2)
		dying.wire.Down.Store(true) // its invalidations are lost
		mustSave(t, dying.notes, ann, 1)
		mustUnsave(t, dying.notes, ann, 2)
		shown := func() []int64 { return list(t, s, ann, 5, nil) }
		if got := shown(); !slices.Equal(got, []int64{2}) {
			t.Fatalf("invalid test: got %v", got)
		}
		other.note.takeInvalidated()
		storetest.Relay(t, other.box)
		testkit.Eventually(t, 20*time.Second, func() bool { return slices.Equal(shown(), []int64{1}) })
		testkit.Eventually(t, 20*time.Second, func() bool { return other.waitingJobs(t) == 0 })
		invalidated := other.note.takeInvalidated()
		slices.Sort(invalidated)
		if d := cmp.Diff(upTo(2), slices.Compact(invalidated)); d != "" {
			t.Errorf("invalidated notes (-want +got):\n%s", d)
		}
	})
}

// A repeated save repeats the invalidation of the user's set, but not that of the target.
func TestRepeatedSaveIsVisible(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dying, other := open(t, on), open(t, on)
		other.insertTargets(t, 1)
		wantSaved(t, other.shops, ann, upTo(1))
		dying.wire.Down.Store(true)
		mustSave(t, dying.shops, ann, 1)
		mustSave(t, other.shops, ann, 1)
		wantSaved(t, other.shops, ann, upTo(1), 1)
		if invalidated := other.shop.takeInvalidated(); len(invalidated) != 0 {
			t.Errorf("got invalidations of %v", invalidated)
		}
	})
}

func TestSavesWorkWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(300)...)
		bulkInsert(t, p.shops, seedsOf(ann, upTo(300)...)...)
		p.wire.Down.Store(true)
		mustUnsave(t, p.shops, ann, 7)
		mustSave(t, p.shops, ann, 7)
		mustUnsave(t, p.shops, ann, 290)
		want := append([]int64{7}, slices.DeleteFunc(reversed(upTo(300)), func(id int64) bool { return id == 7 || id == 290 })...)
		wantSaved(t, p.shops, ann, upTo(300), want...)
		if n := p.waitingJobs(t); n != 3 {
			t.Errorf("got %d waiting jobs, want 3", n)
		}
	})
}

// Users save and unsave at random in two processes, during reads, while Redis loses keys.
func TestRowsCountsAndSetsAgreeUnderConcurrency(t *testing.T) {
	const ids, users, writers, taps = 4, 20, 32, 12
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := testkit.Seed(t)
		processes := []*process{open(t, on), open(t, on)}
		processes[0].insertTargets(t, upTo(ids)...)
		var writing, reading sync.WaitGroup
		over := make(chan struct{})
		for i := range writers {
			p, draw := processes[i%2], rand.New(rand.NewPCG(seed, uint64(i)))
			writing.Go(func() {
				for range taps {
					s := []*Service{p.shops, p.notes}[draw.IntN(2)]
					tap := []func(context.Context, int64, int64) error{s.Save, s.Save, s.Unsave}[draw.IntN(3)]
					if err := tap(t.Context(), 1+draw.Int64N(users), 1+draw.Int64N(ids)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for i, p := range processes {
			draw := rand.New(rand.NewPCG(seed, uint64(writers+i)))
			reading.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					user := 1 + draw.Int64N(users)
					_, err := p.notes.Saved(t.Context(), user, upTo(ids))
					_, err2 := p.shops.List(t.Context(), user, 2, "")
					if err := errors.Join(err, err2, p.from.Redis.Unlink(t.Context(), savedKey(p.notes, user)).Err()); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		writing.Wait()
		close(over)
		reading.Wait()
		p := processes[0]
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			for _, id := range upTo(ids) {
				rows := s.db.Save.Query().Where(entsave.KindEQ(s.kind()), entsave.TargetID(id)).CountX(t.Context())
				if n := r.count(t, id); n != rows {
					t.Errorf("%s %d: got count %d, want %d", s.noun(), id, n, rows)
				}
			}
			for _, user := range upTo(users) {
				wantSaved(t, s, user, upTo(ids), s.rowsOf(t, user)...)
			}
		})
		processes[1].box.Wait()
		if n := p.waitingJobs(t); n != 0 {
			t.Errorf("got %d waiting outbox jobs, want none", n)
		}
	})
}
