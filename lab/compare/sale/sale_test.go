package sale

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/lab/compare/lock"
)

func TestMain(m *testing.M) {
	if os.Getenv(processEnv) != "" { // a server of the table of wrong ways
		if err := Process(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	lock.Hush()
	goleak.VerifyTestMain(m)
}

// servers returns the servers of a test.
func servers(t *testing.T) *Servers {
	t.Helper()
	s, err := Open(t.Context(), testkit.Redis(t), testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// start opens one variant.
func start(t *testing.T, s *Servers, v Variant) Admitter {
	t.Helper()
	a, err := v.New(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := a.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return a
}

// Of a stock of ten, one user wants five and another eight: one of them gets the whole quantity,
// the other nothing.
func TestFiveOrEightOfTenAreSoldWhole(t *testing.T) {
	const rounds = 25
	s := servers(t)
	for _, v := range Variants() {
		t.Run(v.Name, func(t *testing.T) {
			a := start(t, s, v)
			winners := map[int]int{}
			for range rounds {
				sale, err := s.open(t.Context(), a, 10, true)
				if err != nil {
					t.Fatal(err)
				}
				told := together(t, a, Wish{1, sale.Voucher, 5}, Wish{2, sale.Voucher, 8})
				if err := a.Settle(t.Context(), sale); err != nil {
					t.Fatal(err)
				}
				for _, one := range told {
					if one.Decision == Admitted {
						winners[one.Quantity]++
					}
				}
				got, rows, err := s.check(t.Context(), a, sale, told)
				if err != nil {
					t.Fatal(err)
				}
				if rows != 1 || got != (Verdict{}) {
					t.Fatalf("%d orders, %+v; answers %+v", rows, got, told)
				}
			}
			if winners[5]+winners[8] != rounds {
				t.Errorf("the winners of %d sales wanted %v", rounds, winners)
			}
		})
	}
}

// together runs wishes at the same time.
func together(t *testing.T, a Admitter, wishes ...Wish) []Answered {
	t.Helper()
	told, errs := make([]Answered, len(wishes)), make([]error, len(wishes))
	var all sync.WaitGroup
	for i, w := range wishes {
		all.Go(func() {
			answer, err := a.Admit(t.Context(), w)
			told[i], errs[i] = Answered{w, answer}, err
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return told
}

func TestEachWaySellsTheStockOnce(t *testing.T) {
	s := servers(t)
	all, err := s.Figures(t.Context(), Variants(), 1, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Verdict != (Verdict{}) {
			t.Errorf("%s: %+v", f.Name, f.Verdict)
		}
		if least := few + 1; f.Orders < least {
			t.Errorf("%s: %d orders are not enough to say so", f.Name, f.Orders)
		}
	}
}

func TestCheckerDetectsEachFault(t *testing.T) {
	a, b := row{order: 11, user: 1, quantity: 1}, row{order: 12, user: 2, quantity: 1}
	yes := func(user, order int64) Answered { return Answered{Wish{user, 1, 1}, Answer{Admitted, order}} }
	no := func(user int64, quantity int) Answered {
		return Answered{Wish{user, 1, quantity}, Answer{Decision: SoldOut}}
	}
	tests := []struct {
		name        string
		stock, left int
		rows        []row
		told        []Answered
		want        Verdict
	}{
		{"a sale that is right", 2, 0, []row{a, b}, []Answered{yes(1, 11), yes(2, 12), no(3, 1)}, Verdict{}},
		{"two orders of one piece", 1, -1, []row{a, b}, []Answered{yes(1, 11), yes(2, 12)}, Verdict{Oversold: 1}},
		{"two orders of one user", 2, 0, []row{a, {12, 1, 1}}, []Answered{yes(1, 11), yes(1, 12)}, Verdict{Duplicate: 1}},
		{"an order that is not there", 2, 1, []row{a}, []Answered{yes(1, 11), yes(2, 12)}, Verdict{Lost: 1}},
		{"an order of another user", 2, 1, []row{a}, []Answered{yes(2, 11)}, Verdict{Lost: 1}},
		{"an order of a part", 9, 8, []row{a}, []Answered{{Wish{1, 1, 5}, Answer{Admitted, 11}}}, Verdict{Lost: 1}},
		{"held, and there is none", 2, 2, nil, []Answered{{Wish{1, 1, 1}, Answer{Held, 11}}}, Verdict{Lost: 1}},
		{"sold out with a unit left", 2, 1, []row{a}, []Answered{yes(1, 11), no(2, 1)}, Verdict{Unsold: 1}},
		{"sold out for a request above the rest", 2, 1, []row{a}, []Answered{yes(1, 11), no(2, 2)}, Verdict{}},
		{"a count that is too high", 2, 2, []row{a}, []Answered{yes(1, 11)}, Verdict{Drift: 1}},
		{"a count that is too low", 2, 0, []row{a}, []Answered{yes(1, 11)}, Verdict{Drift: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, judge(tt.stock, tt.left, tt.rows, tt.told)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOnlyWrongWaysFail(t *testing.T) {
	const times = 5
	all, err := servers(t).Wrong(t.Context(), times)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Verdict{}
	for _, a := range all {
		if !a.Holds {
			t.Errorf("%s: %+v, in theory: %s", a.Name, a.Verdict, a.Theory)
		}
		got[a.Name] = a.Verdict
	}
	want := map[string]Verdict{ // the scenes are forced: in each of its kind it happens once
		"check, then deduct, without a lock":                    {Oversold: times, Duplicate: times},
		"lock of the process, two servers":                      {Oversold: times, Duplicate: times},
		"lock of the process, one server":                       {},
		"lock released before the commit":                       {Oversold: times, Duplicate: times},
		"lock released after the commit":                        {},
		"compare and set of an equal stock, the loser gives up": {Unsold: 2 * times},
		"WATCH, the loser gives up":                             {Unsold: 2 * times},
		"conditional update and a unique index":                 {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTablesArePrinted(t *testing.T) {
	var out strings.Builder
	p := Plan{Redis: testkit.Redis(t), Database: testkit.Postgres(t), Rounds: 1, Each: 20 * time.Millisecond, Times: 1, Scheme: "update"}
	if err := Report(t.Context(), p, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"conditional update", "unsold though stock", "oversold, duplicate"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, &out)
		}
	}
	for _, no := range []string{"SELECT FOR UPDATE"} {
		if strings.Contains(out.String(), no) {
			t.Errorf("unexpected %q in the output", no)
		}
	}
}
