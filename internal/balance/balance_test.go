package balance

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/balanceentry"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	os.Exit(m.Run())
}

const ann, admin = int64(11), int64(12)

// open returns a service over tables with two users.
func open(t *testing.T, on storetest.Stores) (*Service, storetest.Process) {
	t.Helper()
	p := storetest.Open(t, on)
	for _, id := range []int64{ann, admin} {
		p.DB.User.Create().SetID(id).SetNickname("user").SaveX(t.Context())
	}
	return New(p.DB, nil), p
}

func (s *Service) entries(t *testing.T) (amounts []int64) {
	t.Helper()
	for _, e := range s.db.BalanceEntry.Query().Where(balanceentry.UserID(ann)).Order(balanceentry.ByID()).AllX(t.Context()) {
		amounts = append(amounts, e.Amount)
	}
	return amounts
}

func (s *Service) wantBalance(t *testing.T, want int64) {
	t.Helper()
	if got, err := s.Of(t.Context(), ann); err != nil || got != want {
		t.Errorf("got balance %d, %v, want %d", got, err, want)
	}
}

func TestAdjustAddsEntriesAndTheirSum(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := open(t, on)
		s.wantBalance(t, 0)
		for _, tt := range []struct {
			name   string
			amount int64
			reason string
			user   int64
			code   apierror.Code
			want   int64
		}{
			{"top-up", 500, "cash", ann, "", 500},
			{"part of it", -200, "mistake", ann, "", 300},
			{"more than the balance", -301, "mistake", ann, Insufficient, 0},
			{"zero", 0, "nothing", ann, apierror.InvalidInput, 0},
			{"no reason", 1, "  ", ann, apierror.InvalidInput, 0},
			{"too long reason", 1, strings.Repeat("界", 201), ann, apierror.InvalidInput, 0},
			{"longest reason", 1, strings.Repeat("界", 200), ann, "", 301},
			{"unknown user", 1, "cash", 999, apierror.NotFound, 0},
			{"amount above the maximum", Max + 1, "cash", ann, apierror.InvalidInput, 0},
			{"balance above the maximum", Max, "cash", ann, apierror.InvalidInput, 0},
			{"maximum balance", Max - 301, "cash", ann, "", Max},
		} {
			got, err := s.Adjust(t.Context(), Adjustment{UserID: tt.user, Amount: tt.amount, Reason: tt.reason, ActorID: admin})
			refused, _ := errors.AsType[apierror.UserErrors](err)
			if tt.code == "" && (err != nil || got != tt.want) || tt.code != "" && (len(refused) != 1 || refused[0].Code != tt.code) {
				t.Errorf("%s: got %d, %v, want %d, %s", tt.name, got, err, tt.want, tt.code)
			}
		}
		if diff := cmp.Diff([]int64{500, -200, 1, Max - 301}, s.entries(t)); diff != "" {
			t.Error(diff)
		}
		s.wantBalance(t, Max)
		last := s.db.BalanceEntry.Query().Order(balanceentry.ByID()).FirstX(t.Context())
		if last.ActorID == nil || *last.ActorID != admin || last.Reason != "cash" || last.Kind != balanceentry.KindADJUSTMENT {
			t.Errorf("got entry %v", last)
		}
	})
}

// Two processes pay and subtract until the balance is empty.
func TestABalanceIsNeverNegativeUnderRaces(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := open(t, on)
		both := []*Service{s, New(storetest.Open(t, on).DB, nil)}
		if _, err := s.Adjust(t.Context(), Adjustment{UserID: ann, Amount: 1000, Reason: "cash"}); err != nil {
			t.Fatal(err)
		}
		var paid, taken atomic.Int64
		var g sync.WaitGroup
		for i := range 40 {
			g.Go(func() {
				of := both[i%2]
				if i%4 == 3 {
					if _, err := of.Adjust(t.Context(), Adjustment{UserID: ann, Amount: -70, Reason: "back"}); err == nil {
						taken.Add(1)
					} else if _, refused := errors.AsType[apierror.UserErrors](err); !refused {
						t.Error(err)
					}
					return
				}
				err := ent.WithTxAgain(t.Context(), of.db, sqldb.Retryable, func(tx *ent.Tx) error {
					ok, err := of.Pay(t.Context(), tx, ann, int64(i), 70)
					if ok {
						paid.Add(1)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		g.Wait()
		if n := paid.Load() + taken.Load(); n != 14 {
			t.Errorf("got %d payments and %d adjustments of 70 from 1000, want 14 together", paid.Load(), taken.Load())
		}
		var sum int64
		for _, amount := range s.entries(t) {
			sum += amount
		}
		if sum != 20 {
			t.Errorf("got sum of entries %d, want 20", sum)
		}
		s.wantBalance(t, 20)
	})
}

func TestTheDatabaseRefusesANegativeBalance(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := open(t, on)
		if err := s.db.Balance.Create().SetID(ann).SetAmount(-1).Exec(t.Context()); err == nil {
			t.Error("a balance of -1 was stored")
		}
	})
}

func TestRefundReturnsOnlyWhatWasTaken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := open(t, on)
		ctx := t.Context()
		if _, err := s.Adjust(ctx, Adjustment{UserID: ann, Amount: 100, Reason: "cash"}); err != nil {
			t.Fatal(err)
		}
		in := func(work func(tx *ent.Tx) error) error { return ent.WithTx(ctx, s.db, work) }
		pay := func(tx *ent.Tx) error {
			ok, err := s.Pay(ctx, tx, ann, 7, 60)
			if err == nil && !ok {
				err = errors.New("balance too low")
			}
			return err
		}
		if err := in(pay); err != nil {
			t.Fatal(err)
		}
		s.wantBalance(t, 40)
		refund := func(payment int64) error {
			return in(func(tx *ent.Tx) error { return s.Refund(ctx, tx, ann, payment) })
		}
		// Payments before the ledger have no entry.
		if err := refund(8); err != nil {
			t.Error(err)
		}
		s.wantBalance(t, 40)
		if err := refund(7); err != nil {
			t.Error(err)
		}
		s.wantBalance(t, 100)
		if err := refund(7); err == nil {
			t.Error("a payment was refunded twice")
		}
		if err := in(pay); err == nil {
			t.Error("an attempt was paid twice")
		}
		s.wantBalance(t, 100)
	})
}

// A refund must not fail because an adjustment filled the balance meanwhile.
func TestRefundsMayExceedTheLargestBalance(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := open(t, on)
		ctx := t.Context()
		adjust := func(amount int64) error {
			_, err := s.Adjust(ctx, Adjustment{UserID: ann, Amount: amount, Reason: "cash"})
			return err
		}
		if err := adjust(Max); err != nil {
			t.Fatal(err)
		}
		in := func(work func(tx *ent.Tx) error) {
			t.Helper()
			if err := ent.WithTx(ctx, s.db, work); err != nil {
				t.Fatal(err)
			}
		}
		pay := func(payment int64) {
			t.Helper()
			in(func(tx *ent.Tx) error {
				ok, err := s.Pay(ctx, tx, ann, payment, 60)
				if !ok {
					t.Errorf("payment %d was refused", payment)
				}
				return err
			})
		}
		pay(7)
		if err := adjust(60); err != nil {
			t.Fatal(err)
		}
		in(func(tx *ent.Tx) error { return s.Refund(ctx, tx, ann, 7) })
		s.wantBalance(t, Max+60)
		if err := adjust(1); err == nil {
			t.Error("an adjustment exceeded the maximum balance")
		}
		pay(8)
		if err := adjust(-1); err != nil {
			t.Error(err)
		}
		s.wantBalance(t, Max-1)
	})
}

func TestWelcomeGivesMoneyOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, _ := open(t, on)
		for range 2 {
			if err := s.AddDemoBalance(t.Context(), ann, 900); err != nil {
				t.Fatal(err)
			}
		}
		s.wantBalance(t, 900)
	})
}

func TestScanSetsBalanceToItsEntries(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		s, p := open(t, on)
		ctx := context.Background()
		for _, user := range []int64{ann, admin} {
			if _, err := s.Adjust(ctx, Adjustment{UserID: user, Amount: 100, Reason: "cash"}); err != nil {
				t.Fatal(err)
			}
		}
		s.db.Balance.UpdateOneID(ann).SetAmount(70).ExecX(ctx)
		scans := reconcile.New(p.Registry, p.Log)
		scans.Add(s.Scans()...)
		for _, tt := range []struct {
			dry             bool
			found, repaired int
			balance         int64
		}{{true, 1, 0, 70}, {false, 1, 1, 100}, {false, 0, 0, 100}} {
			out, err := scans.RunOnce(ctx, s.Scans()[0], reconcile.Options{DryRun: tt.dry})
			if err != nil || out.Compared != 2 || out.Found != tt.found || out.Repaired != tt.repaired {
				t.Errorf("%+v: got %+v, %v", tt, out, err)
			}
			s.wantBalance(t, tt.balance)
		}
	})
}
