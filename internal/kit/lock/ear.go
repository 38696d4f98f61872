package lock

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// ear hears of releases on one node, for all who wait in this process: by one
// connection, from the first wait on until the Locker is closed.
type ear struct {
	client redis.UniversalClient
	node   int
	tasks  *tasks

	mu      sync.Mutex
	by      map[string]*contest // by channel
	told    map[string]bool     // channels that the node was asked to tell of
	changed map[string]bool     // channels that somebody began or ceased to listen to
	busy    bool                // somebody asks the node
	closed  bool
	pubsub  *redis.PubSub // nil until the first wait
}

func newEar(client redis.UniversalClient, node int, t *tasks) *ear {
	return &ear{client: client, node: node, tasks: t, by: make(map[string]*contest), told: make(map[string]bool), changed: make(map[string]bool)}
}

// listen has a contest hear of a channel. It is told anything as soon as the node
// says that it listens, and whenever the node says so again after a connection
// was lost: a release in between was told to nobody.
func (e *ear) listen(channel string, w *contest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.by[channel] = w
	e.change(channel)
}

// forget ends that, unless another contest has come in its place.
func (e *ear) forget(channel string, w *contest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.by[channel] == w {
		delete(e.by, channel)
		e.change(channel)
	}
}

// change has the node asked. That is done behind the caller: a node that hangs
// holds up only those who wait for it. The caller holds mu.
func (e *ear) change(channel string) {
	e.changed[channel] = true
	if e.closed || e.busy {
		return
	}
	if e.pubsub == nil {
		e.pubsub = e.client.Subscribe(context.Background())
		p := e.pubsub
		e.tasks.run(func() { e.receive(p) })
	}
	e.busy = e.tasks.run(e.ask)
}

// ask asks the node to tell of what changed, until nothing did.
func (e *ear) ask() {
	for {
		p, begin, end := e.next()
		if len(begin)+len(end) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		// What fails is said again by the client when it has a connection again.
		if len(begin) > 0 {
			_ = p.Subscribe(ctx, begin...)
		}
		if len(end) > 0 {
			_ = p.Unsubscribe(ctx, end...)
		}
		cancel()
	}
}

const askTimeout = time.Second

// next are channels that the node is to tell of, and some that it is not.
func (e *ear) next() (p *redis.PubSub, begin, end []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for channel := range e.changed {
		switch want := e.by[channel] != nil; {
		case want:
			// Also if it was told before: the contest may be another one, which needs
			// an acknowledgement.
			begin = append(begin, channel)
			e.told[channel] = true
		case e.told[channel]:
			end = append(end, channel)
			delete(e.told, channel)
		}
	}
	clear(e.changed)
	e.busy = !e.closed && len(begin)+len(end) > 0
	if !e.busy {
		return nil, nil, nil
	}
	return e.pubsub, begin, end
}

// receive takes what a node says until its connection is replaced or closed. A
// connection that says nothing is asked whether it is there: one whose other end
// is gone without a word looks silent for ever.
func (e *ear) receive(p *redis.PubSub) {
	asked := false
	for {
		m, err := p.ReceiveTimeout(context.Background(), earPatience)
		if err == nil {
			asked = false
			e.hear(m)
			continue
		}
		late, isNet := errors.AsType[net.Error](err)
		switch {
		case e.isOver(p):
			return
		case isNet && late.Timeout() && !asked:
			asked = true
			_ = p.Ping(context.Background()) // its failure is one to receive
		case isNet && late.Timeout():
			if p = e.replace(p); p == nil {
				return
			}
			asked = false
		default: // the next call connects again
			_ = clock.Sleep(context.Background(), earPause)
		}
	}
}

const (
	earPatience = 3 * time.Second        // without a word, before a connection is asked and again before it is given up
	earPause    = 100 * time.Millisecond // between two attempts to connect
)

func (e *ear) isOver(p *redis.PubSub) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed || e.pubsub != p
}

// replace gives a connection up for a new one, which is asked for everything.
func (e *ear) replace(dead *redis.PubSub) *redis.PubSub {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.tasks.run(func() { _ = dead.Close() })
	e.pubsub = e.client.Subscribe(context.Background())
	clear(e.told)
	for channel := range e.by {
		e.changed[channel] = true
	}
	if !e.busy {
		e.busy = e.tasks.run(e.ask)
	}
	return e.pubsub
}

func (e *ear) hear(message any) {
	switch m := message.(type) {
	case *redis.Subscription:
		if m.Kind == "subscribe" {
			e.pass(m.Channel, anything)
		}
	case *redis.Message:
		token, err := strconv.ParseInt(m.Payload, 10, 64)
		if err != nil { // not from us
			return
		}
		e.pass(m.Channel, token)
	}
}

func (e *ear) pass(channel string, token int64) {
	e.mu.Lock()
	w := e.by[channel]
	e.mu.Unlock()
	if w != nil {
		w.hear(e.node, token)
	}
}

// close ends the connection behind the caller: the client may hold it while it
// dials.
func (e *ear) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	e.closed = true
	if p := e.pubsub; p != nil {
		e.tasks.run(func() { _ = p.Close() })
	}
}
