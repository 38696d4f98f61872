package cache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) {
	Hush()
	goleak.VerifyTestMain(m)
}

func variant(t *testing.T, name string) Variant {
	t.Helper()
	for _, v := range Variants() {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("unknown variant %q", name)
	panic("unreachable")
}

// The test logs its seed, and TANDIAN_TEST_SEED sets it.
func seed(t *testing.T) uint64 {
	s, err := strconv.ParseUint(os.Getenv("TANDIAN_TEST_SEED"), 10, 64)
	if err != nil {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d", s)
	return s
}

func mustRace(t *testing.T, name, url string, during time.Duration, seed uint64) RaceResult {
	t.Helper()
	got, err := Race(t.Context(), variant(t, name), url, fmt.Sprintf("race%d:", seed), during, seed)
	if err != nil {
		t.Fatal(err)
	}
	if got.Errors > 0 {
		t.Fatalf("%s: %d errors, the first is %v", name, got.Errors, got.FirstError)
	}
	return got
}

// TestKnownWrongSchemesFail makes a 0 of this harness meaningful. The time until a scheme
// fails depends on the machine, so the limit is generous.
func TestKnownWrongSchemesFail(t *testing.T) {
	url, s := testkit.Redis(t), seed(t)
	for _, name := range []string{
		"cache-aside", "cache-aside, singleflight", "cache first: delete, then write", "delete before commit",
		"update instead of delete", "delayed double delete", "pure logical expiry", "go-redis/cache", "rockscache weak",
	} {
		t.Run(name, func(t *testing.T) {
			var sum RaceResult
			for limit := time.Now().Add(20 * time.Second); sum.Stale == 0; s++ {
				if time.Now().After(limit) {
					t.Fatalf("no stale read in %d reads and %d writes", sum.Reads, sum.Writes)
				}
				sum = sum.plus(mustRace(t, name, url, 500*time.Millisecond, s))
			}
			if sum.Worst <= 0 {
				t.Errorf("%d stale reads, of an age of %v", sum.Stale, sum.Worst)
			}
		})
	}
}

func TestTandianShowsNoStaleRead(t *testing.T) {
	got := mustRace(t, oursName, testkit.Redis(t), 3*time.Second, seed(t))
	t.Logf("%+v", got)
	if got.Stale > 0 || got.Absent > 0 {
		t.Errorf("%d stale reads, %d absent", got.Stale, got.Absent)
	}
	if got.Reads < 1000 || got.Writes < 100 || got.Loads < 50 {
		t.Errorf("%d reads, %d writes, %d loads: this run shows nothing", got.Reads, got.Writes, got.Loads)
	}
}

// TestAnomaliesAreDetected names the failures of each scheme: additional ones are an error of the
// harness, and so are missing ones.
func TestAnomaliesAreDetected(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	tests := []struct{ name, fails string }{
		{"cache-aside", "A1 A2"},
		{"cache-aside, singleflight", "A1 A2 A3"},
		{"cache first: delete, then write", "A1 A2 A3 A14"},
		{"delete before commit", "A1 A2 A3 A14"},
		{"delayed double delete", "A1 A2 A3"},
		{"update instead of delete", "A1 A2 A25"},
		{"write-through", "A1 A2 A25"},
		{"set under lock and timestamp", ""},
		{"set by a one-writer queue", "A1 A2 A25"},
		{"pure logical expiry", "A1 A2 A3 A5 A9 A14 A20 A25"},
		{"rockscache strong", "A3 A5 A6 A7 A9 A27"},
		{"jetcache-go", "A1 A2 A3 A9 A27"},
		{oursName, ""},
	}
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			v := variant(t, tt.name)
			verdicts := make([]Verdict, len(Anomalies()))
			failed := make([]error, len(verdicts))
			var all sync.WaitGroup
			for j, a := range Anomalies() {
				all.Go(func() {
					verdicts[j], failed[j] = Try(t.Context(), a, v, url, fmt.Sprintf("%d-%s:", i, a.ID))
				})
			}
			all.Wait()
			if err := errors.Join(failed...); err != nil {
				t.Fatal(err)
			}
			var fails []string
			for j, a := range Anomalies() {
				if v := verdicts[j]; !v.Passes && !v.None {
					t.Logf("%s: %s", a.ID, v.Why)
					fails = append(fails, a.ID)
				}
			}
			if diff := cmp.Diff(tt.fails, strings.Join(fails, " ")); diff != "" {
				t.Errorf("fails (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTandianRunsEveryScenario ensures that "does not arise" hides no failure.
func TestTandianRunsEveryScenario(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	for _, a := range Anomalies() {
		got, err := Try(t.Context(), a, variant(t, oursName), url, a.ID+":")
		if err != nil {
			t.Fatal(err)
		}
		if !got.Passes {
			t.Errorf("%s: %v %s", a.ID, got, got.Why)
		}
	}
}

func TestLockWithoutOwnerAllowsTwoLoads(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	tests := []struct {
		name string
		want bool // a third reader loads in parallel with the second
	}{
		{"mutex rebuild, SETNX and sleep", false},
		{"mutex rebuild, no owner check", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			l := &lab{variant: variant(t, tt.name), url: url, prefix: tt.name, opened: make(map[*fleet]struct{})}
			s, err := l.stage(time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.close(); err != nil {
					t.Error(err)
				}
			}()
			s.db.Put(row, "1")
			s.loads.close(3)
			slow := readLater(ctx, s.p1, row)
			first := s.loads.next(ctx, 10*time.Second)
			m := s.p1.(*mutex)
			if err := m.Redis.Del(ctx, m.lockKey(row)).Err(); err != nil { // its life is over
				t.Fatal(err)
			}
			next := readLater(ctx, s.p2, row)
			second := s.loads.next(ctx, 10*time.Second)
			first.release()
			<-slow
			// The third reader must not get the value of the slow load.
			if err := m.drop(ctx, row); err != nil {
				t.Fatal(err)
			}
			third := readLater(ctx, s.p3, row)
			loading := s.loads.next(ctx, patience)
			if got := loading != nil; got != tt.want {
				t.Errorf("two load at once: %v, want %v", got, tt.want)
			}
			s.loads.open()
			second.release()
			if loading != nil {
				loading.release()
			}
			<-next
			<-third
		})
	}
}

func TestAHotKeyIsLoadedOnceByTandian(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	tests := []struct {
		name string
		want func(each float64) bool // loads per expiry
	}{
		{oursName, func(each float64) bool { return each == 1 }},
		{"cache-aside", func(each float64) bool { return each > hotInstances }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Hot(t.Context(), variant(t, tt.name), url, tt.name+":", 2500*time.Millisecond)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%+v", got)
			if got.Expiries == 0 || !tt.want(float64(got.Loads)/float64(got.Expiries)) {
				t.Errorf("%d loads in %d expiries", got.Loads, got.Expiries)
			}
		})
	}
}

func TestReportPrintsATableAndLeavesNoKeys(t *testing.T) {
	t.Parallel()
	url := testkit.Redis(t)
	var out strings.Builder
	if err := Report(t.Context(), Plan{URL: url, Only: []string{"anomalies"}, Scheme: oursName}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), oursName+"  passes") {
		t.Errorf("the table lacks our row:\n%s", out.String())
	}
	rdb, err := client(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rdb.Close() }()
	left, err := rdb.DBSize(t.Context()).Result()
	if err != nil || left > 0 {
		t.Errorf("%d keys are left, %v", left, err)
	}
}

func TestEachVariantHasANameOfItsOwn(t *testing.T) {
	var names []string
	for _, v := range Variants() {
		if slices.Contains(names, v.Name) {
			t.Errorf("two variants are named %q", v.Name)
		}
		names = append(names, v.Name)
	}
}
