package flashsale

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// outcomeView is the compared part of an outcome.
type outcomeView struct {
	Result    sale.Result
	Failure   string
	Row       bool
	Fresh     bool
	Other     bool // is the first order of the batch
	Duplicate bool
}

func viewOf(o outcome, first int64) outcomeView {
	return outcomeView{o.result, o.Failure, o.row, o.fresh, o.other != 0 && o.other == first, o.duplicate}
}

func TestCommitReturnsAnOutcomePerOrder(t *testing.T) {
	const ann, bob, cid = 1, 2, 3
	queued := func(a attempt) attempt { return a }
	direct := func(a attempt) attempt { a.direct, a.final = true, false; return a }
	arrived := func(a attempt) attempt { a.direct, a.final = true, true; return a }
	keyed := func(key string) func(attempt) attempt {
		return func(a attempt) attempt { a.key = key; return a }
	}
	stored := outcomeView{Result: sale.Stored, Row: true, Fresh: true}
	tests := []struct {
		name   string
		stock  int
		begins time.Duration
		ends   time.Duration
		off    bool
		before []int64 // users with orders committed before
		cancel bool    // cancels the first of them
		users  []int64
		as     []func(attempt) attempt
		want   []outcomeView
		left   int
	}{
		{name: "takes a unit for each", stock: 3, users: []int64{ann, bob}, want: []outcomeView{stored, stored}, left: 1},
		{
			name: "sold out within the batch", stock: 1, users: []int64{bob, ann},
			want: []outcomeView{stored, {Result: sale.Failed, Failure: codeOutOfStock, Row: true, Fresh: true}},
		},
		{
			name: "same user twice leaves a unit for the next", stock: 2, users: []int64{ann, ann, bob},
			want: []outcomeView{stored, {Result: sale.Failed, Failure: codeAlreadyOrdered, Row: true, Fresh: true, Other: true}, stored},
		},
		{
			name: "user has an order", stock: 5, before: []int64{ann}, users: []int64{ann},
			want: []outcomeView{{Result: sale.Failed, Failure: codeAlreadyOrdered, Row: true, Fresh: true, Other: true}}, left: 4,
		},
		{name: "user has a cancelled order", stock: 5, before: []int64{ann}, cancel: true, users: []int64{ann}, want: []outcomeView{stored}, left: 3},
		{
			name: "queued orders ignore the window", stock: 1, begins: time.Hour, ends: 2 * time.Hour,
			users: []int64{ann}, want: []outcomeView{stored},
		},
		{
			name: "key has a dead order", stock: 5, before: []int64{ann}, cancel: true, users: []int64{ann},
			as:   []func(attempt) attempt{keyed("word")},
			want: []outcomeView{{Result: sale.Failed, Failure: codeNotCompleted, Row: true, Fresh: true, Other: true}}, left: 4,
		},
		{name: "direct", stock: 1, users: []int64{ann}, as: []func(attempt) attempt{direct}, want: []outcomeView{stored}},
		{
			name: "direct, too early", stock: 1, begins: time.Hour, ends: 2 * time.Hour, users: []int64{ann},
			as: []func(attempt) attempt{direct}, want: []outcomeView{{Result: sale.NotStarted}}, left: 1,
		},
		{
			name: "direct, too late", stock: 1, begins: -2 * time.Hour, ends: -time.Hour, users: []int64{ann},
			as: []func(attempt) attempt{direct}, want: []outcomeView{{Result: sale.Ended}}, left: 1,
		},
		{
			name: "direct, off sale", stock: 1, off: true, users: []int64{ann},
			as: []func(attempt) attempt{direct}, want: []outcomeView{{Result: sale.OffSale}}, left: 1,
		},
		{
			name: "direct, sold out", stock: 0, users: []int64{ann},
			as: []func(attempt) attempt{direct}, want: []outcomeView{{Result: sale.OutOfStock}},
		},
		{
			name: "direct, held although sold out", stock: 1, before: []int64{ann}, users: []int64{ann, bob},
			as: []func(attempt) attempt{direct, direct}, want: []outcomeView{{Result: sale.Held, Other: true}, {Result: sale.OutOfStock}},
		},
		{
			name: "direct, repeated key", stock: 5, before: []int64{ann}, users: []int64{ann},
			as:   []func(attempt) attempt{func(a attempt) attempt { return direct(keyed("word")(a)) }},
			want: []outcomeView{{Result: sale.Repeated, Other: true}}, left: 4,
		},
		{
			name: "direct and final, refused with a row", stock: 0, users: []int64{ann},
			as: []func(attempt) attempt{arrived}, want: []outcomeView{{Result: sale.OutOfStock, Failure: codeOutOfStock, Row: true, Fresh: true}},
		},
		{
			name: "direct and queued in one batch", stock: 3, users: []int64{ann, bob, cid},
			as: []func(attempt) attempt{direct, queued, direct}, want: []outcomeView{stored, stored, stored},
		},
	}
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				if tt.ends == 0 {
					tt.begins, tt.ends = -time.Hour, time.Hour
				}
				v := r.sale(t, tt.stock, tt.begins, tt.ends)
				if tt.off {
					r.DB.Voucher.UpdateOneID(v.VoucherID).SetStatus("OFF_SALE").ExecX(t.Context())
				}
				var first int64
				unique := func(a attempt) attempt { // keys of one sale
					if a.key != "" {
						a.key += fmt.Sprint(v.VoucherID)
					}
					return a
				}
				for _, user := range tt.before {
					a := unique(keyed("word")(r.attemptOf(t, by(v, user))))
					commitAll(t, r, a)
					if first == 0 {
						first = a.Order
					}
				}
				if tt.cancel {
					r.DB.Order.UpdateOneID(first).SetStatus(entorder.StatusCANCELLED).ExecX(t.Context())
				}
				var batch []attempt
				for i, user := range tt.users {
					a := r.attemptOf(t, by(v, user))
					if i < len(tt.as) {
						a = unique(tt.as[i](a))
					}
					batch = append(batch, a)
				}
				if first == 0 {
					first = batch[0].Order
				}
				done := commitAll(t, r, batch...)
				got := make([]outcomeView, len(done.outcomes))
				for i, o := range done.outcomes {
					got[i] = viewOf(o, first)
				}
				if d := cmp.Diff(tt.want, got); d != "" {
					t.Errorf("(-want +got)\n%s", d)
				}
				if left := r.stock(t, v); left != tt.left {
					t.Errorf("got %d left, want %d", left, tt.left)
				}
				// A second delivery returns the result of the first.
				again := commitAll(t, r, batch...)
				for i, o := range again.outcomes {
					if tt.want[i].Row && (!o.row || o.fresh || o.Failure != tt.want[i].Failure) {
						t.Errorf("second delivery of order %d: got %+v", i, o)
					}
				}
				if left := r.stock(t, v); left != tt.left {
					t.Errorf("got %d left after a second delivery, want %d", left, tt.left)
				}
			})
		}
	})
}

func commitAll(t *testing.T, r *rig, batch ...attempt) committed {
	t.Helper()
	done, err := r.writer.commit(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func TestAnOrderIsStoredAsItWasAdmitted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.PayWithin = 10 * time.Minute }})
		v := r.sale(t, 5, -time.Hour, time.Hour)
		v.Key = "word"
		a, b := r.attemptOf(t, by(v, 1)), r.attemptOf(t, by(v, 2))
		b.key, b.direct, b.At = "", true, time.Time{}
		from := time.Now().Add(-time.Minute)
		done := commitAll(t, r, a, b)
		one, two := r.DB.Order.GetX(t.Context(), a.Order), r.DB.Order.GetX(t.Context(), b.Order)
		if one.CreatedAt != 1_790_000_000_000 || one.UserID != 1 || one.VoucherID != v.VoucherID || one.ShopID != v.ShopID || one.PayValue != 500 ||
			one.Status != entorder.StatusUNPAID || !one.OnePerUser || !one.Flash || one.Idempotency == nil || *one.Idempotency != "word" || one.Version != 1 {
			t.Errorf("got %v", one)
		}
		if two.CreatedAt < from.UnixMilli() || two.CreatedAt > time.Now().Add(time.Minute).UnixMilli() || two.Idempotency != nil {
			t.Errorf("direct order without the time of the database: got %v", two)
		}
		if !done.outcomes[1].At.Equal(time.UnixMilli(two.CreatedAt)) {
			t.Errorf("got time %v, want that of the row %v", done.outcomes[1].At, time.UnixMilli(two.CreatedAt))
		}
		for _, o := range []int64{one.PayBefore, two.PayBefore} {
			if left := time.Until(time.UnixMilli(o)); left < 9*time.Minute || left > 11*time.Minute {
				t.Errorf("got %v to pay, want ten minutes", left)
			}
		}
	})
}

// Four workers commit batches of several sales in parallel. Each sale sells its stock, and no
// user gets two orders.
func TestSalesSellOutExactlyUnderFourWorkers(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		random := rand.New(rand.NewPCG(testkit.Seed(t), 9)) //nolint:gosec // a test
		const users = 400
		stocks := []int{50, 120, 400}
		var sales []sale.Request
		var all []attempt
		for _, stock := range stocks {
			v := r.sale(t, stock, -time.Hour, time.Hour)
			sales = append(sales, v)
			for user := range int64(users) {
				for range 2 { // each user twice
					a := r.attemptOf(t, by(v, user+1))
					a.direct, a.final = random.IntN(2) == 0, random.IntN(2) == 0
					a.final = a.final || !a.direct
					all = append(all, a)
				}
			}
		}
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var workers sync.WaitGroup
		work := make(chan []attempt)
		for range 4 {
			workers.Go(func() {
				for batch := range work {
					_, err := r.writer.commit(t.Context(), batch)
					for errors.Is(err, context.DeadlineExceeded) && t.Context().Err() == nil { // as a consumer does
						_, err = r.writer.commit(t.Context(), batch)
					}
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		for len(all) > 0 {
			n := min(len(all), 1+random.IntN(100))
			work <- all[:n]
			all = all[n:]
		}
		close(work)
		workers.Wait()
		for i, v := range sales {
			if sold, left := r.counts(t, v)[entorder.StatusUNPAID], r.stock(t, v); sold != stocks[i] || left != 0 {
				t.Errorf("sale %d: got %d sold and %d left of %d", i, sold, left, stocks[i])
			}
		}
	})
}

// Window 3: the consumer died after its commit, before it acknowledged.
func TestWindow03RedeliveredOrderIsStoredOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.sale(t, 2, -time.Hour, time.Hour)
		a := r.attemptOf(t, by(v, 1))
		for i := range 3 {
			o := commitAll(t, r, a, a).outcomes
			for j := range o {
				if o[j].result != sale.Stored || o[j].Order != a.Order || o[j].fresh != (i == 0 && j == 0) {
					t.Errorf("delivery %d: got %+v", i, o[j])
				}
			}
		}
		if left := r.stock(t, v); left != 1 {
			t.Errorf("got %d left, want 1", left)
		}
	})
}

// Window 16: a number was issued twice.
func TestWindow16DuplicateNumberFails(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.sale(t, 5, -time.Hour, time.Hour)
		a := r.attemptOf(t, by(v, 1))
		commitAll(t, r, a)
		a.User = 2
		if got, want := viewOf(commitAll(t, r, a).outcomes[0], 0), (outcomeView{Result: sale.Failed, Row: true, Duplicate: true}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if n := counterOf(t, r, "tandian_sale_number_clashes_total"); n != 1 {
			t.Errorf("got %v clashes, want 1", n)
		}
		if row := r.DB.Order.GetX(t.Context(), a.Order); row.UserID != 1 {
			t.Errorf("got order of user %d, want user 1", row.UserID)
		}
		if left := r.stock(t, v); left != 4 {
			t.Errorf("got %d left, want 4", left)
		}
	})
}

// Window 17: an order arrives after its failure was reported.
func TestWindow17LateOrderStaysFailed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.sale(t, 5, -time.Hour, time.Hour)
		a := r.attemptOf(t, by(v, 1))
		bare := Entry{Order: a.Order, User: 1, Voucher: v.VoucherID} // the fields that the reconciler has
		for i, want := range []int{1, 0} {
			inserted, err := r.tombstone(t.Context(), []Entry{bare})
			if err != nil || len(inserted) != want {
				t.Errorf("tombstone %d: got %v, %v", i, inserted, err)
			}
		}
		if got, want := viewOf(commitAll(t, r, a).outcomes[0], 0), (outcomeView{Result: sale.Failed, Failure: codeNotCompleted, Row: true}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		row := r.DB.Order.GetX(t.Context(), a.Order)
		if row.Status != entorder.StatusFAILED || row.ShopID != v.ShopID || row.PayValue != 500 {
			t.Errorf("got %v", row)
		}
		if left := r.stock(t, v); left != 5 {
			t.Errorf("got %d left, want 5", left)
		}
		// an existing row prevents a tombstone
		b := r.attemptOf(t, by(v, 2))
		commitAll(t, r, b)
		if inserted, err := r.tombstone(t.Context(), []Entry{b.Entry}); err != nil || len(inserted) != 0 {
			t.Errorf("got tombstones %v, %v for a stored order", inserted, err)
		}
	})
}

func TestConcurrentTombstoneAndOrderLeaveOneRow(t *testing.T) {
	r := newRig(t, storetest.Real(t), rigOptions{})
	v := r.sale(t, 200, -time.Hour, time.Hour)
	var all []attempt
	var entries []Entry
	for user := range int64(200) {
		a := r.attemptOf(t, by(v, user+1))
		all, entries = append(all, a), append(entries, a.Entry)
	}
	var both sync.WaitGroup
	for i := 0; i < len(all); i += 10 {
		both.Go(func() {
			if _, err := r.writer.commit(context.WithoutCancel(t.Context()), all[i:i+10]); err != nil {
				t.Error(err)
			}
		})
		both.Go(func() {
			if _, err := r.writer.tombstone(context.WithoutCancel(t.Context()), entries[i:i+10]); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	counts := r.counts(t, v)
	if counts[entorder.StatusUNPAID]+counts[entorder.StatusFAILED] != 200 || r.stock(t, v) != 200-counts[entorder.StatusUNPAID] {
		t.Errorf("got %v with %d left", counts, r.stock(t, v))
	}
}

func TestIsDataDetectsRejectedData(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.sale(t, 5, -time.Hour, time.Hour)
		// A stock above the initial stock violates a CHECK.
		err := changeStock(t.Context(), r.DB, r.writer.sql.restock, map[int64]int{v.VoucherID: 1})
		if !isData(err) {
			t.Errorf("stock above the initial stock: got %v, want a data error", err)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = r.writer.commit(ended, []attempt{r.attemptOf(t, by(v, 1))})
		if err == nil || isData(err) {
			t.Errorf("ended context: got %v", err)
		}
		if isData(errors.New("EOF")) || isData(nil) {
			t.Error("other errors are data errors")
		}
		_, err = r.DB.ExecContext(t.Context(), "DELETE FROM nowhere")
		if err == nil || isData(err) {
			t.Errorf("missing table: got %v", err)
		}
	})
}

func TestPanicFailsOnlyItsOrder(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		v := r.sale(t, 5, -time.Hour, time.Hour)
		batch := make([]attempt, 4)
		for i := range batch {
			batch[i] = r.attemptOf(t, by(v, int64(i+1)))
		}
		r.orders.poison = batch[2].Order
		release, once := make(chan struct{}), sync.Once{}
		g := newGroupCommit(func(ctx context.Context, calls commitCalls) (func(), error) {
			once.Do(func() { <-release })
			return r.commitAll(ctx, calls)
		})
		outcomes, errs := make([]outcome, len(batch)), make([]error, len(batch))
		var all sync.WaitGroup
		for i, a := range batch {
			all.Go(func() { outcomes[i], errs[i] = g.Join(t.Context(), a) })
			testkit.Eventually(t, patience, func() bool { waiting, running := g.Waiting(); return running == 1 && waiting == i })
		}
		close(release) // the first one is alone, the others share a transaction
		all.Wait()
		for i := range batch {
			if poison := i == 2; (errs[i] != nil) != poison || (outcomes[i].result == sale.Stored) == poison {
				t.Errorf("order %d: got %v, %v", i, outcomes[i].result, errs[i])
			}
		}
		if inserted, err := r.tombstone(t.Context(), []Entry{batch[2].Entry}); err == nil {
			t.Errorf("got tombstones %v", inserted)
		}
		if left, rows := r.stock(t, v), r.counts(t, v)[entorder.StatusUNPAID]; left != 2 || rows != 3 {
			t.Errorf("got %d left and %d orders, want 2 and 3", left, rows)
		}
	})
}

// counterOf returns the sum of a metric's series.
func counterOf(t *testing.T, r *rig, name string, labels ...string) float64 {
	t.Helper()
	families, err := r.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if len(labels) > 0 && (len(m.GetLabel()) == 0 || m.GetLabel()[0].GetValue() != labels[0]) {
				continue
			}
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}
