package flashsale

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestAdmitReturnsTheSaleState(t *testing.T) {
	storetest.Each(t, testAdmitReturnsTheSaleState)
}

func testAdmitReturnsTheSaleState(t *testing.T, on storetest.Stores) {
	const mine, other = 100, 200
	tests := []struct {
		name  string
		sale  stagedSale
		key   string
		spoil func(g *stage, at location, number int64)
		want  code
		order int64 // in the reply; 0: the caller's own if admitted
	}{
		{name: "in stock", want: admitted},
		{name: "with a key", key: "wanted", want: admitted},
		{name: "repeated call", key: "wanted", want: admitted, spoil: func(g *stage, at location, n int64) {
			again := g.try(at, mine, n)
			again.Key = "wanted"
			if _, err := g.admitter.admit(g.t.Context(), again); err != nil {
				g.t.Fatal(err)
			}
		}},
		{name: "user has an order", want: held, order: 5 << partitionBits, spoil: func(g *stage, at location, _ int64) {
			g.reserves(at, sale.Reservation{Order: 5 << partitionBits, User: mine})
		}},
		{name: "another user of the bucket has an order", want: admitted, spoil: func(g *stage, at location, _ int64) {
			g.reserves(at, sale.Reservation{Order: 5 << partitionBits, User: other})
		}},
		{name: "key has an order", key: "wanted", want: repeated, order: 6 << partitionBits, spoil: func(g *stage, at location, _ int64) {
			g.set(g.admitter.keys.idem(at.partition, "wanted"), 6<<partitionBits)
		}},
		{name: "key has an order and the user another", key: "wanted", want: repeated, order: 6 << partitionBits, spoil: func(g *stage, at location, _ int64) {
			g.set(g.admitter.keys.idem(at.partition, "wanted"), 6<<partitionBits)
			g.reserves(at, sale.Reservation{Order: 5 << partitionBits, User: mine})
		}},
		{name: "sold out", want: outOfStock, spoil: func(g *stage, at location, _ int64) { g.set(g.admitter.keys.stock(at.partition, at.voucher), 0) }},
		{name: "negative stock", want: outOfStock, spoil: func(g *stage, at location, _ int64) { g.set(g.admitter.keys.stock(at.partition, at.voucher), -3) }},
		{name: "sold out and the user has an order", want: held, order: 5 << partitionBits, spoil: func(g *stage, at location, _ int64) {
			g.reserves(at, sale.Reservation{Order: 5 << partitionBits, User: mine})
			g.set(g.admitter.keys.stock(at.partition, at.voucher), 0)
		}},
		{name: "early", sale: stagedSale{begin: time.Minute}, want: notStarted},
		{name: "late", sale: stagedSale{begin: -time.Hour, end: -time.Minute}, want: ended},
		{name: "late and the user has an order", sale: stagedSale{begin: -time.Hour, end: -time.Minute}, want: held, order: 5 << partitionBits, spoil: func(g *stage, at location, _ int64) {
			g.reserves(at, sale.Reservation{Order: 5 << partitionBits, User: mine})
		}},
		{name: "off sale", sale: stagedSale{off: true}, want: offSale},
		{name: "full stream", want: busy, spoil: func(g *stage, at location, _ int64) {
			for range 3 {
				if err := g.Redis.XAdd(g.t.Context(), &redis.XAddArgs{Stream: g.admitter.keys.orders(at.partition), Values: []string{"o", "1"}}).Err(); err != nil {
					g.t.Fatal(err)
				}
			}
		}},
		{name: "no stock", want: noState, spoil: func(g *stage, at location, _ int64) { g.unlink(g.admitter.keys.stock(at.partition, at.voucher)) }},
		{name: "no meta", want: noState, spoil: func(g *stage, at location, _ int64) { g.unlink(g.admitter.keys.meta(at.partition, at.voucher)) }},
		{name: "no marker", want: noState, spoil: func(g *stage, at location, _ int64) { g.unlink(g.admitter.keys.open(at.partition)) }},
		{name: "marker of another incarnation", want: noState, spoil: func(g *stage, at location, _ int64) { g.set(g.admitter.keys.open(at.partition), "another one") }},
	}
	g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Backlog, c.Partitions = 3, 60 })
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g.t = t
			tt.sale.stock = 10
			at := g.open(tt.sale)
			g.unlink(g.admitter.keys.orders(at.partition)) // left by another test
			number := g.number(at)
			if tt.spoil != nil {
				tt.spoil(g, at, number)
			}
			before := g.stockCount(at)
			try := g.try(at, mine, number)
			try.Key = tt.key
			got, err := g.admitter.admit(t.Context(), try)
			if err != nil {
				t.Fatal(err)
			}
			if want := tt.order; want != 0 && got.order != want || got.code == admitted && got.order != number {
				t.Errorf("got order %d, want %d or the own order", got.order, want)
			}
			if got.code != tt.want {
				t.Errorf("got code %s, want %s", got.code, tt.want)
			}
			after, fresh := g.stockCount(at), tt.want == admitted && tt.name != "repeated call"
			if want := map[bool]int{true: 1}[fresh]; after.buyers-before.buyers != want || before.stock-after.stock != want {
				t.Errorf("got %+v after %+v, want %d units to move", before, after, want)
			}
			if tt.want == admitted && (got.at.Before(time.Now().Add(-time.Minute)) || got.backlog != 1) {
				t.Errorf("admitted at %v with backlog %d, want now and 1", got.at, got.backlog)
			}
			g.unlink(g.admitter.keys.orders(at.partition), g.admitter.keys.idem(at.partition, "wanted"))
		})
	}
}

func (g *stage) reserves(at location, holds ...sale.Reservation) {
	g.t.Helper()
	if _, err := g.admitter.reserve(g.t.Context(), at, holds); err != nil {
		g.t.Fatal(err)
	}
}

func (g *stage) set(key string, value any) {
	g.t.Helper()
	if err := g.Redis.Set(g.t.Context(), key, value, 0).Err(); err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = g.Redis.Expire(context.WithoutCancel(g.t.Context()), key, time.Hour).Err() })
}

func (g *stage) unlink(keys ...string) {
	g.t.Helper()
	for _, key := range keys {
		if err := g.Redis.Unlink(g.t.Context(), key).Err(); err != nil {
			g.t.Fatal(err)
		}
	}
}

func TestAdmittedOrderIsFoundByNumber(t *testing.T) {
	storetest.Each(t, testAdmittedOrderIsFoundByNumber)
}

func testAdmittedOrderIsFoundByNumber(t *testing.T, on storetest.Stores) {
	g := newStage(t, on)
	at := g.open(stagedSale{stock: 1})
	number := g.number(at)
	try := g.try(at, 42, number)
	try.Key = "digest"
	v, err := g.admitter.admit(t.Context(), try)
	if err != nil {
		t.Fatal(err)
	}
	got, err := g.entry(number)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(&Entry{Order: number, User: 42, Voucher: at.voucher, Shop: 7, Price: 1000, At: v.at}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	entries, err := g.admitter.queued(t.Context(), at.partition, "-")
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %d entries, %v, want one", len(entries), err)
	}
	want := map[string]any{
		"v": decimal(at.voucher), "u": "42", "o": decimal(number), "s": "7", "p": "1000", "t": decimal(v.at.UnixMilli()), "k": "digest",
	}
	if d := cmp.Diff(want, entries[0].Values); d != "" {
		t.Errorf("stream entry (-want +got)\n%s", d)
	}
	if n, err := g.Redis.ZScore(t.Context(), try.queued, decimal(number)).Result(); err != nil || n < 1e12 {
		t.Errorf("score in the user's queue: got %v, %v", n, err)
	}
	if err := g.Redis.XGroupCreate(t.Context(), g.admitter.keys.orders(at.partition), group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	if err := g.admitter.done(t.Context(), at.partition, []string{entries[0].ID}, []int64{number}); err != nil {
		t.Fatal(err)
	}
	if e, err := g.entry(number); e != nil || err != nil {
		t.Errorf("after the commit: got %v, %v", e, err)
	}
	if e, err := g.entry(OrdinaryPartition); e != nil || err != nil {
		t.Errorf("partition without sales: got %v, %v", e, err)
	}
}

func TestSoldOutRequestsAreNotQueued(t *testing.T) {
	storetest.Each(t, testSoldOutRequestsAreNotQueued)
}

func testSoldOutRequestsAreNotQueued(t *testing.T, on storetest.Stores) {
	g := newStage(t, on)
	at := g.open(stagedSale{stock: 1})
	g.admits(at, 1001, g.number(at))
	g.admits(at, 1002, g.number(at)) // from here on it is known
	if v := g.admits(at, 1003, g.number(at)); v.code != outOfStock {
		t.Fatalf("got code %s, want out_of_stock", v.code)
	}
	if n, err := g.Redis.Exists(t.Context(), g.cfg.Queued(1003)).Result(); n != 0 || err != nil {
		t.Errorf("refused user: got %d queues, %v", n, err)
	}
	g.set(g.admitter.keys.stock(at.partition, at.voucher), 1)
	g.admitter.markSoldOut(at.voucher) // as if the stock were still 0
	if v := g.admits(at, 1004, g.number(at)); v.code != admitted {
		t.Fatalf("released unit: got code %s", v.code)
	}
	if n, err := g.Redis.ZCard(t.Context(), g.cfg.Queued(1004)).Result(); n != 1 || err != nil {
		t.Errorf("admitted user: got %d queued orders, %v", n, err)
	}
}

func TestEditsMoveStockByTheirDifference(t *testing.T) {
	storetest.Each(t, testEditsMoveStockByTheirDifference)
}

func testEditsMoveStockByTheirDifference(t *testing.T, on storetest.Stores) {
	type state struct {
		Stock, Initial int
		Seq            int64
	}
	const by = 4
	steps := map[string]func(g *stage, at location) (any, error){
		"raise": func(g *stage, at location) (any, error) {
			left, err := g.admitter.edit(g.t.Context(), false, version{at, 15, 1, 2, true, 2})
			return len(left), err
		},
		"old edit": func(g *stage, at location) (any, error) {
			left, err := g.admitter.edit(g.t.Context(), false, version{at, 99, 1, 2, true, 0})
			return len(left), err
		},
		"forced": func(g *stage, at location) (any, error) {
			left, err := g.admitter.edit(g.t.Context(), true, version{at, 9, 1, 2, true, 0})
			return len(left), err
		},
		"lower":           func(g *stage, at location) (any, error) { return g.admitter.lower(g.t.Context(), at, by, 2) },
		"lower too much":  func(g *stage, at location) (any, error) { return g.admitter.lower(g.t.Context(), at, 8, 2) },
		"lower more":      func(g *stage, at location) (any, error) { return g.admitter.lower(g.t.Context(), at, by+2, 2) },
		"lower less":      func(g *stage, at location) (any, error) { return g.admitter.lower(g.t.Context(), at, by-2, 2) },
		"restore more":    func(g *stage, at location) (any, error) { return 0, g.admitter.restore(g.t.Context(), at, by+2, 2) },
		"lower for later": func(g *stage, at location) (any, error) { return g.admitter.lower(g.t.Context(), at, by, 3) },
		"edit on": func(g *stage, at location) (any, error) {
			left, err := g.admitter.edit(g.t.Context(), false, version{at, 12, 1, 2, true, 3})
			return len(left), err
		},
		"stored": func(g *stage, at location) (any, error) {
			left, err := g.admitter.edit(g.t.Context(), false, version{at, 6, 1, 2, true, 2})
			return len(left), err
		},
		"bypass": func(g *stage, at location) (any, error) {
			g.reserves(at, sale.Reservation{Order: 4, User: 4}, sale.Reservation{Order: 5, User: 5}, sale.Reservation{Order: 6, User: 6}, sale.Reservation{Order: 7, User: 7})
			return nil, nil
		},
		"restore": func(g *stage, at location) (any, error) { return 0, g.admitter.restore(g.t.Context(), at, by, 2) },
		"settle":  func(g *stage, at location) (any, error) { return g.admitter.settle(g.t.Context(), at) },
		"spoil": func(g *stage, at location) (any, error) {
			g.set(g.admitter.keys.stock(at.partition, at.voucher), 10)
			return nil, nil
		},
		"open": func(g *stage, at location) (any, error) {
			return g.admitter.open(g.t.Context(), version{at, 99, 1, 2, true, 9})
		},
		"lose the stock": func(g *stage, at location) (any, error) {
			g.unlink(g.admitter.keys.stock(at.partition, at.voucher))
			return nil, nil
		},
	}
	tests := []struct {
		name    string
		steps   []string
		replies []any
		want    state // of a sale of 10 with 3 buyers at edit 1
	}{
		{"raised", []string{"raise"}, []any{0}, state{12, 15, 2}},
		{"raised twice by one edit", []string{"raise", "raise"}, []any{0, 0}, state{12, 15, 2}},
		{"late older edit", []string{"raise", "old edit"}, []any{0, 0}, state{12, 15, 2}},
		{"forced to an older edit", []string{"raise", "forced"}, []any{0, 0}, state{6, 9, 0}},
		{"lowered", []string{"lower"}, []any{true}, state{3, 6, 2}},
		{"lowered twice", []string{"lower", "lower"}, []any{true, true}, state{3, 6, 2}},
		{"lowered below zero", []string{"lower too much"}, []any{false}, state{7, 10, 1}},
		{"lowered after a later edit", []string{"lower for later", "lower"}, []any{true, false}, state{3, 6, 3}},
		{"lowered and restored", []string{"lower", "restore"}, []any{true, 0}, state{7, 10, 1}},
		// The next edit reuses the number of a failed edit without restore.
		{"next edit lowers more", []string{"lower", "lower more", "lower more"}, []any{true, true, true}, state{1, 4, 2}},
		{"next edit lowers less", []string{"lower", "lower less", "lower less"}, []any{true, true, true}, state{5, 8, 2}},
		{"next edit lowers too much", []string{"lower", "lower too much"}, []any{true, false}, state{3, 6, 2}},
		{"next edit raises", []string{"lower", "raise", "lower more"}, []any{true, 0, true}, state{12, 15, 2}},
		{"late restore of the failed edit", []string{"lower", "lower more", "restore"}, []any{true, true, 0}, state{1, 4, 2}},
		{"next edit fails too", []string{"lower", "lower more", "restore more"}, []any{true, true, 0}, state{7, 10, 1}},
		{"late restore after the next edit is stored", []string{"lower", "stored", "restore"}, []any{true, 0, 0}, state{3, 6, 2}},
		{"lowered twice with bypassed orders", []string{"lower", "bypass", "lower"}, []any{true, nil, true}, state{-1, 6, 2}},
		{"restored twice", []string{"lower", "restore", "restore"}, []any{true, 0, 0}, state{7, 10, 1}},
		{"restored after another edit", []string{"lower", "edit on", "restore"}, []any{true, 0, 0}, state{9, 12, 3}},
		{"settled without drift", []string{"settle"}, []any{0}, state{7, 10, 1}},
		{"settled", []string{"spoil", "settle", "settle"}, []any{nil, 3, 0}, state{7, 10, 1}},
		{"opened while complete", []string{"open"}, []any{false}, state{7, 10, 1}},
		{"opened again", []string{"lose the stock", "open"}, []any{nil, true}, state{96, 99, 9}},
		{"edited without a stock", []string{"lose the stock", "raise", "open"}, []any{nil, 1, true}, state{96, 99, 9}},
	}
	g := newStage(t, on)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g.t = t
			at := g.open(stagedSale{stock: 10, buckets: 2})
			g.reserves(at, sale.Reservation{Order: 1, User: 1}, sale.Reservation{Order: 2, User: 2}, sale.Reservation{Order: 3, User: 3})
			for i, step := range tt.steps {
				reply, err := steps[step](g, at)
				if err != nil {
					t.Fatalf("%s: %v", step, err)
				}
				if reply != tt.replies[i] {
					t.Errorf("%s: got %v, want %v", step, reply, tt.replies[i])
				}
			}
			got := g.stockCount(at)
			if d := cmp.Diff(tt.want, state{got.stock, got.initial, got.seq}); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}

func TestEditsOfAnIncompleteSaleFail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		at := g.put(stagedSale{stock: 10})
		for name, do := range map[string]func() error{
			"lower":   func() error { _, err := g.DecreaseStock(t.Context(), at.voucher, 1, 2); return err },
			"restore": func() error { return g.UndoDecrease(t.Context(), at.voucher, 1, 2) },
			"settle":  func() error { _, err := g.admitter.settle(t.Context(), at); return err },
		} {
			if err := do(); !errors.Is(err, errNoState) {
				t.Errorf("%s: got %v, want %v", name, err, errNoState)
			}
		}
	})
}

// In any order of moves and repetitions, stock and buyers add up to the initial stock, and a
// user has at most one order.
func TestStockMovesOnlyWithItsBuyer(t *testing.T) { storetest.Each(t, testStockMovesOnlyWithItsBuyer) }

func testStockMovesOnlyWithItsBuyer(t *testing.T, on storetest.Stores) {
	g := newStage(t, on)
	random := rand.New(rand.NewPCG(testkit.Seed(t), 0))
	at := g.open(stagedSale{stock: 20, buckets: 3})
	has := map[int64]int64{}
	for step := range 600 {
		user, number := random.Int64N(30)+1, random.Int64N(3)<<partitionBits|int64(at.partition)
		number += user << 20
		switch random.IntN(4) {
		case 0, 1:
			v := g.admits(at, user, number)
			switch prev := has[user]; {
			case prev == number:
				assert(t, step, v.code == admitted && v.order == prev, "its own order again", v)
			case prev != 0:
				assert(t, step, v.code == held && v.order == prev, "the held order", v)
			case len(has) >= 20:
				assert(t, step, v.code == outOfStock, "sold out", v)
			default:
				assert(t, step, v.code == admitted, "a unit in stock", v)
				has[user] = number
			}
		case 2:
			moved, err := g.admitter.release(t.Context(), at, []sale.Reservation{{Order: number, User: user}})
			assert(t, step, err == nil && (moved == 1) == (has[user] == number), "released if it is that order", moved, err)
			if moved == 1 {
				delete(has, user)
			}
		case 3:
			moved, err := g.admitter.reserve(t.Context(), at, []sale.Reservation{{Order: number, User: user}})
			assert(t, step, err == nil && (moved == 1) == (has[user] == 0), "reserved if there was none", moved, err)
			if moved == 1 {
				has[user] = number
			}
		}
		if got := g.stockCount(at); got.stock+got.buyers != 20 || got.buyers != len(has) {
			t.Fatalf("step %d: %+v, want %d buyers of 20", step, got, len(has))
		}
	}
	for user, number := range has {
		if got := g.holder(at, user); got != strconv.FormatInt(number, 10) {
			t.Errorf("user %d: got order %s, want %d", user, got, number)
		}
	}
}

func assert(t *testing.T, step int, holds bool, what string, got ...any) {
	t.Helper()
	if !holds {
		t.Fatalf("step %d: want %s, got %v", step, what, got)
	}
}

func TestManyHoldsMoveInBatches(t *testing.T) { storetest.Each(t, testManyHoldsMoveInBatches) }

func testManyHoldsMoveInBatches(t *testing.T, on storetest.Stores) {
	g := newStage(t, on)
	at := g.open(stagedSale{stock: 3000, buckets: 2})
	holds := make([]sale.Reservation, 1201)
	for i := range holds {
		holds[i] = sale.Reservation{Order: int64(i) + 1, User: int64(i) + 1}
	}
	for _, want := range []int{1201, 0} {
		if moved, err := g.admitter.reserve(t.Context(), at, holds); err != nil || moved != want {
			t.Errorf("reserved %d, %v, want %d", moved, err, want)
		}
	}
	if moved, err := g.admitter.release(t.Context(), at, holds); err != nil || moved != 1201 {
		t.Errorf("released %d, %v, want 1201", moved, err)
	}
	if got := g.stockCount(at); got.stock != 3000 || got.buyers != 0 {
		t.Errorf("got %+v", got)
	}
}

// The reply is lost: the client repeats the call, which finds its own order.
func TestWindow18LostReplyLosesNoOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var lose atomic.Int32
		g := newStage(t, on, func(_ *Config, sale *redisdb.RedisConfig) { sale.Dial = losing(sale.Dial, &lose) })
		at := g.open(stagedSale{stock: 1})
		g.admits(at, 9, g.number(at)) // opens the connection, loads the script
		for i := range 5 {
			at := g.open(stagedSale{stock: 1})
			number := g.number(at)
			lose.Store(1)
			v := g.admits(at, 1, number)
			if lose.Load() > 0 {
				t.Fatal("no reply was lost")
			}
			if v.code != admitted || v.order != number || v.at.IsZero() {
				t.Errorf("try %d: got %+v, want its own order, admitted", i, v)
			}
			if got := g.stockCount(at); got.stock != 0 || got.buyers != 1 {
				t.Errorf("try %d: %+v", i, got)
			}
			if n, err := g.Redis.XLen(t.Context(), g.admitter.keys.orders(at.partition)).Result(); err != nil || n == 0 {
				t.Errorf("got %d entries, %v, want some", n, err)
			}
		}
	})
}

// No reply arrives: the number, issued before, finds the order.
func TestWindow01OrderWithoutReplyIsFoundByNumber(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		var lose atomic.Int32
		g := newStage(t, on, func(_ *Config, sale *redisdb.RedisConfig) { sale.Dial = losing(sale.Dial, &lose) })
		first := g.open(stagedSale{stock: 1})
		g.admits(first, 9, g.number(first))
		at := g.open(stagedSale{stock: 1})
		number := g.number(at)
		lose.Store(1 << 20)
		_, err := g.admitter.admit(t.Context(), g.try(at, 1, number))
		lose.Store(0)
		if err == nil || redisdb.NotSent(err) {
			t.Fatalf("got %v, want an error of a request that may have been sent", err)
		}
		e, err := g.entry(number)
		if err != nil || e == nil || e.User != 1 {
			t.Errorf("by number: got %+v, %v", e, err)
		}
		if v := g.admits(at, 1, g.number(at)); v.code != held || v.order != number {
			t.Errorf("repeated request: got %+v, want held order %d", v, number)
		}
	})
}

// Redis decides the window by its clock; no process clock counts.
func TestWindow14SaleUsesTheRedisClock(t *testing.T) {
	for _, offset := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		storetest.Each(t, func(t *testing.T, on storetest.Stores) {
			g := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) {
				c.Now = func() time.Time { return time.Now().Add(offset) }
			})
			for want, window := range map[code]stagedSale{
				notStarted: {stock: 1, begin: time.Minute},
				admitted:   {stock: 1, begin: -time.Minute},
				ended:      {stock: 1, begin: -time.Hour, end: -time.Minute},
			} {
				at := g.put(window)
				row := g.DB.FlashSale.Query().Where(flashsale.ID(at.voucher)).WithVoucher().OnlyX(t.Context())
				if _, err := g.admitter.open(t.Context(), versionOf(row)); err != nil {
					t.Fatal(err)
				}
				g.certified()
				if v := g.admits(at, 1, g.number(at)); v.code != want {
					t.Errorf("clock offset %v: got code %s, want %s", offset, v.code, want)
				}
			}
		})
	}
}

func TestASaleBeginsAndEndsByTheMillisecond(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		seen := map[code]bool{}
		user := int64(0)
		// On a busy machine a sale may start or end before the first request: try longer ones.
		for lead := 300 * time.Millisecond; !seen[notStarted] || !seen[admitted]; lead *= 3 {
			if lead > time.Minute {
				t.Fatalf("got codes %v", seen)
			}
			at := g.open(stagedSale{stock: 1000, begin: lead, end: 2 * lead})
			row := g.DB.FlashSale.Query().Where(flashsale.ID(at.voucher)).OnlyX(t.Context())
			for done := false; !done; {
				user++
				v := g.admits(at, user, g.number(at))
				seen[v.code], done = true, v.code == ended
				if ms := v.at.UnixMilli(); v.code == admitted && (ms < row.BeginsAt || ms >= row.EndsAt) {
					t.Fatalf("admitted at %d, want %d to %d", ms, row.BeginsAt, row.EndsAt)
				}
			}
		}
	})
}

func TestVoucherLocationNeverChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		g := newStage(t, on)
		later := newStage(t, on, func(c *Config, _ *redisdb.RedisConfig) { c.Partitions = 16 })
		for _, tt := range []struct{ voucher, stock, partition, buckets int }{
			{1, 1, 1, 1}, {4, 3000, 0, 1}, {5, 3001, 1, 2}, {6, 1_000_000, 2, 334},
		} {
			for _, s := range []*stage{g, later} { // started with another setting
				p, buckets := s.PartitionFor(int64(tt.voucher), tt.stock)
				if p != tt.partition || buckets != tt.buckets {
					t.Errorf("%+v: got partition %d, %d buckets", tt, p, buckets)
				}
			}
		}
	})
}

// One cluster serves all of these tests, because it starts slowly.
func TestOnACluster(t *testing.T) {
	on := storetest.Cluster(t)
	for name, test := range map[string]func(*testing.T, storetest.Stores){
		"AdmitReturnsTheSaleState":        testAdmitReturnsTheSaleState,
		"AdmittedOrderIsFoundByNumber":    testAdmittedOrderIsFoundByNumber,
		"SoldOutRequestsAreNotQueued":     testSoldOutRequestsAreNotQueued,
		"EditsMoveStockByTheirDifference": testEditsMoveStockByTheirDifference,
		"StockMovesOnlyWithItsBuyer":      testStockMovesOnlyWithItsBuyer,
		"ManyHoldsMoveInBatches":          testManyHoldsMoveInBatches,
		"PartitionReadersAreIndependent":  testPartitionReadersAreIndependent,
	} {
		t.Run(name, func(t *testing.T) { test(t, on.Emptied(t)) })
	}
}
