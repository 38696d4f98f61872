package like

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func zadd(score float64, member string) redis.ZAddArgs {
	return redis.ZAddArgs{Members: []redis.Z{{Score: score, Member: member}}}
}

// scanOf runs a scan of a Service.
func scanOf(t *testing.T, s *Service, name string, dry bool) reconcile.Outcome {
	t.Helper()
	scans := reconcile.New(prometheus.NewRegistry(), nil)
	scans.Add(s.Scans()...)
	found, err := scans.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	o, err := scans.RunOnce(t.Context(), found[0], reconcile.Options{DryRun: dry})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// findsAndMends wants a dry run to find so much and to change nothing, the next run to
// mend all of it, and the one after to find nothing.
func (p *process) findsAndMends(t *testing.T, s *Service, name string, want int) {
	t.Helper()
	p.box.Wait()
	before := storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)
	if dry := scanOf(t, s, name, true); dry.Found != want || dry.Repaired != 0 || dry.Compared == 0 {
		t.Errorf("the dry run: %+v, want %d findings", dry, want)
	}
	if d := cmp.Diff(before, storetest.Snapshot(t, p.from.SQL.DB, p.from.Redis)); d != "" {
		t.Errorf("the dry run changed something (-before +after):\n%s", d)
	}
	if run := scanOf(t, s, name, false); run.Found != want || run.Repaired != want {
		t.Errorf("the run: %+v, want %d findings and all of them mended", run, want)
	}
	if again := scanOf(t, s, name, false); again.Found != 0 {
		t.Errorf("afterwards: %+v, want nothing", again)
	}
}

func TestTheScanMendsCounts(t *testing.T) {
	const many = 700 // more than a page
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, upTo(many)...)
		for _, s := range []*Service{p.notes, p.comments} {
			plant(t, s, Draft{1, ann}, Draft{500, ann}, Draft{500, bob}, Draft{501, ann}, Draft{700, ann})
			p.findsAndMends(t, s, s.noun()+"-likes", 0)
			s.db.Like.Delete().Where(entlike.KindEQ(entlike.Kind(s.kind)), entlike.TargetID(500), entlike.UserID(bob)).ExecX(t.Context())
		}
		set := func(id int64, n int) {
			p.db.NoteCount.UpdateOneID(id).SetLikes(n).ExecX(t.Context())
			p.db.Comment.UpdateOneID(id).SetLikeCount(n).ExecX(t.Context())
		}
		set(2, 3)
		set(501, 0)
		p.db.NoteCount.Create().SetID(800).SetHot(0).SetLikes(9).SetDeleted(true).ExecX(t.Context())
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			r.heard()
			p.findsAndMends(t, s, s.noun()+"-likes", 3)
			for id, want := range map[int64]int{1: 1, 2: 0, 500: 1, 501: 1, 700: 1} {
				if n := r.count(t, id); n != want {
					t.Errorf("%s %d counts %d likes, want %d", s.noun(), id, n, want)
				}
			}
			if _, forgot := r.heard(); !cmp.Equal(forgot, []int64{2, 500, 501}) {
				t.Errorf("counts of %v were forgotten", forgot)
			}
		})
	})
}

// Between the look of a scan and its lock somebody likes the note, and another scan mends it.
func TestTheScanCountsAgainUnderTheLock(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.furnish(t, 1)
	p.db.NoteCount.UpdateOneID(1).SetLikes(5).ExecX(t.Context())
	first := true
	p.note.hook(func(ctx context.Context) error {
		if !first {
			return nil
		}
		first = false
		return errors.Join(other.notes.Like(ctx, ann, 1), other.notes.repairCount(ctx, 1))
	})
	if o := scanOf(t, p.notes, "note-likes", false); o.Found != 1 || p.note.count(t, 1) != 1 {
		t.Errorf("%+v, and %d likes are counted, want 1", o, p.note.count(t, 1))
	}
}

func TestTheScansDropWrongSets(t *testing.T) {
	const nobodys = int64(400) // a note that nobody likes, and whose set is there all the while
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, upTo(nobodys)...)
		rdb := p.from.Redis
		for i, tt := range []struct {
			name  string
			likes int64
			harm  func(ctx context.Context, key string) error
			found int
		}{
			{"a right one", 3, nil, 0},
			{"one that goes on below", 250, nil, 0},
			{"one that is not in Redis", 3, func(ctx context.Context, key string) error { return rdb.Unlink(ctx, key).Err() }, 0},
			{"one is missing", 5, func(ctx context.Context, key string) error { return rdb.ZRem(ctx, key, "3").Err() }, 1},
			{"one is in another's place", 5, func(ctx context.Context, key string) error { return rdb.ZIncrBy(ctx, key, 1000, "3").Err() }, 1},
			{"it has one that there is not", 5, func(ctx context.Context, key string) error {
				return rdb.ZAddArgs(ctx, key, zadd(-1<<40, "99")).Err()
			}, 1},
			{"it says that it is whole", 250, func(ctx context.Context, key string) error {
				return rdb.ZAddArgs(ctx, key, zadd(math.Inf(-1), "")).Err()
			}, 1},
		} {
			harm := func(t *testing.T, key string) {
				t.Helper()
				if tt.harm == nil {
					return
				}
				if err := tt.harm(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			t.Run("likers: "+tt.name, func(t *testing.T) {
				note := 301 + int64(i)
				plant(t, p.notes, likedByAll(note, tt.likes)...)
				wantFirst(t, p.notes, note, 1, 1)
				wantFirst(t, p.notes, nobodys, 1)
				harm(t, likersKey(note))
				p.findsAndMends(t, p.notes, "note-likers", tt.found)
				wantFirst(t, p.notes, note, 5, upTo(min(tt.likes, 5))...)
			})
			for _, s := range []*Service{p.notes, p.comments} {
				t.Run(s.noun()+"s liked: "+tt.name, func(t *testing.T) {
					user := 1001 + int64(i)
					var drafts []Draft
					for _, id := range upTo(tt.likes) {
						drafts = append(drafts, Draft{id, user})
					}
					plant(t, s, drafts...)
					wantLiked(t, s, user, []int64{tt.likes}, tt.likes)
					wantLiked(t, s, bob, []int64{nobodys})
					harm(t, likedKey(s, user))
					p.findsAndMends(t, s, s.noun()+"-liked", tt.found)
					wantLiked(t, s, user, []int64{99, 3}, []int64{99, 3}[max(0, 1-int(tt.likes/99)):]...)
				})
			}
		}
	})
}

// A set that is behind for a moment is not wrong.
func TestASetThatFollowsBetweenTwoLooksIsNotDropped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.furnish(t, 1)
		s := p.notes
		like(t, s, 1, ann)
		wantFirst(t, s, 1, 10, ann)
		s.db.Like.Create().SetKind("NOTE").SetTargetID(1).SetUserID(bob).SetCreatedAt(0).ExecX(t.Context()) // committed, and not told yet
		of := likeSet{"likers of note %d", s.likers, likersSize, s.loadLikers}
		wrong, err := of.mismatches(t.Context(), []cache.WindowSnapshot[int64]{*kept(t, s.likers, 1)})
		if err != nil || len(wrong) != 1 {
			t.Fatalf("%v, %v: the test tests nothing", wrong, err)
		}
		of.load = func(ctx context.Context, ids []int64, limit int) (map[int64][]cache.Entry, error) {
			rows, err := s.loadLikers(ctx, ids, limit)
			if err == nil {
				err = s.invalidateSets(ctx, change{Target: 1, User: bob}) // now it is told
			}
			return rows, err
		}
		scans := reconcile.New(prometheus.NewRegistry(), nil)
		scans.Add(reconcile.Scan{Name: "likers", Description: "them", Run: func(ctx context.Context, r *reconcile.Run) error { return s.scanSets(ctx, r, of) }})
		o, err := scans.RunOnce(t.Context(), scans.All()[0], reconcile.Options{})
		if err != nil || o.Compared != 1 || o.Found != 0 {
			t.Errorf("%+v, %v", o, err)
		}
	})
}
