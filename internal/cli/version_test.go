package cli_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// programDir is the directory of the program. TestMain removes it.
var programDir string //nolint:gochecknoglobals // shared by all tests of a process

// buildProgram builds the program once for all tests, as release v1.2.3 at 0123abcd.
var buildProgram = sync.OnceValues(func() (path string, err error) { //nolint:gochecknoglobals // shared by all tests of a process
	if programDir, err = os.MkdirTemp("", "tandian-program-"); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	const app = "github.com/tandian-dev/tandian/internal/app"
	path = filepath.Join(programDir, "tandian")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, //nolint:gosec // constant arguments
		"-ldflags", fmt.Sprintf("-s -w -X %s.releaseVersion=v1.2.3 -X %[1]s.releaseCommit=0123abcd -X %[1]s.releaseDate=2026-01-02T03:04:05Z", app), ".")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return path, nil
})

// program returns the path of the built program.
func program(t *testing.T) string {
	t.Helper()
	path, err := buildProgram()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestVersionShowsTheRelease(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), program(t), "version").Output() //nolint:gosec // constant arguments
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tandian v1.2.3\n", "0123abcd\n", "2026-01-02T03:04:05Z\n", runtime.Version() + "\n", runtime.GOOS + "/" + runtime.GOARCH + "\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestProgramStartsFastAndStopsOnCtrlC(t *testing.T) {
	t.Parallel()
	binary := program(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, "--addr", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, 0, 1024)
	url := regexp.MustCompile(`API\s+(http://\S+/graphql)`)
	for url.Find(out) == nil {
		part := make([]byte, 1024)
		n, err := stdout.Read(part)
		out = append(out, part[:n]...)
		if err != nil {
			t.Fatalf("the program ended: %v\n%s", err, errors.Join(err, cmd.Wait()))
		}
	}
	if took := time.Since(begin); took > 30*time.Second { // ten times the promised 3 s
		t.Errorf("ready after %v", took)
	} else {
		t.Logf("ready after %v", took)
	}
	res, err := http.Get(string(url.FindSubmatch(out)[1]) + "?query={shopTypes{name}}")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != 200 {
		t.Errorf("status %d", res.StatusCode)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C: %v, want exit code 0", err)
	}
}
