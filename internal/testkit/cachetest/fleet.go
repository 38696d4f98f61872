package cachetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// Fleet is a group of processes that share a Redis and a [Truth]. Only Call, All and Truth are safe
// for concurrent use.
type Fleet struct {
	setting  Setting
	dir      string
	truth    *Truth
	unmap    func() error
	command  func() *exec.Cmd
	children []*child
	links    []*Link // of the processes to the bus; nil without a bus
}

// Start starts n processes. Each runs a command that calls [Serve] on its standard input and
// output. Close ends them.
func Start(n int, s Setting, command func() *exec.Cmd) (*Fleet, error) {
	dir, err := os.MkdirTemp("", "cachetest")
	if err != nil {
		return nil, fmt.Errorf("create directory for shared memory: %w", err)
	}
	s.Truth = filepath.Join(dir, "truth")
	f := &Fleet{setting: s, dir: dir, command: command, unmap: func() error { return nil }}
	err = createTruth(s.Truth)
	if err == nil {
		f.truth, f.unmap, err = openTruth(s.Truth)
	}
	if err == nil && s.BusURL != "" {
		err = f.openLinks(n)
	}
	for i := 0; i < n && err == nil; i++ {
		f.children = append(f.children, nil)
		err = f.Restart(i)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Truth returns the shared memory. It is invalid after Close.
func (f *Fleet) Truth() *Truth { return f.truth }

// Restart starts process i after [Fleet.Kill].
func (f *Fleet) Restart(i int) error {
	s := f.setting
	s.Number = i
	if len(f.links) > 0 {
		s.BusURL = f.links[i].URL()
	}
	f.truth.Loading[i].Store(0)
	c, err := subprocess.StartProcess[Command, Result](f.command(), s)
	if err == nil {
		f.children[i] = c
	}
	return err
}

// Kill kills process i (SIGKILL where signals exist), waits for its end, and returns the
// number of its running loads.
func (f *Fleet) Kill(i int) (loads int64) {
	f.children[i].Kill()
	return f.truth.Loading[i].Load()
}

// Call sends a command to process i and waits for its result. It returns the error of the cache,
// [subprocess.ErrDied] or the error of ctx.
func (f *Fleet) Call(ctx context.Context, i int, c Command) (Result, error) {
	a, err := f.children[i].Call(ctx, c)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	if err != nil {
		return a, fmt.Errorf("process %d: %s: %w", i, c.Do, err)
	}
	return a, nil
}

// All sends a command to all processes in parallel and returns their results.
func (f *Fleet) All(ctx context.Context, c Command) ([]Result, error) {
	answers, errs := make([]Result, len(f.children)), make([]error, len(f.children))
	var all sync.WaitGroup
	for i := range f.children {
		all.Go(func() { answers[i], errs[i] = f.Call(ctx, i, c) })
	}
	all.Wait()
	return answers, errors.Join(errs...)
}

// RaceOptions configures a race.
type RaceOptions struct {
	Seed       uint64                         // of every random choice of a process; the interleaving varies
	Readers    int                            // of each process
	WritePause time.Duration                  // maximum pause before a write of a process; default 6 ms
	Enough     func() bool                    // reports whether the race may end
	KillPause  func(*rand.Rand) time.Duration // returns the time until the next kill; nil: no kills
}

// Killed counts all kills in a race, and the kills of a process with a running load.
type Killed struct{ All, Loading int }

// Race runs random reads and writes in all processes until Enough returns true. Meanwhile it kills
// and restarts random processes, one at a time. The processes count their results in the [Truth].
func (f *Fleet) Race(ctx context.Context, c RaceOptions) (k Killed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	draw := rand.New(rand.NewPCG(c.Seed, 0))
	racing := make([]<-chan Result, len(f.children))
	for i := range f.children {
		racing[i] = f.children[i].Ask(Command{Do: Race, Readers: c.Readers, Pause: cmp.Or(c.WritePause, 6*time.Millisecond), Seed: draw.Uint64()})
	}
	f.truth.Stop.Store(false)
	var due time.Time
	next := func() {
		if c.KillPause != nil {
			due = time.Now().Add(c.KillPause(draw))
		}
	}
	for next(); !c.Enough(); {
		if err := clock.Sleep(ctx, 5*time.Millisecond); err != nil {
			return k, err
		}
		if c.KillPause == nil || time.Now().Before(due) {
			continue
		}
		i := f.victim(draw)
		k.All++
		if f.Kill(i) > 0 {
			k.Loading++
		}
		if err := f.Restart(i); err != nil {
			return k, err
		}
		racing[i] = f.children[i].Ask(Command{Do: Race, Readers: c.Readers, Pause: cmp.Or(c.WritePause, 6*time.Millisecond), Seed: draw.Uint64()})
		next()
	}
	f.truth.Stop.Store(true)
	for i, done := range racing {
		select {
		case _, ok := <-done:
			if !ok {
				err = errors.Join(err, fmt.Errorf("process %d: %w", i, subprocess.ErrDied))
			}
		case <-ctx.Done():
			return k, ctx.Err()
		}
	}
	return k, err
}

// victim selects a random process to kill. Half of the calls prefer one with a running load.
func (f *Fleet) victim(draw *rand.Rand) int {
	i, loading := draw.IntN(len(f.children)), draw.IntN(2) == 0
	for j := range f.children {
		if k := (i + j) % len(f.children); loading && f.truth.Loading[k].Load() > 0 {
			return k
		}
	}
	return i
}

// Close kills the processes, waits for them and removes the shared memory.
func (f *Fleet) Close() error {
	for _, c := range f.children {
		if c != nil {
			c.Kill()
		}
	}
	return errors.Join(f.closeLinks(), f.unmap(), os.RemoveAll(f.dir))
}

type child = subprocess.Process[Command, Result]
