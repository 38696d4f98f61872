package lockbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// isProcess is set for a process that a test started.
const isProcess = "TANDIAN_TEST_LOCK_PROCESS"

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	if os.Getenv(isProcess) == "" {
		// After a refusal, a pool retries for a second after it is closed.
		goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
		return
	}
	if err := Process(context.Background(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// onPath puts the redis-server of the tests on the PATH of measurements.
func onPath(t *testing.T) {
	t.Setenv("PATH", filepath.Dir(os.Getenv("TANDIAN_TEST_REDIS_SERVER"))+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// small returns options for a run of all rows in a few seconds.
func small(t *testing.T, url string) Options {
	return Options{
		RedisURL: url, Rounds: 3, Handovers: 40, Waiters: 12, Cancelled: 2000, Leases: 200, Progress: t.Output(),
		tidying: 5 * time.Second, ttl: 8 * time.Second,
		Processes: func() *exec.Cmd {
			cmd := exec.Command(os.Args[0])
			cmd.Env, cmd.Stderr = append(os.Environ(), isProcess+"=1"), os.Stderr
			return cmd
		},
	}
}

// TestLockMeetsGoalsIndependentOfTime runs all rows on a small scale. It does not judge durations:
// the machine of a test is busy.
func TestLockMeetsGoalsIndependentOfTime(t *testing.T) {
	url := testkit.Redis(t)
	onPath(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var out strings.Builder
	if err := Rows(ctx, small(t, url), &out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.String())
	for _, what := range []string{
		`attempts of a process for each release`,
		`holders at a time, more than one`,
		`commands that Redis executed in 1 s of waiting`,
		`locks left by calls that were cancelled`,
		`works told to stop before their lock ended`,
	} {
		t.Run(what, func(t *testing.T) {
			row := regexp.MustCompile(`(?m)^.*` + what + `.*$`).FindString(out.String())
			if !strings.HasSuffix(strings.TrimRight(row, " "), "  yes") {
				t.Errorf("not met: %q", row)
			}
		})
	}
}

func TestHarmfulRowsNeedTheirOwnRedis(t *testing.T) {
	url := testkit.Redis(t)
	t.Setenv("PATH", t.TempDir())
	var out strings.Builder
	o := small(t, url)
	o.Rounds, o.Handovers, o.Waiters = 1, 2, 3
	if err := Rows(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "needs redis-server on PATH"); n != 4 {
		t.Errorf("%d rows say so:\n%s", n, out.String())
	}
}
