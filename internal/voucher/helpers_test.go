package voucher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	entorder "github.com/tandian-dev/tandian/ent/order"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	os.Exit(m.Run())
}

// noon is the start time of tests.
var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

var errAway = errors.New("redis is unavailable")

// A redisSale is a sale in Redis.
type redisSale struct {
	initial, stock int
	seq            int64
	begins, ends   int64
	on             bool
}

// sales fakes the flash sales in a Redis that all processes of a test share. A mutex replaces
// the atomicity of scripts. buyers counts the items of each sale.
type sales struct {
	mu      sync.Mutex
	stored  map[int64]redisSale
	buyers  map[int64]int
	down    bool // every call fails
	lost    bool // DecreaseStock takes effect but returns an error
	applied int
}

// processSales is the sales of a process with this database.
type processSales struct {
	*sales
	db *ent.Client
}

func (s *sales) PartitionFor(voucherID int64, stock int) (partition, buckets int) {
	return int(voucherID % 8), max(1, (stock+2999)/3000)
}

func (s *sales) DecreaseStock(_ context.Context, id int64, by int, edit int64) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.stored[id]
	switch {
	case s.down:
		return false, errAway
	case !ok:
		return false, fmt.Errorf("sale %d is not in Redis", id)
	case k.stock < by:
		return false, nil
	}
	k.stock, k.initial, k.seq = k.stock-by, k.initial-by, edit
	s.stored[id] = k
	if s.lost {
		return false, errAway
	}
	return true, nil
}

func (s *sales) UndoDecrease(_ context.Context, id int64, by int, edit int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errAway
	}
	if k := s.stored[id]; k.seq == edit {
		k.stock, k.initial, k.seq = k.stock+by, k.initial+by, edit-1
		s.stored[id] = k
	}
	return nil
}

// Apply reads the sale, with its edit_seq, before the voucher, like the real one: the voucher
// may be newer than edit_seq, and never older.
func (s processSales) Apply(ctx context.Context, ids ...int64) error {
	for _, id := range ids {
		sale, err := s.db.FlashSale.Query().Where(flashsale.ID(id)).WithVoucher().Only(ctx)
		if err != nil {
			return err
		}
		row := sale.Edges.Voucher
		row.Edges.Sale = sale
		if err := s.apply(row); err != nil {
			return err
		}
	}
	return nil
}

func (s *sales) apply(row *ent.Voucher) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		return errAway
	}
	s.applied++
	sale := row.Edges.Sale
	k, ok := s.stored[row.ID]
	if !ok {
		k.initial, k.stock = sale.InitialStock, sale.Stock
	}
	if sale.EditSeq < k.seq {
		return nil
	}
	s.stored[row.ID] = redisSale{
		sale.InitialStock, k.stock + sale.InitialStock - k.initial, sale.EditSeq, sale.BeginsAt, sale.EndsAt, row.Status == entvoucher.StatusON_SALE,
	}
	return nil
}

func (s *sales) Stocks(_ context.Context, ids []int64) (map[int64]int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := map[int64]int{}
	for _, id := range ids {
		left[id] = s.stored[id].stock
	}
	return left, nil
}

func (s *sales) get(id int64) redisSale {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[id]
}

// admit takes one item, like the script of a sale.
func (s *sales) admit(id int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := s.stored[id]
	if k.stock <= 0 {
		return false
	}
	k.stock--
	s.stored[id] = k
	s.buyers[id]++
	return true
}

func (s *sales) setFailure(down, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down, s.lost = down, lost
}

// owners reads shops from their rows.
type owners struct{ db *ent.Client }

func (o owners) OwnerOf(ctx context.Context, id int64) (*int64, bool, error) {
	row, err := o.db.Shop.Get(ctx, id)
	if ent.IsNotFound(err) {
		return nil, false, nil
	} else if err != nil {
		return nil, false, err
	}
	return row.OwnerID, true, nil
}

// UpdateVouchers does nothing: package shop has its tests.
func (owners) UpdateVouchers(context.Context, *ent.Tx, []int64) ([]int64, []outbox.JobRef, error) {
	return nil, nil, nil
}

func (owners) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

// A fixture is the state that the processes of a test share.
type fixture struct {
	sales   *sales
	ahead   atomic.Int64 // nanoseconds after noon
	shop    int64
	ann     int64 // owner of the shop
	changed sync.Map
}

func (w *fixture) now() time.Time { return noon.Add(time.Duration(w.ahead.Load())) }

func (w *fixture) advance(d time.Duration) { w.ahead.Add(int64(d)) }

// eachStack runs a test on SQLite with the embedded Redis and on Postgres with a real one. The
// fixture has one shop. process returns the Service of another process.
func eachStack(t *testing.T, test func(t *testing.T, w *fixture, process func() *Service)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		w := &fixture{sales: &sales{stored: map[int64]redisSale{}, buyers: map[int64]int{}}}
		process := func() *Service {
			t.Helper()
			from := storetest.Open(t, on)
			return New(from.DB, from.Hub, from.NewOutbox(t), Config{
				Sales: processSales{w.sales, from.DB}, Shops: owners{from.DB},
				OnChange: func(ids ...int64) {
					for _, id := range ids {
						w.changed.Store(id, true)
					}
				},
				Now: w.now, Registerer: from.Registry, Log: from.Log,
			})
		}
		first := process()
		w.ann = user(t, first)
		w.shop = newShop(t, first, w.ann)
		given := false
		test(t, w, func() *Service {
			if !given {
				given = true
				return first
			}
			return process()
		})
	})
}

func user(t *testing.T, s *Service) int64 {
	t.Helper()
	return s.db.User.Create().SetNickname("Ann").SaveX(t.Context()).ID
}

// newShop stores a shop; owner 0 means none.
func newShop(t *testing.T, s *Service, owner int64) int64 {
	t.Helper()
	kind := fmt.Sprint("kind ", shopNumber.Add(1))
	typ := s.db.ShopType.Create().SetKey(kind).SetName(kind).SetSort(1).SaveX(t.Context())
	insert := s.db.Shop.Create().SetTypeID(typ.ID).SetName("Noodles").SetLat(1).SetLng(1).SetGeo(1).SetSearch("noodles").SetExternalID(kind)
	if owner != 0 {
		insert.SetOwnerID(owner)
	}
	return insert.SaveX(t.Context()).ID
}

var shopNumber atomic.Int64

// lunch returns an ordinary voucher with every field, dinner an open sale.
func lunch(w *fixture) Details {
	return Details{ShopID: w.shop, Title: "Lunch", SubTitle: new("For two"), Rules: new("One.\nTwo."), PayValue: 900, FaceValue: 1000}
}

func dinner(w *fixture, stock int) FlashDetails {
	d := FlashDetails{Details: lunch(w), Stock: stock, BeginsAt: w.now().Add(-time.Hour), EndsAt: w.now().Add(time.Hour)}
	d.Title = "Dinner"
	return d
}

func (w *fixture) owner() Editor { return Editor{UserID: w.ann} }

func create(t *testing.T, s *Service, w *fixture, d Details) *Voucher {
	t.Helper()
	v, err := s.Create(t.Context(), w.owner(), d)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func createFlash(t *testing.T, s *Service, w *fixture, d FlashDetails) *Voucher {
	t.Helper()
	v, err := s.CreateFlash(t.Context(), w.owner(), d)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func updateFlash(t *testing.T, s *Service, w *fixture, id int64, c FlashChanges) *Voucher {
	t.Helper()
	v, err := s.UpdateFlash(t.Context(), w.owner(), id, c)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// read reads a voucher through the cache.
func read(t *testing.T, s *Service, id int64) *Voucher {
	t.Helper()
	v, err := s.ByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func saleRow(t *testing.T, s *Service, id int64) *ent.FlashSale {
	t.Helper()
	return s.db.FlashSale.GetX(t.Context(), id)
}

var orderNumber atomic.Int64

// order stores a live order of a voucher and takes its item out of the stock. It reports false
// without stock.
func order(ctx context.Context, s *Service, v *Voucher, at time.Time) (bool, error) {
	got := false
	err := ent.WithTx(ctx, s.db, func(tx *ent.Tx) error {
		n, err := tx.FlashSale.Update().Where(flashsale.ID(v.ID), flashsale.StockGT(0)).AddStock(-1).Save(ctx)
		if err != nil || n == 0 {
			return err
		}
		got = true
		number := orderNumber.Add(1)
		return tx.Order.Create().SetID(number).SetUserID(number).SetVoucherID(v.ID).SetShopID(v.ShopID).SetStatus(entorder.StatusUNPAID).
			SetOnePerUser(true).SetFlash(true).SetPayValue(v.PayValue).SetCreatedAt(at.UnixMilli()).SetPayBefore(at.UnixMilli()).Exec(ctx)
	})
	return got, err
}

func mustOrder(t *testing.T, s *Service, v *Voucher, at time.Time) {
	t.Helper()
	if got, err := order(t.Context(), s, v, at); err != nil || !got {
		t.Fatal(got, err)
	}
}

// reasons returns the codes and fields of a refusal, or the error text.
func reasons(err error) []string {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	if !ok && err != nil {
		return []string{err.Error()}
	}
	var list []string
	for _, r := range refused {
		list = append(list, string(r.Code)+" "+strings.TrimPrefix(strings.Join(r.Field, "."), "input."))
	}
	return list
}

// jobs returns the number of unfinished outbox jobs.
func jobs(t *testing.T, s *Service) int64 {
	t.Helper()
	return storetest.CountWaiting(t, s.outbox)
}

func with[T any](d T, edit func(*T)) T {
	edit(&d)
	return d
}
