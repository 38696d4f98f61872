package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// What the page of benchmarks shows of the cost of feeds is what the command says today. If
// the model has changed, run
//
//	tandian bench feedsim --users 100000000 --chart docs/feed-cost.svg
//
// and put its table there.
func TestBenchFeedsimIsWhatThePageShows(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "chart.svg")
	out, errs, code := apptest.Embedded(t).Command(t, "bench", "feedsim", "--users", "100000000", "--chart", chart)
	if code != 0 {
		t.Fatal(errs)
	}
	if page := read(t, "../../docs/benchmarks.md"); !strings.Contains(page, "```\n"+out+"```\n") {
		t.Errorf("docs/benchmarks.md does not have this table:\n%s", out)
	}
	if read(t, chart) != read(t, "../../docs/feed-cost.svg") {
		t.Error("docs/feed-cost.svg is not what the command writes")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBenchFeedsimHasATableForEachSize(t *testing.T) {
	out, errs, code := apptest.Embedded(t).Command(t, "bench", "feedsim")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, users := range []string{"1 000 000", "10 000 000", "100 000 000"} {
		if n := strings.Count("\n"+out, "\n"+users+" users follow"); n != 1 {
			t.Errorf("%d tables for %s users", n, users)
		}
	}
}

func TestBenchFeedsimAndScrollSayWhatTheyNeed(t *testing.T) {
	stack := apptest.Embedded(t)
	for _, args := range [][]string{
		{"feedsim", "--users", "10"},
		{"feedsim", "--readers", "50:1"},
		{"feedsim", "--readers", "all"},
		{"feedsim", "--exponent", "1"},
		{"feedsim", "--post-power", "NaN"},
		{"scroll", "--sessions", "0"},
	} {
		if out, errs, code := stack.Command(t, append([]string{"bench"}, args...)...); code != 2 || out != "" {
			t.Errorf("bench %v: %d, %q, %q; want a wrong call", args, code, out, errs)
		}
	}
}
