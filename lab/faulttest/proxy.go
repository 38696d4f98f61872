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
	togglePatience = time.Second     // that a toxic may take to be added or removed
	reopenPatience = 5 * time.Second // until the address is free again
)

// A proxy is the way of one server to one store.
type proxy struct {
	name   string
	listen string

	mu       sync.Mutex // held while the way is changed
	upstream string
	now      *toxiproxy.Proxy
	toxics   int
}

// openProxy opens a way from an address to another one.
func openProxy(name, listen, upstream string) (*proxy, error) {
	p := &proxy{name: name, listen: listen, upstream: upstream}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p, p.open()
}

// open begins to listen. The lock is held.
func (p *proxy) open() error {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	p.now = toxiproxy.NewProxy(server, p.name, p.listen, p.upstream)
	if err := p.now.Start(); err != nil {
		return fmt.Errorf("open the way %s: %w", p.name, err)
	}
	return nil
}

// A toxic harms what passes a proxy, in the words of Toxiproxy.
type toxic struct {
	Name       string           `json:"name"`
	Type       string           `json:"type"`
	Stream     string           `json:"stream"` // downstream: answers; upstream: commands
	Toxicity   float32          `json:"toxicity"`
	Attributes map[string]int64 `json:"attributes"`
}

const (
	answers  = "downstream"
	commands = "upstream"
)

// noAnswers lets commands through, and ends the connection in place of the first
// answer: it was done, and nobody hears of it.
func noAnswers() toxic {
	return toxic{Type: "limit_data", Stream: answers, Attributes: map[string]int64{"bytes": 0}}
}

// late delays what passes.
func late(stream string, by, jitter time.Duration) toxic {
	return toxic{Type: "latency", Stream: stream, Attributes: map[string]int64{"latency": by.Milliseconds(), "jitter": jitter.Milliseconds()}}
}

// hang lets nothing through, and ends no connection before it is removed.
func hang(stream string) toxic {
	return toxic{Type: "timeout", Stream: stream, Attributes: map[string]int64{"timeout": 0}}
}

// add begins to harm what passes, on connections of before too. remove ends that; it
// may be called again.
func (p *proxy) add(t toxic) (remove func(context.Context) error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toxics++
	t.Name, t.Toxicity = fmt.Sprint(t.Type, p.toxics), 1
	text, err := json.Marshal(t)
	if err != nil {
		return nil, fmt.Errorf("harm the way %s: %w", p.name, err)
	}
	harmed := p.now
	add := func() error { _, err := harmed.Toxics.AddToxicJson(bytes.NewReader(text)); return err }
	done, err := soon(add)
	if !done {
		if err = p.reopen(); err == nil {
			harmed = p.now
			err = add() // there are no connections yet
		}
	}
	if err != nil {
		return nil, fmt.Errorf("harm the way %s: %w", p.name, err)
	}
	return func(ctx context.Context) error { return p.remove(ctx, harmed, t.Name) }, nil
}

func (p *proxy) remove(ctx context.Context, harmed *toxiproxy.Proxy, name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now != harmed {
		return nil
	}
	done, err := soon(func() error {
		err := harmed.Toxics.RemoveToxic(ctx, name)
		if errors.Is(err, toxiproxy.ErrToxicNotFound) {
			return nil
		}
		return err
	})
	if !done {
		err = p.reopen()
	}
	if err != nil {
		return fmt.Errorf("heal the way %s: %w", p.name, err)
	}
	return nil
}

// soon does something that takes microseconds, unless Toxiproxy waits for a
// connection whose two ends both gave up: then it may take for ever, and is not done.
func soon(do func() error) (done bool, err error) {
	result := make(chan error, 1)
	go func() { result <- do() }()
	select {
	case err := <-result:
		return true, err
	case <-time.After(togglePatience):
		return false, nil
	}
}

// heal ends all harm at once, and with it all connections, if there is any.
func (p *proxy) heal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	harmed := 0
	done, err := soon(func() error { harmed = len(p.now.Toxics.GetToxicArray()); return nil })
	if done && harmed == 0 {
		return err
	}
	return p.reopen()
}

// lead has the way end elsewhere from now on. Connections of before are ended.
func (p *proxy) lead(upstream string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = upstream
	return p.reopen()
}

// reopen begins anew at the same address. The lock is held.
func (p *proxy) reopen() error {
	if _, err := soon(func() error { p.now.Stop(); return nil }); err != nil {
		return err
	}
	for deadline := time.Now().Add(reopenPatience); ; time.Sleep(10 * time.Millisecond) {
		err := p.open()
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// close ends the way and its connections.
func (p *proxy) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, _ = soon(func() error { p.now.Stop(); return nil })
}
