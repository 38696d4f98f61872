package queue

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/compare/clients"
	"github.com/tandian-dev/tandian/lab/compare/redisserver"
)

const (
	messageBytes = 100 // of a message, unless a trial wants large ones
	together     = 100 // messages that are sent at once, where that does not matter

	soon  = 50 * time.Millisecond // take-over where one consumer at a time lives
	never = time.Minute           // if no process is killed
)

// A Lab runs trials.
type Lab struct {
	Processes func() *exec.Cmd // a command that calls Serve on its standard input and output
	Messages  int              // of a trial, at least 100
}

// A trial is one scheme on a Redis of its own, with a ledger of handled messages.
type trial struct {
	Lab
	Scheme
	setting Setting
	server  *redisserver.Server
	rdb     *redis.Client

	sent    int
	sender  *process
	inside  *process // of a scheme in one process: sender and consumers
	all     []*process
	readers int
	handled map[int]int // how often, by number
}

// trial begins a trial, with the given options of its Redis. end ends it.
func (l Lab) trial(ctx context.Context, sc Scheme, takeOver time.Duration, bytes int, options ...string) (*trial, error) {
	server, err := redisserver.StartKeeping(ctx, options...)
	if err != nil {
		return nil, err
	}
	t, err := l.on(server, sc, Setting{Name: "queue", Bytes: bytes, Room: 2*l.Messages + 10*bound, TakeOver: takeOver})
	if err != nil {
		server.Close()
	}
	return t, err
}

// on begins a trial on a server that others may use after it.
func (l Lab) on(server *redisserver.Server, sc Scheme, s Setting) (*trial, error) {
	o, err := clients.Redis(server.URL, patience)
	if err != nil {
		return nil, err
	}
	return &trial{Lab: l, Scheme: sc, setting: s, server: server, rdb: redis.NewClient(o), handled: map[int]int{}}, nil
}

// leave ends the trial, but not its server.
func (t *trial) leave() {
	for _, p := range t.all {
		p.kill()
	}
	_ = t.rdb.Close()
}

func (t *trial) end() {
	t.leave()
	t.server.Close()
}

// process starts a process. A scheme in one process has one at a time.
func (t *trial) process() (*process, error) {
	if t.inside != nil {
		return t.inside, nil
	}
	p, err := startProcess(t.Processes())
	if err != nil {
		return nil, err
	}
	t.all = append(t.all, p)
	if t.InProcess {
		t.inside = p
	}
	return p, nil
}

func (t *trial) opening(s Setting) Opening { return Opening{t.Name, t.server.URL, s} }

// send sends the next messages in batches, and returns when it began.
func (t *trial) send(ctx context.Context, count, atOnce int) (began int64, err error) {
	if t.sender == nil {
		if t.sender, err = t.process(); err != nil {
			return 0, err
		}
		if _, err := ask[struct{}](ctx, t.sender, "OpenSender", t.opening(t.setting)); err != nil {
			return 0, err
		}
	}
	from := t.sent
	t.sent += count
	return ask[int64](ctx, t.sender, "Send", Sending{from, count, atOnce})
}

// A consumer is a consumer of the trial.
type consumer struct {
	*process
	t    *trial
	name string
}

// consumer starts a consumer that has not read yet.
func (t *trial) consumer(ctx context.Context) (*consumer, error) { return t.consumes(ctx, false) }

func (t *trial) consumes(ctx context.Context, again bool) (*consumer, error) {
	p, err := t.process()
	if err != nil {
		return nil, err
	}
	t.readers++
	s := t.setting
	s.Consumer, s.Again = "consumer"+strconv.Itoa(t.readers), again
	if _, err := ask[struct{}](ctx, p, "OpenReader", t.opening(s)); err != nil {
		return nil, err
	}
	return &consumer{p, t, s.Consumer}, nil
}

// kill kills its process, including the whole queue of a scheme within one process.
func (c *consumer) kill() {
	c.process.kill()
	if c.t.inside == c.process {
		c.t.inside, c.t.sender = nil, nil
	}
}

// handle handles and records messages until it has enough, or there are none.
func (c *consumer) handle(ctx context.Context, limit int) error {
	h, err := ask[Handled](ctx, c.process, "Handle", Handling{c.name, limit})
	c.t.note(h.Numbers)
	return err
}

func (t *trial) note(numbers []int) {
	for _, n := range numbers {
		t.handled[n]++
	}
}

// take waits for messages. They stay pending, and are not recorded.
func (c *consumer) take(wait time.Duration) func(context.Context) ([]int, error) {
	return start[[]int](c.process, "Take", Taking{c.name, wait})
}

// finish acknowledges the pending messages.
func (c *consumer) finish(ctx context.Context) error {
	_, err := ask[struct{}](ctx, c.process, "Finish", c.name)
	return err
}

// waiting waits until n consumers wait in Redis.
func (t *trial) waiting(ctx context.Context, consumers int) error {
	if !t.Waits {
		return nil
	}
	for {
		info, err := t.rdb.InfoMap(ctx, "clients").Result()
		if err != nil {
			return fmt.Errorf("read waiting clients of Redis: %w", err)
		}
		if info["Clients"]["blocked_clients"] == strconv.Itoa(consumers) {
			return nil
		}
		if err := clock.Sleep(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

// begin starts a consumer that has a position in the queue: it has waited for a message and handled
// it.
func (t *trial) begin(ctx context.Context) (*consumer, error) {
	c, err := t.consumer(ctx)
	if err != nil {
		return nil, err
	}
	taken := c.take(patience / 2)
	if err := t.waiting(ctx, 1); err != nil {
		return nil, err
	}
	if _, err := t.send(ctx, 1, 1); err != nil {
		return nil, err
	}
	numbers, err := taken(ctx)
	if err != nil {
		return nil, err
	}
	if len(numbers) != 1 {
		return nil, fmt.Errorf("%s: the waiter for the first message got %v", t.Name, numbers)
	}
	t.note(numbers)
	return c, c.finish(ctx)
}

// lost returns the number of messages without handling, and twice the number of extra handlings.
func (t *trial) lost() (lost int) {
	for n := range t.sent {
		if t.handled[n] == 0 {
			lost++
		}
	}
	return lost
}

func (t *trial) twice() (twice int) {
	for _, times := range t.handled {
		twice += times - 1
	}
	return twice
}
