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

func plant(t *testing.T, s *Service, drafts ...Draft) int {
	t.Helper()
	n, err := s.BulkInsert(t.Context(), drafts)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// likedByAll are drafts of one target that users 1 to n like, in this order.
func likedByAll(id, n int64) (drafts []Draft) {
	for _, user := range upTo(n) {
		drafts = append(drafts, Draft{id, user})
	}
	return drafts
}

func TestTheFirstLikersKeepTheirOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, upTo(6)...)
		p.each(t, func(t *testing.T, s *Service, _ *targets) {
			for id, tt := range map[int64]struct {
				name string
				do   func(id int64)
				want []int64
			}{
				1: {"as they came", func(id int64) { like(t, s, id, cid, ann, bob) }, []int64{cid, ann, bob}},
				2: {"who comes back is the last", func(id int64) {
					like(t, s, id, cid, ann, bob)
					unlike(t, s, id, cid)
					like(t, s, id, cid)
				}, []int64{ann, bob, cid}},
				3: {"all are new", func(id int64) {
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
				unlike(t, s, id, tt.want[0]) // of a set that is there
				wantFirst(t, s, id, 10, tt.want[1:]...)
			}
		})
	})
}

// The outbox may tell Redis again, and late.
func TestWhatIsToldLateChangesNothingThatCameAfter(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1)
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
		late(change{Target: 1, User: ann, Removed: first}) // the set is there: nobody loads it
		wantFirst(t, s, 1, 10, bob, ann)
		wantLiked(t, s, ann, upTo(1), 1)
		if set := kept(t, s.likers, 1); set == nil || len(set.Entries) != 2 {
			t.Errorf("the set is %+v, want both still in it", set)
		}
		unlike(t, s, 1, ann)
		late(change{Target: 1, User: ann})
		wantFirst(t, s, 1, 10, bob)
		wantLiked(t, s, ann, upTo(1))
	})
}

func TestTheSetOfFirstLikersIsBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1, 2)
		s := p.notes
		plant(t, s, likedByAll(1, 250)...)
		loads := func() int64 { return s.likers.Stats().Loads }
		wantFirst(t, s, 1, 100, upTo(100)...)
		set := kept(t, s.likers, 1)
		if set == nil || len(set.Entries) != 200 || set.Whole {
			t.Fatalf("the set is %+v, want 200 that go on", set)
		}
		if life := p.from.Redis.PTTL(t.Context(), likersKey(1)).Val(); life < 18*time.Hour || life > 24*time.Hour {
			t.Errorf("it lives for %v", life)
		}

		before := loads()
		like(t, s, 1, 251)
		unlike(t, s, 1, 251)
		unlike(t, s, 1, 1, 2, 3)
		wantFirst(t, s, 1, 100, upTo(103)[3:]...)
		if n := loads() - before; n != 0 {
			t.Errorf("%d loads for likes behind the first, and for unlikes", n)
		}
		for user := int64(4); user <= 140; user++ { // below half of it, it is loaded anew
			unlike(t, s, 1, user)
		}
		wantFirst(t, s, 1, 100, upTo(240)[140:]...)

		// The 200th like is among the first, the next one is not.
		plant(t, s, likedByAll(2, 199)...)
		wantFirst(t, s, 2, 1, 1)
		like(t, s, 2, 900)
		if kept(t, s.likers, 2) != nil {
			t.Error("the 200th like did not drop the set")
		}
		wantFirst(t, s, 2, 1, 1)
		like(t, s, 2, 901)
		if kept(t, s.likers, 2) == nil {
			t.Error("the 201st like dropped the set")
		}
	})
}

func TestASetThatIsNoneOfOursIsNotShown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1, 2)
		s := p.notes
		plant(t, s, slices.Concat(likedByAll(1, 250), likedByAll(2, 5))...)
		wantFirst(t, s, 1, 5, upTo(5)...)
		wantFirst(t, s, 2, 5, upTo(5)...)
		p.from.Redis.ZRemRangeByRank(t.Context(), likersKey(1), 1, 198) // two are left, and it goes on
		p.from.Redis.ZAddArgs(t.Context(), likersKey(2), zadd(0, "nobody"))
		wantFirst(t, s, 1, 5, upTo(5)...)
		wantFirst(t, s, 2, 5, upTo(5)...)
	})
}

func TestWhatAUserLikesCostsOneRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, upTo(701)...)
		p.each(t, func(t *testing.T, s *Service, _ *targets) {
			shift := int64(0)
			if s.kind == Comment {
				shift = 1 // what ann likes has the ids of notes that she does not
			}
			shifted := func(ids []int64) (list []int64) {
				for _, id := range ids {
					list = append(list, id+shift)
				}
				return list
			}
			var drafts []Draft
			for id := int64(2); id <= 600; id += 2 { // 300 of them, every second one
				drafts = append(drafts, Draft{id + shift, ann})
			}
			plant(t, s, drafts...)
			plant(t, s, Draft{5 + shift, bob}, Draft{5 + shift, cid})
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
				{"all of who likes few", bob, []int64{700, 5, 4, 1}, []int64{5}, 1, 0},
				{"nobody", 0, []int64{5, 600}, nil, 0, 0},
				{"nothing", ann, nil, nil, 0, 0},
			} {
				t.Run(tt.name, func(t *testing.T) {
					trips, statements := p.cost(t, func() { wantLiked(t, s, tt.user, shifted(tt.ids), shifted(tt.want)...) })
					if trips != tt.trips || statements != tt.statements {
						t.Errorf("%d round trips and %d statements, want %d and %d", trips, statements, tt.trips, tt.statements)
					}
				})
			}
			set := kept(t, s.liked, ann)
			if set == nil || len(set.Entries) != 120 || set.Whole {
				t.Errorf("the set is %+v, want 120 that go on", set)
			}
			if strings.HasPrefix(p.from.Redis.(*redis.Client).Options().Addr, "embedded:") { //nolint:forcetypeassert // both are one server
				return // which has no encodings
			}
			encoding, err := testkit.AdminClient(t, p.from.Redis).ObjectEncoding(t.Context(), likedKey(s, ann)).Result()
			if err != nil || encoding != "listpack" {
				t.Errorf("the set is a %s, %v", encoding, err)
			}
		})
	})
}

func TestLikersOfAPageCostOneRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		ids := upTo(10)
		p.furnish(t, ids...)
		var drafts []Draft
		want := map[int64][]int64{}
		for _, id := range ids[1:] {
			drafts = append(drafts, likedByAll(id, id)...)
			want[id] = upTo(min(id, 5))
		}
		for _, s := range []*Service{p.notes, p.comments} {
			plant(t, s, drafts...)
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
				t.Errorf("%d statements for the first look at %ss", statements, s.noun())
			}
			trips, statements := p.cost(t, read)
			if s.kind == Note && (trips != 1 || statements != 0) || s.kind == Comment && (trips != 0 || statements != 1) {
				t.Errorf("the second look at %ss: %d round trips, %d statements", s.noun(), trips, statements)
			}
		}
	})
}

func TestLikesArePlantedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, upTo(4)...)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			like(t, s, 1, ann)
			wantFirst(t, s, 1, 3, ann)
			wantLiked(t, s, bob, upTo(4))
			drafts := []Draft{{2, cid}, {1, bob}, {1, ann}, {99, ann}, {2, ann}, {1, bob}, {2, bob}}
			r.heard()
			if n := plant(t, s, drafts...); n != 4 {
				t.Errorf("%d were added, want 4", n)
			}
			wantFirst(t, s, 1, 3, ann, bob)
			wantFirst(t, s, 2, 3, cid, ann, bob)
			wantLiked(t, s, bob, upTo(4), 1, 2)
			if a, b := r.count(t, 1), r.count(t, 2); a != 2 || b != 3 {
				t.Errorf("%d and %d likes are counted, want 2 and 3", a, b)
			}
			if _, forgot := r.heard(); !slices.Equal(forgot, upTo(2)) {
				t.Errorf("counts of %v were forgotten, want both", forgot)
			}
			if n := plant(t, s, drafts...); n != 0 {
				t.Errorf("%d were added by the repetition", n)
			}
			if _, forgot := r.heard(); len(forgot) != 0 {
				t.Errorf("counts of %v were forgotten, and none changed", forgot)
			}
			if n := plant(t, s, likedByAll(3, 1100)...); n != 1100 || r.count(t, 3) != 1100 {
				t.Errorf("%d were added and %d are counted, want 1100", n, r.count(t, 3))
			}
			wantFirst(t, s, 3, 100, upTo(100)...)
			if n := plant(t, s); n != 0 {
				t.Errorf("%d of no drafts were added", n)
			}
			if n := p.waits(t); n != 0 {
				t.Errorf("%d jobs were left to the outbox", n)
			}
		})
	})
}
