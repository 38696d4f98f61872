package voucher

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/flashsale"
	entvoucher "github.com/tandian-dev/tandian/ent/voucher"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func ids(list []*Voucher) []int64 {
	out := make([]int64, len(list))
	for i, v := range list {
		out[i] = v.ID
	}
	return out
}

func ofShop(t *testing.T, s *Service, shop int64, all bool) []int64 {
	t.Helper()
	found, err := s.ByShops(t.Context(), []int64{shop}, func(int64) bool { return all })
	if err != nil {
		t.Fatal(err)
	}
	return ids(found[shop])
}

// insertVouchers stores n vouchers directly, three of four with a sale, and returns their ids,
// newest first.
func insertVouchers(t *testing.T, s *Service, shop int64, n int, ends func(i int) time.Time) []int64 {
	t.Helper()
	var made []int64
	for i := range n {
		kind := entvoucher.KindORDINARY
		if i%4 > 0 {
			kind = entvoucher.KindFLASH
		}
		v := s.db.Voucher.Create().SetKind(kind).SetShopID(shop).SetTitle(fmt.Sprint(i)).SetPayValue(1).SetFaceValue(2).SetOnePerUser(i%4 > 0).SaveX(t.Context())
		if i%4 > 0 {
			s.db.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(1).SetInitialStock(1).SetBeginsAt(noon.UnixMilli()).
				SetEndsAt(ends(i).UnixMilli()).SetPartition(0).SetBuckets(1).ExecX(t.Context())
		}
		made = append(made, v.ID)
	}
	slices.Reverse(made)
	if err := s.Invalidate(t.Context(), made...); err != nil {
		t.Fatal(err)
	}
	return made
}

func TestShopsShowTheirNewest50Vouchers(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		never := func(int) time.Time { return noon.Add(1000 * time.Hour) }
		made := insertVouchers(t, s, w.shop, 51, never)
		other := newShop(t, s, 0)
		few := insertVouchers(t, s, other, 3, never)
		none := newShop(t, s, 0)
		for range 2 { // the second time through the cache
			found, err := s.ByShops(t.Context(), []int64{w.shop, other, none, 1 << 40}, func(id int64) bool { return id == other })
			if err != nil {
				t.Fatal(err)
			}
			got := map[int64][]int64{}
			for shop, list := range found {
				got[shop] = ids(list)
			}
			if diff := cmp.Diff(map[int64][]int64{w.shop: made[:50], other: few}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := ofShop(t, s, w.shop, true); !slices.Equal(got, made[:50]) {
				t.Errorf("all vouchers: got %v, want %v", got, made[:50])
			}
		}
	})
}

// A new voucher is in the list of its shop at once. The lists of other shops stay cached, so
// they miss vouchers that were not published.
func TestNewVouchersInvalidateOnlyTheirShop(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		b := newShop(t, s, w.ann)
		for _, p := range []*Service{s, other} {
			for _, shop := range []int64{w.shop, b} {
				if got := ofShop(t, p, shop, false); len(got) > 0 {
					t.Fatalf("got vouchers %v of shop %d, want none", got, shop)
				}
			}
		}
		unannounced := s.db.Voucher.Create().SetKind(entvoucher.KindORDINARY).SetShopID(b).SetTitle("unannounced").SetPayValue(1).SetFaceValue(2).SetOnePerUser(false).SaveX(t.Context())
		made := []int64{createFlash(t, s, w, dinner(w, 5)).ID, create(t, s, w, lunch(w)).ID}
		slices.Reverse(made)
		if got := ofShop(t, s, w.shop, false); !slices.Equal(got, made) {
			t.Errorf("got vouchers %v, want %v", got, made)
		}
		if got := ofShop(t, s, b, false); len(got) > 0 {
			t.Errorf("got vouchers %v of the other shop, want the cached empty list", got)
		}
		if err := s.Invalidate(t.Context(), unannounced.ID); err != nil {
			t.Fatal(err)
		}
		if got := ofShop(t, s, b, false); !slices.Equal(got, []int64{unannounced.ID}) {
			t.Errorf("after Invalidate: got vouchers %v of the other shop, want %d", got, unannounced.ID)
		}
		testkit.Eventually(t, 5*time.Second, func() bool { return slices.Equal(ofShop(t, other, w.shop, false), made) })
	})
}

// When sales end while a list is cached, older vouchers fill the list.
func TestShopListsStayFullAfterSalesEnd(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		made := insertVouchers(t, s, w.shop, 160, func(i int) time.Time { return noon.Add(time.Duration(160-i) * time.Minute) })
		onSale := func() (list []int64) {
			for n, id := range made { // made[n] has i = 159-n
				if i := 159 - n; len(list) < 50 && (i%4 == 0 || w.now().Before(noon.Add(time.Duration(160-i)*time.Minute))) {
					list = append(list, id)
				}
			}
			return list
		}
		for range 17 {
			if diff := cmp.Diff(onSale(), ofShop(t, s, w.shop, false)); diff != "" {
				t.Errorf("after %v (-want +got):\n%s", w.now().Sub(noon), diff)
			}
			if got := ofShop(t, s, w.shop, true); !slices.Equal(got, made[:50]) {
				t.Errorf("all vouchers after %v: got %v, want %v", w.now().Sub(noon), got, made[:50])
			}
			w.advance(10 * time.Minute)
		}
	})
}

func TestShopListsFollowWritesInEveryProcess(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		check := func(step string, shown, all []int64) {
			t.Helper()
			for _, p := range []*Service{s, other} {
				if got := ofShop(t, p, w.shop, false); !slices.Equal(got, shown) {
					t.Errorf("%s: got %v, want %v", step, got, shown)
				}
				if got := ofShop(t, p, w.shop, true); !slices.Equal(got, all) {
					t.Errorf("%s, all vouchers: got %v, want %v", step, got, all)
				}
			}
		}
		check("nothing", []int64{}, []int64{})
		a := create(t, s, w, lunch(w)).ID
		check("ordinary voucher", []int64{a}, []int64{a})
		b := createFlash(t, s, w, dinner(w, 5)).ID
		check("flash voucher", []int64{b, a}, []int64{b, a})
		if _, err := s.Update(t.Context(), w.owner(), a, Changes{Status: optional.Set(OffSale)}); err != nil {
			t.Fatal(err)
		}
		check("the one is taken off", []int64{b}, []int64{b, a})
		updateFlash(t, s, w, b, FlashChanges{Changes: Changes{Status: optional.Set(OffSale)}})
		check("both", []int64{}, []int64{b, a})
		for _, id := range []int64{a, b} {
			if v := read(t, other, id); !v.Off || v.Status(noon) != OffSale {
				t.Errorf("got voucher %+v, want it off sale", v)
			}
		}
		updateFlash(t, other, w, b, FlashChanges{Changes: Changes{Status: optional.Set(OnSale)}})
		check("the sale is back", []int64{b}, []int64{b, a})
		w.advance(2 * time.Hour)
		check("it is over", []int64{}, []int64{b, a})
		updateFlash(t, s, w, b, FlashChanges{EndsAt: optional.Set(w.now().Add(time.Hour))})
		check("and prolonged", []int64{b}, []int64{b, a})
	})
}

// The cache stores the absence of a row from a read before its insert, and the insert was not
// published.
func TestListedVouchersBypassStaleAbsence(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		first := create(t, s, w, lunch(w))
		if _, err := s.ByID(t.Context(), first.ID+1); err == nil {
			t.Fatal("the voucher exists, want none")
		}
		made := insertVouchers(t, s, w.shop, 1, nil)
		if made[0] != first.ID+1 {
			t.Fatalf("got voucher %d, want %d", made[0], first.ID+1)
		}
		if got := ofShop(t, s, w.shop, false); !slices.Equal(got, []int64{made[0], first.ID}) {
			t.Errorf("got %v, want both vouchers", got)
		}
	})
}

// readPages reads the whole list page by page and calls between after each page.
func readPages(t *testing.T, s *Service, q Query, between func()) (list []int64, pages int) {
	t.Helper()
	for {
		p, err := s.FlashSales(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Edges {
			list = append(list, e.Node.ID)
		}
		if len(p.Edges) > q.First || p.Info.HasPreviousPage != (q.After != "") {
			t.Fatalf("got %d edges of at most %d, %+v", len(p.Edges), q.First, p.Info)
		}
		if pages++; !p.Info.HasNextPage {
			return list, pages
		}
		q.After = *p.Info.EndCursor
		if between != nil {
			between()
		}
	}
}

// insertRandomSales stores n sales of all phases and returns them as a model.
func insertRandomSales(t *testing.T, s *Service, w *fixture, rnd *rand.Rand, n int) (model []*Voucher, left map[int64]int) {
	t.Helper()
	left = map[int64]int{}
	for i := range n {
		begins := noon.Add(time.Duration(rnd.IntN(240)-120) * time.Minute)
		ends := begins.Add(time.Duration(1+rnd.IntN(8)*20) * time.Minute)
		stock, off := 1-rnd.IntN(2), rnd.IntN(6) == 0
		row := s.db.Voucher.Create().SetKind(entvoucher.KindFLASH).SetShopID(w.shop).SetTitle(fmt.Sprint(i)).SetPayValue(1).SetFaceValue(2).SetOnePerUser(true)
		if off {
			row.SetStatus(entvoucher.StatusOFF_SALE)
		}
		v := row.SaveX(t.Context())
		sale := s.db.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(stock).SetInitialStock(1).SetBeginsAt(begins.UnixMilli()).
			SetEndsAt(ends.UnixMilli()).SetPartition(0).SetBuckets(1).SaveX(t.Context())
		model, left[v.ID] = append(model, fromRow(v, sale)), stock
		w.sales.stored[v.ID] = redisSale{1, stock, 1, sale.BeginsAt, sale.EndsAt, !off}
	}
	slices.SortFunc(model, func(a, b *Voucher) int {
		return listKey{a.ID, 0, a.Sale.EndsAt.UnixMilli()}.compare(listKey{b.ID, 0, b.Sale.EndsAt.UnixMilli()})
	})
	if err := s.table.Invalidate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return model, left
}

func TestFlashSalesAreListedByPhase(t *testing.T) {
	seed := testkit.Seed(t)
	phases := [][]Phase{nil, {Upcoming}, {Open}, {SoldOut}, {Ended}, {Open, SoldOut}, {Upcoming, SoldOut}, {Ended, Open}, {Ended, Upcoming, Open, SoldOut}}
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		rnd := rand.New(rand.NewPCG(seed, 1))
		model, left := insertRandomSales(t, s, w, rnd, 60)
		for range 3 {
			for _, want := range phases {
				var expect []int64
				for _, v := range model {
					phase := v.Sale.Phase(w.now(), left[v.ID])
					if !v.Off && (slices.Contains(want, phase) || want == nil && (phase == Open || phase == Upcoming)) {
						expect = append(expect, v.ID)
					}
				}
				for _, first := range []int{1, 7, 100} {
					got, _ := readPages(t, s, Query{Phases: want, First: first}, nil)
					if diff := cmp.Diff(expect, got); diff != "" {
						t.Errorf("%v by %d after %v (-want +got):\n%s", want, first, w.now().Sub(noon), diff)
					}
				}
			}
			w.advance(50 * time.Minute)
		}
	})
}

// Between pages, sales end, begin, sell out, are added and taken off sale. No sale is shown
// twice. Each sale that stays in the phases is shown.
func TestFlashSalePagesStayConsistent(t *testing.T) {
	seed := testkit.Seed(t)
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		rnd := rand.New(rand.NewPCG(seed, 2))
		model, left := insertRandomSales(t, s, w, rnd, 80)
		for _, phases := range [][]Phase{nil, {Open, Upcoming, SoldOut}, {Ended, Open, Upcoming, SoldOut}} {
			steady := map[int64]bool{}
			listed := func(v *Voucher) bool {
				phase := v.Sale.Phase(w.now(), left[v.ID])
				return !v.Off && (slices.Contains(phases, phase) || phases == nil && (phase == Open || phase == Upcoming))
			}
			for _, v := range model {
				steady[v.ID] = listed(v)
			}
			got, pages := readPages(t, s, Query{Phases: phases, First: 3}, func() {
				w.advance(time.Minute)
				createFlash(t, s, w, dinner(w, 1))
				w.sales.mu.Lock()
				v := model[rnd.IntN(len(model))]
				left[v.ID] = 0
				k := w.sales.stored[v.ID]
				k.stock = 0
				w.sales.stored[v.ID] = k
				w.sales.mu.Unlock()
				for _, v := range model {
					steady[v.ID] = steady[v.ID] && listed(v)
				}
			})
			if pages < 5 {
				t.Errorf("got %d pages, want at least 5", pages)
			}
			sorted := slices.Sorted(slices.Values(got))
			if len(slices.Compact(sorted)) < len(got) {
				t.Errorf("%v: got %v, want no duplicates", phases, got)
			}
			for id, always := range steady {
				if always && !slices.Contains(got, id) {
					t.Errorf("%v: sale %d is missing", phases, id)
				}
			}
		}
	})
}

// More sales are sold out than one page reads.
func TestOpenSalePagesReadABoundedNumber(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		const many = 1 + stepSize*maxSteps + 150
		vouchers, sales := make([]*ent.VoucherCreate, many), make([]*ent.FlashSaleCreate, many)
		for i := range many {
			vouchers[i] = s.db.Voucher.Create().SetKind(entvoucher.KindFLASH).SetShopID(w.shop).SetTitle("x").SetPayValue(1).SetFaceValue(2).SetOnePerUser(true)
		}
		rows := s.db.Voucher.CreateBulk(vouchers...).SaveX(t.Context())
		for i, r := range rows {
			sales[i] = s.db.FlashSale.Create().SetID(r.ID).SetVoucherID(r.ID).SetStock(0).SetInitialStock(1).SetBeginsAt(noon.UnixMilli()).
				SetEndsAt(noon.Add(time.Hour).UnixMilli()).SetPartition(0).SetBuckets(1)
		}
		s.db.FlashSale.CreateBulk(sales...).ExecX(t.Context())
		last := rows[many-1].ID
		w.sales.stored[last] = redisSale{stock: 1}
		p, err := s.FlashSales(t.Context(), Query{Phases: []Phase{Open}, First: 1})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Edges) != 0 || !p.Info.HasNextPage || p.Info.EndCursor == nil {
			t.Errorf("got %d edges and %+v, want none and a next page", len(p.Edges), p.Info)
		}
		if got, pages := readPages(t, s, Query{Phases: []Phase{Open}, First: 1}, nil); !slices.Equal(got, []int64{last}) || pages != 2 {
			t.Errorf("got %v on %d pages, want %d on the second", got, pages, last)
		}
		if got, _ := readPages(t, s, Query{Phases: []Phase{SoldOut}, First: 100}, nil); len(got) != many-1 {
			t.Errorf("got %d sold-out sales, want %d", len(got), many-1)
		}
	})
}

func TestInvalidFlashSaleQueriesAreRefused(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s := process()
		for name, q := range map[string]Query{
			"no size":                {First: 0},
			"too many":               {First: page.Max + 1},
			"unknown phase":          {First: 1, Phases: []Phase{"GONE"}},
			"cursor of another list": {First: 1, After: page.Encode("SCORE", 1.5, 3)},
		} {
			if _, err := s.FlashSales(t.Context(), q); apierror.KindOf(err) != apierror.BadUserInput {
				t.Errorf("%s: got %v, want %s", name, err, apierror.BadUserInput)
			}
		}
		if got, _ := readPages(t, s, Query{First: 5}, nil); len(got) != 0 {
			t.Errorf("got %v, want none", got)
		}
	})
}

func TestEditedWindowsReorderTheList(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		a, b := createFlash(t, s, w, dinner(w, 1)).ID, createFlash(t, s, w, dinner(w, 1)).ID
		check := func(step string, want ...int64) {
			t.Helper()
			for _, p := range []*Service{s, other} {
				if got, _ := readPages(t, p, Query{First: 1}, nil); !slices.Equal(got, want) {
					t.Errorf("%s: got %v, want %v", step, got, want)
				}
			}
		}
		check("same end", a, b)
		updateFlash(t, s, w, a, FlashChanges{EndsAt: optional.Set(noon.Add(2 * time.Hour))})
		check("first prolonged", b, a)
		updateFlash(t, other, w, b, FlashChanges{Changes: Changes{Status: optional.Set(OffSale)}})
		check("second off sale", a)
		w.sales.admit(a)
		check("first sold out")
		updateFlash(t, s, w, a, FlashChanges{StockDelta: new(1)})
		check("more stock", a)
		if n := s.db.FlashSale.Query().Where(flashsale.EditSeqGT(1)).CountX(t.Context()); n != 2 {
			t.Errorf("got %d edited sales, want 2", n)
		}
	})
}
