package like

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func bulkInsert(t *testing.T, s *Service, drafts ...Draft) int {
	t.Helper()
	n, err := s.BulkInsert(t.Context(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// likedByAll returns likes of one target by users 1 to n, in order.
func likedByAll(id, n int64) (drafts []Draft) {
	for _, user := range upTo(n) {
		drafts = append(drafts, Draft{id, user})
	}
	return drafts
}

func TestFirstLikersKeepTheirOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(6)...)
		p.each(t, func(t *testing.T, s *Service, _ *targets) {
			for id, tt := range map[int64]struct {
				name string
				do   func(id int64)
				want []int64
			}{
				1: {"in order", func(id int64) { like(t, s, id, cid, ann, bob) }, []int64{cid, ann, bob}},
				2: {"a returning liker is last", func(id int64) {
					like(t, s, id, cid, ann, bob)
					unlike(t, s, id, cid)
					like(t, s, id, cid)
				}, []int64{ann, bob, cid}},
				3: {"all likes are new", func(id int64) {
					like(t, s, id, ann, bob)
					unlike(t, s, id, ann, bob)
					like(t, s, id, bob, ann)
				}, []int64{bob, ann}},
			} {
				wantFirst(t, s, id, 10)
				tt.do(id)
				wantFirst(t, s, id, 10, tt.want...)
				wantFirst(t, s, id, 1, tt.want[0])
				if s.likers == nil {
					continue
				}
				p.from.Redis.Unlink(t.Context(), likersKey(id))
				wantFirst(t, s, id, 10, tt.want...)
				unlike(t, s, id, tt.want[0]) // with a cached set
				wantFirst(t, s, id, 10, tt.want[1:]...)
			}
		})
	})
}

// The outbox may repeat invalidations, and late.
func TestLateInvalidationIsHarmless(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		s := p.notes
		like(t, s, 1, ann, bob)
		first := s.db.Like.Query().Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.TargetID(1), entlike.UserID(ann)).OnlyIDX(t.Context())
		unlike(t, s, 1, ann)
		like(t, s, 1, ann)
		wantFirst(t, s, 1, 10, bob, ann)
		late := func(c change) {
			t.Helper()
			if err := s.invalidate(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		late(change{Target: 1, User: ann, Removed: first}) // the set is cached, so no read loads it
		wantFirst(t, s, 1, 10, bob, ann)
		wantLiked(t, s, ann, upTo(1), 1)
		if set := snapshot(t, s.likers, 1); set == nil || len(set.Entries) != 2 {
			t.Errorf("got set %+v, want both members", set)
		}
		unlike(t, s, 1, ann)
		late(change{Target: 1, User: ann})
		wantFirst(t, s, 1, 10, bob)
		wantLiked(t, s, ann, upTo(1))
	})
}

func TestFirstLikersSetIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		s := p.notes
		bulkInsert(t, s, likedByAll(1, 250)...)
		loads := func() int64 { return s.likers.Stats().Loads }
		wantFirst(t, s, 1, 100, upTo(100)...)
		set := snapshot(t, s.likers, 1)
		if set == nil || len(set.Entries) != 200 || set.Whole {
			t.Fatalf("got set %+v, want 200 members, incomplete", set)
		}
		if life := p.from.Redis.PTTL(t.Context(), likersKey(1)).Val(); life < 18*time.Hour || life > 24*time.Hour {
			t.Errorf("got TTL %v, want 18 to 24 hours", life)
		}

		before := loads()
		like(t, s, 1, 251)
		unlike(t, s, 1, 251)
		unlike(t, s, 1, 1, 2, 3)
		wantFirst(t, s, 1, 100, upTo(103)[3:]...)
		if n := loads() - before; n != 0 {
			t.Errorf("got %d loads for later likes and unlikes, want none", n)
		}
		for user := int64(4); user <= 140; user++ { // below half of its size, the set is loaded again
			unlike(t, s, 1, user)
		}
		wantFirst(t, s, 1, 100, upTo(240)[140:]...)

		// The 200th like is in the set, the next one is not.
		bulkInsert(t, s, likedByAll(2, 199)...)
		wantFirst(t, s, 2, 1, 1)
		like(t, s, 2, 900)
		if snapshot(t, s.likers, 2) != nil {
			t.Error("the 200th like did not drop the set")
		}
		wantFirst(t, s, 2, 1, 1)
		like(t, s, 2, 901)
		if snapshot(t, s.likers, 2) == nil {
			t.Error("the 201st like dropped the set")
		}
	})
}

func TestInvalidSetIsIgnored(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1, 2)
		s := p.notes
		bulkInsert(t, s, slices.Concat(likedByAll(1, 250), likedByAll(2, 5))...)
		wantFirst(t, s, 1, 5, upTo(5)...)
		wantFirst(t, s, 2, 5, upTo(5)...)
		p.from.Redis.ZRemRangeByRank(t.Context(), likersKey(1), 1, 198) // leaves two members of an incomplete set
		p.from.Redis.ZAddArgs(t.Context(), likersKey(2), zadd(0, "no id"))
		wantFirst(t, s, 1, 5, upTo(5)...)
		wantFirst(t, s, 2, 5, upTo(5)...)
	})
}

func TestLikedCostsOneRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(701)...)
		p.each(t, func(t *testing.T, s *Service, _ *targets) {
			shift := int64(0)
			if s.kind == Comment {
				shift = 1 // ids of notes that ann does not like
			}
			shifted := func(ids []int64) (list []int64) {
				for _, id := range ids {
					list = append(list, id+shift)
				}
				return list
			}
			var drafts []Draft
			for id := int64(2); id <= 600; id += 2 { // 300 targets, every second id
				drafts = append(drafts, Draft{id + shift, ann})
			}
			bulkInsert(t, s, drafts...)
			bulkInsert(t, s, Draft{5 + shift, bob}, Draft{5 + shift, cid})
			wantLiked(t, s, ann, shifted(upTo(1)))
			wantLiked(t, s, bob, shifted(upTo(1)))
			for _, tt := range []struct {
				name              string
				user              int64
				ids, want         []int64
				trips, statements int
			}{
				{"the newest", ann, []int64{601, 600, 599, 598, 597, 596, 595, 594, 593, 592}, []int64{600, 598, 596, 594, 592}, 1, 0},
				{"newer ones", ann, []int64{700, 650, 601}, nil, 1, 0},
				{"down to the oldest in the set", ann, []int64{363, 362}, []int64{362}, 1, 0},
				{"the next below it", ann, []int64{361}, nil, 1, 1},
				{"below it", ann, []int64{361, 360}, []int64{360}, 1, 1},
				{"old ones", ann, []int64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, []int64{10, 8, 6, 4, 2}, 1, 1},
				{"both", ann, []int64{600, 2, 599, 1}, []int64{600, 2}, 1, 1},
				{"a user with few likes", bob, []int64{700, 5, 4, 1}, []int64{5}, 1, 0},
				{"anonymous", 0, []int64{5, 600}, nil, 0, 0},
				{"nothing", ann, nil, nil, 0, 0},
			} {
				t.Run(tt.name, func(t *testing.T) {
					trips, statements := p.cost(t, func() { wantLiked(t, s, tt.user, shifted(tt.ids), shifted(tt.want)...) })
					if trips != tt.trips || statements != tt.statements {
						t.Errorf("got %d round trips and %d statements, want %d and %d", trips, statements, tt.trips, tt.statements)
					}
				})
			}
			set := snapshot(t, s.liked, ann)
			if set == nil || len(set.Entries) != 120 || set.Whole {
				t.Errorf("got set %+v, want 120 members, incomplete", set)
			}
			if strings.HasPrefix(p.from.Redis.(*redis.Client).Options().Addr, "embedded:") { //nolint:forcetypeassert // both are one server
				return // without encodings
			}
			encoding, err := testkit.AdminClient(t, p.from.Redis).ObjectEncoding(t.Context(), likedKey(s, ann)).Result()
			if err != nil || encoding != "listpack" {
				t.Errorf("got encoding %s, %v, want listpack", encoding, err)
			}
		})
	})
}

func TestLikersOfAPageCostOneRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ids := upTo(10)
		p.insertTargets(t, ids...)
		var drafts []Draft
		want := map[int64][]int64{}
		for _, id := range ids[1:] {
			drafts = append(drafts, likedByAll(id, id)...)
			want[id] = upTo(min(id, 5))
		}
		for _, s := range []*Service{p.notes, p.comments} {
			bulkInsert(t, s, drafts...)
			read := func() {
				t.Helper()
				got, err := s.FirstLikers(t.Context(), ids, 5)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("likers of %ss (-want +got):\n%s", s.noun(), d)
				}
			}
			if _, statements := p.cost(t, read); statements != 1 {
				t.Errorf("first read of %ss: got %d statements, want 1", s.noun(), statements)
			}
			trips, statements := p.cost(t, read)
			if s.kind == Note && (trips != 1 || statements != 0) || s.kind == Comment && (trips != 0 || statements != 1) {
				t.Errorf("second read of %ss: got %d round trips and %d statements", s.noun(), trips, statements)
			}
		}
	})
}

func TestBulkInsertIsIdempotent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(4)...)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			like(t, s, 1, ann)
			wantFirst(t, s, 1, 3, ann)
			wantLiked(t, s, bob, upTo(4))
			drafts := []Draft{{2, cid}, {1, bob}, {1, ann}, {99, ann}, {2, ann}, {1, bob}, {2, bob}}
			r.takeCalls()
			if n := bulkInsert(t, s, drafts...); n != 4 {
				t.Errorf("got %d new likes, want 4", n)
			}
			wantFirst(t, s, 1, 3, ann, bob)
			wantFirst(t, s, 2, 3, cid, ann, bob)
			wantLiked(t, s, bob, upTo(4), 1, 2)
			if a, b := r.count(t, 1), r.count(t, 2); a != 2 || b != 3 {
				t.Errorf("got counts %d and %d, want 2 and 3", a, b)
			}
			if _, invalidated := r.takeCalls(); !slices.Equal(invalidated, upTo(2)) {
				t.Errorf("got invalidations of %v, want both", invalidated)
			}
			if n := bulkInsert(t, s, drafts...); n != 0 {
				t.Errorf("repeated call: got %d new likes, want none", n)
			}
			if _, invalidated := r.takeCalls(); len(invalidated) != 0 {
				t.Errorf("got invalidations of %v, want none", invalidated)
			}
			if n := bulkInsert(t, s, likedByAll(3, 1100)...); n != 1100 || r.count(t, 3) != 1100 {
				t.Errorf("got %d new likes and count %d, want 1100", n, r.count(t, 3))
			}
			wantFirst(t, s, 3, 100, upTo(100)...)
			if n := bulkInsert(t, s); n != 0 {
				t.Errorf("without drafts: got %d new likes", n)
			}
			if n := p.waitingJobs(t); n != 0 {
				t.Errorf("got %d waiting outbox jobs, want none", n)
			}
		})
	})
}
