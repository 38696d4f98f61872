package sqldb

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestADataDirectoryHasOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not there yet", "data")
	release, err := LockDir(dir, "process 7 (:8080)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDir(dir, "process 8 (:8081)")
	if err == nil || !strings.Contains(err.Error(), dir+" is in use by process 7 (:8080):") {
		t.Errorf("a second claim got %v, want who holds it", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = LockDir(dir, "process 8 (:8081)")
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	_, err = LockDir(dir, "process 9 (:8082)")
	if err == nil || !strings.Contains(err.Error(), "in use by process 8 (:8081);") {
		t.Errorf("a claim after the second one got %v, want the new holder", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestADataDirectoryThatCannotBeMadeIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(filepath.Join(file, "data"), "x"); err == nil || !strings.HasPrefix(err.Error(), "make data directory: ") {
		t.Errorf("got %v", err)
	}
}

// hold claims the directory as a process of its own, says so, and never ends.
func hold(dir string) {
	if _, err := LockDir(dir, fmt.Sprintf("process %d", os.Getpid())); err != nil {
		_, _ = fmt.Println(err)
		os.Exit(1)
	}
	_, _ = fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the test at the latest
	os.Exit(0)
}

func TestADataDirectoryIsFreeAfterItsHolderDied(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder := exec.CommandContext(ctx, os.Args[0])
	holder.Env = append(os.Environ(), "STORE_TEST_HOLD="+dir)
	if _, err := holder.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	pgErr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || pgErr != "held\n" {
		t.Fatalf("the holder said %q (%v)", pgErr, err)
	}
	_, err = LockDir(dir, "us")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d;", holder.Process.Pid)) {
		t.Errorf("while it lives: %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // "killed"
	release, err := LockDir(dir, "us")
	if err != nil {
		t.Fatalf("after its death: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}
