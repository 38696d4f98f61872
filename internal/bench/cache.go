package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache/cachebench"
)

// modulePath stands in the go.mod of a checkout.
const modulePath = "module github.com/tandian-dev/tandian"

// CacheConfig says what [Cache] measures.
type CacheConfig struct {
	RedisURL string // one Redis; "" for a private one, for which redis-server has to be on PATH
	Dir      string // where to look for a checkout, upwards
	Only     string // tables to print, between commas: ours, and those of bench/cmd/cache; "" for all
	Each     time.Duration
	Seed     uint64
	Ours     cachebench.Options // of our own rows
}

// Cache prints how Tandian's cache compares with the field's. Our own rows come
// first. The comparison is a module of its own, whose libraries the server does
// not need: in a checkout it is built and run as a child, elsewhere Cache says
// that it is not there. Progress and errors of the child go to progress.
func Cache(ctx context.Context, cfg CacheConfig, out, progress io.Writer) error {
	only := strings.FieldsFunc(cfg.Only, func(r rune) bool { return r == ',' || r == ' ' })
	others := slices.DeleteFunc(slices.Clone(only), func(table string) bool { return table == "ours" })
	if len(only) == 0 || len(others) < len(only) {
		if err := cachebench.Rows(ctx, cfg.Ours, out); err != nil {
			return fmt.Errorf("measure the cache: %w", err)
		}
	}
	if len(only) > 0 && len(others) == 0 {
		return nil
	}
	root, ok := checkout(cfg.Dir)
	if !ok {
		_, err := fmt.Fprintln(out, "The comparison with other schemes and libraries needs a checkout of Tandian and Go: run this command in one.")
		return err
	}
	args := []string{"--dur", cfg.Each.String(), "--seed", strconv.FormatUint(cfg.Seed, 10), "--only", strings.Join(others, ",")}
	return runComparison(ctx, cfg.RedisURL, args, filepath.Join(root, "bench"), out, progress)
}

// checkout finds the root of a checkout that has the comparison, from dir
// upwards.
func checkout(dir string) (root string, ok bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && isOurs(string(text)) {
			_, err := os.Stat(filepath.Join(dir, "bench", "go.mod"))
			return dir, err == nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

func isOurs(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(first) == modulePath
}

// runComparison builds bench/cmd/cache and runs it. Building and running are
// two steps so that an interrupt reaches the program and not only the go
// command.
func runComparison(ctx context.Context, redisURL string, args []string, dir string, out, progress io.Writer) error {
	temp, err := os.MkdirTemp("", "tandian-bench")
	if err != nil {
		return fmt.Errorf("make a directory for the comparison: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	program := filepath.Join(temp, "cache.exe") // the name that also Windows can run
	build := child(ctx, dir, "go", "build", "-o", program, "./cmd/cache")
	build.Stdout, build.Stderr = progress, progress
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the comparison: %w", err)
	}
	compare := child(ctx, dir, program, args...)
	compare.Stdout, compare.Stderr = out, progress
	if redisURL != "" { // not among the arguments, which every user of the machine can read
		compare.Env = append(os.Environ(), "BENCH_REDIS_URL="+redisURL)
	}
	if err := compare.Run(); err != nil {
		return errors.Join(ctx.Err(), fmt.Errorf("run the comparison: %w", err))
	}
	return nil
}

// child is a program that is asked to end with ctx, and ended if it does not.
func child(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}
