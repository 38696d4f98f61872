package livetest

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	os.Exit(m.Run())
}

// It is part of make labtest. make livetest runs longer, with more clients and faults. The
// bounds are ten times the defaults, because tests of other packages run in parallel.
func TestLiveFeedsMissNothing(t *testing.T) {
	needServers(t)
	cfg := Short(testkit.Seed(t))
	cfg.Leeway, cfg.RecoverWithin = 10*cfg.withDefaults().Leeway, 10*cfg.withDefaults().RecoverWithin
	cfg.Keep = os.Getenv("TANDIAN_LIVETEST_KEEP")
	var out strings.Builder
	cfg.Out = &out
	report, err := Run(t.Context(), cfg)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range report.Breaches {
		t.Errorf("BROKEN %s: %s", b.Fault, b.Text)
	}
	for _, f := range report.Flaws {
		t.Errorf("BROKEN %s", f)
	}
	if report.Slow > 0 {
		t.Errorf("recovery after restarts of Redis took too long: %v", report.Recoveries)
	}
	if report.Premature > 0 {
		t.Errorf("got %d FeedResync messages for clients that were not far behind, want 0", report.Premature)
	}
	// A run without activity proves nothing.
	for what, n := range map[string]int{
		"reconnects": report.Reconnects / 100, "messages that were due": report.Due / 100, "event streams": report.Streams,
		"follows": report.Happened["follows"], "unfollows": report.Happened["unfollows"], "slow notes": report.Happened["slow notes"],
	} {
		if n == 0 {
			t.Errorf("too few %s", what)
		}
	}
	for _, card := range cfg.Deck {
		for _, name := range card {
			if report.Faults[name] == 0 {
				t.Errorf("fault %s was not played", name)
			}
		}
	}
}

func needServers(t *testing.T) {
	t.Helper()
	_, _, noPG := subprocess.FindPostgres()
	_, noRedis := faulttest.FindRedis()
	if err := errors.Join(noPG, noRedis); err != nil {
		if os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1" {
			t.Fatalf("TANDIAN_REQUIRE_SERVERS=1 promises PostgreSQL and Redis: %v", err)
		}
		t.Skipf("%v: run `make test`", err)
	}
}

// newRun returns a run without servers.
func newRun(cfg Config) *run { return &run{Config: cfg.withDefaults(), proxy: &redisProxy{}} }

func TestSeededDeckHasEveryFaultBeforeRepeats(t *testing.T) {
	r := newRun(Config{})
	draw := func(seed uint64) (names []string) {
		next, err := r.deck(choicesOf(seed, 1))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 * len(r.faults()) {
			card, err := next()
			if err != nil || len(card.Faults) != 1 {
				t.Fatal(card, err)
			}
			names = append(names, card.Faults[0].Name)
		}
		return names
	}
	count := func(names []string) map[string]int {
		all := map[string]int{}
		for _, name := range names {
			all[name]++
		}
		return all
	}
	names := draw(7)
	first, second := count(names[:len(names)/2]), count(names[len(names)/2:])
	for name, n := range first {
		if second[name] != n {
			t.Errorf("got %s %d times, then %d times", name, n, second[name])
		}
	}
	if first[rebornRedis]+first[killedRedis] < 4 {
		t.Errorf("got %v, want at least 4 restarts of Redis", first)
	}
	if strings.Join(names, " ") != strings.Join(draw(7), " ") {
		t.Error("got different decks for one seed")
	}
	if strings.Join(names, " ") == strings.Join(draw(8), " ") {
		t.Error("got equal decks for two seeds")
	}
}

func TestNamedDeckRepeats(t *testing.T) {
	next, err := newRun(Config{Deck: [][]string{{"deaf", "kill-server"}, {"slow-redis"}}}).deck(choicesOf(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		card, err := next()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range card.Faults {
			got = append(got, f.Name)
		}
	}
	if want := "deaf kill-server slow-redis deaf kill-server"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if _, err := newRun(Config{Deck: [][]string{{"deaf"}, {"earthquake"}}}).deck(choicesOf(1, 1)); err == nil {
		t.Error("got no error for an unknown fault")
	}
}

func TestMeasureUsesQuietMomentsOnly(t *testing.T) {
	record := &Record{Clients: []Client{{
		Conns: []Conn{{Begin: s(0)}, {Begin: s(20)}},
		Received: []Delivered{
			{At: s(2.1), Kind: Added, Note: 1},           // 100 ms
			{At: s(5.5), Kind: Added, Note: 2},           // during a fault
			{At: s(10.3), Kind: Added, Note: 3},          // 300 ms
			{At: s(11), Kind: Removed, Note: 1},          // no publication
			{At: s(12), Kind: Added, Note: 4},            // of an unknown note
			{At: s(20.4), Kind: Added, Note: 5, Conn: 1}, // on a new connection
		},
	}, {Received: []Delivered{{At: s(2.9), Kind: Added, Note: 1}}, Conns: []Conn{{}}}}}
	notes := map[int64]published{1: {s(2), s(2.05)}, 2: {s(5), s(5)}, 3: {s(10), s(10.5)}, 5: {s(20.1), s(20.1)}}
	var r Report
	r.measure(record, notes, [][2]time.Duration{{s(5.2), s(6)}}, func(client int) bool { return client == 0 })
	want := Report{SinceSent: []time.Duration{s(2.1) - s(2), s(10.3) - s(10)}, SinceAnswered: []time.Duration{0, s(2.1) - s(2.05)}}
	if d := cmp.Diff(want.SinceSent, r.SinceSent) + cmp.Diff(want.SinceAnswered, r.SinceAnswered); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if percentile(r.SinceSent, 50) != r.SinceSent[1] || percentile(r.SinceSent, 99) != r.SinceSent[1] || percentile(nil, 50) != 0 {
		t.Error("wrong percentiles")
	}
}

func TestEachMutantStillFitsTheSources(t *testing.T) {
	all, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Errorf("got %d mutants, want 3 or more", len(all))
	}
	for _, m := range all {
		if _, err := m.Overlay("../..", t.TempDir()); err != nil {
			t.Error(err)
		}
		if _, err := newRun(Config{Deck: m.Deck}).deck(choicesOf(1, 1)); m.Deck != nil && err != nil {
			t.Error(err)
		}
		for _, name := range m.Breaks {
			if !isFault(name) {
				t.Errorf("%s breaks unknown fault %q", m.Name, name)
			}
		}
	}
}

func TestHuntRefusesUnknownMutant(t *testing.T) {
	if _, err := RunMutants(context.Background(), 1, []string{"earthquake"}, &strings.Builder{}); err == nil {
		t.Error("got no error for an unknown mutant")
	}
}
