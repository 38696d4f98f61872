package salebench

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
	"strings"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/measure"
)

// A Setting is what a server process serves.
type Setting struct {
	Bare int // bytes of each answer of a bare handler; 0 is the whole server

	DatabaseURL, RedisURL string
	Wait                  time.Duration // that orderVoucher waits for its order to be stored; 0 does not
	Run                   []string      // what the server does, as its flag says; empty is all
}

// question is what a server process is to say or do.
type question struct {
	CPUProfile   string // a file to write until Profiled; "" is none
	AllocProfile string // a file to write now
	Profiled     bool
}

// answer is how a server process does, so far.
type answer struct {
	Addr    string
	CPU     time.Duration // user and system
	Mallocs uint64
	Err     string
}

// Process is a server process of a measurement. start starts the whole server and
// returns its address.
func Process(ctx context.Context, in io.Reader, out io.Writer, start func(context.Context, Setting) (addr string, err error)) error {
	return measure.Serve(in, out, func(s Setting) (func(question) answer, error) {
		if s.Bare > 0 {
			start = serveBare
		}
		addr, err := start(ctx, s)
		if err != nil {
			return nil, err
		}
		p := &profiler{}
		return func(q question) answer {
			a := answer{Addr: addr}
			err := p.do(q)
			if err == nil {
				a.CPU, err = measure.CPUTime()
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

// serveBare serves the least that a server can do with a POST: it reads it, and
// answers what it always does.
func serveBare(ctx context.Context, s Setting) (string, error) {
	body := []byte(`{"data":{"orderVoucher":{"order":{"status":"QUEUED"}}}}`)
	if pad := s.Bare - len(body); pad > 0 {
		body = append(body, strings.Repeat(" ", pad)...)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write(body) // or the client is gone
	})}
	go func() { _ = server.Serve(listener) }() // it ends with the process
	return listener.Addr().String(), nil
}

// A profiler writes profiles of its process.
type profiler struct{ cpu *os.File }

func (p *profiler) do(q question) error {
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

// A server is such a process.
type server struct {
	process *measure.Process[question, answer]
	addr    string
}

// startServer starts one, which Kill ends.
func startServer(ctx context.Context, again func() *exec.Cmd, s Setting) (*server, error) {
	cmd := again()
	p, err := measure.StartProcess[question, answer](cmd, s)
	if err != nil {
		return nil, err
	}
	a, err := ask(ctx, p, question{})
	if err != nil {
		p.Kill()
		return nil, fmt.Errorf("start a server: %w", err)
	}
	return &server{p, a.Addr}, nil
}

func (s *server) ask(ctx context.Context, q question) (answer, error) { return ask(ctx, s.process, q) }

func ask(ctx context.Context, p *measure.Process[question, answer], q question) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, measure.Patience)
	defer cancel()
	a, err := p.Call(ctx, q)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	return a, err
}

func (s *server) kill() { s.process.Kill() }
