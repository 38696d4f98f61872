// Package livebench is what the processes of the comparison of live subscriptions have
// in common: what they are told and asked, what an item looks like, and how its author
// goes about it. [Process] is such a process, of Tandian and of those that it is
// compared with.
package livebench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// Role is what a process does.
type Role string

// All roles. The author is not in the process that serves: what publishing costs is not
// counted to it.
const (
	Serves    Role = "serves"
	Publishes Role = "publishes"
)

// A Setting is what a process is told first.
type Setting struct {
	Role                  Role
	Way                   string // of a comparison that has several
	DatabaseURL, RedisURL string
	Commits               string // a unix socket: where Tandian's author commits notes for others, and where those ask it to who publish; "" for neither
}

// A Question is what a process is to say or to do.
type Question struct {
	Settle  bool        // first have it give back all memory that it does not use
	People  *People     // of one that publishes
	Publish *Publishing // the same
}

// People are users with a session each.
type People struct {
	Number  int
	Follows int // 0: nobody, 1: the author, more: so many others who write nothing
}

// An Answer is how a process does, and what came of the question.
type Answer struct {
	Addr       string        // HOST:PORT, of one that serves
	CPU        time.Duration // user and system, so far
	RSS        int64         // bytes
	Heap       int64         // of that, in use
	Stacks     int64         // of that
	Goroutines int
	Tokens     []string // of the people
	Next       int64    // the number of the item that would be next
	Err        string
}

// A Server is what Process shows to others.
type Server struct {
	Addr    string
	People  func(ctx context.Context, p People) (tokens []string, err error)
	Publish func(ctx context.Context, title, content string) error // one item, seen by all who follow
}

// Process is a process of the comparison. start starts what the setting says, which ends
// with the process.
func Process(ctx context.Context, in io.Reader, out io.Writer, start func(context.Context, Setting) (*Server, error)) error {
	return subprocess.Serve(in, out, func(s Setting) (func(Question) Answer, error) {
		server, err := start(ctx, s)
		if err != nil {
			return nil, err
		}
		return func(q Question) Answer {
			a, err := server.answer(ctx, q)
			if err != nil {
				a.Err = err.Error()
			}
			return a
		}, nil
	})
}

func (s *Server) answer(ctx context.Context, q Question) (a Answer, err error) {
	a.Addr = s.Addr
	if q.Settle {
		runtime.GC() // what it finalizes goes with the next one
		debug.FreeOSMemory()
	}
	switch {
	case q.People != nil && s.People != nil:
		a.Tokens, err = s.People(ctx, *q.People)
	case q.Publish != nil && s.Publish != nil:
		a.Next, err = q.Publish.run(ctx, s.Publish)
	case q.People != nil || q.Publish != nil:
		err = errors.ErrUnsupported
	}
	if err != nil {
		return a, err
	}
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	a.Heap, a.Stacks, a.Goroutines = int64(mem.HeapInuse), int64(mem.StackInuse), runtime.NumGoroutine()
	if a.RSS, err = resident(); err != nil {
		return a, err
	}
	a.CPU, err = harness.CPUTime()
	return a, err
}

// resident is the memory that this process has, as Linux tells it.
func resident() (bytesOfIt int64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("ask for the memory of this process: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("the memory of this process is %q", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the memory of this process: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
