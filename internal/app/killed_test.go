package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// doomedEnv contains the input of a process that kills itself. See doom.
const doomedEnv = "TANDIAN_TEST_DOOMED"

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	if text := os.Getenv(serverEnv); text != "" {
		if err := serve(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // SIGKILL was expected
	}
	if text := os.Getenv(doomedEnv); text != "" {
		if err := doom(text); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // SIGKILL was expected
	}
	if err := parallelTests(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // as the program does
	}
	os.Exit(m.Run())
}

// parallelTests sets the number of parallel tests to twice the processors, because most tests
// wait. The flag -parallel takes precedence.
func parallelTests() error {
	flag.Parse()
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if set {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
}

// doomed describes a process that renames a shop and is killed by SIGKILL between its
// commit and its first message to Redis.
type doomed struct {
	Config config.Config
	Shop   int64
	Name   string
}

// doom runs that process. It prints the time of its death, in unix nanoseconds.
func doom(text string) error {
	var d doomed
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	h, err := app.Open(ctx, &d.Config, io.Discard, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	h.Cache.AddHook(killHook{})
	_, err = h.Shops.Update(ctx, shop.Editor{IsAdmin: true}, d.Shop, shop.Changes{Name: optional.Set(d.Name)})
	return fmt.Errorf("the process survived: %w", err)
}

// killHook kills the process instead of sending a command to Redis.
type killHook struct{}

func die() {
	_, _ = os.Stdout.WriteString(strconv.FormatInt(time.Now().UnixNano(), 10) + "\n")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	select {}
}

func (killHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (killHook) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error { die(); return nil }
}

func (killHook) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error { die(); return nil }
}

// killAfterCommit runs d and returns when the process died.
func killAfterCommit(t *testing.T, d doomed) time.Time {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), doomedEnv+"="+string(text))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run() // killed
	nanos, err := strconv.ParseInt(strings.TrimSpace(out.String()), 10, 64)
	if err != nil {
		t.Fatalf("the process was not killed: %v\n%s", err, errs.String())
	}
	return time.Unix(0, nanos)
}

// A writer is killed between its commit and its invalidation. Half of the changes must be
// visible within the documented 1.5 s, nine of ten within twice that, and all within ten
// times that. The margin is for busy machines. Run the test with -v for the figures.
func TestKilledWriterIsInvalidatedByOthers(t *testing.T) {
	const kills, afterDeath = 10, 1500 * time.Millisecond
	for _, reader := range []string{"off", "auto"} {
		t.Run("log reader "+reader, func(t *testing.T) {
			stack := apptest.Real(t)
			stack.Config.LogReader = reader
			importCSV(t, stack, 1)
			s := stack.Start(t)
			awaitIdle(t, s)
			shops := s.Components().Shops
			id := onlyShop(t, s)
			var gone []time.Duration
			for i := range kills {
				if _, err := shops.ByID(t.Context(), id); err != nil { // fills the cache
					t.Fatal(err)
				}
				seen := make(chan time.Time)
				name := fmt.Sprint("Renamed ", i)
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				go func() {
					for ctx.Err() == nil {
						if one, err := shops.ByID(ctx, id); err == nil && one.Name == name {
							break
						}
						time.Sleep(200 * time.Microsecond)
					}
					seen <- time.Now()
				}()
				died := killAfterCommit(t, doomed{stack.Config, id, name})
				gone = append(gone, (<-seen).Sub(died))
				if ctx.Err() != nil {
					t.Fatalf("the old row is still served after %d kills", i+1)
				}
				cancel()
			}
			slices.Sort(gone)
			t.Logf("%d kills: the old row was invisible after %v (median), %v (maximum)", kills, gone[kills/2], gone[kills-1])
			if median := gone[kills/2]; median > afterDeath {
				t.Errorf("got median %v, want at most %v", median, afterDeath)
			}
			if p90 := gone[kills*9/10-1]; p90 > 2*afterDeath {
				t.Errorf("got 90th percentile %v, want at most %v", p90, 2*afterDeath)
			}
			if worst := gone[kills-1]; worst > slack*afterDeath {
				t.Errorf("got maximum %v, want at most %v", worst, slack*afterDeath)
			}
		})
	}
}

// onlyShop returns the id of the only shop.
func onlyShop(t *testing.T, s *apptest.Server) int64 {
	t.Helper()
	page, err := s.Components().Shops.List(t.Context(), shop.Query{First: 2})
	if err != nil || len(page.Edges) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	return page.Edges[0].Node.ID
}
