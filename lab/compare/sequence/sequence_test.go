package sequence

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The known wrong schemes must fail, or the verdict of Tandian's is worthless.
func TestVerdictsMatchExpectations(t *testing.T) {
	s, err := Open(t.Context(), testkit.Redis(t), testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil { // the test's own context has ended
			t.Error(err)
		}
	})
	const seed = 7
	want := map[string]string{ // bytes, int64, ordered, betrays, repeated
		ours:                                 "8|yes|to the second|no|0|0|0|0",
		"UUIDv4":                             "16|no|no|no|0|0|0|0",
		"UUIDv7":                             "16|no|to the ms|no|0|0|0|0",
		"Redis INCR per day, after seconds":  "8|yes|strictly|exactly|100|0|0|0",
		"Redis INCR per day, after the date": "8|yes|strictly|exactly|100|100|0|0",
		"snowflake":                          "8|yes|to the ms|no|0|0|refuses|1000",
		"nextval for each":                   "8|yes|strictly|exactly|0|0|0|0",
	}
	got := map[string]string{}
	for _, sc := range Schemes() {
		row, err := s.row(t.Context(), sc, Rate{}, rand.New(rand.NewPCG(seed, 0)))
		if err != nil {
			t.Fatal(err)
		}
		got[sc.Name] = strings.Join(row[4:], "|")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// The trial itself must detect a revealing layout: Tandian's without its permutation.
func TestVolumeIsReadWhereIDsRevealIt(t *testing.T) {
	s, err := Open(t.Context(), testkit.Redis(t), "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	n, calls := uint64(0), uint64(0)
	counter := func(step uint64) func(context.Context, Process) (Maker, error) {
		return func(context.Context, Process) (Maker, error) {
			return makerFunc(func(context.Context) (ID, error) {
				calls++
				n += 1 + calls%step
				return ID{Low: n}, nil
			}), nil
		}
	}
	for step, want := range map[uint64]string{1: "exactly", 2: "about"} {
		got, err := s.betrays(t.Context(), Scheme{Name: "counter", New: counter(step), Read: lowDifference}, rand.New(rand.NewPCG(1, 0)))
		if err != nil || got != want {
			t.Errorf("steps of up to %d: %q, %v, want %q", step, got, err, want)
		}
	}
}

func TestRatesHaveRatiosAndRoundTrips(t *testing.T) {
	s, err := Open(t.Context(), testkit.Redis(t), testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close(context.Background()) }()
	schemes := Schemes()
	rates, err := s.Rates(t.Context(), schemes, 1, 20*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	trips := map[string]float64{"Redis INCR per day, after seconds": 1, "Redis INCR per day, after the date": 1, "nextval for each": 1}
	for i, sc := range schemes {
		r := rates[i]
		if r.PerSecond <= 0 || r.ToOurs <= 0 || sc.Name == ours && r.ToOurs != 1 {
			t.Errorf("%s: %+v", sc.Name, r)
		}
		if off := r.Trips - trips[sc.Name]; off < -0.01 || off > 0.05 { // connections cost some too
			t.Errorf("%s: %.3f round trips for a number, want %v", sc.Name, r.Trips, trips[sc.Name])
		}
	}
}
