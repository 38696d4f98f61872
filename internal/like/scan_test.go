package like

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	entlike "github.com/tandian-dev/tandian/ent/like"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func zadd(score float64, member string) redis.ZAddArgs {
	return redis.ZAddArgs{Members: []redis.Z{{Score: score, Member: member}}}
}

// checkRepair checks what a scan finds and repairs.
func (p *process) checkRepair(t *testing.T, s *Service, name string, want int) {
	t.Helper()
	p.from.CheckRepair(t, p.box, s.Scans(), name, want)
}

func TestScanRepairsLikeCounts(t *testing.T) {
	const many = 700 // more than a page
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(many)...)
		for _, s := range []*Service{p.notes, p.comments} {
			bulkInsert(t, s, Draft{1, ann}, Draft{500, ann}, Draft{500, bob}, Draft{501, ann}, Draft{700, ann})
			p.checkRepair(t, s, s.noun()+"-likes", 0)
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
			r.takeCalls()
			p.checkRepair(t, s, s.noun()+"-likes", 3)
			for id, want := range map[int64]int{1: 1, 2: 0, 500: 1, 501: 1, 700: 1} {
				if n := r.count(t, id); n != want {
					t.Errorf("%s %d: got count %d, want %d", s.noun(), id, n, want)
				}
			}
			if _, invalidated := r.takeCalls(); !cmp.Equal(invalidated, []int64{2, 500, 501}) {
				t.Errorf("got invalidations of %v", invalidated)
			}
		})
	})
}

// Between the read of a scan and its lock, a user likes the note and another scan repairs it.
func TestScanRecountsUnderTheLock(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.insertTargets(t, 1)
	p.db.NoteCount.UpdateOneID(1).SetLikes(5).ExecX(t.Context())
	first := true
	p.note.hook(func(ctx context.Context) error {
		if !first {
			return nil
		}
		first = false
		return errors.Join(other.notes.Like(ctx, ann, 1), other.notes.repairCount(ctx, 1))
	})
	if o := storetest.RunScan(t, p.notes.Scans(), "note-likes", false); o.Found != 1 || p.note.count(t, 1) != 1 {
		t.Errorf("got %+v and count %d, want 1", o, p.note.count(t, 1))
	}
}

func TestScanDropsWrongSets(t *testing.T) {
	const unliked = int64(400) // a note without likes, whose set is cached
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(unliked)...)
		rdb := p.from.Redis
		for i, tt := range []struct {
			name  string
			likes int64
			harm  func(ctx context.Context, key string) error
			found int
		}{
			{"correct", 3, nil, 0},
			{"incomplete", 250, nil, 0},
			{"not in Redis", 3, func(ctx context.Context, key string) error { return rdb.Unlink(ctx, key).Err() }, 0},
			{"member missing", 5, func(ctx context.Context, key string) error { return rdb.ZRem(ctx, key, "3").Err() }, 1},
			{"wrong position", 5, func(ctx context.Context, key string) error { return rdb.ZIncrBy(ctx, key, 1000, "3").Err() }, 1},
			{"extra member", 5, func(ctx context.Context, key string) error {
				return rdb.ZAddArgs(ctx, key, zadd(-1<<40, "99")).Err()
			}, 1},
			{"marked complete", 250, func(ctx context.Context, key string) error {
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
				bulkInsert(t, p.notes, likedByAll(note, tt.likes)...)
				wantFirst(t, p.notes, note, 1, 1)
				wantFirst(t, p.notes, unliked, 1)
				harm(t, likersKey(note))
				p.checkRepair(t, p.notes, "note-likers", tt.found)
				wantFirst(t, p.notes, note, 5, upTo(min(tt.likes, 5))...)
			})
			for _, s := range []*Service{p.notes, p.comments} {
				t.Run(s.noun()+"s liked: "+tt.name, func(t *testing.T) {
					user := 1001 + int64(i)
					var drafts []Draft
					for _, id := range upTo(tt.likes) {
						drafts = append(drafts, Draft{id, user})
					}
					bulkInsert(t, s, drafts...)
					wantLiked(t, s, user, []int64{tt.likes}, tt.likes)
					wantLiked(t, s, bob, []int64{unliked})
					harm(t, likedKey(s, user))
					p.checkRepair(t, s, s.noun()+"-liked", tt.found)
					wantLiked(t, s, user, []int64{99, 3}, []int64{99, 3}[max(0, 1-int(tt.likes/99)):]...)
				})
			}
		}
	})
}

// A temporarily outdated set is not wrong.
func TestScanKeepsOutdatedSetThatRecovers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, 1)
		s := p.notes
		like(t, s, 1, ann)
		wantFirst(t, s, 1, 10, ann)
		s.db.Like.Create().SetKind("NOTE").SetTargetID(1).SetUserID(bob).SetCreatedAt(0).ExecX(t.Context()) // committed, not invalidated yet
		if o := storetest.RunScan(t, s.Scans(), "note-likers", true); o.Found != 1 {
			t.Fatalf("invalid test: got %+v", o)
		}
		of := s.setsOf("likers of note %d", s.likers, likersSize, s.loadLikers)
		of.Load = func(ctx context.Context, ids []int64, limit int) (map[int64][]cache.Entry, error) {
			rows, err := s.loadLikers(ctx, ids, limit)
			if err == nil {
				err = s.invalidateSets(ctx, change{Target: 1, User: bob}) // now invalidated
			}
			return rows, err
		}
		scan := reconcile.Scan{Name: "likers", Description: "them", Run: of.Compare}
		if o := storetest.RunScan(t, []reconcile.Scan{scan}, "likers", false); o.Compared != 1 || o.Found != 0 {
			t.Errorf("got %+v, want no findings", o)
		}
	})
}
