package save

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	entsave "github.com/tandian-dev/tandian/ent/save"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestScanRepairsCounts(t *testing.T) {
	const many = 700 // more than a page
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(many)...)
		p.each(t, func(t *testing.T, s *Service, r *targets) {
			bulkInsert(t, s, append(seedsOf(ann, 1, 500, 501, 700), seedsOf(bob, 500)...)...)
			p.from.CheckRepair(t, p.box, s.Scans(), s.noun()+"-saves", 0)
			s.db.Save.Delete().Where(entsave.KindEQ(s.kind()), entsave.TargetID(500), entsave.UserID(bob)).ExecX(t.Context())
			r.setCount(t, 2, 3)
			r.setCount(t, 501, 0)
			r.setCount(t, 700, 9)
			r.remove(t, 700)
			r.takeInvalidated()
			p.from.CheckRepair(t, p.box, s.Scans(), s.noun()+"-saves", 3)
			for id, want := range map[int64]int{1: 1, 2: 0, 500: 1, 501: 1} {
				if n := r.count(t, id); n != want {
					t.Errorf("%s %d: got count %d, want %d", s.noun(), id, n, want)
				}
			}
			if invalidated := r.takeInvalidated(); !cmp.Equal(invalidated, []int64{2, 500, 501}) {
				t.Errorf("got invalidations of %v", invalidated)
			}
		})
	})
}

// Between the read of a scan and its lock, a user saves the note and another scan repairs it.
func TestScanRecountsUnderTheLock(t *testing.T) {
	on := storetest.Real(t)
	p, other := open(t, on), open(t, on)
	p.insertTargets(t, 1)
	p.note.setCount(t, 1, 5)
	first := true
	p.note.hook(func(ctx context.Context) error {
		if !first {
			return nil
		}
		first = false
		return errors.Join(other.notes.Save(ctx, ann, 1), other.notes.repairCount(ctx, 1))
	})
	if o := storetest.RunScan(t, p.notes.Scans(), "note-saves", false); o.Found != 1 || p.note.count(t, 1) != 1 {
		t.Errorf("got %+v and count %d, want 1", o, p.note.count(t, 1))
	}
}

func TestScanDropsWrongSets(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		p.insertTargets(t, upTo(200)...)
		rdb := p.from.Redis
		zadd := func(ctx context.Context, key string, score float64, member string) error {
			return rdb.ZAddArgs(ctx, key, redis.ZAddArgs{Members: []redis.Z{{Score: score, Member: member}}}).Err()
		}
		for i, tt := range []struct {
			name  string
			saves int64
			harm  func(ctx context.Context, key string) error
			found int
		}{
			{"correct", 3, nil, 0},
			{"incomplete", 150, nil, 0},
			{"not in Redis", 3, func(ctx context.Context, key string) error { return rdb.Unlink(ctx, key).Err() }, 0},
			{"member missing", 5, func(ctx context.Context, key string) error { return rdb.ZRem(ctx, key, "3").Err() }, 1},
			{"wrong position", 5, func(ctx context.Context, key string) error { return rdb.ZIncrBy(ctx, key, 1000, "3").Err() }, 1},
			{"extra member", 5, func(ctx context.Context, key string) error { return zadd(ctx, key, 1<<40, "99") }, 1},
			{"marked complete", 150, func(ctx context.Context, key string) error { return zadd(ctx, key, math.Inf(-1), "") }, 1},
		} {
			for _, s := range []*Service{p.shops, p.notes} {
				t.Run(s.noun()+"s: "+tt.name, func(t *testing.T) {
					user, ids := 1001+int64(i), upTo(tt.saves)
					bulkInsert(t, s, seedsOf(user, ids...)...)
					wantSaved(t, s, user, upTo(200), reversed(ids)...)
					wantSaved(t, s, bob, upTo(1))
					if tt.harm != nil {
						if err := tt.harm(t.Context(), savedKey(s, user)); err != nil {
							t.Fatal(err)
						}
					}
					p.from.CheckRepair(t, p.box, s.Scans(), s.noun()+"-saved", tt.found)
					wantSaved(t, s, user, upTo(200), reversed(ids)...)
				})
			}
		}
	})
}
