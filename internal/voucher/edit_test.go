package voucher

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestUpdateChangesOnlyGivenFields(t *testing.T) {
	tests := []struct {
		name   string
		change Changes
		expect func(*Voucher) // nil: nothing changes
		want   []string
	}{
		{"title", Changes{Title: optional.Set(" New\n title ")}, func(v *Voucher) { v.Title = "New title" }, nil},
		{"subtitle", Changes{SubTitle: optional.Set("New")}, func(v *Voucher) { v.SubTitle = new("New") }, nil},
		{"no subtitle", Changes{SubTitle: optional.Clear[string]()}, func(v *Voucher) { v.SubTitle = nil }, nil},
		{"blank subtitle", Changes{SubTitle: optional.Set(" ")}, func(v *Voucher) { v.SubTitle = nil }, nil},
		{"rules", Changes{Rules: optional.Set("a\r\n\n\n b ")}, func(v *Voucher) { v.Rules = new("a\n\nb") }, nil},
		{"no rules", Changes{Rules: optional.Clear[string]()}, func(v *Voucher) { v.Rules = nil }, nil},
		{"off sale", Changes{Status: optional.Set(OffSale)}, func(v *Voucher) { v.Off = true }, nil},
		{"same status", Changes{Status: optional.Set(OnSale)}, nil, nil},
		{"same title", Changes{Title: optional.Set("Lunch")}, nil, nil},
		{"nothing", Changes{}, nil, nil},
		{"no title", Changes{Title: optional.Clear[string]()}, nil, []string{"INVALID_INPUT title"}},
		{"expired", Changes{Status: optional.Set(Expired)}, nil, []string{"INVALID_INPUT status"}},
		{"unknown status", Changes{Status: optional.Set(Status("GONE"))}, nil, []string{"INVALID_INPUT status"}},
		{"no status", Changes{Status: optional.Clear[Status]()}, nil, []string{"INVALID_INPUT status"}},
		{"two errors", Changes{Title: optional.Set(""), Status: optional.Set(Expired)}, nil, []string{"INVALID_INPUT title", "INVALID_INPUT status"}},
	}
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		for _, tt := range tests {
			flash := dinner(w, 5)
			flash.Title = "Lunch"
			for _, want := range []*Voucher{create(t, s, w, lunch(w)), createFlash(t, s, w, flash)} {
				read(t, other, want.ID) // the old row is cached
				var got *Voucher
				var err error
				if want.Sale == nil {
					got, err = s.Update(t.Context(), w.owner(), want.ID, tt.change)
				} else {
					got, err = s.UpdateFlash(t.Context(), w.owner(), want.ID, FlashChanges{Changes: tt.change})
				}
				if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.name, diff)
				}
				if tt.expect != nil {
					was := want.Off
					tt.expect(want)
					want.Version++
					if was == want.Off { // texts changed
						want.FirstTermsID = firstTerms(t, s, want.ID)
					}
					if want.Sale != nil && was != want.Off {
						want.Sale.EditSeq++
						if k := w.sales.get(want.ID); k.on || k.seq != want.Sale.EditSeq {
							t.Errorf("%s: got %+v in Redis, want it off sale", tt.name, k)
						}
					}
				}
				if err == nil {
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, returned (-want +got):\n%s", tt.name, diff)
					}
				}
				for _, p := range []*Service{s, other} {
					if diff := cmp.Diff(want, read(t, p, want.ID)); diff != "" {
						t.Errorf("%s, read (-want +got):\n%s", tt.name, diff)
					}
				}
			}
		}
	})
}

func TestEdits(t *testing.T) {
	tests := []struct {
		name string
		run  func(t *testing.T, w *fixture, process func() *Service)
	}{
		{"edits check the kind", updateChecksKind},
		{"a sale needs stock", saleNeedsStock},
		{"ended orders allow any window", endedOrdersAllowAnyWindow},
		{"window 13: stock of queued orders stays", queuedStockStays},
		{"a commit without an answer stands", lostCommitStands},
		{"a commit outlives its request", commitOutlivesRequest},
		{"an edit ends with its request", editEndsWithRequest},
		{"a prolonged sale is unswept", prolongedSaleIsUnswept},
	}
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		for _, tt := range tests {
			w.ahead.Store(0)
			t.Run(tt.name, func(t *testing.T) { tt.run(t, w, process) })
		}
	})
}

func updateChecksKind(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	ordinary, flash := create(t, s, w, lunch(w)), createFlash(t, s, w, dinner(w, 5))
	tests := []struct {
		name  string
		id    int64
		flash bool
		want  []string
	}{
		{"ordinary as flash", ordinary.ID, true, []string{"INVALID_INPUT id"}},
		{"flash as ordinary", flash.ID, false, []string{"INVALID_INPUT id"}},
		{"unknown as flash", 1 << 40, true, []string{"NOT_FOUND id"}},
		{"unknown as ordinary", -1, false, []string{"NOT_FOUND id"}},
	}
	for _, tt := range tests {
		var err error
		change := Changes{Title: optional.Set("New")}
		if tt.flash {
			_, err = s.UpdateFlash(t.Context(), w.owner(), tt.id, FlashChanges{Changes: change})
		} else {
			_, err = s.Update(t.Context(), w.owner(), tt.id, change)
		}
		if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	for _, v := range []*Voucher{ordinary, flash} {
		if diff := cmp.Diff(v, read(t, s, v.ID)); diff != "" {
			t.Errorf("the voucher changed (-before +after):\n%s", diff)
		}
	}
}

func TestRunningSalesAreEditedWithinBounds(t *testing.T) {
	const ms = time.Millisecond
	at := func(d time.Duration) optional.Field[time.Time] { return optional.Set(noon.Add(d)) }
	// Ten items; two are ordered, one half an hour ago and one now. The sale opened an hour
	// ago and ends in an hour.
	tests := []struct {
		name   string
		change FlashChanges
		expect func(row *ent.FlashSale) // nil: nothing changes
		want   []string
	}{
		{"more stock", FlashChanges{StockDelta: new(5)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 13, 15 }, nil},
		{"maximum of its buckets", FlashChanges{StockDelta: new(3990)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 3998, 4000 }, nil},
		{"above that maximum", FlashChanges{StockDelta: new(3991)}, nil, []string{"INVALID_INPUT stockDelta"}},
		{"far above", FlashChanges{StockDelta: new(1 << 62)}, nil, []string{"INVALID_INPUT stockDelta"}},
		{"no change of stock", FlashChanges{StockDelta: new(0)}, nil, nil},
		{"less stock", FlashChanges{StockDelta: new(-3)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 5, 7 }, nil},
		{"all items left", FlashChanges{StockDelta: new(-8)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 0, 2 }, nil},
		{"more than left", FlashChanges{StockDelta: new(-9)}, nil, []string{"VOUCHER_IN_USE stockDelta"}},
		{"far more than left", FlashChanges{StockDelta: new(-1 << 62)}, nil, []string{"VOUCHER_IN_USE stockDelta"}},
		{"later end", FlashChanges{EndsAt: at(5 * time.Hour)}, func(r *ent.FlashSale) { r.EndsAt = noon.Add(5 * time.Hour).UnixMilli() }, nil},
		{"earlier start", FlashChanges{BeginsAt: at(-5 * time.Hour)}, func(r *ent.FlashSale) { r.BeginsAt = noon.Add(-5 * time.Hour).UnixMilli() }, nil},
		{"start at the first order", FlashChanges{BeginsAt: at(-30 * time.Minute)}, func(r *ent.FlashSale) { r.BeginsAt = noon.Add(-30 * time.Minute).UnixMilli() }, nil},
		{"start after the first order", FlashChanges{BeginsAt: at(-30*time.Minute + ms)}, nil, []string{"VOUCHER_IN_USE beginsAt"}},
		{"end after the last order", FlashChanges{EndsAt: at(ms)}, func(r *ent.FlashSale) { r.EndsAt = noon.Add(ms).UnixMilli() }, nil},
		{"end at the last order", FlashChanges{EndsAt: at(0)}, nil, []string{"VOUCHER_IN_USE endsAt"}},
		{"start after both orders", FlashChanges{BeginsAt: at(time.Minute), EndsAt: at(2 * time.Minute)}, nil, []string{"VOUCHER_IN_USE beginsAt"}},
		{"end before both orders", FlashChanges{BeginsAt: at(-2 * time.Hour), EndsAt: at(-time.Hour)}, nil, []string{"VOUCHER_IN_USE endsAt"}},
		{"end at the start", FlashChanges{EndsAt: at(-time.Hour)}, nil, []string{"INVALID_INPUT endsAt"}},
		{"start at the end", FlashChanges{BeginsAt: at(time.Hour)}, nil, []string{"INVALID_INPUT beginsAt"}},
		{"long window", FlashChanges{EndsAt: at(366 * 24 * time.Hour)}, nil, []string{"INVALID_INPUT endsAt"}},
		{"late start", FlashChanges{BeginsAt: at(367 * 24 * time.Hour), EndsAt: at(368 * 24 * time.Hour)}, nil, []string{"INVALID_INPUT beginsAt"}},
		{"no start", FlashChanges{BeginsAt: optional.Clear[time.Time]()}, nil, []string{"INVALID_INPUT beginsAt"}},
		{"no end", FlashChanges{EndsAt: optional.Clear[time.Time]()}, nil, []string{"INVALID_INPUT endsAt"}},
		{"same window", FlashChanges{BeginsAt: at(-time.Hour), EndsAt: at(time.Hour)}, nil, nil},
		{"all fields", FlashChanges{Changes: Changes{Status: optional.Set(OffSale)}, StockDelta: new(-1), EndsAt: at(3 * time.Hour)}, func(r *ent.FlashSale) {
			r.Stock, r.InitialStock, r.EndsAt = 7, 9, noon.Add(3*time.Hour).UnixMilli()
		}, nil},
		{"all errors", FlashChanges{
			Changes: Changes{Title: optional.Set("")}, StockDelta: new(-9), BeginsAt: optional.Clear[time.Time](), EndsAt: at(-time.Hour),
		}, nil, []string{"INVALID_INPUT title", "VOUCHER_IN_USE stockDelta", "INVALID_INPUT beginsAt", "INVALID_INPUT endsAt"}},
	}
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		for _, tt := range tests {
			v := createFlash(t, s, w, dinner(w, 10))
			for _, ago := range []time.Duration{0, 30 * time.Minute} {
				w.sales.admit(v.ID)
				mustOrder(t, s, v, noon.Add(-ago))
			}
			want := saleRow(t, s, v.ID)
			before := w.sales.get(v.ID)
			read(t, other, v.ID)
			_, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, tt.change)
			if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			if tt.expect != nil {
				tt.expect(want)
				want.EditSeq++
			}
			if diff := cmp.Diff(want.String(), saleRow(t, s, v.ID).String()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			in := w.sales.get(v.ID)
			if want := (redisSale{want.InitialStock, want.Stock, want.EditSeq, want.BeginsAt, want.EndsAt, !read(t, s, v.ID).Off}); in != want {
				t.Errorf("%s: got %+v in Redis, want %+v; it was %+v", tt.name, in, want, before)
			}
			if diff := cmp.Diff(fromRow(s.db.Voucher.GetX(t.Context(), v.ID), want), read(t, other, v.ID)); diff != "" {
				t.Errorf("%s, read elsewhere (-want +got):\n%s", tt.name, diff)
			}
		}
		if n := jobs(t, s); n != 0 {
			t.Errorf("got %d outbox jobs, want none", n)
		}
	})
}

func saleNeedsStock(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	_, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: new(-10)})
	if diff := cmp.Diff([]string{"INVALID_INPUT stockDelta"}, reasons(err)); diff != "" {
		t.Error(diff)
	}
}

func endedOrdersAllowAnyWindow(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	mustOrder(t, s, v, noon.Add(-time.Minute))
	later := FlashChanges{BeginsAt: optional.Set(noon)}
	if _, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, later); !slices.Equal(reasons(err), []string{"VOUCHER_IN_USE beginsAt"}) {
		t.Error(err)
	}
	for _, status := range []entorder.Status{entorder.StatusCANCELLED, entorder.StatusREFUNDED, entorder.StatusFAILED} {
		s.db.Order.Update().Where(entorder.VoucherID(v.ID)).SetStatus(status).ExecX(t.Context())
		if _, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, later); err != nil {
			t.Errorf("%s: %v", status, err)
		}
		updateFlash(t, s, w, v.ID, FlashChanges{BeginsAt: optional.Set(noon.Add(-time.Hour))})
	}
}

// Window 13: stock that Redis has promised is not in the database yet.
func queuedStockStays(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	for range 4 {
		w.sales.admit(v.ID)
	}
	_, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{Changes: Changes{Title: optional.Set("New")}, StockDelta: new(-7)})
	if diff := cmp.Diff([]string{"VOUCHER_IN_USE stockDelta"}, reasons(err)); diff != "" {
		t.Error(diff)
	}
	if row, k := saleRow(t, s, v.ID), w.sales.get(v.ID); row.Stock != 10 || row.EditSeq != 1 || k.stock != 6 || k.seq != 1 || read(t, s, v.ID).Title == "New" {
		t.Errorf("got row %v and %+v in Redis, want them unchanged", row, k)
	}
	updateFlash(t, s, w, v.ID, FlashChanges{StockDelta: new(-6)})
	if row, k := saleRow(t, s, v.ID), w.sales.get(v.ID); row.Stock != 4 || k.stock != 0 || k.initial != row.InitialStock {
		t.Errorf("after removing all items: got row %v and %+v in Redis", row, k)
	}
}

// Two processes edit concurrently. Each edit changes only its own fields.
func TestConcurrentEditsAllTakeEffect(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		processes := []*Service{process(), process()}
		for round := range 5 {
			v := createFlash(t, processes[0], w, dinner(w, 100))
			text := fmt.Sprint("round ", round)
			edits := []FlashChanges{
				{Changes: Changes{Title: optional.Set(text)}},
				{Changes: Changes{SubTitle: optional.Set(text)}},
				{Changes: Changes{Rules: optional.Set(text)}},
				{Changes: Changes{Status: optional.Set(OffSale)}},
				{StockDelta: new(7)},
				{StockDelta: new(-20)},
				{StockDelta: new(-3)},
				{BeginsAt: optional.Set(noon.Add(-2 * time.Hour))},
				{EndsAt: optional.Set(noon.Add(2 * time.Hour))},
			}
			var all errgroup.Group
			for i, c := range edits {
				all.Go(func() error {
					_, err := processes[i%2].UpdateFlash(t.Context(), w.owner(), v.ID, c)
					return err
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
			want := *v
			want.Title, want.SubTitle, want.Rules, want.Off, want.Version = text, &text, &text, true, 10
			want.FirstTermsID = firstTerms(t, processes[0], v.ID)
			want.Sale = &Sale{
				VoucherID: v.ID, InitialStock: 84, BeginsAt: noon.Add(-2 * time.Hour), EndsAt: noon.Add(2 * time.Hour),
				Partition: v.Sale.Partition, Buckets: v.Sale.Buckets, EditSeq: 7,
			}
			for _, p := range processes {
				if diff := cmp.Diff(&want, read(t, p, v.ID)); diff != "" {
					t.Fatalf("round %d (-want +got):\n%s", round, diff)
				}
			}
			if k := w.sales.get(v.ID); k != (redisSale{84, 84, 7, want.Sale.BeginsAt.UnixMilli(), want.Sale.EndsAt.UnixMilli(), false}) {
				t.Fatalf("got %+v in Redis, want all edits", k)
			}
		}
	})
}

// Window 13: stock changes while orders are admitted and stored. Every admitted order finds
// stock in the database, and no item is lost.
func TestEditsDuringOrdersLoseNoStock(t *testing.T) {
	seed := testkit.Seed(t)
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		processes := []*Service{process(), process()}
		s := processes[0]
		v := createFlash(t, s, w, dinner(w, 60))
		var admitted, stored, edited atomic.Int64
		var all errgroup.Group
		for i := range 4 {
			all.Go(func() error {
				for range 40 {
					if !w.sales.admit(v.ID) {
						continue
					}
					admitted.Add(1)
					got, err := order(t.Context(), processes[i%2], v, noon)
					if err != nil {
						return err
					}
					if got {
						stored.Add(1)
					}
				}
				return nil
			})
			all.Go(func() error {
				rnd := rand.New(rand.NewPCG(seed, uint64(i)))
				for range 12 {
					d := rnd.IntN(31) - 15
					_, err := processes[(i+1)%2].UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: &d})
					switch {
					case err == nil && d != 0:
						edited.Add(1)
					case err != nil && !slices.Equal(reasons(err), []string{"VOUCHER_IN_USE stockDelta"}):
						return err
					}
				}
				return nil
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		row, k := saleRow(t, s, v.ID), w.sales.get(v.ID)
		live := s.db.Order.Query().Where(entorder.VoucherID(v.ID)).CountX(t.Context())
		if admitted.Load() != stored.Load() {
			t.Errorf("got %d stored orders, want %d as admitted", stored.Load(), admitted.Load())
		}
		if row.Stock+live != row.InitialStock || row.EditSeq != 1+edited.Load() {
			t.Errorf("got row %v after %d orders and %d edits", row, live, edited.Load())
		}
		if k.initial != row.InitialStock || k.stock != row.Stock || k.seq != row.EditSeq {
			t.Errorf("got %+v in Redis, want row %v", k, row)
		}
		if edited.Load() == 0 || live == 0 {
			t.Error("no edits or no orders happened, want both")
		}
	})
}

// The transaction of the edit fails after Redis has removed the stock.
func TestFailedEditsRestoreStock(t *testing.T) {
	tests := []struct {
		name string
		lost bool // the answer of Redis is lost too
	}{{"redis answered", false}, {"answer lost", true}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
				s := process()
				v := createFlash(t, s, w, dinner(w, 10))
				failure := errors.New("the database failed")
				s.db.FlashSale.Use(func(next ent.Mutator) ent.Mutator {
					return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
						if k := w.sales.get(v.ID); k.stock != 6 || k.seq != 2 {
							t.Errorf("got %+v in Redis before the database, want stock 6", k)
						}
						return nil, failure
					})
				})
				w.sales.setFailure(false, tt.lost)
				if _, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: new(-4)}); !errors.Is(err, failure) {
					t.Errorf("got %v, want the database's error", err)
				}
				want := redisSale{10, 10, 1, v.Sale.BeginsAt.UnixMilli(), v.Sale.EndsAt.UnixMilli(), true}
				if k := w.sales.get(v.ID); k != want {
					t.Errorf("got %+v in Redis, want %+v", k, want)
				}
				if diff := cmp.Diff(v, read(t, s, v.ID)); diff != "" {
					t.Errorf("the voucher changed (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// After an error of a commit its outcome is unknown. If it happened, no stock is restored.
func lostCommitStands(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	if ok, err := w.sales.DecreaseStock(t.Context(), v.ID, 4, 2); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.db.FlashSale.UpdateOneID(v.ID).AddStock(-4).AddInitialStock(-4).AddEditSeq(1).ExecX(t.Context())
	s.undoDecrease(t.Context(), v.ID, 4, 2)
	if k := w.sales.get(v.ID); k.stock != 6 || k.initial != 6 || k.seq != 2 {
		t.Errorf("got %+v in Redis", k)
	}
}

// While Redis is unavailable, the database alone decides. Another process updates Redis later.
func TestEditWithoutRedisIsPublishedByAnotherProcess(t *testing.T) {
	eachStack(t, func(t *testing.T, w *fixture, process func() *Service) {
		s, other := process(), process()
		v := createFlash(t, s, w, dinner(w, 10))
		mustOrder(t, s, v, noon)
		w.sales.admit(v.ID)
		w.sales.setFailure(true, false)
		if _, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: new(-10)}); !slices.Equal(reasons(err), []string{"VOUCHER_IN_USE stockDelta"}) {
			t.Errorf("more than left: got %v, want VOUCHER_IN_USE", err)
		}
		updateFlash(t, s, w, v.ID, FlashChanges{StockDelta: new(-5)})
		made := createFlash(t, s, w, dinner(w, 3))
		if row := saleRow(t, s, v.ID); row.Stock != 4 || row.InitialStock != 5 {
			t.Errorf("got row %v, want stock 4 of 5", row)
		}
		if n := jobs(t, s); n != 2 {
			t.Errorf("got %d outbox jobs, want 2", n)
		}
		w.changed.Clear()
		w.sales.setFailure(false, false)
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 20*time.Second, func() bool {
			_, notified := w.changed.Load(made.ID)
			return notified && w.sales.get(v.ID).stock == 4 && w.sales.get(made.ID).stock == 3
		})
		testkit.Eventually(t, 20*time.Second, func() bool { return jobs(t, other) == 0 })
	})
}

// A client that disconnects stops neither a write that has begun nor its publication.
func commitOutlivesRequest(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s.db.FlashSale.Use(func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			leave()
			return next.Mutate(ctx, m)
		})
	})
	if _, err := s.UpdateFlash(ctx, w.owner(), v.ID, FlashChanges{StockDelta: new(-4)}); err != nil {
		t.Fatal(err)
	}
	if k := w.sales.get(v.ID); k.stock != 6 || k.seq != 2 {
		t.Errorf("got %+v in Redis", k)
	}
	// The job may still be recorded as unfinished. A driver that detects the end of a request
	// late interrupts the next operation of its connection.
	storetest.Relay(t, s.outbox)
	testkit.Eventually(t, 20*time.Second, func() bool { return jobs(t, s) == 0 })
}

func editEndsWithRequest(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	flash, ordinary := createFlash(t, s, w, dinner(w, 10)), create(t, s, w, lunch(w))
	before := s.db.Voucher.Query().CountX(t.Context())
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	calls := map[string]func() error{
		"create":      func() error { _, err := s.Create(ctx, w.owner(), lunch(w)); return err },
		"createFlash": func() error { _, err := s.CreateFlash(ctx, w.owner(), dinner(w, 1)); return err },
		"update": func() error {
			_, err := s.Update(ctx, w.owner(), ordinary.ID, Changes{Title: optional.Set("Late")})
			return err
		},
		"updateFlash": func() error {
			_, err := s.UpdateFlash(ctx, w.owner(), flash.ID, FlashChanges{StockDelta: new(-1)})
			return err
		},
	}
	for name, call := range calls {
		if err := call(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: got %v, want %v", name, err, context.DeadlineExceeded)
		}
	}
	if n := s.db.Voucher.Query().CountX(t.Context()); n != before {
		t.Errorf("got %d vouchers, want %d", n, before)
	}
	if k := w.sales.get(flash.ID); k.stock != 10 {
		t.Errorf("got %+v in Redis", k)
	}
}

// A sale that ended and whose keys were deleted opens again.
func prolongedSaleIsUnswept(t *testing.T, w *fixture, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	w.advance(48 * time.Hour)
	s.db.FlashSale.UpdateOneID(v.ID).SetSweptAt(w.now().UnixMilli()).ExecX(t.Context())
	delete(w.sales.stored, v.ID)
	updateFlash(t, s, w, v.ID, FlashChanges{EndsAt: optional.Set(w.now().Add(-time.Hour))})
	if saleRow(t, s, v.ID).SweptAt == nil {
		t.Error("the sweep time of an ended sale was cleared")
	}
	updateFlash(t, s, w, v.ID, FlashChanges{EndsAt: optional.Set(w.now().Add(time.Hour))})
	if saleRow(t, s, v.ID).SweptAt != nil || w.sales.get(v.ID).stock != 10 {
		t.Errorf("got row %v and %+v in Redis", saleRow(t, s, v.ID), w.sales.get(v.ID))
	}
}
