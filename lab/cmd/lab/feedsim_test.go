package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// If the model has changed, run this in lab/:
//
//	go run ./cmd/lab bench feedsim --users 100000000 --chart ../docs/feed-cost.svg >cmd/lab/testdata/feedsim.txt
func TestFeedsimPrintsTheGoldenTable(t *testing.T) {
	chart := filepath.Join(t.TempDir(), "chart.svg")
	out, errs, code := command(t, "bench", "feedsim", "--users", "100000000", "--chart", chart)
	if code != 0 {
		t.Fatal(errs)
	}
	if diff := cmp.Diff(read(t, "testdata/feedsim.txt"), out); diff != "" {
		t.Errorf("table of bench feedsim (-want +got):\n%s", diff)
	}
	if read(t, chart) != read(t, "../../../docs/feed-cost.svg") {
		t.Error("docs/feed-cost.svg differs from the output of the command")
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
	out, errs, code := command(t, "bench", "feedsim")
	if code != 0 {
		t.Fatal(errs)
	}
	for _, users := range []string{"1 000 000", "10 000 000", "100 000 000"} {
		if n := strings.Count("\n"+out, "\n"+users+" users follow"); n != 1 {
			t.Errorf("got %d tables for %s users, want 1", n, users)
		}
	}
}

func TestFeedsimAndPagingRefuseWrongFlags(t *testing.T) {
	for _, args := range [][]string{
		{"feedsim", "--users", "10"},
		{"feedsim", "--readers", "50:1"},
		{"feedsim", "--readers", "all"},
		{"feedsim", "--exponent", "1"},
		{"feedsim", "--post-power", "NaN"},
		{"paging", "--sessions", "0"},
	} {
		if out, errs, code := command(t, append([]string{"bench"}, args...)...); code != 2 || out != "" {
			t.Errorf("bench %v: exit %d, %q, %q; want exit 2 and no output", args, code, out, errs)
		}
	}
}
