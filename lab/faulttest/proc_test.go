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

// busyThreads is the name of a variable that has this program be one whose threads, as
// many as it says, write a byte at a time.
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

func TestWhatIsStoppedStandsStillWhenStopReturns(t *testing.T) {
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
			t.Fatalf("it wrote %d bytes after it was stopped", after-before)
		}
		if err := p.Cont(); err != nil {
			t.Fatal(err)
		}
	}
	before := written()
	eventually(t, "it goes on when it is let", func() bool { return written() > before })
}
