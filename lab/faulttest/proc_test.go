package faulttest

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"
)

// busyThreads is the environment variable that makes this program write single bytes on that
// many threads.
const busyThreads = "FAULTTEST_BUSY_THREADS"

func beBusy(threads string) error {
	n, err := strconv.Atoi(threads)
	if err != nil {
		return err
	}
	failed := make(chan error, n)
	for range n {
		go func() {
			runtime.LockOSThread()
			for {
				if _, err := os.Stdout.WriteString("x"); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

func TestStopReturnsWhenAllThreadsStopped(t *testing.T) {
	p := &Proc{
		Name: "writer", args: []string{os.Args[0]}, env: []string{busyThreads + "=8"}, log: filepath.Join(t.TempDir(), "log"),
		probe: func(context.Context) error { return nil },
	}
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Kill9() })
	written := func() int64 {
		info, err := os.Stat(p.log)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for range 300 {
		if err := p.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := written()
		time.Sleep(time.Millisecond)
		if after := written(); after != before {
			t.Fatalf("got %d bytes after Stop, want 0", after-before)
		}
		if err := p.Cont(); err != nil {
			t.Fatal(err)
		}
	}
	before := written()
	eventually(t, "the process continues after Cont", func() bool { return written() > before })
}
