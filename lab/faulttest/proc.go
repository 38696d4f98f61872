package faulttest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startTimeout = 60 * time.Second // for a started process to answer; servers wait that long for their stores
	stopTimeout  = 30 * time.Second // for a process to end after a request
	logLines     = 10               // of a log, in an error
)

// BuildServer builds the program of the server's module into dir and returns its path.
// overlay is a file for `go build -overlay`, or "".
func BuildServer(ctx context.Context, dir, overlay string) (path string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "tandian")
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", path} // linking is faster without debug tables
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build server: %w\n%s", err, out)
	}
	return path, nil
}

// serverModule is the first line of the server's go.mod.
const serverModule = "module github.com/tandian-dev/tandian\n"

// moduleRoot returns the server's module directory, at or above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find module: %w", err)
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), serverModule) { //nolint:gosec // a parent directory
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no go.mod above the working directory: run this in a checkout")
		}
		dir = above
	}
}

// Proc is a program that can be restarted. Its methods are safe for concurrent use and may be
// called in any state: a running process is not started twice, a dead one is not killed.
type Proc struct {
	Name       string
	args       []string
	env        []string
	dir        string              // working directory
	log        string              // file that collects its output
	credential *syscall.Credential // user of the process; nil for the current user
	// hasChildren marks a process whose children run in sessions of their own, such as
	// PostgreSQL's backends. Faults apply to them too.
	hasChildren bool
	// probe checks that the process works; [Proc.Start] waits for it.
	probe func(ctx context.Context) error

	mu       sync.Mutex // held for changes of the state, not while waiting
	cmd      *exec.Cmd
	ended    chan struct{} // closed when cmd has ended
	resume   io.Closer     // resumes stopped children
	stopped  bool
	stopping bool     // cmd is about to end on request
	deaths   []string // unexpected exits
	ends     []Ending // requested exits
}

// Start starts the process unless it runs, and waits until its probe succeeds.
func (p *Proc) Start(ctx context.Context) error {
	ended, err := p.launch()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if err := p.waitReady(ctx, ended); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	return nil
}

// launch starts the process unless it runs.
func (p *Proc) launch() (ended chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return p.ended, nil
	}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the path is internal
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }()            // the process has its own copy
	cmd := exec.Command(p.args[0], p.args[1:]...) //nolint:gosec,noctx // other methods end the process
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.SysProcAttr = sysProcAttr(p.credential)
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		// A child that dies with its parent dies with the thread that started it.
		runtime.LockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.recordExit(cmd, cmd.Wait())
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.cmd, p.ended, p.stopping, p.stopped = cmd, ended, false, false
	return ended, nil
}

// recordExit records the time of a requested exit, or an unexpected exit.
func (p *Proc) recordExit(cmd *exec.Cmd, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == cmd && !p.stopping {
		p.deaths = append(p.deaths, fmt.Sprintf("%s exited unexpectedly: %v", p.Name, err))
	}
	for i := range p.ends {
		if one := &p.ends[i]; one.Exited.IsZero() {
			one.Exited = time.Now()
		}
	}
}

// Ending is a requested exit: the time of the signal, and of the exit, zero if the process
// still runs.
type Ending struct{ Requested, Exited time.Time }

// running reports whether the process was started and has not ended. The caller holds the
// lock.
func (p *Proc) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// waitReady waits until the probe succeeds.
func (p *Proc) waitReady(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, 2*time.Second)
		err := p.probe(try)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("process ended; log ends with\n%s", lastLines(p.log))
		case <-ctx.Done():
			return fmt.Errorf("probe failed: %w; log ends with\n%s", errors.Join(ctx.Err(), err), lastLines(p.log))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// lastLines returns the last lines of a log, which may be removed soon.
func lastLines(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // the path is internal
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-logLines):], "\n")
}

// Kill9 kills the process by SIGKILL and waits until it has ended.
func (p *Proc) Kill9() error {
	p.mu.Lock()
	if !p.running() {
		p.mu.Unlock()
		return nil
	}
	p.stopping = true
	p.ends = append(p.ends, Ending{Requested: time.Now()})
	pid, ended := p.cmd.Process.Pid, p.ended
	// A stopped process creates no more children.
	err := p.signal(pid, syscall.SIGSTOP)
	all, listed := p.children(pid)
	for _, one := range append(all, -pid) {
		err = errors.Join(err, p.signal(one, syscall.SIGKILL))
	}
	p.resumeChildren()
	p.mu.Unlock()
	<-ended
	return errors.Join(err, listed, p.waitDead(all))
}

// waitDead waits until the children are dead or zombies. Their parent may reap them late.
func (p *Proc) waitDead(children []int) error {
	for deadline := time.Now().Add(stopTimeout); len(children) > 0; {
		all, err := processes()
		if err != nil {
			return err
		}
		alive := slices.ContainsFunc(all, func(one process) bool {
			return slices.Contains(children, one.pid) && !strings.HasPrefix(one.state, "Z")
		})
		if !alive {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("wait for children of %s after SIGKILL: %v still run", p.Name, children)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// Stop suspends the process until [Proc.Cont]. It returns when all its threads have stopped.
func (p *Proc) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() || p.stopped {
		return nil
	}
	pid := p.cmd.Process.Pid
	p.stopped = true
	err := p.signal(pid, syscall.SIGSTOP)
	if !p.hasChildren {
		return errors.Join(err, p.waitStopped(pid))
	}
	all, listed := p.children(pid)
	for _, one := range all {
		err = errors.Join(err, p.signal(one, syscall.SIGSTOP))
	}
	var guarded error
	p.resume, guarded = resumeOnClose(ctx, all)
	return errors.Join(err, listed, guarded, p.waitStopped(append(all, pid)...))
}

// waitStopped waits until processes have stopped: running threads stop a little after the
// signal.
func (p *Proc) waitStopped(pids ...int) error {
	deadline := time.Now().Add(stopTimeout)
	for _, pid := range pids {
		for {
			stopped, err := isStopped(pid)
			if err != nil {
				return fmt.Errorf("read state of %s: %w", p.Name, err)
			}
			if stopped {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("stop %s: still running %v after SIGSTOP", p.Name, stopTimeout)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// Cont resumes the process after [Proc.Stop].
func (p *Proc) Cont() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() || !p.stopped {
		return nil
	}
	p.stopped = false
	p.resumeChildren()
	return p.signal(p.cmd.Process.Pid, syscall.SIGCONT)
}

// resumeChildren resumes stopped children. The caller holds the lock.
func (p *Proc) resumeChildren() {
	if p.resume != nil {
		_ = p.resume.Close()
		p.resume = nil
	}
}

// Terminate sends SIGTERM and waits until the process has ended. After a timeout it kills the
// process and returns an error.
func (p *Proc) Terminate(ctx context.Context) error {
	p.mu.Lock()
	if !p.running() {
		p.mu.Unlock()
		return nil
	}
	p.stopping = true
	p.ends = append(p.ends, Ending{Requested: time.Now()})
	err := p.signal(p.cmd.Process.Pid, syscall.SIGTERM)
	ended := p.ended
	p.mu.Unlock()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("stop %s: %w", p.Name, ctx.Err()), err)
	case <-time.After(stopTimeout):
		return errors.Join(fmt.Errorf("stop %s: still running %v after SIGTERM", p.Name, stopTimeout), p.Kill9(), err)
	}
}

// Running reports whether the process lives; a stopped process counts.
func (p *Proc) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// Deaths describes the exits that nothing requested.
func (p *Proc) Deaths() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.deaths)
}

// Ends returns the requested exits.
func (p *Proc) Ends() []Ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ends)
}

// signal sends a signal. An ended process is no error.
func (p *Proc) signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// children returns the children of a process with hasChildren.
func (p *Proc) children(pid int) ([]int, error) {
	if !p.hasChildren {
		return nil, nil
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var children []int
	for _, one := range all {
		if one.parent == pid {
			children = append(children, one.pid)
		}
	}
	return children, nil
}

// process is a process of this machine.
type process struct {
	pid, parent int
	state       string // as in ps: Z is a zombie
}

// processes lists all processes of this machine.
func processes() ([]process, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "stat=").Output() //nolint:noctx // it takes milliseconds
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var all []process
	for line := range bytes.Lines(out) {
		var one process
		if _, err := fmt.Sscan(string(line), &one.pid, &one.parent, &one.state); err != nil {
			return nil, fmt.Errorf("list processes: %q: %w", line, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// resumeOnClose resumes processes when its result is closed, or at the latest when this
// process ends. Otherwise they would stay suspended: the kernel ends their parent, and
// stopped processes do not notice.
func resumeOnClose(ctx context.Context, all []int) (io.Closer, error) {
	args := []string{"-c", `trap "" INT TERM HUP; read -r _; kill -CONT "$@"`, "revive"}
	for _, pid := range all {
		args = append(args, strconv.Itoa(pid))
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), "sh", args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start resume helper: %w", err)
	}
	return closerFunc(func() error {
		_ = in.Close()
		return cmd.Wait() // some may have been killed
	}), nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }
