// Package livebench holds the common code of processes that compare live subscriptions: settings,
// requests, and the format and publication of items. [Process] runs such a process, of Tandian or
// of another project.
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

// Role is the task of a process.
type Role string

// All roles. The author is not in the serving process, which excludes the cost of publishing.
const (
	Serves    Role = "serves"
	Publishes Role = "publishes"
)

// A Setting configures a process. It is the first line of its input.
type Setting struct {
	Role                  Role
	Way                   string // name of the contender
	DatabaseURL, RedisURL string
	Commits               string // unix socket through which Tandian's author commits notes of other processes; "" for none
}

// A Question requests figures or an action of a process.
type Question struct {
	Settle  bool        // first return unused memory to the system
	People  *People     // of one that publishes
	Publish *Publishing // the same
}

// People are users with a session each.
type People struct {
	Number  int
	Follows int // 0: none, 1: the author, more: that many users without notes
}

// An Answer holds the figures of a process and the result of a question.
type Answer struct {
	Addr       string        // HOST:PORT, of one that serves
	CPU        time.Duration // user and system, so far
	RSS        int64         // bytes
	Heap       int64         // of that, in use
	Stacks     int64         // of that
	Goroutines int
	Tokens     []string // sessions of the new users
	Next       int64    // number of the next item
	Err        string
}

// A Server holds the operations of a process.
type Server struct {
	Addr    string
	People  func(ctx context.Context, p People) (tokens []string, err error)
	Publish func(ctx context.Context, title, content string) error // one item, for all followers
}

// Process runs a process of the comparison. start starts what the setting describes; it ends with
// the process.
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
		runtime.GC() // FreeOSMemory collects again, after finalizers
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

// resident returns the resident memory of this process, from Linux.
func resident() (bytesOfIt int64, err error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, fmt.Errorf("read process memory: %w", err)
	}
	fields := bytes.Fields(text)
	if len(fields) < 2 {
		return 0, fmt.Errorf("invalid memory of this process: %q", text)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("parse process memory: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
