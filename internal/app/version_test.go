package app_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
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
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, //nolint:gosec // ours
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

func TestAProgramSaysWhichReleaseItIs(t *testing.T) {
	t.Parallel()
	said, err := exec.CommandContext(t.Context(), program(t), "version").Output() //nolint:gosec // ours
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tandian v1.2.3\n", "0123abcd\n", "2026-01-02T03:04:05Z\n", runtime.Version() + "\n", runtime.GOOS + "/" + runtime.GOARCH + "\n"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}
