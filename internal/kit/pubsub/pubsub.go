package pubsub

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Options tunes [Channel]. Channel is required.
type Options struct {
	Channel    string
	PingAfter  time.Duration         // after which the connection is tried with a message to ourselves; default 30 s
	Timeout    time.Duration         // longest wait for that, and for any answer of Redis; default 2 s
	Registerer prometheus.Registerer // where the metrics are shown; nil for nowhere
	Log        *slog.Logger          // default slog.DiscardHandler
}

// Channel carries short messages between processes by Redis pub/sub: fast, at most once,
// and nobody hears what was lost. So nobody may rely on one: who hears it must find out by
// itself, now and then and after each gap, what it missed. A stream.Bus promises more and
// costs more.
//
// A process has one connection that listens, whatever it listens for. On a cluster the
// messages are sharded ones (Redis 7): those of a channel go through the node that has
// its slot, and to no other.
//
// Its methods are safe for concurrent use.
type Channel struct {
	rdb    redis.UniversalClient // nil: this process is all there is
	o      Options
	hear   func(body []byte)
	missed func()
	probe  []byte

	connects, probes   prometheus.Counter
	published, dropped prometheus.Counter
	complaints         clock.Throttle
	connected          prometheus.Gauge
}

const (
	probeMark     = '?' // begins a message that a process sends to itself
	hintMark      = '='
	firstRelisten = 20 * time.Millisecond
	lastRelisten  = 500 * time.Millisecond
)

// New builds Hints over a Redis, or, with nil, within this process. hear is called
// with each message, also this process's own, by one goroutine;
// missed whenever messages may have been lost: at the beginning and after each gap. It
// starts nothing: see Run. It panics if the Registerer has these metrics already.
func New(rdb redis.UniversalClient, o Options, hear func(body []byte), missed func()) *Channel {
	o.PingAfter, o.Timeout = cmp.Or(o.PingAfter, 30*time.Second), cmp.Or(o.Timeout, 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_live_" + name, Help: help})
	}
	h := &Channel{
		rdb: rdb, o: o, hear: hear, missed: missed, probe: append([]byte{probeMark}, rand.Text()...),
		connects:  counter("pubsub_connects_total", "Connections that began to listen to pub/sub; more than one means that one was lost."),
		probes:    counter("pubsub_probe_failures_total", "Connections to pub/sub that were given up because a message to ourselves did not come back."),
		published: counter("pubsub_published_total", "Hints that this process published by pub/sub."),
		dropped:   counter("pubsub_unpublished_total", "Hints that could not be published: whoever waits for them looks by itself."),
		connected: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_live_pubsub_connected", Help: "1 while a connection listens to pub/sub, as far as is known."}),
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(h.connects, h.probes, h.published, h.dropped, h.connected)
	}
	return h
}

// Publish sends a message to all processes that listen. With an error it may have
// reached some, or none.
func (h *Channel) Publish(ctx context.Context, body []byte) error {
	if h.rdb == nil {
		h.hear(body)
		return nil
	}
	if err := h.send(ctx, append([]byte{hintMark}, body...)); err != nil {
		h.dropped.Inc()
		return fmt.Errorf("publish a hint: %w", err)
	}
	h.published.Inc()
	return nil
}

func (h *Channel) send(ctx context.Context, message []byte) error {
	ctx, cancel := context.WithTimeout(ctx, h.o.Timeout)
	defer cancel()
	if h.sharded() {
		return h.rdb.SPublish(ctx, h.o.Channel, message).Err()
	}
	return h.rdb.Publish(ctx, h.o.Channel, message).Err()
}

func (h *Channel) sharded() bool {
	_, cluster := h.rdb.(*redis.ClusterClient)
	return cluster
}

// Run listens until ctx ends, and then returns nil. A connection that is lost, or
// silent and does not even bring back what we say to ourselves, is replaced. It runs
// once at a time.
func (h *Channel) Run(ctx context.Context) error {
	if h.rdb == nil {
		h.missed()
		<-ctx.Done()
		return nil
	}
	for pause := firstRelisten; ctx.Err() == nil; pause = min(2*pause, lastRelisten) {
		began := time.Now()
		err := h.listen(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // that is how it ends
		}
		if h.complaints.Allow() {
			h.o.Log.WarnContext(ctx, "pub/sub is interrupted: what is live comes up to a second later until it listens again", "err", err)
		}
		if time.Since(began) > lastRelisten {
			pause = firstRelisten
		}
		_ = clock.Sleep(ctx, clock.Jitter(pause))
	}
	return nil
}

// listen listens on one connection until that is lost. What [redis.PubSub] does by
// itself after an error, to connect again, would go by unseen: so the first error ends
// it.
func (h *Channel) listen(ctx context.Context) error {
	var sub *redis.PubSub
	if h.sharded() {
		sub = h.rdb.SSubscribe(ctx, h.o.Channel)
	} else {
		sub = h.rdb.Subscribe(ctx, h.o.Channel)
	}
	defer func() {
		h.connected.Set(0)
		_ = sub.Close() // it is given up
	}()
	// What waits for a message does not see that ctx ends.
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	if _, err := sub.ReceiveTimeout(ctx, h.o.Timeout); err != nil { // the answer to SUBSCRIBE
		return fmt.Errorf("subscribe: %w", err)
	}
	h.connects.Inc()
	h.connected.Set(1)
	h.missed()
	for asked := false; ; {
		wait := h.o.PingAfter
		if asked {
			wait = h.o.Timeout
		}
		got, err := sub.ReceiveTimeout(ctx, wait)
		switch m := got.(type) {
		case *redis.Message:
			asked = false
			if body := []byte(m.Payload); len(body) > 0 && body[0] == hintMark {
				h.hear(body[1:])
			}
			continue
		case *redis.Subscription:
			if m.Kind == "unsubscribe" || m.Kind == "sunsubscribe" { // the slot has moved
				return errors.New("this node does not carry the channel any more")
			}
			continue
		default:
		}
		switch {
		case err == nil:
		case !isTimeout(err) || ctx.Err() != nil:
			return fmt.Errorf("listen: %w", err)
		case asked:
			h.probes.Inc()
			return errors.New("what this process published did not come back")
		default:
			asked = true
			if err := h.send(ctx, h.probe); err != nil {
				return fmt.Errorf("publish a probe: %w", err)
			}
		}
	}
}

// isTimeout tells that nothing came in time.
func isTimeout(err error) bool {
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout()
}
