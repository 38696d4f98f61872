package bench

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheComparisonIsFoundFromWithinACheckoutOnly(t *testing.T) {
	file := func(root, name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ours, without, other := t.TempDir(), t.TempDir(), t.TempDir()
	file(ours, "go.mod", modulePath+"\n\ngo 1.26\n")
	file(ours, "bench/go.mod", modulePath+"/bench\n")
	file(ours, "internal/deep/x.go", "package deep\n")
	file(without, "go.mod", modulePath+"\n")
	file(other, "go.mod", "module example.com/other\n")
	file(other, "bench/go.mod", "module example.com/other/bench\n")
	tests := []struct{ name, dir, want string }{
		{"the root", ours, ours},
		{"a folder in it", filepath.Join(ours, "internal", "deep"), ours},
		{"the comparison's own module", filepath.Join(ours, "bench"), ours},
		{"a copy without the comparison", without, ""},
		{"another module", other, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root, ok := checkout(tt.dir)
			if ok != (tt.want != "") || ok && root != tt.want {
				t.Errorf("found %q, %v; want %q", root, ok, tt.want)
			}
		})
	}
}

// comparisons are the functions that run one.
func comparisons(t *testing.T, dir, only string) map[string]func(out, progress io.Writer) error {
	return map[string]func(out, progress io.Writer) error{
		"cache": func(out, progress io.Writer) error {
			return Cache(t.Context(), CacheConfig{Dir: dir, Only: only}, out, progress)
		},
		"lock": func(out, progress io.Writer) error {
			return Lock(t.Context(), LockConfig{Dir: dir, Only: only}, out, progress)
		},
		"queue": func(out, progress io.Writer) error {
			return Queue(t.Context(), QueueConfig{Dir: dir, Only: only}, out, progress)
		},
		"sale": func(out, progress io.Writer) error {
			return Sale(t.Context(), SaleConfig{Dir: dir, Only: only}, out, progress)
		},
		"sequence": func(out, progress io.Writer) error {
			return Sequence(t.Context(), SequenceConfig{Dir: dir, Only: only}, out, progress)
		},
	}
}

func TestOutsideOfACheckoutAComparisonSaysSo(t *testing.T) {
	for name, compare := range comparisons(t, t.TempDir(), "anomalies") {
		t.Run(name, func(t *testing.T) {
			var out, progress strings.Builder
			if err := compare(&out, &progress); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "needs a checkout") {
				t.Errorf("it said %q", out.String())
			}
		})
	}
}

// TestTheComparisonRuns builds it and asks for a table that it does not have,
// which needs no Redis.
func TestTheComparisonRuns(t *testing.T) {
	for name, compare := range comparisons(t, ".", "nothing") {
		t.Run(name, func(t *testing.T) {
			var out, progress strings.Builder
			err := compare(&out, &progress)
			if err == nil || !strings.Contains(progress.String(), `there is no table "nothing"`) {
				t.Errorf("got %v, %q", err, progress.String())
			}
		})
	}
}
