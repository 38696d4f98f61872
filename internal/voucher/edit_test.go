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

func TestAnUpdateChangesWhatItSpeaksOf(t *testing.T) {
	tests := []struct {
		name   string
		change Changes
		expect func(*Voucher) // nil: nothing changes
		want   []string
	}{
		{"title", Changes{Title: optional.Set(" New\n title ")}, func(v *Voucher) { v.Title = "New title" }, nil},
		{"second title", Changes{SubTitle: optional.Set("New")}, func(v *Voucher) { v.SubTitle = new("New") }, nil},
		{"no second title", Changes{SubTitle: optional.Clear[string]()}, func(v *Voucher) { v.SubTitle = nil }, nil},
		{"a blank second title", Changes{SubTitle: optional.Set(" ")}, func(v *Voucher) { v.SubTitle = nil }, nil},
		{"rules", Changes{Rules: optional.Set("a\r\n\n\n b ")}, func(v *Voucher) { v.Rules = new("a\n\nb") }, nil},
		{"no rules", Changes{Rules: optional.Clear[string]()}, func(v *Voucher) { v.Rules = nil }, nil},
		{"off sale", Changes{Status: optional.Set(OffSale)}, func(v *Voucher) { v.Off = true }, nil},
		{"on sale, as it is", Changes{Status: optional.Set(OnSale)}, nil, nil},
		{"the same title", Changes{Title: optional.Set("Lunch")}, nil, nil},
		{"nothing", Changes{}, nil, nil},
		{"no title", Changes{Title: optional.Clear[string]()}, nil, []string{"INVALID_INPUT title"}},
		{"expired", Changes{Status: optional.Set(Expired)}, nil, []string{"INVALID_INPUT status"}},
		{"an unknown status", Changes{Status: optional.Set(Status("GONE"))}, nil, []string{"INVALID_INPUT status"}},
		{"no status", Changes{Status: optional.Clear[Status]()}, nil, []string{"INVALID_INPUT status"}},
		{"two wrong", Changes{Title: optional.Set(""), Status: optional.Set(Expired)}, nil, []string{"INVALID_INPUT title", "INVALID_INPUT status"}},
	}
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
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
					if was == want.Off { // words changed
						want.FirstTermsID = firstTerms(t, s, want.ID)
					}
					if want.Sale != nil && was != want.Off {
						want.Sale.EditSeq++
						if k := w.sales.get(want.ID); k.on || k.seq != want.Sale.EditSeq {
							t.Errorf("%s: Redis has %+v", tt.name, k)
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
		run  func(t *testing.T, w *town, process func() *Service)
	}{
		{"a voucher is changed as what it is", changedAsWhatItIs},
		{"a sale has at least one piece", saleHasAPiece},
		{"orders that ended keep no window open", endedOrdersKeepNoWindowOpen},
		{"window 13: stock is not taken from those who are queued", stockOfQueuedStays},
		{"an edit that was committed unheard stands", unheardCommitStands},
		{"an edit is announced though its request is gone", announcedWithoutRequest},
		{"an edit ends with its request", endsWithItsRequest},
		{"a sale that is prolonged is no longer swept", prolongedIsNotSwept},
	}
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
		for _, tt := range tests {
			w.ahead.Store(0)
			t.Run(tt.name, func(t *testing.T) { tt.run(t, w, process) })
		}
	})
}

func changedAsWhatItIs(t *testing.T, w *town, process func() *Service) {
	s := process()
	ordinary, flash := create(t, s, w, lunch(w)), createFlash(t, s, w, dinner(w, 5))
	tests := []struct {
		name  string
		id    int64
		flash bool
		want  []string
	}{
		{"an ordinary one as a flash voucher", ordinary.ID, true, []string{"INVALID_INPUT id"}},
		{"a flash voucher as an ordinary one", flash.ID, false, []string{"INVALID_INPUT id"}},
		{"none, as a flash voucher", 1 << 40, true, []string{"NOT_FOUND id"}},
		{"none, as an ordinary one", -1, false, []string{"NOT_FOUND id"}},
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
			t.Errorf("it changed (-before +after):\n%s", diff)
		}
	}
}

func TestARunningSaleIsEditedWithinItsBounds(t *testing.T) {
	const ms = time.Millisecond
	at := func(d time.Duration) optional.Field[time.Time] { return optional.Set(noon.Add(d)) }
	// Ten pieces, of which two are ordered: one half an hour ago, one just now, when
	// the sale has been open for an hour and will be for another.
	tests := []struct {
		name   string
		change FlashChanges
		expect func(row *ent.FlashSale) // nil: nothing changes
		want   []string
	}{
		{"more stock", FlashChanges{StockDelta: new(5)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 13, 15 }, nil},
		{"as much as its buckets take", FlashChanges{StockDelta: new(3990)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 3998, 4000 }, nil},
		{"more than that", FlashChanges{StockDelta: new(3991)}, nil, []string{"INVALID_INPUT stockDelta"}},
		{"far more", FlashChanges{StockDelta: new(1 << 62)}, nil, []string{"INVALID_INPUT stockDelta"}},
		{"no more stock", FlashChanges{StockDelta: new(0)}, nil, nil},
		{"less stock", FlashChanges{StockDelta: new(-3)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 5, 7 }, nil},
		{"all that is left", FlashChanges{StockDelta: new(-8)}, func(r *ent.FlashSale) { r.Stock, r.InitialStock = 0, 2 }, nil},
		{"more than is left", FlashChanges{StockDelta: new(-9)}, nil, []string{"VOUCHER_IN_USE stockDelta"}},
		{"far more than is left", FlashChanges{StockDelta: new(-1 << 62)}, nil, []string{"VOUCHER_IN_USE stockDelta"}},
		{"longer", FlashChanges{EndsAt: at(5 * time.Hour)}, func(r *ent.FlashSale) { r.EndsAt = noon.Add(5 * time.Hour).UnixMilli() }, nil},
		{"since earlier", FlashChanges{BeginsAt: at(-5 * time.Hour)}, func(r *ent.FlashSale) { r.BeginsAt = noon.Add(-5 * time.Hour).UnixMilli() }, nil},
		{"since the first order", FlashChanges{BeginsAt: at(-30 * time.Minute)}, func(r *ent.FlashSale) { r.BeginsAt = noon.Add(-30 * time.Minute).UnixMilli() }, nil},
		{"since after it", FlashChanges{BeginsAt: at(-30*time.Minute + ms)}, nil, []string{"VOUCHER_IN_USE beginsAt"}},
		{"until after the last order", FlashChanges{EndsAt: at(ms)}, func(r *ent.FlashSale) { r.EndsAt = noon.Add(ms).UnixMilli() }, nil},
		{"until the last order", FlashChanges{EndsAt: at(0)}, nil, []string{"VOUCHER_IN_USE endsAt"}},
		{"without either", FlashChanges{BeginsAt: at(time.Minute), EndsAt: at(2 * time.Minute)}, nil, []string{"VOUCHER_IN_USE beginsAt"}},
		{"before both", FlashChanges{BeginsAt: at(-2 * time.Hour), EndsAt: at(-time.Hour)}, nil, []string{"VOUCHER_IN_USE endsAt"}},
		{"backwards", FlashChanges{EndsAt: at(-time.Hour)}, nil, []string{"INVALID_INPUT endsAt"}},
		{"backwards from its begin", FlashChanges{BeginsAt: at(time.Hour)}, nil, []string{"INVALID_INPUT beginsAt"}},
		{"too long", FlashChanges{EndsAt: at(366 * 24 * time.Hour)}, nil, []string{"INVALID_INPUT endsAt"}},
		{"in a far year", FlashChanges{BeginsAt: at(367 * 24 * time.Hour), EndsAt: at(368 * 24 * time.Hour)}, nil, []string{"INVALID_INPUT beginsAt"}},
		{"without a begin", FlashChanges{BeginsAt: optional.Clear[time.Time]()}, nil, []string{"INVALID_INPUT beginsAt"}},
		{"without an end", FlashChanges{EndsAt: optional.Clear[time.Time]()}, nil, []string{"INVALID_INPUT endsAt"}},
		{"the same window", FlashChanges{BeginsAt: at(-time.Hour), EndsAt: at(time.Hour)}, nil, nil},
		{"all at once", FlashChanges{Changes: Changes{Status: optional.Set(OffSale)}, StockDelta: new(-1), EndsAt: at(3 * time.Hour)}, func(r *ent.FlashSale) {
			r.Stock, r.InitialStock, r.EndsAt = 7, 9, noon.Add(3*time.Hour).UnixMilli()
		}, nil},
		{"everything wrong", FlashChanges{
			Changes: Changes{Title: optional.Set("")}, StockDelta: new(-9), BeginsAt: optional.Clear[time.Time](), EndsAt: at(-time.Hour),
		}, nil, []string{"INVALID_INPUT title", "VOUCHER_IN_USE stockDelta", "INVALID_INPUT beginsAt", "INVALID_INPUT endsAt"}},
	}
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
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
			if want := (kept{want.InitialStock, want.Stock, want.EditSeq, want.BeginsAt, want.EndsAt, !read(t, s, v.ID).Off}); in != want {
				t.Errorf("%s: Redis has %+v, want %+v, after %+v", tt.name, in, want, before)
			}
			if diff := cmp.Diff(fromRow(s.db.Voucher.GetX(t.Context(), v.ID), want), read(t, other, v.ID)); diff != "" {
				t.Errorf("%s: another process reads it otherwise (-want +got):\n%s", tt.name, diff)
			}
		}
		if n := jobs(t, s); n != 0 {
			t.Errorf("%d jobs are left to the outbox", n)
		}
	})
}

func saleHasAPiece(t *testing.T, w *town, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	_, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: new(-10)})
	if diff := cmp.Diff([]string{"INVALID_INPUT stockDelta"}, reasons(err)); diff != "" {
		t.Error(diff)
	}
}

func endedOrdersKeepNoWindowOpen(t *testing.T, w *town, process func() *Service) {
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

// Window 13. Pieces that Redis has promised already are not in the database yet.
func stockOfQueuedStays(t *testing.T, w *town, process func() *Service) {
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
		t.Errorf("it was changed all the same: %v, %+v", row, k)
	}
	updateFlash(t, s, w, v.ID, FlashChanges{StockDelta: new(-6)})
	if row, k := saleRow(t, s, v.ID), w.sales.get(v.ID); row.Stock != 4 || k.stock != 0 || k.initial != row.InitialStock {
		t.Errorf("after taking out what is left: %v, %+v", row, k)
	}
}

// Edits that know nothing of each other, in two processes: what the one leaves alone
// stays as another has made it.
func TestConcurrentEditsOfASaleAllHold(t *testing.T) {
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
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
			if k := w.sales.get(v.ID); k != (kept{84, 84, 7, want.Sale.BeginsAt.UnixMilli(), want.Sale.EndsAt.UnixMilli(), false}) {
				t.Fatalf("Redis has %+v", k)
			}
		}
	})
}

// Window 13: stock goes up and down while orders are admitted and stored. Nobody who
// was admitted finds no piece in the database, and none is lost.
func TestEditsAmongOrdersKeepEveryPiece(t *testing.T) {
	seed := testkit.Seed(t)
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
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
			t.Errorf("%d were admitted, for %d of them the database had a piece", admitted.Load(), stored.Load())
		}
		if row.Stock+live != row.InitialStock || row.EditSeq != 1+edited.Load() {
			t.Errorf("%d orders, %d edits and the row %v", live, edited.Load(), row)
		}
		if k.initial != row.InitialStock || k.stock != row.Stock || k.seq != row.EditSeq {
			t.Errorf("Redis has %+v, the database %v", k, row)
		}
		if edited.Load() == 0 || live == 0 {
			t.Error("nothing happened: the test tests nothing")
		}
	})
}

// An edit whose transaction fails after Redis gave the pieces away.
func TestAnEditThatFailsGivesThePiecesBack(t *testing.T) {
	tests := []struct {
		name string
		lost bool // the answer of Redis too
	}{{"Redis has answered", false}, {"its answer got lost", true}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			eachStack(t, func(t *testing.T, w *town, process func() *Service) {
				s := process()
				v := createFlash(t, s, w, dinner(w, 10))
				failure := errors.New("the database failed")
				s.db.FlashSale.Use(func(next ent.Mutator) ent.Mutator {
					return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
						if k := w.sales.get(v.ID); k.stock != 6 || k.seq != 2 {
							t.Errorf("Redis was not asked first: %+v", k)
						}
						return nil, failure
					})
				})
				w.sales.become(false, tt.lost)
				if _, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: new(-4)}); !errors.Is(err, failure) {
					t.Errorf("got %v, want the database's error", err)
				}
				want := kept{10, 10, 1, v.Sale.BeginsAt.UnixMilli(), v.Sale.EndsAt.UnixMilli(), true}
				if k := w.sales.get(v.ID); k != want {
					t.Errorf("Redis has %+v, want %+v", k, want)
				}
				if diff := cmp.Diff(v, read(t, s, v.ID)); diff != "" {
					t.Errorf("the voucher changed (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// An error of a commit does not say whether it happened. If it did, nothing is given
// back.
func unheardCommitStands(t *testing.T, w *town, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	if ok, err := w.sales.DecreaseStock(t.Context(), v.ID, 4, 2); !ok || err != nil {
		t.Fatal(ok, err)
	}
	s.db.FlashSale.UpdateOneID(v.ID).AddStock(-4).AddInitialStock(-4).AddEditSeq(1).ExecX(t.Context())
	s.takeBack(t.Context(), v.ID, 4, 2)
	if k := w.sales.get(v.ID); k.stock != 6 || k.initial != 6 || k.seq != 2 {
		t.Errorf("Redis has %+v", k)
	}
}

// While Redis is away the database alone decides; another process tells Redis later.
func TestAnEditHoldsWhileRedisIsAwayAndIsToldByAnotherProcess(t *testing.T) {
	eachStack(t, func(t *testing.T, w *town, process func() *Service) {
		s, other := process(), process()
		v := createFlash(t, s, w, dinner(w, 10))
		mustOrder(t, s, v, noon)
		w.sales.admit(v.ID)
		w.sales.become(true, false)
		if _, err := s.UpdateFlash(t.Context(), w.owner(), v.ID, FlashChanges{StockDelta: new(-10)}); !slices.Equal(reasons(err), []string{"VOUCHER_IN_USE stockDelta"}) {
			t.Errorf("more than is left: %v", err)
		}
		updateFlash(t, s, w, v.ID, FlashChanges{StockDelta: new(-5)})
		made := createFlash(t, s, w, dinner(w, 3))
		if row := saleRow(t, s, v.ID); row.Stock != 4 || row.InitialStock != 5 {
			t.Errorf("the row is %v", row)
		}
		if n := jobs(t, s); n != 2 {
			t.Errorf("%d jobs wait, want one for each edit", n)
		}
		w.told.Clear()
		w.sales.become(false, false)
		storetest.Relay(t, other.outbox)
		testkit.Eventually(t, 20*time.Second, func() bool {
			_, told := w.told.Load(made.ID)
			return told && w.sales.get(v.ID).stock == 4 && w.sales.get(made.ID).stock == 3
		})
		testkit.Eventually(t, 20*time.Second, func() bool { return jobs(t, other) == 0 })
	})
}

// A client that goes away in the middle takes neither the write nor its
// announcement with it, once the write has begun to hold.
func announcedWithoutRequest(t *testing.T, w *town, process func() *Service) {
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
		t.Errorf("Redis has %+v", k)
	}
	// That the job is done may not have been written down: a driver that is told of the end
	// of a request too late interrupts whatever its connection does then.
	storetest.Relay(t, s.outbox)
	testkit.Eventually(t, 20*time.Second, func() bool { return jobs(t, s) == 0 })
}

func endsWithItsRequest(t *testing.T, w *town, process func() *Service) {
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
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := s.db.Voucher.Query().CountX(t.Context()); n != before {
		t.Errorf("%d vouchers, want still %d", n, before)
	}
	if k := w.sales.get(flash.ID); k.stock != 10 {
		t.Errorf("Redis has %+v", k)
	}
}

// A sale that ended, and whose keys were removed, opens again.
func prolongedIsNotSwept(t *testing.T, w *town, process func() *Service) {
	s := process()
	v := createFlash(t, s, w, dinner(w, 10))
	w.pass(48 * time.Hour)
	s.db.FlashSale.UpdateOneID(v.ID).SetSweptAt(w.now().UnixMilli()).ExecX(t.Context())
	delete(w.sales.there, v.ID)
	updateFlash(t, s, w, v.ID, FlashChanges{EndsAt: optional.Set(w.now().Add(-time.Hour))})
	if saleRow(t, s, v.ID).SweptAt == nil {
		t.Error("a sale that is over is not swept any more")
	}
	updateFlash(t, s, w, v.ID, FlashChanges{EndsAt: optional.Set(w.now().Add(time.Hour))})
	if saleRow(t, s, v.ID).SweptAt != nil || w.sales.get(v.ID).stock != 10 {
		t.Errorf("the row is %v, Redis has %+v", saleRow(t, s, v.ID), w.sales.get(v.ID))
	}
}
