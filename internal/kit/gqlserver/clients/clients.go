// Package clients runs the programs beside it, which ask a GraphQL server with
// the JavaScript clients that people use, for Go tests.
package clients

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/gofrs/flock"
)

// The longest times that the installation of the packages and one program take.
const (
	installTime = 5 * time.Minute
	runTime     = 3 * time.Minute
)

// Node returns how to run the programs in dir, the directory of this package or
// another one with packages of its own, and installs these if need be, one process at
// a time.
//
// The directory of the program node is TANDIAN_TEST_NODE. Without it the test
// is skipped, or fails when TANDIAN_REQUIRE_SERVERS=1.
func Node(t *testing.T, dir string) *Runner {
	t.Helper()
	bin := os.Getenv("TANDIAN_TEST_NODE")
	switch {
	case bin == "" && os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1":
		t.Fatal("needs Node, which TANDIAN_REQUIRE_SERVERS=1 promises: run `make test`")
	case bin == "":
		t.Skip("needs Node: run `make test`")
	}
	r := &Runner{dir: dir, bin: bin}
	if err := r.install(t.Context()); err != nil {
		t.Fatalf("install the clients: %v", err)
	}
	return r
}

// A Runner runs programs. It is safe for concurrent use.
type Runner struct{ dir, bin string }

// The last lines of a program that passed: something ran, and all of it passed.
var passed = regexp.MustCompile(`(?m)^ℹ pass [1-9]\d*$[\s\S]*^ℹ fail 0$\s*^ℹ cancelled 0$\s*^ℹ skipped 0$`)

// Run runs a program, with variables ("NAME=value") added to its environment,
// and fails the test with the program's output unless all its tests passed and
// none was left out.
func (r *Runner) Run(t *testing.T, program string, env ...string) {
	t.Helper()
	out, err := r.run(t.Context(), program, env)
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	if testing.Verbose() {
		t.Logf("%s:\n%s", program, out)
	}
}

// Command returns a run of node, in the directory of the packages, with variables added
// to its environment.
func (r *Runner) Command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	return r.command(ctx, env, filepath.Join(r.bin, "node"), args...)
}

func (r *Runner) run(ctx context.Context, program string, env []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("it did not end within %v", runTime))
	defer cancel()
	out, err := r.Command(ctx, env, "--test-reporter=spec", program).CombinedOutput()
	switch {
	case err != nil:
		return out, errors.Join(err, context.Cause(ctx))
	case !passed.Match(out):
		return out, errors.New("not all its tests ran")
	}
	return out, nil
}

func (r *Runner) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.dir
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the output open
	// npm looks for node on the path. No colours, and no proxy between loopback and us.
	cmd.Env = append(os.Environ(), "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1", "NO_PROXY=127.0.0.1")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// install runs npm unless it did for the lock file as it is. A change of the
// lock file, or an interrupted installation, makes it run again.
func (r *Runner) install(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	lockFile := filepath.Join(r.dir, "package-lock.json")
	// Tests of two packages may come here at once.
	lock := flock.New(lockFile)
	if _, err := lock.TryLockContext(ctx, 50*time.Millisecond); err != nil {
		return fmt.Errorf("wait for another installation: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()

	text, err := os.ReadFile(lockFile)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	want, stamp := hex.EncodeToString(sum[:]), filepath.Join(r.dir, "node_modules", ".installed")
	if got, err := os.ReadFile(stamp); err == nil && string(got) == want {
		return nil
	}
	// It need not lie beside node: the newest of the two may have come alone.
	npm := filepath.Join(r.bin, "npm")
	if _, err := os.Stat(npm); err != nil {
		npm = "npm"
	}
	if out, err := r.command(ctx, nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", errors.Join(err, ctx.Err()), out)
	}
	return os.WriteFile(stamp, []byte(want), 0o600)
}
