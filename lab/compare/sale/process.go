package sale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/compare/clients"
)

// processEnv is set if this program is a server of the table of wrong ways.
const processEnv = "BENCH_SALE_PROCESS"

// IsProcess reports whether this program must run [Process] only.
func IsProcess() bool { return os.Getenv(processEnv) != "" }

// Process is a server that sells in the way named on in. It handles one wish or several at a time,
// and pauses where another process must interleave. It returns when in ends.
func Process(in io.Reader, out io.Writer) error {
	return subprocess.Serve(in, out, func(s setting) (func(question) reply, error) {
		p, err := newServer(s)
		if err != nil {
			return nil, err
		}
		return p.answer, nil
	})
}

// A setting is the first message to a server.
type setting struct {
	Redis, Database string
	Way             string // name of one of ways
	Name            string // of its sessions in the database
	Prefix          string // of keys
}

// A question begins a wish; repeated, it resumes a paused one.
type question struct {
	Wish
	Order int64 // the number of the wish, and of its order
}

// A stage is the progress of a wish.
type stage int

const (
	answered stage = iota + 1 // the answer is there
	paused                    // the next question resumes it
	waits                     // for a lock that another wish has in this process, or in Redis
)

// A reply reports the progress of a wish.
type reply struct {
	Stage  stage
	Answer Answer
	Failed string
}

// server is one process.
type server struct {
	setting
	way   way
	db    *sql.DB
	rdb   *redis.Client
	at    keys
	owned sync.Mutex // the lock of the process

	mu     sync.Mutex
	wishes map[int64]*wish
}

// A wish in progress.
type wish struct {
	*server
	question
	came chan reply    // how far, once for each time that it stops
	on   chan struct{} // one for each time that it may go on
}

func newServer(s setting) (*server, error) {
	p := &server{setting: s, at: keys{s.Prefix}, wishes: map[int64]*wish{}}
	var ok bool
	if p.way, ok = wayOf(s.Way); !ok {
		return nil, fmt.Errorf("unknown way %q", s.Way)
	}
	var err error
	if p.db, err = connect(s.Database, p.way.schema(), s.Name, new(atomic.Int64)); err != nil {
		return nil, err
	}
	o, err := clients.Redis(s.Redis, patience)
	if err != nil {
		return nil, err
	}
	p.rdb = redis.NewClient(o)
	return p, nil
}

// answer runs a wish as far as possible.
func (p *server) answer(q question) reply {
	p.mu.Lock()
	w := p.wishes[q.Order]
	if w == nil {
		w = &wish{server: p, question: q, came: make(chan reply, 1), on: make(chan struct{}, 1)}
		p.wishes[q.Order] = w
		go w.run()
	} else {
		w.on <- struct{}{}
	}
	p.mu.Unlock()
	return <-w.came
}

func (w *wish) run() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	a, err := w.way.admit(ctx, w)
	r := reply{Stage: answered, Answer: a}
	if err != nil {
		r.Failed = err.Error()
	}
	w.came <- r
}

// pause stops so that another process can interleave.
func (w *wish) pause(ctx context.Context) error { return w.stop(ctx, paused) }

func (w *wish) stop(ctx context.Context, at stage) error {
	w.came <- reply{Stage: at}
	select {
	case <-w.on:
		return nil
	case <-ctx.Done():
		return errors.New("paused wish was not resumed")
	}
}
