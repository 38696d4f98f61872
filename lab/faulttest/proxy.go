package faulttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
)

const (
	toggleTimeout = time.Second     // for adding or removing a toxic
	reopenTimeout = 5 * time.Second // for the address to become free again
)

// proxy forwards connections from one server to one store.
type proxy struct {
	name   string
	listen string

	mu       sync.Mutex // held during changes
	upstream string
	current  *toxiproxy.Proxy
	toxics   int
}

// openProxy opens a proxy from one address to another.
func openProxy(name, listen, upstream string) (*proxy, error) {
	p := &proxy{name: name, listen: listen, upstream: upstream}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.open()
}

// open starts to listen. The caller holds the lock.
func (p *proxy) open() error {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p.current = toxiproxy.NewProxy(server, p.name, p.listen, p.upstream)
	if err := p.current.Start(); err != nil {
		return fmt.Errorf("open proxy %s: %w", p.name, err)
	}
	return nil
}

// toxic describes a fault of a proxy, in Toxiproxy's terms.
type toxic struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Stream     string           `json:"stream"` // downstream: replies; upstream: commands
	Toxicity   float32          `json:"toxicity"`
	Attributes map[string]int64 `json:"attributes"`
}

const (
	replies  = "downstream"
	commands = "upstream"
)

// dropReplies forwards commands and ends the connection instead of the first reply. The
// command is done, but its sender does not know.
func dropReplies() toxic {
	return toxic{Type: "limit_data", Stream: replies, Attributes: map[string]int64{"bytes": 0}}
}

// delay delays a stream.
func delay(stream string, by, jitter time.Duration) toxic {
	return toxic{Type: "latency", Stream: stream, Attributes: map[string]int64{"latency": by.Milliseconds(), "jitter": jitter.Milliseconds()}}
}

// hang forwards nothing and ends no connection until it is removed.
func hang(stream string) toxic {
	return toxic{Type: "timeout", Stream: stream, Attributes: map[string]int64{"timeout": 0}}
}

// add adds a toxic, which also affects open connections. remove removes it; further calls do
// nothing.
func (p *proxy) add(t toxic) (remove func(context.Context) error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toxics++
	t.Name, t.Toxicity = fmt.Sprint(t.Type, p.toxics), 1
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("add toxic to %s: %w", p.name, err)
	}
	target := p.current
	add := func() error { _, err := target.Toxics.AddToxicJson(bytes.NewReader(text)); return err }
	done, err := tryQuickly(add)
	if !done {
		if err = p.reopen(); err == nil {
			target = p.current
			err = add() // no connections are open yet
		}
	}
	if err != nil {
		return nil, fmt.Errorf("add toxic to %s: %w", p.name, err)
	}
	return func(ctx context.Context) error { return p.remove(ctx, target, t.Name) }, nil
}

func (p *proxy) remove(ctx context.Context, target *toxiproxy.Proxy, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != target {
		return nil
	}
	done, err := tryQuickly(func() error {
		err := target.Toxics.RemoveToxic(ctx, name)
		if errors.Is(err, toxiproxy.ErrToxicNotFound) {
			return nil
		}
		return err
	})
	if !done {
		err = p.reopen()
	}
	if err != nil {
		return fmt.Errorf("remove toxic from %s: %w", p.name, err)
	}
	return nil
}

// tryQuickly runs an operation that normally takes microseconds. If both ends of a connection
// gave up, Toxiproxy may block forever; then done is false.
func tryQuickly(do func() error) (done bool, err error) {
	result := make(chan error, 1)
	go func() { result <- do() }()
	select {
	case err := <-result:
		return true, err
	case <-time.After(toggleTimeout):
		return false, nil
	}
}

// heal removes all toxics, and ends all connections if there are any toxics.
func (p *proxy) heal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	count := 0
	done, err := tryQuickly(func() error { count = len(p.current.Toxics.GetToxicArray()); return nil })
	if done && count == 0 {
		return err
	}
	return p.reopen()
}

// redirect changes the target of the proxy and ends its connections.
func (p *proxy) redirect(upstream string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
	return p.reopen()
}

// reopen stops the proxy and opens it at the same address. The caller holds the lock.
func (p *proxy) reopen() error {
	if _, err := tryQuickly(func() error { p.current.Stop(); return nil }); err != nil {
		return err
	}
	for deadline := time.Now().Add(reopenTimeout); ; time.Sleep(10 * time.Millisecond) {
		err := p.open()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// close closes the proxy and its connections.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = tryQuickly(func() error { p.current.Stop(); return nil })
}
