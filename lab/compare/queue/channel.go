package queue

import (
	"context"
	"sync"
	"time"
)

// Memory holds the channels of a process, by name of the queue.
type Memory struct {
	mu       sync.Mutex
	channels map[string]chan string
}

func (m *Memory) channel(p Process) chan string {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.channels[p.Name]
	if !ok {
		c = make(chan string, p.Room)
		if m.channels == nil {
			m.channels = map[string]chan string{}
		}
		m.channels[p.Name] = c
	}
	return c
}

func (m *Memory) depth(name string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.channels[name])
}

// A channel is a queue within one process.
type channel struct {
	c     chan string
	bytes int
}

func newChannelSender(_ context.Context, p Process) (Sender, error) {
	return channel{p.Memory.channel(p), p.Bytes}, nil
}

func newChannelReader(_ context.Context, p Process) (Reader, error) {
	return channel{p.Memory.channel(p), p.Bytes}, nil
}

// Send waits while the channel is full.
func (q channel) Send(ctx context.Context, numbers []int) error {
	for _, n := range numbers {
		select {
		case q.c <- encode(n, q.bytes):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (q channel) Read(ctx context.Context, _ int, wait time.Duration) ([]Message, error) {
	select { // usually there is a message, and no timer is needed
	case text := <-q.c:
		return one(text)
	default:
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case text := <-q.c:
		return one(text)
	case <-over.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func one(text string) ([]Message, error) {
	m, err := decode(text, text)
	if err != nil {
		return nil, err
	}
	return []Message{m}, nil
}

func (channel) Done(context.Context, []Message) error { return nil }
func (channel) Close() error                          { return nil }
