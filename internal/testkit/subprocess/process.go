// Package subprocess starts processes for tests and benchmarks: PostgreSQL and Redis servers, and
// further processes of the calling program. Each ends with its parent, even if the parent is
// killed.
package subprocess

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// A Process is a child process that answers questions Q with answers A. It is safe for concurrent
// use.
type Process[Q, A any] struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	exited chan struct{} // closed when the process is dead and its output is read
	once   sync.Once

	mu      sync.Mutex
	dead    bool
	ids     int
	pending map[int]chan A
	out     *json.Encoder
}

// A message is a question or an answer; the ID assigns answers to questions.
type message[T any] struct {
	ID   int
	Text T
}

// ErrDied reports that a process died before it answered.
var ErrDied = errors.New("the process died")

// StartProcess starts a command that calls [Serve] on its standard input and output, and sends it
// the setting. Call Kill to end it.
func StartProcess[Q, A any](cmd *exec.Cmd, setting any) (*Process[Q, A], error) {
	p := &Process[Q, A]{cmd: cmd, exited: make(chan struct{}), pending: make(map[int]chan A)}
	var err error
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start process: %w", err)
	}
	go func() {
		defer close(p.exited)
		p.listen(stdout)
		_ = cmd.Wait() // usually "killed"
	}()
	p.out = json.NewEncoder(p.in)
	if err := p.out.Encode(setting); err != nil {
		p.Kill()
		return nil, fmt.Errorf("send setting to process: %w", err)
	}
	return p, nil
}

// listen delivers answers until the output of the process ends.
func (p *Process[Q, A]) listen(stdout io.Reader) {
	answers := json.NewDecoder(stdout)
	for {
		var a message[A]
		if err := answers.Decode(&a); err != nil {
			break
		}
		p.mu.Lock()
		p.pending[a.ID] <- a.Text // does not block: the capacity is 1
		delete(p.pending, a.ID)
		p.mu.Unlock()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
	for _, c := range p.pending {
		close(c)
	}
	clear(p.pending)
}

// Ask sends a question and returns a channel that receives the answer. If the process dies, the
// channel is closed without an answer.
func (p *Process[Q, A]) Ask(question Q) <-chan A {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := make(chan A, 1)
	if p.dead {
		close(answer)
		return answer
	}
	p.ids++
	p.pending[p.ids] = answer
	_ = p.out.Encode(message[Q]{p.ids, question}) // if the process is dead, listen closes the channel
	return answer
}

// Call sends a question and waits for the answer. Its error is [ErrDied] or the error of ctx. Errors
// of the operation are part of the answer.
func (p *Process[Q, A]) Call(ctx context.Context, question Q) (A, error) {
	select {
	case a, ok := <-p.Ask(question):
		if !ok {
			return a, ErrDied
		}
		return a, nil
	case <-ctx.Done():
		var none A
		return none, ctx.Err()
	}
}

// Kill ends the process, with SIGKILL where signals exist, and waits for it.
func (p *Process[Q, A]) Kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // the process may be dead already
		<-p.exited
		_ = p.in.Close()
	})
}

// Serve is the child's side of a [Process]. It reads the setting from in and calls begin with it.
// Then it reads questions from in, answers them in parallel and writes the answers to out.
//
// It returns nil when in ends, which the kernel closes when the parent dies. It does not wait for
// pending answers, so the process should exit.
func Serve[S, Q, A any](in io.Reader, out io.Writer, begin func(S) (answer func(Q) A, err error)) error {
	questions := json.NewDecoder(in)
	var s S
	if err := questions.Decode(&s); err != nil {
		return fmt.Errorf("read setting: %w", err)
	}
	answer, err := begin(s)
	if err != nil {
		return err
	}
	var mu sync.Mutex // guards answers
	answers := json.NewEncoder(out)
	for {
		var q message[Q]
		if err := questions.Decode(&q); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read question: %w", err)
		}
		go func() {
			a := message[A]{q.ID, answer(q.Text)}
			mu.Lock()
			defer mu.Unlock()
			_ = answers.Encode(a) // fails if the parent has died; in ends next
		}()
	}
}
