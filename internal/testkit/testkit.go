// Package testkit gives tests what they need from outside: a private Redis, a
// database of their own in PostgreSQL, shared data files, a seed.
//
// Tests that ask for a server are skipped when none was offered, so that plain
// `go test` works on a machine with nothing but Go. With TANDIAN_REQUIRE_SERVERS=1,
// which `make test` sets, they fail instead. Everything that a function here
// starts or creates is gone after the test.
package testkit

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	cryptorand "crypto/rand"
)

// Seed returns the seed for a test's random choices, and logs it. It is
// TANDIAN_TEST_SEED when that is set, so that a failed run can be repeated.
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
	tb.Logf("to repeat the random choices: TANDIAN_TEST_SEED=%d", seed)
	return seed
}

// Eventually waits until cond holds, and fails the test if it does not within
// the given time. It asks at once, then more and more rarely, at least every
// 20 ms. Call it from the test's own goroutine.
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

// SharedFile returns the path of a file of the data that lie outside the
// repository, in TANDIAN_SHARED or else in the directory shared beside the
// repository. rel is its path there, with slashes. It reports false when the
// file is missing, and fails the test then if TANDIAN_REQUIRE_SHARED=1.
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

// Root returns the top directory of the repository. Tests run in the directory of their
// package, somewhere below it, also in the module lab/.
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

// without ends a test that cannot run here, as a skip or a failure.
func without(tb testing.TB, what string) {
	tb.Helper()
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1" {
		tb.Fatalf("needs %s, which TANDIAN_REQUIRE_SERVERS=1 promises: run `make test`", what)
	}
	tb.Skipf("needs %s: run `make test`", what)
}

// Long skips a test under -short. It is for tests that harm servers or stores, or need
// thousands of users. CI runs with -short, `make nightly` without it.
func Long(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("left to make nightly")
	}
}
