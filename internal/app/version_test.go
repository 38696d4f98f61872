package app_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestAProgramSaysWhichReleaseItIs(t *testing.T) {
	if testing.Short() {
		t.Skip("links the program")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const app = "github.com/tandian-dev/tandian/internal/app"
	program := filepath.Join(t.TempDir(), "tandian")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", program,
		"-ldflags", fmt.Sprintf("-s -w -X %s.releaseVersion=v1.2.3 -X %[1]s.releaseCommit=0123abcd -X %[1]s.releaseDate=2026-01-02T03:04:05Z", app), ".")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	said, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"tandian v1.2.3\n", "0123abcd\n", "2026-01-02T03:04:05Z\n", runtime.Version() + "\n", runtime.GOOS + "/" + runtime.GOARCH + "\n"} {
		if !strings.Contains(string(said), want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
}
