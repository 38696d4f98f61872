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

func TestDataDirectoryHasOneHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not there yet", "data")
	release, err := LockDir(dir, "process 7 (:8080)")
	if err != nil {
		t.Fatal(err)
	}
	_, err = LockDir(dir, "process 8 (:8081)")
	if err == nil || !strings.Contains(err.Error(), dir+" is in use by process 7 (:8080):") {
		t.Errorf("second lock: got %v, want the holder", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	release, err = LockDir(dir, "process 8 (:8081)")
	if err != nil {
		t.Fatalf("after release: %v", err)
	}
	_, err = LockDir(dir, "process 9 (:8082)")
	if err == nil || !strings.Contains(err.Error(), "in use by process 8 (:8081):") {
		t.Errorf("third lock: got %v, want the new holder", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestLockDirReturnsMkdirError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LockDir(filepath.Join(file, "data"), "x"); err == nil || !strings.HasPrefix(err.Error(), "create data directory: ") {
		t.Errorf("got %v", err)
	}
}

// hold locks the directory as a separate process, prints a line, and waits.
func hold(dir string) {
	if _, err := LockDir(dir, fmt.Sprintf("process %d", os.Getpid())); err != nil {
		_, _ = fmt.Println(err)
		os.Exit(1)
	}
	_, _ = fmt.Println("held")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // ends with the test at the latest
	os.Exit(0)
}

func TestCrashReleasesDataDirectory(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	holder := exec.CommandContext(ctx, os.Args[0])
	holder.Env = append(os.Environ(), "SQLDB_TEST_HOLD="+dir)
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "held\n" {
		t.Fatalf("holder printed %q (%v)", line, err)
	}
	_, err = LockDir(dir, "us")
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("in use by process %d:", holder.Process.Pid)) {
		t.Errorf("locked: got %v", err)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // "killed"
	release, err := LockDir(dir, "us")
	if err != nil {
		t.Fatalf("after the crash: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}
