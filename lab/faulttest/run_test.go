package faulttest

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// runTest does one run with a random, logged seed. It fails the test for each breach.
func runTest(t *testing.T, cfg Config) *Report {
	t.Helper()
	var out strings.Builder
	cfg.Seed, cfg.Binary, cfg.Out = testkit.Seed(t), builtServer(t), &out
	cfg.Keep = os.Getenv("TANDIAN_FAULTTEST_KEEP")
	cfg.AnswerWithin = 15 * time.Second // tests of other packages run in parallel
	report, err := Run(t.Context(), cfg)
	t.Log(out.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range report.Breaches {
		t.Errorf("BROKEN %v", b)
	}
	return report
}

// It is part of make labtest. make faulttest runs longer, with more faults.
func TestNothingIsLostUnderSixFaults(t *testing.T) {
	needServers(t)
	report := runTest(t, Config{Duration: 30 * time.Second, Cards: FixedSix(), Trailer: "--six"})
	want := map[string]int{}
	for _, card := range FixedSix() {
		for _, f := range card.Faults {
			want[f.Name]++
		}
	}
	if d := cmp.Diff(want, report.faults()); d != "" {
		t.Errorf("faults (-want +got):\n%s", d)
	}
	checkLoad(t, report)
}

func TestNothingIsLostWhenSingleBinaryIsKilled(t *testing.T) {
	report := runTest(t, Config{Duration: 12 * time.Second, Embedded: true})
	if report.faults()[embeddedKill] == 0 {
		t.Error("got no kill")
	}
	checkLoad(t, report)
}

// checkLoad fails the test if the run proves nothing because its clients were not served.
func checkLoad(t *testing.T, r *Report) {
	t.Helper()
	for _, what := range []string{"order UNPAID", "order OUT_OF_STOCK", "order ALREADY_ORDERED", "pay PAID", "cancel CANCELLED"} {
		if r.Requests[what] < 10 {
			t.Errorf("got %d %s, want 10 or more", r.Requests[what], what)
		}
	}
}

func TestNamedCardsFillARun(t *testing.T) {
	cards, err := cardsByName([][]string{{"kill-server"}, {"slow-pg", "redis-wipe"}})
	if err != nil {
		t.Fatal(err)
	}
	d := time.Minute
	all := fill(cards, d, 7)
	var long time.Duration
	seeds := map[uint64]bool{}
	for i, c := range all {
		long += c.length()
		seeds[c.Seed] = true
		if got, want := c.Faults[0].Name, cards[i%2].Faults[0].Name; got != want {
			t.Errorf("card %d: got %s, want %s", i, got, want)
		}
	}
	if long > d || long < d/2 {
		t.Errorf("got %[2]v of faults in a run of %[1]v", d, long)
	}
	if len(seeds) < len(all)-1 {
		t.Errorf("got %[2]d seeds for %[1]d cards", len(all), len(seeds))
	}
	if d := cmp.Diff(deckText(all), deckText(fill(cards, d, 7))); d != "" {
		t.Error("the same seed gives other cards: ", d)
	}
	if _, err := cardsByName([][]string{{"kill-nothing"}}); err == nil {
		t.Error("got no error for an unknown fault")
	}
}

func TestMutantDecksHaveKnownFaults(t *testing.T) {
	mutants, err := Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		if _, err := cardsByName(m.Deck); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

func TestRunFilesAreSaved(t *testing.T) {
	dir, keep := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "history.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	r := &run{Config: Config{Seed: 5, Duration: time.Minute, Keep: keep, Out: &out}, dir: dir, report: newReport(Config{})}
	r.report.addEvent(1500*time.Millisecond, "kill-server begins")
	if err := r.keep(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"history.jsonl": "{}\n", "happened.txt": "   1.500s  kill-server begins\n"} {
		got, err := os.ReadFile(filepath.Join(keep, "5", name))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, want)
		}
	}
	if !strings.Contains(out.String(), "--seed 5 --dur 1m0s\n") {
		t.Errorf("got %s, want the command that repeats the run", out.String())
	}
}

func TestFirstEmbeddedFaultIsAKill(t *testing.T) {
	kinds := map[string]bool{}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 0))
		if what := embeddedFault(0, r); what != embeddedKill {
			t.Errorf("got %s, want %s", what, embeddedKill)
		}
		kinds[embeddedFault(1, r)] = true
	}
	if len(kinds) != 3 {
		t.Errorf("got %v, want 3 kinds", kinds)
	}
}

func TestRepeatCommand(t *testing.T) {
	const command = "go run ./cmd/lab fault --seed 7 --dur 15s"
	const mutants = "go run ./cmd/lab mutants fault --seed 7 --dur 15s"
	cfg := Config{Seed: 7, Duration: 15 * time.Second}
	six, embedded, cluster := cfg, cfg, cfg
	six.Trailer, embedded.Embedded = "--six", true
	cluster.Command, cluster.Trailer = "cluster", "sync"
	for _, tt := range []struct {
		Config
		want string
	}{
		{cfg, command},
		{six, command + " --six"},
		{embedded, command + " --embedded"},
		{cluster, "go run ./cmd/lab cluster --seed 7 sync"},
		{HuntConfig{Seed: 7, Duration: 15 * time.Second}.run(time.Minute, nil, "blind-release"), mutants + " blind-release"},
		{HuntConfig{Seed: 7, Duration: 15 * time.Second}.run(time.Minute, nil), mutants},
	} {
		if got := (&run{Config: tt.Config}).repeat(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

func TestMutantIsCaughtByItsInvariantsOnly(t *testing.T) {
	m := Mutant{Breaks: []string{"C", "U"}}
	for _, tt := range []struct {
		broken []string
		want   string
	}{
		{nil, "NOT CAUGHT"}, {[]string{"live"}, "WRONG REASON: live"}, {[]string{"U"}, "U"}, {[]string{"C", "live"}, "C"},
	} {
		var c outcome
		if c.found(m, tt.broken); c.verdict() != tt.want {
			t.Errorf("%v: got %s, want %s", tt.broken, c.verdict(), tt.want)
		}
		if caught := len(c.by) > 0; caught != (tt.want == "U" || tt.want == "C") {
			t.Errorf("%v: got caught %v", tt.broken, caught)
		}
	}
}

func TestRunWithoutServedClientsIsBroken(t *testing.T) {
	served := func(embedded bool) *Report {
		r := newReport(Config{Embedded: embedded})
		r.Requests["order UNPAID"], r.Requests["order OUT_OF_STOCK"] = 1, 1
		r.Counts[countCalm], r.Counts[countSearched] = 1, 1
		if !embedded {
			r.Counts[countDBChecks], r.Counts[countRedisChecks] = 1, 1
		}
		return r
	}
	for _, embedded := range []bool{false, true} {
		r := served(embedded)
		if r.checkServed(); r.Broken() {
			t.Errorf("valid run: got %v", r.Breaches)
		}
		for _, what := range []string{"order UNPAID", "order OUT_OF_STOCK"} {
			r := served(embedded)
			delete(r.Requests, what)
			if r.checkServed(); len(r.Breaches) != 1 {
				t.Errorf("without %s: got %v, want one breach", what, r.Breaches)
			}
		}
		for what := range served(embedded).Counts {
			r := served(embedded)
			delete(r.Counts, what)
			if r.checkServed(); len(r.Breaches) != 1 {
				t.Errorf("without %s: got %v, want one breach", what, r.Breaches)
			}
		}
	}
}

func TestReportListsBreaches(t *testing.T) {
	r := newReport(Config{Seed: rand.Uint64()})
	r.addEvent(0, "kill-server begins")
	r.take(Verdict{Breaches: []Breach{{"D", "order 7 is gone"}}, Counts: map[string]int{"order UNPAID": 1, "sales": 3}}, []Event{{Op: OpOrder, Status: "UNPAID"}})
	r.breach("live", "it hangs")
	var out strings.Builder
	if err := r.write(&out); err != nil {
		t.Fatal(err)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"order UNPAID 1", "kill-server 1", "sales 3", "BROKEN D: order 7 is gone", "BROKEN live: it hangs"} {
		if !strings.Contains(words, want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if d := cmp.Diff([]string{"D", "live"}, r.broken()); d != "" {
		t.Error(d)
	}
	if strings.Contains(out.String(), "nothing was broken") {
		t.Error("the report claims that nothing was broken")
	}
}
