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
	redisdb.SilenceRedisLog() // one line per refused connection
	os.Exit(m.Run())
}

// Users of the tests, and their shop.
const (
	ann, bob, cid = int64(11), int64(12), int64(13)
	mia, zoe      = int64(21), int64(22) // merchants: owner of the shop, owner of none
	shopID        = int64(7)

	anyTimes, oncePerUser, offSale, flash, past = int64(101), int64(102), int64(103), int64(104), int64(105) // vouchers
)

// A fixture is the state that the processes of a test share, except the stores: fakes of other
// services, a clock and a provider.
type fixture struct {
	on       storetest.Stores
	clock    atomic.Int64 // offset of the clock in milliseconds
	nodes    []string     // lock nodes; empty: the Redis of the process
	provider *Fake
	numbers  atomic.Int64

	mu       sync.Mutex
	vouchers map[int64]*Voucher
	entries  map[int64]*Order // queued
	answers  []sale.Response  // next answers of the sale
	requests []sale.Request
	failSold error
	returned []sale.Reservation
	hints    []string
}

func newFixture(on storetest.Stores) *fixture {
	t := &fixture{
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

func (w *fixture) now() time.Time {
	return time.Now().Add(time.Duration(w.clock.Load()) * time.Millisecond)
}
func (w *fixture) advance(d time.Duration)    { w.clock.Add(d.Milliseconds()) }
func (w *fixture) number(partition int) int64 { return w.numbers.Add(1)<<6 | int64(partition) }

func (w *fixture) Next(_ context.Context, partition int) (int64, error) {
	return w.number(partition), nil
}

func (w *fixture) VoucherByID(_ context.Context, id int64) (*Voucher, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if v := w.vouchers[id]; v != nil {
		return v, nil
	}
	return nil, apierror.ErrNotFound
}

func (w *fixture) Order(_ context.Context, t sale.Request) (sale.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests = append(w.requests, t)
	if len(w.answers) == 0 {
		return sale.Response{}, errors.New("no answer of the sale is planned")
	}
	a := w.answers[0]
	w.answers = w.answers[1:]
	return a, nil
}

func (w *fixture) Entries(_ context.Context, numbers []int64) (map[int64]*Order, error) {
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

// Release does the database part of the flash sales.
func (w *fixture) Release(ctx context.Context, tx outbox.Execer, reservations []sale.Reservation) ([]outbox.JobRef, error) {
	for _, h := range reservations {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE flash_sales SET stock = stock + 1 WHERE id = %d", h.Voucher)); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (w *fixture) AfterRelease(_ context.Context, reservations []sale.Reservation, _ []outbox.JobRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned = append(w.returned, reservations...)
}

func (w *fixture) OwnerOf(_ context.Context, id int64) (*int64, bool, error) {
	owner := mia
	return &owner, id == shopID, nil
}

func (w *fixture) notify(keys ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hints = append(w.hints, keys...)
}

func (w *fixture) notified(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.hints, key)
}

func (w *fixture) answer(a ...sale.Response) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = a
}

// A process is a Service in one of several processes.
type process struct {
	*Service
	rdb  redis.UniversalClient
	box  *outbox.Box
	from storetest.Process
}

// fakeShops and fakeUsers write the counters to the database, like the real ones: a failed
// transaction adds nothing.
type fakeShops struct{ *fixture }

func (r fakeShops) AddSold(ctx context.Context, tx *ent.Tx, sold map[int64]int) ([]outbox.JobRef, error) {
	for id, n := range sold {
		if err := tx.Shop.UpdateOneID(id).AddSold(n).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, r.failure()
}

func (w *fixture) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failSold
}

func (fakeShops) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

type fakeUsers struct{ *fixture }

func (fakeUsers) AddPoints(ctx context.Context, tx *ent.Tx, points map[int64]int) ([]outbox.JobRef, error) {
	for id, n := range points {
		if err := tx.User.UpdateOneID(id).AddPoints(n).Exec(ctx); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (fakeUsers) AfterCommit(context.Context, []int64, []outbox.JobRef) {}

// ledger stores balances as rows, without entries.
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

// fund sets Ann's balance.
func (p process) fund(t *testing.T, amount int64) {
	t.Helper()
	p.db.Balance.Create().SetID(ann).SetAmount(amount).ExecX(t.Context())
}

func (p process) balance(t *testing.T) int64 {
	t.Helper()
	return p.db.Balance.GetX(t.Context(), ann).Amount
}

// process starts a process of the fixture.
func (w *fixture) process(t *testing.T, change ...func(*Config)) process {
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
		Prefix: storetest.Prefix, Vouchers: w, Sales: w, Shops: fakeShops{w}, Users: fakeUsers{w}, Numbers: w,
		Ledger: ledger{}, StockKey: stockKey, Provider: w.provider, OnChange: w.notify, Now: w.now,
	}
	for _, c := range change {
		c(&cfg)
	}
	box := from.NewOutbox(t)
	s := New(from.DB, from.Hub, box, cfg)
	return process{s, from.Redis, box, from}
}

// seed stores the users, the shop and the sale.
func (p process) seed(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for _, id := range []int64{ann, bob, cid, mia, zoe} {
		p.db.User.Create().SetID(id).SetNickname("user").SaveX(ctx)
	}
	kind := p.db.ShopType.Create().SetKey("bar").SetName("Bars").SetSort(1).SaveX(ctx)
	p.db.Shop.Create().SetID(shopID).SetTypeID(kind.ID).SetName("Noodles").SetOwnerID(mia).SetLat(1).SetLng(1).SetGeo(1).SetSearch("").SaveX(ctx)
	p.db.Voucher.Create().SetID(flash).SetShopID(shopID).SetKind("FLASH").SetTitle("Flash").SetPayValue(1000).SetFaceValue(2000).SetOnePerUser(true).SaveX(ctx)
	p.db.FlashSale.Create().SetID(flash).SetVoucherID(flash).SetStock(0).SetInitialStock(1000).SetBeginsAt(0).SetEndsAt(1 << 50).SetPartition(3).SetBuckets(2).SaveX(ctx)
}

// stock returns the stock of the flash voucher in the database.
func (p process) stock(t *testing.T) int {
	t.Helper()
	return p.db.FlashSale.Query().Where(entflash.ID(flash)).OnlyX(t.Context()).Stock
}

// insertOrder stores an order of Ann in a status, as the transitions leave it.
func (p process) insertOrder(t *testing.T, w *fixture, status Status, change ...func(*ent.OrderCreate)) *Order {
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

// codes returns the codes of a refusal, or the error text.
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

// pendingJobs returns the number of unfinished outbox jobs.
func (p process) pendingJobs(t *testing.T) int64 {
	t.Helper()
	return storetest.CountWaiting(t, p.box)
}

func waitFor(t *testing.T, cond func() bool) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, cond)
}

// scanAll returns the text of all columns of all rows.
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

// stockKey returns the notification key of a sale in these tests.
func stockKey(voucher int64) string { return "stock:" + decimal(voucher) }
