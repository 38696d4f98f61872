package rating

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	entrating "github.com/tandian-dev/tandian/ent/rating"
	entshop "github.com/tandian-dev/tandian/ent/shop"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // refused connections would log one line each
	os.Exit(m.Run())
}

// User ids. Shop N is owned by user 1000 + N.
const ann, bob, cid = int64(11), int64(12), int64(13)

// shops implements Shops on the rows of shops.
type shops struct {
	db *ent.Client

	mu          sync.Mutex
	before      func(ctx context.Context) error // runs before shops are locked; may be nil
	setErr      error                           // error of set, after its update
	locks       int                             // calls of LockRatings
	invalidated []int64
}

func (s *shops) OwnerOf(ctx context.Context, id int64) (*int64, bool, error) {
	row, err := s.db.Shop.Query().Where(entshop.ID(id)).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return row.OwnerID, true, nil
}

func (s *shops) LockRatings(ctx context.Context, tx *ent.Tx, ids []int64) (map[int64]*Shop, func(context.Context, []int64) error, error) {
	s.mu.Lock()
	s.locks++
	before, setErr := s.before, s.setErr
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return nil, nil, err
		}
	}
	lock := tx.Shop.Query().Where(entshop.IDIn(ids...)).Order(entshop.ByID())
	lock.Modify(sqldb.ForUpdate)
	rows, err := lock.All(ctx)
	if err != nil {
		return nil, nil, err
	}
	locked, imported := map[int64]*Shop{}, map[int64]float64{}
	for _, r := range rows {
		locked[r.ID], imported[r.ID] = &Shop{r.OwnerID, countersOf(r)}, r.Score
	}
	return locked, func(ctx context.Context, changed []int64) error {
		for _, id := range changed {
			c := locked[id].Counters
			err := tx.Shop.UpdateOneID(id).SetNillableRatingScore(s.Score(c, imported[id])).
				SetStars1(c.Stars[0]).SetStars2(c.Stars[1]).SetStars3(c.Stars[2]).SetStars4(c.Stars[3]).SetStars5(c.Stars[4]).
				SetTasteCount(c.Taste.Count).SetTasteSum(c.Taste.Sum).SetEnvironmentCount(c.Environment.Count).SetEnvironmentSum(c.Environment.Sum).
				SetServiceCount(c.Service.Count).SetServiceSum(c.Service.Sum).Exec(ctx)
			if err == nil && s.Score(c, imported[id]) == nil {
				err = tx.Shop.UpdateOneID(id).ClearRatingScore().Exec(ctx)
			}
			if err != nil {
				return err
			}
		}
		return setErr
	}, nil
}

// Score is the average of the stars and of two ratings with the imported score, or 3.
func (s *shops) Score(c Counters, imported float64) *float64 {
	n, sum := 2.0, 2*cmp.Or(imported, 3)
	for i, more := range c.Stars {
		n, sum = n+float64(more), sum+float64((i+1)*more)
	}
	if n == 2 {
		return nil
	}
	score := math.Round(1e4*sum/n) / 1e4
	return &score
}

func (s *shops) InvalidateRatings(_ context.Context, ids ...int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalidated = append(s.invalidated, ids...)
	return nil
}

// hook sets the function that runs before a lock.
func (s *shops) hook(before func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *shops) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setErr = err
}

// takeInvalidated returns the invalidated shops since its last call, distinct and sorted.
func (s *shops) takeInvalidated() []int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := s.invalidated
	s.invalidated = nil
	slices.Sort(ids)
	return slices.Compact(ids)
}

func countersOf(r *ent.Shop) Counters {
	return Counters{
		Stars: [5]int{r.Stars1, r.Stars2, r.Stars3, r.Stars4, r.Stars5},
		Taste: Sum{r.TasteCount, r.TasteSum}, Environment: Sum{r.EnvironmentCount, r.EnvironmentSum}, Service: Sum{r.ServiceCount, r.ServiceSum},
	}
}

// process is a Service in one of several processes.
type process struct {
	*Service

	from  storetest.Process
	shops *shops
	box   *outbox.Box
	wire  *storetest.FaultyRedis
}

func open(t *testing.T, on storetest.Stores) *process {
	t.Helper()
	from := storetest.Open(t, on)
	p := &process{from: from, shops: &shops{db: from.DB}, wire: &storetest.FaultyRedis{}, box: from.NewOutbox(t)}
	from.Redis.AddHook(p.wire)
	p.Service = New(from.DB, from.Hub, p.box, Config{Shops: p.shops})
	return p
}

// insertShops stores shops 1 to n.
func (p *process) insertShops(t *testing.T, n int64) {
	t.Helper()
	ctx := t.Context()
	p.db.ShopType.Create().SetID(1).SetKey("cafe").SetName("Café").SetSort(1).ExecX(ctx)
	owners, rows := make([]*ent.UserCreate, n), make([]*ent.ShopCreate, n)
	for i := range rows {
		id := int64(i + 1)
		owners[i] = p.db.User.Create().SetID(1000 + id).SetNickname("Owner")
		rows[i] = p.db.Shop.Create().SetID(id).SetTypeID(1).SetOwnerID(1000 + id).SetName("Shop").SetLat(1).SetLng(1).SetGeo(1).SetSearch("shop")
	}
	for i := range slices.Chunk(rows, 500) {
		p.db.User.CreateBulk(owners[:len(i)]...).ExecX(ctx)
		p.db.Shop.CreateBulk(i...).ExecX(ctx)
		owners = owners[len(i):]
	}
}

// rate stores a rating without aspects.
func (p *process) rate(t *testing.T, user, shop int64, stars int) *Rating {
	t.Helper()
	r, err := p.Rate(t.Context(), user, Draft{ShopID: shop, Stars: stars})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (p *process) remove(t *testing.T, user, shop int64) {
	t.Helper()
	if err := p.Delete(t.Context(), user, shop); err != nil {
		t.Fatal(err)
	}
}

func (p *process) byPairs(t *testing.T, pairs ...Pair) map[Pair]*Rating {
	t.Helper()
	found, err := p.ByPairs(t.Context(), pairs)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// starsOf returns the stars of a rating as readers see them, 0 for none.
func (p *process) starsOf(t *testing.T, shop, user int64) int {
	t.Helper()
	if r := p.byPairs(t, Pair{shop, user})[Pair{shop, user}]; r != nil {
		return r.Stars
	}
	return 0
}

// agree compares the counters and the score of a shop with a plain count of its rows.
func (p *process) agree(t *testing.T, shop int64) {
	t.Helper()
	var want Counters
	for _, r := range p.db.Rating.Query().Where(entrating.ShopID(shop)).AllX(t.Context()) {
		want.Stars[r.Stars-1]++
		for _, aspect := range []struct {
			sum   *Sum
			value *int
		}{{&want.Taste, r.Taste}, {&want.Environment, r.Environment}, {&want.Service, r.Service}} {
			if aspect.value != nil {
				aspect.sum.Count++
				aspect.sum.Sum += *aspect.value
			}
		}
	}
	row := p.db.Shop.GetX(t.Context(), shop)
	if d := gocmp.Diff(want, countersOf(row)); d != "" {
		t.Errorf("shop %d: counters (-rows +stored):\n%s", shop, d)
	}
	if d := gocmp.Diff(p.shops.Score(want, row.Score), row.RatingScore); d != "" {
		t.Errorf("shop %d: score (-rows +stored):\n%s", shop, d)
	}
}

// refused returns the codes and fields of a UserErrors.
func refused(err error) (out []string) {
	wrong, _ := errors.AsType[apierror.UserErrors](err)
	for _, w := range wrong {
		text := string(w.Code)
		if len(w.Field) > 0 {
			text += " " + w.Field[len(w.Field)-1]
		}
		out = append(out, text)
	}
	return out
}

func wantRefused(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	if d := gocmp.Diff(want, refused(err)); d != "" || len(want) == 0 && err != nil {
		t.Errorf("%s: got %v (-want +got):\n%s", what, err, d)
	}
}

func (p *process) wantNoJobs(t *testing.T) {
	t.Helper()
	if n := storetest.CountWaiting(t, p.box); n != 0 {
		t.Errorf("got %d waiting outbox jobs, want none", n)
	}
}

func valueOf(r *Rating) Rating { return optional.Value(r) }
