package progress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPlainLinesAreLimited(t *testing.T) {
	type step struct {
		wait time.Duration
		done int
	}
	tests := []struct {
		name  string
		total int
		steps []step
		want  []string
	}{
		{
			"quick work is one line", 500,
			[]step{{300 * time.Millisecond, 250}, {200 * time.Millisecond, 500}},
			[]string{"shops: 500 of 500 in 0.5 s, 1000/s"},
		},
		{
			"no two lines within two seconds", 100,
			[]step{{1900 * time.Millisecond, 20}, {200 * time.Millisecond, 40}, {time.Second, 60}, {time.Second, 80}, {900 * time.Millisecond, 100}},
			[]string{"shops: 40 of 100 (40 %)", "shops: 80 of 100 (80 %)", "shops: 100 of 100 in 5.0 s, 20/s"},
		},
		{
			"no two lines within ten percent", 100,
			[]step{{3 * time.Second, 9}, {3 * time.Second, 10}, {3 * time.Second, 19}, {3 * time.Second, 20}, {8 * time.Second, 100}},
			[]string{"shops: 10 of 100 (10 %)", "shops: 20 of 100 (20 %)", "shops: 100 of 100 in 20.0 s, 5/s"},
		},
		{
			"early end", 100,
			[]step{{2 * time.Second, 8}},
			[]string{"shops: 8 of 100 in 2.0 s, 4/s"},
		},
		{"nothing to do", 0, nil, []string{"shops: 0 of 0 in 0.0 s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // the clock advances only in Sleep
				var out strings.Builder
				p := New(&out, "shops", tt.total)
				for _, s := range tt.steps {
					time.Sleep(s.wait)
					p.Set(s.done)
				}
				p.Close()
				p.Close()
				p.Set(1)
				if diff := cmp.Diff(tt.want, strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

func TestTerminalBar(t *testing.T) {
	tests := []struct {
		name string
		done []int // one a second
		want string
	}{
		{"all done", []int{0, 100, 200, 300, 400}, "400 of 400 in 5.0 s, 80/s\n"},
		{"ended early", []int{0, 200}, "200 of 400 in 2.0 s, 100/s\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				p := newBar(&out, "shops", 400, true)
				for _, done := range tt.done {
					p.Set(done)
					time.Sleep(time.Second)
				}
				p.Close()
				bar, last, _ := strings.Cut(out.String(), "shops: ")
				if !strings.Contains(bar, "\rshops") || !strings.Contains(bar, "50%") || strings.Contains(bar, "\n") {
					t.Errorf("bar %q", bar)
				}
				left := strings.TrimSuffix(bar, "\r")
				if left = left[strings.LastIndex(left, "\r")+1:]; left == bar || strings.Trim(left, " ") != "" {
					t.Errorf("the bar is not cleared before the last line: %q", left)
				}
				if diff := cmp.Diff(tt.want, last); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

func TestFileIsNoTerminal(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if isTerminal(f) || isTerminal(&strings.Builder{}) {
		t.Error("got a terminal, want none")
	}
}
