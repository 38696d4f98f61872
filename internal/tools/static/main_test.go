package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckFindsProgramsWithALoader(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, platform := range []string{"linux/amd64", "linux/arm64", "darwin/arm64"} {
		system, arch, _ := strings.Cut(platform, "/")
		program := filepath.Join(dir, arch+system)
		build := exec.CommandContext(t.Context(), "go", "build", "-o", program, source)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build for %s: %v\n%s", platform, err, out)
		}
		if err := check(program); err != nil {
			t.Errorf("%s: %v", platform, err)
		}
	}
	if err := check("/bin/sh"); err == nil || !strings.Contains(err.Error(), "loader") {
		t.Errorf("/bin/sh: got %v, want a loader", err)
	}
	if err := check(source); err == nil || !strings.Contains(err.Error(), "read program") {
		t.Errorf("source file: got %v, want an error", err)
	}
}
