package save

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	entsave "github.com/tandian-dev/tandian/ent/save"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestSavedCostsOneRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(300)...)
		s := p.notes
		bulkInsert(t, s, seedsOf(ann, upTo(250)...)...)
		bulkInsert(t, s, seedsOf(bob, 5, 3)...)
		for _, user := range []int64{ann, bob} { // caches the sets
			if _, err := s.Saved(t.Context(), user, upTo(1)); err != nil {
				t.Fatal(err)
			}
		}
		for _, tt := range []struct {
			name              string
			user              int64
			ids, want         []int64
			trips, statements int
		}{
			{"in the set", ann, []int64{250, 131}, []int64{250, 131}, 1, 0},
			{"below it", ann, []int64{250, 130, 1}, []int64{250, 130, 1}, 1, 1},
			{"not saved", ann, []int64{251, 250}, []int64{250}, 1, 1},
			{"a user with few saves", bob, []int64{3, 4, 5, 250}, []int64{3, 5}, 1, 0},
			{"anonymous", 0, []int64{5}, nil, 0, 0},
			{"nothing", ann, nil, nil, 0, 0},
		} {
			t.Run(tt.name, func(t *testing.T) {
				var got []int64
				trips, statements := p.cost(t, func() {
					found, err := s.Saved(t.Context(), tt.user, tt.ids)
					if err != nil {
						t.Fatal(err)
					}
					for _, id := range tt.ids {
						if found[id] {
							got = append(got, id)
						}
					}
				})
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("(-want +got):\n%s", d)
				}
				if trips != tt.trips || statements != tt.statements {
					t.Errorf("got %d round trips and %d statements, want %d and %d", trips, statements, tt.trips, tt.statements)
				}
			})
		}
		set := snapshot(t, s, ann)
		if set == nil || len(set.Entries) != savedSize || set.Whole {
			t.Errorf("got set %+v, want %d members, incomplete", set, savedSize)
		}
		if strings.HasPrefix(p.from.Redis.(*redis.Client).Options().Addr, "embedded:") { //nolint:forcetypeassert // both are one server
			return // without encodings
		}
		encoding, err := testkit.AdminClient(t, p.from.Redis).ObjectEncoding(t.Context(), savedKey(s, ann)).Result()
		if err != nil || encoding != "listpack" {
			t.Errorf("got encoding %s, %v, want listpack", encoding, err)
		}
	})
}

func TestListIsOrderedBySave(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(5)...)
		p.each(t, func(t *testing.T, s *Service, _ *targets) {
			mustSave(t, s, ann, 4, 1, 5, 2)
			mustUnsave(t, s, ann, 1)
			mustSave(t, s, ann, 3, 1)
			for _, first := range []int{1, 2, 4, 5, 6, 100} {
				if d := cmp.Diff([]int64{1, 3, 2, 5, 4}, list(t, s, ann, first, nil)); d != "" {
					t.Errorf("pages of %d (-want +got):\n%s", first, d)
				}
			}
			wantSaved(t, s, bob, upTo(5))
		})
	})
}

// The rows continue below the set.
func TestListContinuesBelowTheSet(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(260)...)
		s := p.shops
		bulkInsert(t, s, seedsOf(ann, upTo(260)...)...)
		for _, first := range []int{19, 40, 59, 60, 61, 100} {
			if d := cmp.Diff(reversed(upTo(260)), list(t, s, ann, first, nil)); d != "" {
				t.Errorf("pages of %d (-want +got):\n%s", first, d)
			}
		}
		if trips, statements := p.cost(t, func() {
			if _, err := s.List(t.Context(), ann, 20, ""); err != nil {
				t.Fatal(err)
			}
		}); trips != 1 || statements != 1 { // the statement is that of the fake Exist
			t.Errorf("first page: got %d round trips and %d statements, want 1 and 1", trips, statements)
		}
		p.from.Redis.Unlink(t.Context(), savedKey(s, ann))
		if d := cmp.Diff(reversed(upTo(260)), list(t, s, ann, 50, func() { p.from.Redis.Unlink(t.Context(), savedKey(s, ann)) })); d != "" {
			t.Errorf("with a lost set (-want +got):\n%s", d)
		}
	})
}

func TestInvalidSetIsIgnored(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(9)...)
		bulkInsert(t, p.notes, seedsOf(ann, upTo(9)...)...)
		list(t, p.notes, ann, 5, nil)
		p.from.Redis.ZAddArgs(t.Context(), savedKey(p.notes, ann), redis.ZAddArgs{Members: []redis.Z{{Score: 5.5, Member: "no id"}}})
		if d := cmp.Diff(reversed(upTo(9)), list(t, p.notes, ann, 2, nil)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

func TestDeletedTargetsAreSkipped(t *testing.T) {
	const many = 400
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(many)...)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			bulkInsert(t, s, seedsOf(ann, upTo(many)...)...)
			list(t, s, ann, 100, nil)
			left := reversed(upTo(many))
			remove := func(gone func(id int64) bool) {
				t.Helper()
				var ids []int64
				left = slices.DeleteFunc(left, func(id int64) bool {
					if gone(id) {
						ids = append(ids, id)
					}
					return gone(id)
				})
				r.remove(t, ids...)
				for _, first := range []int{1, 7, 100} {
					if d := cmp.Diff(left, list(t, s, ann, first, nil)); d != "" {
						t.Errorf("pages of %d (-want +got):\n%s", first, d)
					}
				}
			}
			remove(func(id int64) bool { return id%3 == 0 })
			remove(func(id int64) bool { return id > 50 }) // many pages of deleted ones
			r.asked = 0
			if _, err := s.List(t.Context(), ann, 20, ""); err != nil {
				t.Fatal(err)
			}
			if r.asked > 5 { // one page, then a hundred each
				t.Errorf("got %d reads of targets, want at most 5", r.asked)
			}
			remove(func(id int64) bool { return true })
		})
	})
}

// A list that is read page by page shows each lasting save of its beginning once and in order.
func TestPagesAreStableUnderChanges(t *testing.T) {
	const lasting, busy = 150, 250
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		seed := testkit.Seed(t)
		processes := []*process{open(t, on), open(t, on)}
		processes[0].insertTargets(t, upTo(busy)...)
		s := processes[0].notes
		bulkInsert(t, s, seedsOf(ann, upTo(lasting)...)...)
		var writing sync.WaitGroup
		over := make(chan struct{})
		for i := range 4 {
			w, draw := processes[i%2].notes, rand.New(rand.NewPCG(seed, uint64(i)))
			writing.Go(func() {
				for {
					select {
					case <-over:
						return
					default:
					}
					id := lasting + 1 + draw.Int64N(busy-lasting)
					if draw.IntN(4) == 0 {
						mustUnsave(t, w, ann, id)
					} else {
						mustSave(t, w, ann, id)
					}
				}
			})
		}
		for range 5 {
			seen := map[int64]int{}
			var old []int64
			for _, id := range list(t, s, ann, 20, nil) {
				if seen[id]++; id <= lasting {
					old = append(old, id)
				} else if seen[id] > 1 {
					// A save that was removed and added again is another row, always above the cursor.
					t.Errorf("target %d occurs %d times", id, seen[id])
				}
			}
			if d := cmp.Diff(reversed(upTo(lasting)), old); d != "" {
				t.Errorf("lasting saves (-want +got):\n%s", d)
			}
		}
		close(over)
		writing.Wait()
	})
}

// A transaction of another process commits a smaller id later. The save appears with its commit.
func TestLateCommitAppearsInTheList(t *testing.T) {
	on := storetest.Real(t)
	p := open(t, on)
	p.insertTargets(t, 1, 2)
	s := p.notes
	tx, err := p.db.Tx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tx.Save.Create().SetKind(entsave.KindNOTE).SetTargetID(1).SetUserID(ann).SetCreatedAt(0).ExecX(t.Context())
	mustSave(t, s, ann, 2)
	wantSaved(t, s, ann, upTo(2), 2)
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := s.invalidate(t.Context(), pair{1, ann}); err != nil {
		t.Fatal(err)
	}
	wantSaved(t, s, ann, upTo(2), 2, 1)
}

func TestInvalidPagesAreRejected(t *testing.T) {
	p := open(t, storetest.Real(t))
	p.insertTargets(t, 1)
	mustSave(t, p.shops, ann, 1)
	good := page.Encode("saved-shops", int64(1)<<62)
	for _, tt := range []struct {
		name  string
		first int
		after page.Cursor
	}{
		{"no items", 0, ""},
		{"too many", page.Max + 1, ""},
		{"no cursor", 1, "?"},
		{"another list", 1, page.Encode("saved-notes", 7)},
		{"no id", 1, page.Encode("saved-shops", "seven")},
	} {
		if _, err := p.shops.List(t.Context(), ann, tt.first, tt.after); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%s: got %v, want BAD_USER_INPUT", tt.name, err)
		}
	}
	for _, after := range []page.Cursor{good, page.Encode("saved-shops", -7)} {
		if _, err := p.shops.List(t.Context(), ann, 1, after); err != nil {
			t.Errorf("cursor %s: %v", after, err)
		}
	}
}

func TestBulkInsertIsIdempotent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(700)...)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			mustSave(t, s, ann, 1)
			wantSaved(t, s, bob, upTo(4))
			seeds := slices.Concat(seedsOf(cid, 2), seedsOf(bob, 1), seedsOf(ann, 1, 99_999, 2), seedsOf(bob, 1, 2))
			r.takeInvalidated()
			if n := bulkInsert(t, s, seeds...); n != 4 {
				t.Errorf("got %d new saves, want 4", n)
			}
			if invalidated := r.takeInvalidated(); !slices.Equal(invalidated, upTo(2)) {
				t.Errorf("got invalidations of %v, want both targets", invalidated)
			}
			wantSaved(t, s, bob, upTo(4), 2, 1)
			wantSaved(t, s, ann, upTo(4), 2, 1)
			if a, b := r.count(t, 1), r.count(t, 2); a != 2 || b != 3 {
				t.Errorf("got counts %d and %d, want 2 and 3", a, b)
			}
			if at := s.db.Save.Query().Where(entsave.KindEQ(s.kind()), entsave.UserID(cid)).OnlyX(t.Context()).CreatedAt; at != 1002 {
				t.Errorf("got time %d, want 1002", at)
			}
			for _, again := range [][]Seed{seeds, nil} {
				if n := bulkInsert(t, s, again...); n != 0 {
					t.Errorf("repeated call: got %d new saves, want none", n)
				}
			}
			if invalidated := r.takeInvalidated(); len(invalidated) != 0 {
				t.Errorf("got invalidations of %v, want none", invalidated)
			}
			if n := bulkInsert(t, s, seedsOf(14, upTo(700)...)...); n != 700 { // more than a statement
				t.Errorf("got %d new saves, want 700", n)
			}
			wantSaved(t, s, 14, upTo(700), reversed(upTo(700))...)
			if n := p.waitingJobs(t); n != 0 {
				t.Errorf("got %d waiting outbox jobs, want none", n)
			}
		})
	})
}
