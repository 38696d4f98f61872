package faulttest_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/faulttest"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// house are servers of a stack in this process, as a place. Nothing harms them.
type house struct {
	servers         []*apptest.Server
	database, redis string
	people          []faulttest.Person
	since           time.Time
	sql             *sql.DB
}

func (h *house) Servers() int               { return len(h.servers) }
func (h *house) URL(server int) string      { return h.servers[server].URL }
func (h *house) DatabaseURL() string        { return h.database }
func (h *house) RedisURL() string           { return h.redis }
func (h *house) People() []faulttest.Person { return h.people }
func (h *house) Shop() string               { return scalar.ID{Type: "Shop", N: 1}.String() }

func (h *house) healthy() (time.Time, bool) { return h.since, true }

// opened starts servers of a stack with so many customers: two of them where there
// can be two.
func opened(t *testing.T, stack *apptest.Stack, customers int) *house {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	if _, errs, code := stack.Command(t, "seed", "--users", strconv.Itoa(customers+2), "--shops", "1", "--tokens", path); code != 0 {
		t.Fatal(errs)
	}
	lines, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	h := &house{servers: []*apptest.Server{stack.Start(t)}, database: stack.Config.DatabaseURL, redis: stack.Config.RedisURL}
	if h.database == "" {
		h.database = "sqlite://" + filepath.Join(stack.Config.DataDir, "tandian.db")
	} else {
		h.servers = append(h.servers, stack.Start(t))
	}
	for line := range strings.Lines(string(lines)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		h.people = append(h.people, faulttest.Person{ID: f[0], Token: f[2]})
	}
	h.since = time.Now()
	h.sql = stack.SQL(t)
	return h
}

// played is a workload that was run for a while and drained, and what came of it.
func (h *house) played(t *testing.T, d time.Duration) (events []faulttest.Event) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	history, err := faulttest.Create(filepath.Join(t.TempDir(), "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := &faulttest.Workload{Place: h, History: history, Seed: seed, VoucherEvery: 700 * time.Millisecond, Healthy: h.healthy}
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.Drain(ctx); err != nil {
		t.Error(err)
	}
	if err := history.Close(); err != nil {
		t.Error(err)
	}
	if err := faulttest.Settle(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	return history.Events()
}

func (h *house) checked(t *testing.T, events []faulttest.Event) faulttest.Verdict {
	t.Helper()
	v, err := faulttest.Check(t.Context(), h, events, faulttest.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAServerThatNothingHarmsBreaksNothing(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		h := opened(t, stack, 300)
		events := h.played(t, 6*time.Second)
		v := h.checked(t, events)
		for _, b := range v.Breaches {
			t.Error(b)
		}
		for _, what := range []string{"order UNPAID", "order ALREADY_ORDERED", "order OUT_OF_STOCK", "pay PAID", "cancel CANCELLED", "me done", "edits told", "wishes in calm", "keys"} {
			if v.Counts[what] == 0 {
				t.Errorf("of %q there was none", what)
			}
		}
		t.Log(counts(v))
	})
}

// counts are those of a verdict, by name.
func counts(v faulttest.Verdict) string {
	var lines []string
	for what, n := range v.Counts {
		lines = append(lines, fmt.Sprintf("%6d %s", n, what))
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[7:], b[7:]) })
	return "\n" + strings.Join(lines, "\n")
}

var _ = redis.Nil
