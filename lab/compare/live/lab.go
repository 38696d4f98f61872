package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/livebench"
)

// oursName names Tandian in the tables.
const oursName = "ours"

// The processors of a pinned run: one for the measured server, and one for everything else.
const (
	serverCPU = 0
	restCPU   = 1
)

type (
	node   = subprocess.Process[livebench.Question, livebench.Answer]
	people = subprocess.Process[crowdQuestion, crowdAnswer]
)

// A contender is a participant, with an author that runs for the whole measurement.
type contender struct {
	name string
	protocol
	command   func() *exec.Cmd
	setting   livebench.Setting
	author    *node
	committer *node            // its author in the table committed; nil in the others
	next      int64            // the number of the next item
	tokens    map[int][]string // of people, by how many they follow
}

// lab runs all contenders in turns.
type lab struct {
	Plan
	crowd      *people
	received   string
	dir        string // of the socket at which Tandian's author commits notes; "" without Tandian
	contenders []*contender
}

// open starts the crowd and all authors. close ends them.
func (p Plan) open(ctx context.Context) (*lab, error) {
	l := &lab{Plan: p}
	var err error
	if l.crowd, err = subprocess.StartProcess[crowdQuestion, crowdAnswer](p.process(isCrowd), struct{}{}); err != nil {
		return nil, fmt.Errorf("start the subscribers: %w", err)
	}
	a, err := l.ask(ctx, crowdQuestion{})
	if err != nil {
		l.close()
		return nil, err
	}
	l.received = a.Received
	setting := livebench.Setting{RedisURL: p.Redis, DatabaseURL: p.Database}
	if len(p.Ours) > 0 {
		if l.dir, err = os.MkdirTemp("", "td"); err != nil {
			l.close()
			return nil, fmt.Errorf("make a directory for a socket: %w", err)
		}
		ours := setting
		ours.Commits = l.commits()
		l.contenders = append(l.contenders, &contender{name: oursName, protocol: graphQL, setting: ours, command: func() *exec.Cmd {
			return exec.Command(p.Ours[0], p.Ours[1:]...) //nolint:noctx // close ends it
		}})
	}
	for _, w := range ways() {
		setting.Way = w.name
		l.contenders = append(l.contenders, &contender{name: w.name, protocol: w.protocol, setting: setting, command: func() *exec.Cmd { return p.process(isContender) }})
	}
	for _, c := range l.contenders {
		c.next, c.tokens = 1, map[int][]string{}
		if c.author, err = c.start(c.command(), livebench.Publishes, c.setting); err != nil {
			l.close()
			return nil, err
		}
	}
	return l, nil
}

// process returns a command that runs this program as one of its processes.
func (p Plan) process(is string) *exec.Cmd {
	cmd := exec.Command(p.Self) //nolint:noctx // close ends it
	cmd.Env = append(os.Environ(), processEnv+"="+is)
	return cmd
}

// commits is the socket on which Tandian's author commits notes of other processes.
func (l *lab) commits() string { return filepath.Join(l.dir, "commits.sock") }

func (c *contender) start(cmd *exec.Cmd, role livebench.Role, setting livebench.Setting) (*node, error) {
	setting.Role = role
	cmd.Stderr = os.Stderr
	n, err := subprocess.StartProcess[livebench.Question, livebench.Answer](cmd, setting)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", c.name, role, err)
	}
	return n, nil
}

// close ends all processes.
func (l *lab) close() {
	l.crowd.Kill()
	if l.received != "" {
		_ = os.RemoveAll(filepath.Dir(l.received)) // what was killed leaves its socket
	}
	l.endCommitters()
	for _, c := range l.contenders {
		if c.author != nil {
			c.author.Kill()
		}
	}
	if l.dir != "" {
		_ = os.RemoveAll(l.dir)
	}
}

// startCommitters gives each contender an author that commits a note through Tandian's author
// before each item. endCommitters ends them: an instance of centrifuge talks to the others, and
// would disturb the other tables.
func (l *lab) startCommitters(ctx context.Context) error {
	if _, err := askNode(ctx, l.contenders[0].author, livebench.Question{}); err != nil { // it listens now
		return fmt.Errorf("%s: %w", oursName, err)
	}
	for _, c := range l.contenders {
		var err error
		if c.committer, err = c.start(l.process(isContender), livebench.Publishes, livebench.Setting{Way: c.name, RedisURL: l.Redis, Commits: l.commits()}); err != nil {
			return err
		}
		if _, err := askNode(ctx, c.committer, livebench.Question{}); err != nil {
			return fmt.Errorf("%s, with committed notes: %w", c.name, err)
		}
	}
	return nil
}

func (l *lab) endCommitters() {
	for _, c := range l.contenders {
		if c.committer != nil {
			c.committer.Kill()
			c.committer = nil
		}
	}
}

// ask sends a question to the crowd.
func (l *lab) ask(ctx context.Context, q crowdQuestion) (crowdAnswer, error) {
	a, err := call(ctx, l.crowd, q)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	if err != nil {
		return a, fmt.Errorf("the subscribers: %w", err)
	}
	return a, nil
}

// askNode sends a question to a server or an author.
func askNode(ctx context.Context, n *node, q livebench.Question) (livebench.Answer, error) {
	a, err := call(ctx, n, q)
	if err == nil && a.Err != "" {
		err = errors.New(a.Err)
	}
	return a, err
}

func call[Q, A any](ctx context.Context, p *subprocess.Process[Q, A], q Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*patience) // the process itself has a shorter limit
	defer cancel()
	return p.Call(ctx, q)
}

// people returns tokens of n users of a contender with users.
func (c *contender) people(ctx context.Context, n, follows int) ([]string, error) {
	if c.name != oursName {
		return nil, nil
	}
	if len(c.tokens[follows]) < n {
		a, err := askNode(ctx, c.author, livebench.Question{People: &livebench.People{Number: n, Follows: follows}})
		if err != nil {
			return nil, fmt.Errorf("make %d users: %w", n, err)
		}
		c.tokens[follows] = a.Tokens
	}
	return c.tokens[follows][:n], nil
}

// runningContender is a contender with a running server.
type runningContender struct {
	*lab
	*contender
	server *node
	addr   string
}

// turn starts the server of a contender, calls a function with it, and ends it.
func (l *lab) turn(ctx context.Context, c *contender, do func(context.Context, *runningContender) error) error {
	s := &runningContender{lab: l, contender: c}
	start := func() (err error) {
		s.server, err = c.start(c.command(), livebench.Serves, c.setting)
		return err
	}
	var err error
	if l.Pin {
		err = startOn(serverCPU, start)
	} else {
		err = start()
	}
	if err != nil {
		return err
	}
	defer s.server.Kill()
	a, err := askNode(ctx, s.server, livebench.Question{})
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	s.addr = a.Addr
	err = do(ctx, s)
	if _, again := l.ask(ctx, crowdQuestion{Disconnect: true}); err == nil {
		err = again
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// connect adds subscribers with the given number of follows each.
func (s *runningContender) connect(ctx context.Context, n, follows int) error {
	tokens, err := s.people(ctx, n, follows)
	if err != nil {
		return err
	}
	_, err = s.ask(ctx, crowdQuestion{Connect: &connecting{Addr: s.addr, Protocol: s.protocol, Number: n, Tokens: tokens, First: s.next}})
	return err
}

// publish publishes through the author of the table, and waits until all items are delivered.
func (s *runningContender) publish(ctx context.Context, p livebench.Publishing) error {
	p.First, p.Received = s.next, s.received
	a, err := askNode(ctx, cmp.Or(s.committer, s.author), livebench.Question{Publish: &p})
	s.next = max(a.Next, s.next)
	if err != nil {
		_, crowd := s.ask(ctx, crowdQuestion{}) // it may have the cause
		return errors.Join(fmt.Errorf("the author: %w", err), crowd)
	}
	_, err = s.ask(ctx, crowdQuestion{Await: s.next})
	return err
}

// A Load holds the figures of a server under one load.
type Load struct {
	Rate     float64       // deliveries a second
	CPU      time.Duration // of the server, for a delivery
	P50, P99 time.Duration // from publishing to receiving
	Crowd    time.Duration // CPU of the subscribers, for a delivery
}

// load measures one load, after a short one for warming up.
func (s *runningContender) load(ctx context.Context, p livebench.Publishing) (Load, error) {
	warm := p
	warm.For = max(p.For/10, 2*p.Every)
	if err := s.publish(ctx, warm); err != nil {
		return Load{}, err
	}
	idle, err := s.ask(ctx, crowdQuestion{Reset: true})
	if err != nil {
		return Load{}, err
	}
	before, err := askNode(ctx, s.server, livebench.Question{})
	if err != nil {
		return Load{}, err
	}
	if err := s.publish(ctx, p); err != nil {
		return Load{}, err
	}
	after, err := askNode(ctx, s.server, livebench.Question{})
	if err != nil {
		return Load{}, err
	}
	a, err := s.ask(ctx, crowdQuestion{Reset: true})
	if err != nil {
		return Load{}, err
	}
	return loadOf(a, after.CPU-before.CPU, a.CPU-idle.CPU)
}

// errWrong reports that a subscriber did not receive all items once and in order.
var errWrong = errors.New("subscribers missed items or received them twice")

// loadOf returns the observations of the subscribers and the cost.
func loadOf(a crowdAnswer, server, crowd time.Duration) (Load, error) {
	if a.Missed > 0 || a.Repeated > 0 {
		return Load{}, fmt.Errorf("%w: of %d, %d and %d", errWrong, a.Items, a.Missed, a.Repeated)
	}
	if a.Items == 0 {
		return Load{}, errors.New("nothing was published")
	}
	n := time.Duration(a.Items)
	return Load{float64(a.Items) / a.Last.Sub(a.Since).Seconds(), server / n, a.P50, a.P99, crowd / n}, nil
}

// PinToOtherCPU keeps this process, and all processes that it starts except the measured servers, off
// their processor.
func PinToOtherCPU() error { return stayOn(restCPU) }
