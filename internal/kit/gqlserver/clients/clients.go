// Package clients runs the JavaScript programs in its directory for Go tests. They
// test a GraphQL server with common JavaScript clients.
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

// Timeouts of the installation of the packages and of one program.
const (
	installTime = 5 * time.Minute
	runTime     = 3 * time.Minute
)

// Node returns a [Runner] for the programs in dir, which has its own npm packages. It
// installs the packages if necessary, one process at a time.
//
// TANDIAN_TEST_NODE is the directory of the node binary. Without it, Node skips the
// test, or fails it if TANDIAN_REQUIRE_SERVERS=1.
func Node(t *testing.T, dir string) *Runner {
	t.Helper()
	bin := os.Getenv("TANDIAN_TEST_NODE")
	switch {
	case bin == "" && os.Getenv("TANDIAN_REQUIRE_SERVERS") == "1":
		t.Fatal("TANDIAN_REQUIRE_SERVERS=1 requires Node: run `make test`")
	case bin == "":
		t.Skip("needs Node: run `make test`")
	}
	r := &Runner{dir: dir, bin: bin}
	if err := r.install(t.Context()); err != nil {
		t.Fatalf("install the clients: %v", err)
	}
	return r
}

// Runner runs Node programs. It is safe for concurrent use.
type Runner struct{ dir, bin string }

// passed matches the last lines of a program with at least one test, none of which
// failed or was skipped.
var passed = regexp.MustCompile(`(?m)^ℹ pass [1-9]\d*$[\s\S]*^ℹ fail 0$\s*^ℹ cancelled 0$\s*^ℹ skipped 0$`)

// Run runs a program with additional environment variables ("NAME=value"). It fails
// the test with the output of the program unless all tests of the program ran and
// passed.
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

// Command returns a command that runs node in the directory of the packages, with
// additional environment variables.
func (r *Runner) Command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	return r.command(ctx, env, filepath.Join(r.bin, "node"), args...)
}

func (r *Runner) run(ctx context.Context, program string, env []string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, runTime, fmt.Errorf("program still runs after %v", runTime))
	defer cancel()
	out, err := r.Command(ctx, env, "--test-reporter=spec", program).CombinedOutput()
	switch {
	case err != nil:
		return out, errors.Join(err, context.Cause(ctx))
	case !passed.Match(out):
		return out, errors.New("program did not run all of its tests")
	}
	return out, nil
}

func (r *Runner) command(ctx context.Context, env []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.dir
	cmd.WaitDelay = 5 * time.Second // a grandchild may hold the output open
	// npm looks for node in PATH. Output has no colours, and loopback uses no proxy.
	cmd.Env = append(os.Environ(), "PATH="+r.bin+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1", "NO_PROXY=127.0.0.1")
	cmd.Env = append(cmd.Env, env...)
	return cmd
}

// install runs npm unless the packages of the current lock file are installed. It runs
// again after a change of the lock file or an interrupted installation.
func (r *Runner) install(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	lockFile := filepath.Join(r.dir, "package-lock.json")
	// Tests of several packages may run in parallel.
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
	// npm may be missing in the directory of node.
	npm := filepath.Join(r.bin, "npm")
	if _, err := os.Stat(npm); err != nil {
		npm = "npm"
	}
	if out, err := r.command(ctx, nil, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", errors.Join(err, ctx.Err()), out)
	}
	return os.WriteFile(stamp, []byte(want), 0o600)
}
