// Package testbed starts the processes of a measurement over HTTP: the server, and a bare handler
// to compare it with. It reads their CPU time and that of their stores, and has a cheap HTTP client.
package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// A Setting configures a server process.
type Setting struct {
	Bare int // bytes of each answer of a bare handler; 0 is the whole server

	DatabaseURL, RedisURL string
	Wait                  time.Duration // that orderVoucher waits for its order to be stored; 0 does not
	Run                   []string      // value of the server's flag --run; empty is all
}

// A Question requests figures or an action of a server process.
type Question struct {
	CPUProfile   string // a file to write until Profiled; "" is none
	AllocProfile string // a file to write now
	Profiled     bool
}

// An Answer holds the figures of a server process so far.
type Answer struct {
	Addr    string
	CPU     time.Duration // user and system
	Mallocs uint64
	Err     string
}

// Process runs a server process of a measurement. start starts the whole server and returns its
// address.
func Process(ctx context.Context, in io.Reader, out io.Writer, start func(context.Context, Setting) (addr string, err error)) error {
	return subprocess.Serve(in, out, func(s Setting) (func(Question) Answer, error) {
		if s.Bare > 0 {
			start = serveBare
		}
		addr, err := start(ctx, s)
		if err != nil {
			return nil, err
		}
		p := &profiler{}
		return func(q Question) Answer {
			a := Answer{Addr: addr}
			err := p.do(q)
			if err == nil {
				a.CPU, err = harness.CPUTime()
			}
			if err != nil {
				a.Err = err.Error()
			}
			var mem runtime.MemStats
			runtime.ReadMemStats(&mem)
			a.Mallocs = mem.Mallocs
			return a
		}, nil
	})
}

// serveBare serves the minimum for a POST: it reads the body, and writes a constant response.
func serveBare(ctx context.Context, s Setting) (string, error) {
	body := []byte(`{"data":{"orderVoucher":{"order":{"status":"QUEUED"}}}}`)
	if pad := s.Bare - len(body); pad > 0 {
		body = append(body, strings.Repeat(" ", pad)...)
	}
	length := strconv.Itoa(len(body))
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.Header().Set("Content-Length", length)
		_, _ = w.Write(body) // or the client is gone
	})}
	go func() { _ = server.Serve(listener) }() // it ends with the process
	return listener.Addr().String(), nil
}

// A profiler writes profiles of its process.
type profiler struct{ cpu *os.File }

func (p *profiler) do(q Question) error {
	if q.Profiled && p.cpu != nil {
		pprof.StopCPUProfile()
		err := p.cpu.Close()
		p.cpu = nil
		return err
	}
	if q.CPUProfile != "" {
		f, err := os.Create(q.CPUProfile)
		if err != nil {
			return err
		}
		p.cpu = f
		return pprof.StartCPUProfile(f)
	}
	if q.AllocProfile != "" {
		f, err := os.Create(q.AllocProfile)
		if err != nil {
			return err
		}
		return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
	}
	return nil
}

// A Server is a server process.
type Server struct {
	process *subprocess.Process[Question, Answer]
	Addr    string // HOST:PORT
}

// Start starts a server process. Kill ends it.
func Start(ctx context.Context, again func() *exec.Cmd, s Setting) (*Server, error) {
	cmd := again()
	p, err := subprocess.StartProcess[Question, Answer](cmd, s)
	if err != nil {
		return nil, err
	}
	a, err := ask(ctx, p, Question{})
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("start a server: %w", err)
	}
	return &Server{p, a.Addr}, nil
}

// Ask sends a question, and waits at most [subprocess.Patience] for the answer.
func (s *Server) Ask(ctx context.Context, q Question) (Answer, error) { return ask(ctx, s.process, q) }

func ask(ctx context.Context, p *subprocess.Process[Question, Answer], q Question) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, subprocess.Patience)
	defer cancel()
	a, err := p.Call(ctx, q)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	return a, err
}

// Kill ends the process.
func (s *Server) Kill() { s.process.Kill() }
