package order

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/balance"
	entflash "github.com/tandian-dev/tandian/ent/flashsale"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/ent/payment"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog() // each refused connection would be a line
	os.Exit(m.Run())
}

// The people of the tests, and their shop.
const (
	ann, bob, cid = int64(11), int64(12), int64(13)
	mia, zoe      = int64(21), int64(22) // merchants: of the shop, of none
	shopID        = int64(7)

	anyTimes, oncePerUser, offSale, flash, past = int64(101), int64(102), int64(103), int64(104), int64(105) // vouchers
)

// A town is what all processes of a test share beside the stores: the other rooms, a
// clock, a provider.
type town struct {
	on       storetest.Stores
	clock    atomic.Int64 // milliseconds that the clock is ahead
	nodes    []string     // of locks; empty for the Redis of the process
	provider *Fake
	numbers  atomic.Int64

	mu       sync.Mutex
	vouchers map[int64]*Voucher
	entries  map[int64]*Order // queued
	answers  []sale.Response  // of the sale, in turn
	asked    []sale.Request
	failSold error
	returned []sale.Reservation
	hints    []string
}

func newTown(on storetest.Stores) *town {
	t := &town{
		on: on, provider: &Fake{}, entries: map[int64]*Order{},
		vouchers: map[int64]*Voucher{
			anyTimes:    {ID: anyTimes, ShopID: shopID, Price: 4550},
			oncePerUser: {ID: oncePerUser, ShopID: shopID, Price: 900, OnePerUser: true},
			offSale:     {ID: offSale, ShopID: shopID, Price: 900, Off: true},
			flash:       {ID: flash, ShopID: shopID, Price: 1000, OnePerUser: true, Sale: &Sale{Partition: 3, Buckets: 2, EndsAt: time.Now().Add(24 * time.Hour)}},
			past:        {ID: past, ShopID: shopID, Price: 1000, OnePerUser: true, Sale: &Sale{EndsAt: time.Now().Add(-2 * time.Hour)}},
		},
	}
	t.numbers.Store(rand.Int64N(1 << 40))
	return t
}

func (w *town) now() time.Time {
	return time.Now().Add(time.Duration(w.clock.Load()) * time.Millisecond)
}
func (w *town) pass(d time.Duration)       { w.clock.Add(d.Milliseconds()) }
func (w *town) number(partition int) int64 { return w.numbers.Add(1)<<6 | int64(partition) }

func (w *town) Next(_ context.Context, partition int) (int64, error) { return w.number(partition), nil }

func (w *town) VoucherByID(_ context.Context, id int64) (*Voucher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.vouchers[id]; v != nil {
		return v, nil
	}
	return nil, apierror.ErrNotFound
}

func (w *town) Order(_ context.Context, t sale.Request) (sale.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, t)
	if len(w.answers) == 0 {
		return sale.Response{}, errors.New("nobody said what the sale answers")
	}
	a := w.answers[0]
	w.answers = w.answers[1:]
	return a, nil
}

func (w *town) Entries(_ context.Context, numbers []int64) (map[int64]*Order, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	found := map[int64]*Order{}
	for _, n := range numbers {
		if o := w.entries[n]; o != nil {
			found[n] = o
		}
	}
	return found, nil
}

// Release does what the flash sales do to the database.
func (w *town) Release(ctx context.Context, tx outbox.Execer, holds []sale.Reservation) ([]outbox.JobRef, error) {
	for _, h := range holds {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE flash_sales SET stock = stock + 1 WHERE id = %d", h.Voucher)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (w *town) AfterRelease(_ context.Context, holds []sale.Reservation, _ []outbox.JobRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned = append(w.returned, holds...)
}

func (w *town) OwnerOf(_ context.Context, id int64) (*int64, bool, error) {
	owner := mia
	return &owner, id == shopID, nil
}

func (w *town) tell(keys ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hints = append(w.hints, keys...)
}

func (w *town) told(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.hints, key)
}

func (w *town) answer(a ...sale.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = a
}

// A process is a Service as one of several processes has it.
type process struct {
	*Service
	rdb  redis.UniversalClient
	box  *outbox.Box
	from storetest.Process
}

// shops and users of the tests write the count into the database, as the real ones do:
// what a transaction that failed has added is gone.
type shopsRoom struct{ *town }

func (r shopsRoom) AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.JobRef, error) {
	for id, n := range sold {
		if err := tx.Shop.UpdateOneID(id).AddSold(n).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, r.failure()
}

func (w *town) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failSold
}

func (shopsRoom) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

type usersRoom struct{ *town }

func (usersRoom) AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error) {
	for id, n := range points {
		if err := tx.User.UpdateOneID(id).AddPoints(n).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (usersRoom) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

// ledger has balances as rows, without entries.
type ledger struct{}

func (ledger) Pay(ctx context.Context, tx *ent.Tx, userID, _ int64, amount int) (bool, error) {
	n, err := tx.Balance.Update().Where(balance.ID(userID), balance.AmountGTE(int64(amount))).AddAmount(-int64(amount)).Save(ctx)
	return n == 1, err
}

func (ledger) Refund(ctx context.Context, tx *ent.Tx, userID, paymentID int64) error {
	p, err := tx.Payment.Get(ctx, paymentID)
	if err != nil {
		return err
	}
	return tx.Balance.UpdateOneID(userID).AddAmount(int64(p.Amount)).Exec(ctx)
}

// fund gives Ann a balance.
func (p process) fund(t *testing.T, amount int64) {
	t.Helper()
	p.db.Balance.Create().SetID(ann).SetAmount(amount).ExecX(t.Context())
}

func (p process) balance(t *testing.T) int64 {
	t.Helper()
	return p.db.Balance.GetX(t.Context(), ann).Amount
}

// process starts a process of the town.
func (w *town) process(t *testing.T, change ...func(*Config)) process {
	t.Helper()
	from := storetest.Open(t, w.on)
	nodes := []redis.UniversalClient{from.Redis}
	if len(w.nodes) > 0 {
		nodes = nil
	}
	for i, url := range w.nodes {
		node, err := redisdb.OpenRedis(redisdb.RedisConfig{URL: url, Role: fmt.Sprint("lock-", i)}, redisdb.NewRedisMetrics(prometheus.NewRegistry()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = node.Close() })
		nodes = append(nodes, node)
	}
	locks, err := lock.NewRedis(nodes, lock.Options{Prefix: storetest.Prefix, Log: from.Log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = locks.Close(ctx)
	})
	cfg := Config{
		Redis: from.Redis, Locks: locks, Registerer: from.Registry, Log: from.Log,
		Prefix: storetest.Prefix, Vouchers: w, Sales: w, Shops: shopsRoom{w}, Users: usersRoom{w}, Numbers: w,
		Ledger: ledger{}, StockKey: stockKey, Provider: w.provider, Notify: w.tell, Now: w.now,
	}
	for _, c := range change {
		c(&cfg)
	}
	box := from.NewOutbox(t)
	s := New(from.DB, from.Hub, box, cfg)
	return process{s, from.Redis, box, from}
}

// furnish stores the users, the shop and the sale.
func (p process) furnish(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for _, id := range []int64{ann, bob, cid, mia, zoe} {
		p.db.User.Create().SetID(id).SetNickname("somebody").SaveX(ctx)
	}
	kind := p.db.ShopType.Create().SetKey("bar").SetName("Bars").SetSort(1).SaveX(ctx)
	p.db.Shop.Create().SetID(shopID).SetTypeID(kind.ID).SetName("Noodles").SetOwnerID(mia).SetLat(1).SetLng(1).SetGeo(1).SetSearch("").SaveX(ctx)
	p.db.Voucher.Create().SetID(flash).SetShopID(shopID).SetKind("FLASH").SetTitle("Flash").SetPayValue(1000).SetFaceValue(2000).SetOnePerUser(true).SaveX(ctx)
	p.db.FlashSale.Create().SetID(flash).SetVoucherID(flash).SetStock(0).SetInitialStock(1000).SetBeginsAt(0).SetEndsAt(1 << 50).SetPartition(3).SetBuckets(2).SaveX(ctx)
}

// stock is how many pieces of the flash voucher are left in the database.
func (p process) stock(t *testing.T) int {
	t.Helper()
	return p.db.FlashSale.Query().Where(entflash.ID(flash)).OnlyX(t.Context()).Stock
}

// plant stores an order of Ann in a status, as the verbs leave it.
func (p process) plant(t *testing.T, w *town, status Status, change ...func(*ent.OrderCreate)) *Order {
	t.Helper()
	ctx, now := t.Context(), w.now().UnixMilli()
	id := w.number(3)
	c := p.db.Order.Create().SetID(id).SetUserID(ann).SetVoucherID(flash).SetShopID(shopID).SetStatus(entorder.Status(status)).
		SetOnePerUser(false).SetFlash(true).SetPayValue(1000).SetCreatedAt(now).SetPayBefore(now + (15 * time.Minute).Milliseconds())
	for _, f := range change {
		f(c)
	}
	row := c.SaveX(ctx)
	if slices.Contains([]Status{Paid, Used, Refunding, Refunded}, status) {
		state := map[Status]string{Paid: "CONFIRMED", Used: "CONFIRMED", Refunding: "REFUNDING", Refunded: "REFUNDED"}[status]
		p.db.Payment.Create().SetOrderID(id).SetAttempt(1).SetMethod("ALIPAY").SetAmount(row.PayValue).
			SetState(payment.State(state)).SetCreatedAt(now).SetUpdatedAt(now).SaveX(ctx)
	}
	return fromRow(row)
}

// codes are the codes of a refusal, or the error itself.
func codes(err error) string {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	if !ok && err != nil {
		return err.Error()
	}
	var list []string
	for _, r := range refused {
		list = append(list, string(r.Code))
	}
	return strings.Join(list, " ")
}

// waits is how many jobs of the outbox wait for somebody.
func (p process) waits(t *testing.T) int64 {
	t.Helper()
	return storetest.Waiting(t, p.box)
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, cond)
}

// scanAll is the text of all columns of all rows.
func scanAll(t *testing.T, rows *stdsql.Rows) string {
	t.Helper()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for rows.Next() {
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(any)
		}
		if err := rows.Scan(values...); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			fmt.Fprintf(&b, "%s ", *v.(*any))
		}
		b.WriteByte('\n')
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// stockKey is the name by which these tests watch a sale.
func stockKey(voucher int64) string { return "stock:" + decimal(voucher) }
