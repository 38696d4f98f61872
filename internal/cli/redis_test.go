package cli_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

func TestBigKeysSumsUpPatterns(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	s := stack.Start(t)
	_, _ = s.Login(t, "+8613800001111")
	state := s.Components().State
	for i := range 30 {
		if err := state.Set(t.Context(), fmt.Sprintf("test:many:{%d}", i), "0123456789", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	stack.Config.RedisPrefix = "test" // another installation on the same Redis, for the commands
	out, errs, code := stack.Command(t, "redis", "bigkeys", "--rate", "0")
	want := regexp.MustCompile(`(?s)^PATTERN +TYPE +KEYS +BYTES .*\ntest:many:\{\*\} +string +30 +\d{4} +\d+ +10 +30 +test:many:\{\d+\}\nall 1 patterns +30 +\d{4} +30 *\n$`)
	if code != 0 || !want.MatchString(out) {
		t.Errorf("exit %d, stdout\n%s\nstderr\n%s", code, out, errs)
	}
	if !regexp.MustCompile(`keys: (\d+) of \d+ in `).MatchString(errs) {
		t.Errorf("stderr shows no progress:\n%s", errs)
	}
	stack.Config.RedisPrefix = "td"
	out, errs, code = stack.Command(t, "redis", "bigkeys", "--role", "cache", "--top", "1")
	if code != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(out, "td:") || strings.Contains(out, "test:") {
		t.Errorf("exit %d, stdout\n%s\nstderr\n%s", code, out, errs)
	}
}

func TestCatShowsRecordsAndMasksSecrets(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	s := stack.Start(t)
	s.Recovered(t) // until then, it may drop cached rows
	ann, _ := s.Login(t, "+8613800001111")
	ann.Must(t, meQuery, nil, nil)
	key := func(pattern string) string {
		t.Helper()
		keys, _, err := s.Components().State.Scan(t.Context(), 0, pattern, 10_000).Result()
		if err != nil || len(keys) == 0 {
			t.Fatalf("no key %s, %v", pattern, err)
		}
		return slices.Min(keys)
	}
	tests := []struct {
		name, key string
		want      []string // in this order
	}{
		{"a cached row", key("td:cache:user:{?}"), []string{"type     string", "ttl      3", "bytes of text", "record   value", "created  20", `"phone": "138****1111"`}},
		{"a session", key("td:session:*"), []string{"type     hash", "ttl      35h", "size     4 members", "(masked, "}},
		{"a counter of codes", key("td:code-limit:*:day"), []string{"type     string", "(masked, 1 bytes)"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, errs, code := stack.Command(t, "redis", "cat", tt.key)
			if code != 0 {
				t.Fatal(errs)
			}
			rest := out
			for _, want := range tt.want {
				_, after, ok := strings.Cut(rest, want)
				if !ok {
					t.Errorf("no %q in order in\n%s", want, out)
				}
				rest = after
			}
		})
	}
	t.Run("a long set", func(t *testing.T) {
		members := make([]any, 250)
		for i := range members {
			members[i] = fmt.Sprintf("line\n%d", i)
		}
		if err := s.Components().State.SAdd(t.Context(), "test:set", members...).Err(); err != nil {
			t.Fatal(err)
		}
		other := *stack
		other.Config.RedisPrefix = "test"
		out, errs, code := other.Command(t, "redis", "cat", "test:set")
		if code != 0 || strings.Count(out, `"line\n`) != 100 || !strings.HasSuffix(out, "… 150 more\n") || !strings.Contains(out, "none: it does not expire") {
			t.Errorf("%s%s", out, errs)
		}
	})
}

func TestRedisCommandsRejectWrongCalls(t *testing.T) {
	embedded, unavailable := apptest.Embedded(t), apptest.Embedded(t)
	unavailable.Config.RedisURL = "redis://127.0.0.1:1"
	tests := []struct {
		name  string
		stack *apptest.Stack
		args  []string
		code  int
		want  string
	}{
		{"bigkeys, embedded", embedded, []string{"redis", "bigkeys"}, 2, "inside the server's process"},
		{"cat, embedded", embedded, []string{"redis", "cat", "td:x"}, 2, "inside the server's process"},
		{"unknown role", unavailable, []string{"redis", "bigkeys", "--role", "queen"}, 2, `unknown role "queen"`},
		{"negative rate", unavailable, []string{"redis", "bigkeys", "--rate", "-1"}, 2, "--rate must be at least 0"},
		{"extra argument", unavailable, []string{"redis", "bigkeys", "td"}, 2, `unexpected argument "td"`},
		{"no key", unavailable, []string{"redis", "cat"}, 2, "one KEY"},
		{"another prefix", unavailable, []string{"redis", "cat", "x:y"}, 2, "begin with td:"},
		{"unavailable Redis", unavailable, []string{"redis", "cat", "td:x"}, 1, "reach the state Redis"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, errs, code := tt.stack.Command(t, tt.args...); code != tt.code || !strings.Contains(errs, tt.want) {
				t.Errorf("exit %d and %q, want %d and %q", code, errs, tt.code, tt.want)
			}
		})
	}
}
