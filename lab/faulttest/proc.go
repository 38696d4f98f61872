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
	startPatience = 60 * time.Second // until a process answers that was started; servers wait so long for their stores
	stopPatience  = 30 * time.Second // until a process ends that was asked to
	logLines      = 10               // of a log that an error has
)

// BuildServer builds the server's program of this module into dir, and returns its
// path. An overlay that is not "" is a file as `go build -overlay` takes it.
func BuildServer(ctx context.Context, dir, overlay string) (path string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "tandian")
	args := []string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", path} // without debug tables it links sooner
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, ".")...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w\n%s", err, out)
	}
	return path, nil
}

// serverModule is the first line of the go.mod of the server.
const serverModule = "module github.com/tandian-dev/tandian\n"

// moduleRoot returns the directory of the server's module, above the working directory.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), serverModule) { //nolint:gosec // above us
			return dir, nil
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", errors.New("no go.mod above the working directory: run this in a checkout")
		}
		dir = above
	}
}

// A Proc is a program that can be started again after it ended. Its methods are
// safe for concurrent use, and each may be called in any state: a process that runs
// is not started twice, one that is dead is not killed.
type Proc struct {
	Name string
	args []string
	env  []string
	dir  string              // working directory
	log  string              // file that what it says is appended to
	as   *syscall.Credential // who it runs as; nil for us
	// family says that it has children, each in a session of its own (as PostgreSQL's
	// backends are): they are harmed with it.
	family bool
	// answers says whether it does its work; [Proc.Start] waits for that.
	answers func(ctx context.Context) error

	mu      sync.Mutex // held while its state is changed, but not while it is waited for
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd ended
	resume  io.Closer     // of a family that is stopped
	stopped bool
	doomed  bool     // cmd is to end
	deaths  []string // ends that nobody asked for
	ends    []Ending // those that were asked for
}

// Start starts the process unless it runs, and waits until it answers.
func (p *Proc) Start(ctx context.Context) error {
	ended, err := p.launch()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	if err := p.await(ctx, ended); err != nil {
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
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the path is ours
	if err != nil {
		return nil, fmt.Errorf("open its log: %w", err)
	}
	defer func() { _ = log.Close() }()            // the process has its own
	cmd := exec.Command(p.args[0], p.args[1:]...) //nolint:gosec,noctx // it ends by its methods
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = p.env, p.dir, log, log
	cmd.SysProcAttr = apart(p.as)
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		// A child that dies with its parent dies with the thread that started it.
		runtime.LockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			p.end(cmd, cmd.Wait())
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.cmd, p.ended, p.doomed, p.stopped = cmd, ended, false, false
	return ended, nil
}

// end notes that a process ended: that nobody asked for it, or when.
func (p *Proc) end(cmd *exec.Cmd, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == cmd && !p.doomed {
		p.deaths = append(p.deaths, fmt.Sprintf("%s ended by itself: %v", p.Name, err))
	}
	for i := range p.ends {
		if one := &p.ends[i]; one.Gone.IsZero() {
			one.Gone = time.Now()
		}
	}
}

// An Ending is that of a process: when it was told to end, or was killed, and when it was
// gone, zero if it is not.
type Ending struct{ Asked, Gone time.Time }

// running says whether it was started and has not ended. The lock is held.
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

// await waits until the process answers.
func (p *Proc) await(ctx context.Context, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for {
		try, done := context.WithTimeout(ctx, 2*time.Second)
		err := p.answers(try)
		done()
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended; its log ends with\n%s", lastLines(p.log))
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w; its log ends with\n%s", errors.Join(ctx.Err(), err), lastLines(p.log))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// lastLines are those of a log, which may soon be removed.
func lastLines(path string) string {
	text, err := os.ReadFile(path) //nolint:gosec // the path is ours
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-logLines):], "\n")
}

// Kill9 ends the process as a power cut would, and waits until it is gone.
func (p *Proc) Kill9() error {
	p.mu.Lock()
	if !p.running() {
		p.mu.Unlock()
		return nil
	}
	p.doomed = true
	p.ends = append(p.ends, Ending{Asked: time.Now()})
	pid, ended := p.cmd.Process.Pid, p.ended
	// What is stopped makes no more children.
	err := p.signal(pid, syscall.SIGSTOP)
	all, listed := p.relatives(pid)
	for _, one := range append(all, -pid) {
		err = errors.Join(err, p.signal(one, syscall.SIGKILL))
	}
	p.letGo()
	p.mu.Unlock()
	<-ended
	return errors.Join(err, listed, p.gone(all))
}

// gone waits until children of the process are dead. Who is to bury them may be slow.
func (p *Proc) gone(children []int) error {
	for deadline := time.Now().Add(stopPatience); len(children) > 0; {
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
			return fmt.Errorf("children of %s outlive SIGKILL: %v", p.Name, children)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// Stop has the process stand still until [Proc.Cont]. It returns when all of it does.
func (p *Proc) Stop(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() || p.stopped {
		return nil
	}
	pid := p.cmd.Process.Pid
	p.stopped = true
	err := p.signal(pid, syscall.SIGSTOP)
	if !p.family {
		return errors.Join(err, p.stands(pid))
	}
	all, listed := p.relatives(pid)
	for _, one := range all {
		err = errors.Join(err, p.signal(one, syscall.SIGSTOP))
	}
	var guarded error
	p.resume, guarded = revive(ctx, all)
	return errors.Join(err, listed, guarded, p.stands(append(all, pid)...))
}

// stands waits until processes that were told to stop did: threads that run when the
// signal is sent stop a little later.
func (p *Proc) stands(pids ...int) error {
	deadline := time.Now().Add(stopPatience)
	for _, pid := range pids {
		for {
			stopped, err := still(pid)
			if err != nil {
				return fmt.Errorf("see whether %s stands still: %w", p.Name, err)
			}
			if stopped {
				break
			}
			if time.Now().After(deadline) {
				return fmt.Errorf("%s still runs %v after SIGSTOP", p.Name, stopPatience)
			}
			time.Sleep(time.Millisecond)
		}
	}
	return nil
}

// Cont ends what [Proc.Stop] began.
func (p *Proc) Cont() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() || !p.stopped {
		return nil
	}
	p.stopped = false
	p.letGo()
	return p.signal(p.cmd.Process.Pid, syscall.SIGCONT)
}

// letGo has the children of a stopped family go on. The lock is held.
func (p *Proc) letGo() {
	if p.resume != nil {
		_ = p.resume.Close()
		p.resume = nil
	}
}

// Terminate asks the process to end, and waits until it did.
func (p *Proc) Terminate(ctx context.Context) error {
	p.mu.Lock()
	if !p.running() {
		p.mu.Unlock()
		return nil
	}
	p.doomed = true
	p.ends = append(p.ends, Ending{Asked: time.Now()})
	err := p.signal(p.cmd.Process.Pid, syscall.SIGTERM)
	ended := p.ended
	p.mu.Unlock()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
		return errors.Join(fmt.Errorf("%s does not end: %w", p.Name, ctx.Err()), err)
	case <-time.After(stopPatience):
		return errors.Join(fmt.Errorf("%s does not end within %v of SIGTERM", p.Name, stopPatience), p.Kill9(), err)
	}
}

// Running says whether the process lives, if only stopped.
func (p *Proc) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// Deaths says when the process ended although nobody ended it.
func (p *Proc) Deaths() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.deaths)
}

// Ends are the ends of the process that somebody asked for.
func (p *Proc) Ends() []Ending {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.ends)
}

// signal sends a signal; to a process that ended meanwhile is no error.
func (p *Proc) signal(pid int, s syscall.Signal) error {
	if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("send %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// relatives are the children of a process, if it is a family.
func (p *Proc) relatives(pid int) ([]int, error) {
	if !p.family {
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

// A process is one of this machine.
type process struct {
	pid, parent int
	state       string // as ps has it: Z is dead and not buried
}

// processes are all of this machine.
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

// revive has processes continue when what it returns is closed: at the latest when
// this process ends, in whatever way. Nobody else would find them then: the kernel
// ends their parent, and what is stopped does not notice.
func revive(ctx context.Context, all []int) (io.Closer, error) {
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
		return nil, fmt.Errorf("guard what is stopped: %w", err)
	}
	return closing(func() error {
		_ = in.Close()
		return cmd.Wait() // some may have been killed meanwhile
	}), nil
}

type closing func() error

func (f closing) Close() error { return f() }
