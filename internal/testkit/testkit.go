// Package testkit provides resources to tests: a private Redis, a private PostgreSQL database,
// shared data files, a random seed.
//
// Tests that need a server are skipped if none is configured, so that plain `go test` works with
// only Go installed. With TANDIAN_REQUIRE_SERVERS=1, which `make test` sets, they fail instead.
// Except for templates and topologies, everything that a function starts or creates ends with the
// test.
package testkit

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	cryptorand "crypto/rand"
)

// Seed returns the seed for a test's random choices and logs it. TANDIAN_TEST_SEED overrides it to
// repeat a failed run.
func Seed(tb testing.TB) uint64 {
	tb.Helper()
	var seed uint64
	if text := os.Getenv("TANDIAN_TEST_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			tb.Fatalf("TANDIAN_TEST_SEED: %v", err)
		}
		seed = n
	} else {
		var b [8]byte
		_, _ = cryptorand.Read(b[:]) // never fails
		seed = binary.LittleEndian.Uint64(b[:])
	}
	tb.Logf("repeat with TANDIAN_TEST_SEED=%d", seed)
	return seed
}

// Eventually waits until cond returns true, and fails the test if within passes first. It checks at
// once and then at growing intervals of up to 20 ms. Call it from the test's goroutine.
func Eventually(tb testing.TB, within time.Duration, cond func() bool) {
	tb.Helper()
	deadline := time.Now().Add(within)
	pause := time.Millisecond
	for !cond() {
		if time.Now().After(deadline) {
			tb.Fatalf("the condition did not hold within %v", within)
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// RunWorkers runs workers until the returned function is called, or the test ends.
func RunWorkers(t testing.TB, workers ...interface {
	Run(ctx context.Context) error
},
) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for _, w := range workers {
		all.Go(func() {
			if err := w.Run(ctx); err != nil {
				t.Errorf("Run: %v", err)
			}
		})
	}
	stop = sync.OnceFunc(func() {
		cancel()
		all.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// SharedFile returns the path of a data file outside the repository. rel is its slash-separated path
// below TANDIAN_SHARED, by default the directory shared next to the repository. If the file is
// missing, ok is false; with TANDIAN_REQUIRE_SHARED=1 the test fails.
func SharedFile(tb testing.TB, rel string) (path string, ok bool) {
	tb.Helper()
	rel = filepath.FromSlash(rel)
	if !filepath.IsLocal(rel) {
		tb.Fatalf("shared file %q: want a path inside the shared directory", rel)
	}
	dir := os.Getenv("TANDIAN_SHARED")
	if dir == "" {
		dir = filepath.Join(filepath.Dir(Root(tb)), "shared")
	}
	path = filepath.Join(dir, rel)
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.IsDir():
		return path, true
	case os.Getenv("TANDIAN_REQUIRE_SHARED") == "1":
		tb.Fatalf("shared file %s is required and missing (%v)", path, err)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		tb.Fatalf("shared file: %v", err)
	}
	return path, false
}

// Root returns the top directory of the repository, also for tests of the module lab.
func Root(tb testing.TB) string {
	tb.Helper()
	root, err := root()
	if err != nil {
		tb.Fatal(err)
	}
	return root
}

func root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "ARCHITECTURE.md")); err == nil {
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no ARCHITECTURE.md above the working directory")
		}
		dir = above
	}
}

// missingServer skips or fails a test that needs a missing server.
func missingServer(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1" {
		tb.Fatalf("needs %s, because of TANDIAN_REQUIRE_SERVERS=1: run `make test`", what)
	}
	tb.Skipf("needs %s: run `make test`", what)
}

// SkipIfShort skips a test under -short. Use it for tests that damage servers or stores, or need thousands
// of users. CI runs with -short, `make nightly` without it.
func SkipIfShort(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("too long for -short: run `make nightly`")
	}
}
