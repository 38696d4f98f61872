package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/rpc"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/compare/clients"
)

const (
	// patience is longer than in production: a busy machine must not look like a fault.
	patience = 30 * time.Second
	// block is the longest wait of a consumer for the next message.
	block = 25 * time.Millisecond
	// dry is the number of consecutive empty reads after which a queue counts as empty.
	dry = 8
)

// A Worker runs the senders and consumers of one process, for [Serve]. The methods with an argument
// and a result are those of net/rpc.
type Worker struct {
	memory Memory

	mu      sync.Mutex
	readers map[string]*consuming // by consumer
	sender  Sender
}

// consuming is a consumer with its pending messages.
type consuming struct {
	Reader
	hand []Message
}

// Opening selects a sender or reader to open.
type Opening struct {
	Scheme, URL string
	Setting
}

// Sending is a request to send messages with successive numbers.
type Sending struct{ From, Count, Together int }

// Handling is work for a consumer: it reads and handles until it has handled enough, or there are
// none.
type Handling struct {
	Consumer string
	Limit    int
}

// Handled holds the handled messages.
type Handled struct {
	Numbers []int
	Last    int64 // when it handled the last one, Unix nanoseconds
}

// Taking is a request to read messages and leave them pending.
type Taking struct {
	Consumer string
	Wait     time.Duration
}

// Serve serves requests until the other end closes the connection. The process must exit then.
func Serve(in io.ReadCloser, out io.WriteCloser) error {
	server := rpc.NewServer()
	if err := server.Register(&Worker{readers: map[string]*consuming{}}); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	server.ServeConn(pipes{in, out})
	return nil
}

// pipes are the two directions of a conversation.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error { return errors.Join(p.ReadCloser.Close(), p.WriteCloser.Close()) }

func (w *Worker) prepare(o Opening) (Scheme, Process, error) {
	i := slices.IndexFunc(Schemes(), func(s Scheme) bool { return s.Name == o.Scheme })
	if i < 0 {
		return Scheme{}, Process{}, fmt.Errorf("unknown scheme %q", o.Scheme)
	}
	options, err := clients.Redis(o.URL, patience)
	if err != nil {
		return Scheme{}, Process{}, err
	}
	return Schemes()[i], Process{o.Setting, redis.NewClient(options), &w.memory}, nil
}

// OpenSender opens a sender.
func (w *Worker) OpenSender(o Opening, _ *struct{}) error {
	scheme, p, err := w.prepare(o)
	if err != nil {
		return err
	}
	sender, err := scheme.Sender(context.Background(), p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sender = sender
	return err
}

// OpenReader opens a reader, under the name in the opening.
func (w *Worker) OpenReader(o Opening, _ *struct{}) error {
	scheme, p, err := w.prepare(o)
	if err != nil {
		return err
	}
	reader, err := scheme.Reader(context.Background(), p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readers[o.Consumer] = &consuming{Reader: reader}
	return err
}

func (w *Worker) reader(consumer string) *consuming {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.readers[consumer]
}

// Send sends messages, and returns when it began, in Unix nanoseconds.
func (w *Worker) Send(s Sending, began *int64) error {
	*began = time.Now().UnixNano()
	w.mu.Lock()
	sender := w.sender
	w.mu.Unlock()
	for at := s.From; at < s.From+s.Count; at += s.Together {
		numbers := make([]int, min(s.Together, s.From+s.Count-at))
		for i := range numbers {
			numbers[i] = at + i
		}
		if err := sender.Send(context.Background(), numbers); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	return nil
}

// Handle reads and handles. It retries a failed read, because a restarted Redis closes connections.
func (w *Worker) Handle(h Handling, done *Handled) error {
	r := w.reader(h.Consumer)
	ctx := context.Background()
	for empty := 0; empty < dry && len(done.Numbers) < h.Limit; {
		messages, err := r.Read(ctx, h.Limit-len(done.Numbers), block)
		if err == nil {
			err = handle(ctx, r, messages, done)
		}
		if err != nil || len(messages) == 0 {
			empty++
		} else {
			empty = 0
		}
		if err != nil {
			if empty == dry {
				return fmt.Errorf("consume: %w", err)
			}
			_ = clock.Sleep(ctx, block)
		}
	}
	return nil
}

// handle records messages and acknowledges them.
func handle(ctx context.Context, r Reader, messages []Message, done *Handled) error {
	if len(messages) == 0 {
		return nil
	}
	for _, m := range messages {
		done.Numbers = append(done.Numbers, m.Number)
	}
	done.Last = time.Now().UnixNano()
	return r.Done(ctx, messages)
}

// Take reads once and leaves the messages pending.
func (w *Worker) Take(t Taking, numbers *[]int) error {
	r := w.reader(t.Consumer)
	var err error
	if r.hand, err = r.Read(context.Background(), 1<<20, t.Wait); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	for _, m := range r.hand {
		*numbers = append(*numbers, m.Number)
	}
	return nil
}

// Finish acknowledges the pending messages of the consumer.
func (w *Worker) Finish(consumer string, _ *struct{}) error {
	r := w.reader(consumer)
	if len(r.hand) == 0 {
		return nil
	}
	return r.Done(context.Background(), r.hand)
}

// Heap returns the used bytes of this process.
func (w *Worker) Heap(_ struct{}, bytes *uint64) error {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	*bytes = m.HeapAlloc
	return nil
}

// Depth returns the number of messages in a queue of this process.
func (w *Worker) Depth(name string, depth *int) error {
	*depth = w.memory.depth(name)
	return nil
}
