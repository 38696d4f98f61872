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

// The run of make test. Longer ones, of more clients and more faults, are make livetest. Its
// bounds have ten times the room, for the tests of other packages run beside it.
func TestLiveFeedsMissNothing(t *testing.T) {
	needServers(t)
	cfg := Short(testkit.Seed(t))
	cfg.Leeway, cfg.WholeWithin = 10*cfg.withDefaults().Leeway, 10*cfg.withDefaults().WholeWithin
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
		t.Errorf("after a restart of Redis it took too long until all clients were told something new: %v", report.Wholes)
	}
	if report.Hasty > 0 {
		t.Errorf("%d times a client that was not far behind was told FeedResync", report.Hasty)
	}
	// A run proves nothing in which nothing happened.
	for what, n := range map[string]int{
		"reconnects": report.Reconnects / 100, "messages that were due": report.Due / 100, "event streams": report.Streams,
		"follows": report.Happened["follows"], "unfollows": report.Happened["unfollows"], "slow notes": report.Happened["slow notes"],
	} {
		if n == 0 {
			t.Errorf("there were too few %s", what)
		}
	}
	for _, card := range cfg.Deck {
		for _, name := range card {
			if report.Faults[name] == 0 {
				t.Errorf("the fault %s was not played", name)
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

// aRunWith is one without servers, for what it draws.
func aRunWith(cfg Config) *run { return &run{Config: cfg.withDefaults(), sieve: &sieve{}} }

func TestADeckOfTheSeedHasEveryFaultBeforeAnyComesAgain(t *testing.T) {
	r := aRunWith(Config{})
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
			t.Errorf("%s comes %d times, then %d times", name, n, second[name])
		}
	}
	if first[rebornRedis]+first[killedRedis] < 4 {
		t.Errorf("Redis is restarted too seldom: %v", first)
	}
	if strings.Join(names, " ") != strings.Join(draw(7), " ") {
		t.Error("a seed draws different decks")
	}
	if strings.Join(names, " ") == strings.Join(draw(8), " ") {
		t.Error("all seeds draw the same deck")
	}
}

func TestADeckOfNamesIsPlayedAgainAndAgain(t *testing.T) {
	next, err := aRunWith(Config{Deck: [][]string{{"deaf", "kill-server"}, {"slow-redis"}}}).deck(choicesOf(1, 1))
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
		t.Errorf("%v, want %s", got, want)
	}
	if _, err := aRunWith(Config{Deck: [][]string{{"deaf"}, {"earthquake"}}}).deck(choicesOf(1, 1)); err == nil {
		t.Error("there is a fault that there is not")
	}
}

func TestOnlyQuietMomentsAreMeasured(t *testing.T) {
	record := &Record{Clients: []Client{{
		Conns: []Conn{{Begin: s(0)}, {Begin: s(20)}},
		Told: []Delivered{
			{At: s(2.1), Kind: Added, Note: 1},           // 100 ms
			{At: s(5.5), Kind: Added, Note: 2},           // while something broke
			{At: s(10.3), Kind: Added, Note: 3},          // 300 ms
			{At: s(11), Kind: Removed, Note: 1},          // no publication
			{At: s(12), Kind: Added, Note: 4},            // of nobody's knowledge
			{At: s(20.4), Kind: Added, Note: 5, Conn: 1}, // of a connection that has just begun
		},
	}, {Told: []Delivered{{At: s(2.9), Kind: Added, Note: 1}}, Conns: []Conn{{}}}}}
	notes := map[int64]published{1: {s(2), s(2.05)}, 2: {s(5), s(5)}, 3: {s(10), s(10.5)}, 5: {s(20.1), s(20.1)}}
	var r Report
	r.measure(record, notes, [][2]time.Duration{{s(5.2), s(6)}}, func(client int) bool { return client == 0 })
	want := Report{SinceSent: []time.Duration{s(2.1) - s(2), s(10.3) - s(10)}, SinceAnswered: []time.Duration{0, s(2.1) - s(2.05)}}
	if d := cmp.Diff(want.SinceSent, r.SinceSent) + cmp.Diff(want.SinceAnswered, r.SinceAnswered); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if percentile(r.SinceSent, 50) != r.SinceSent[1] || percentile(r.SinceSent, 99) != r.SinceSent[1] || percentile(nil, 50) != 0 {
		t.Error("percentiles are wrong")
	}
}

func TestEachMutantStillFitsTheSources(t *testing.T) {
	all, err := mutants()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Errorf("there are %d mutants, want 3 or more", len(all))
	}
	for _, m := range all {
		if _, err := m.Overlay("../..", t.TempDir()); err != nil {
			t.Error(err)
		}
		if _, err := aRunWith(Config{Deck: m.Deck}).deck(choicesOf(1, 1)); m.Deck != nil && err != nil {
			t.Error(err)
		}
		for _, name := range m.Breaks {
			if !isFault(name) {
				t.Errorf("%s breaks %s, which is nothing that is looked for", m.Name, name)
			}
		}
	}
}

func TestAMutantThatIsNotThereIsNotHunted(t *testing.T) {
	if _, err := Hunt(context.Background(), 1, []string{"earthquake"}, &strings.Builder{}); err == nil {
		t.Error("it was")
	}
}
