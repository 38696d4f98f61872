package queue

import (
	"context"
	"fmt"
	"net/rpc"
	"os/exec"
	"sync"
)

// A process is a [Worker] in a process of its own, which may be killed.
type process struct {
	*rpc.Client
	cmd  *exec.Cmd
	once sync.Once
}

// startProcess starts a command that calls [Serve] on its standard input and output.
func startProcess(cmd *exec.Cmd) (*process, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	return &process{Client: rpc.NewClient(pipes{out, in}), cmd: cmd}, nil
}

// kill ends the process by SIGKILL, where there are signals, and waits for it.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // it may be dead already
		_ = p.Close()
		_ = p.cmd.Wait() // "killed"
	})
}

// start sends a request and returns a function that waits for the result.
func start[R any](p *process, method string, args any) (wait func(ctx context.Context) (R, error)) {
	result := new(R)
	call := p.Go("Worker."+method, args, result, make(chan *rpc.Call, 1))
	return func(ctx context.Context) (R, error) {
		select {
		case <-call.Done:
			if call.Error != nil {
				return *result, fmt.Errorf("%s: %w", method, call.Error)
			}
			return *result, nil
		case <-ctx.Done():
			var none R
			return none, fmt.Errorf("%s: %w", method, ctx.Err())
		}
	}
}

// ask sends a request and waits for the result.
func ask[R any](ctx context.Context, p *process, method string, args any) (R, error) {
	return start[R](p, method, args)(ctx)
}
