// Package pubsub carries short messages between processes by Redis pub/sub, at most once.
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

// Options tunes a [Channel]. Channel is required.
type Options struct {
	Channel    string
	PingAfter  time.Duration         // silence before a probe of the connection; default 30 s
	Timeout    time.Duration         // for a probe, and for any answer of Redis; default 2 s
	Registerer prometheus.Registerer // nil: no metrics
	Log        *slog.Logger          // nil: no log
}

// Channel carries short messages between processes by Redis pub/sub: fast, at most once,
// and without a report of lost messages. A receiver must check for missed messages
// itself, periodically and after each gap. An eventbus.Bus guarantees more and costs
// more.
//
// A process has one connection that listens. On a cluster the messages are sharded (Redis
// 7): those of a channel go through the node of its slot only.
//
// Its methods are safe for concurrent use.
type Channel struct {
	rdb    redis.UniversalClient // nil: within this process only
	o      Options
	handle func(body []byte)
	onGap  func()
	probe  []byte

	connects, probes   prometheus.Counter
	published, dropped prometheus.Counter
	warnings           clock.Throttle
	connected          prometheus.Gauge
}

const (
	probeMark   = '?' // prefix of a message that a process sends to itself
	messageMark = '='
	minPause    = 20 * time.Millisecond
	maxPause    = 500 * time.Millisecond
)

// New returns a Channel over a Redis, or, with nil, within this process. Run calls handle
// with each message, also those of this process; without a Redis, Publish calls it. Run
// calls onGap whenever messages may have been lost: at the beginning and after each gap.
// New starts nothing. It panics if the Registerer has these metrics already.
func New(rdb redis.UniversalClient, o Options, handle func(body []byte), onGap func()) *Channel {
	o.PingAfter, o.Timeout = cmp.Or(o.PingAfter, 30*time.Second), cmp.Or(o.Timeout, 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "tandian_live_" + name, Help: help})
	}
	h := &Channel{
		rdb: rdb, o: o, handle: handle, onGap: onGap, probe: append([]byte{probeMark}, rand.Text()...),
		connects:  counter("pubsub_connects_total", "Connections to pub/sub since the start; more than one means a reconnect."),
		probes:    counter("pubsub_probe_failures_total", "Connections to pub/sub that were closed because a probe was not received."),
		published: counter("pubsub_published_total", "Messages that this process published by pub/sub."),
		dropped:   counter("pubsub_unpublished_total", "Messages that could not be published; receivers poll instead."),
		connected: prometheus.NewGauge(prometheus.GaugeOpts{Name: "tandian_live_pubsub_connected", Help: "1 while a connection listens to pub/sub."}),
	}
	if o.Registerer != nil {
		o.Registerer.MustRegister(h.connects, h.probes, h.published, h.dropped, h.connected)
	}
	return h
}

// Publish sends a message to all listening processes. After an error it may have reached
// some or none.
func (h *Channel) Publish(ctx context.Context, body []byte) error {
	if h.rdb == nil {
		h.handle(body)
		return nil
	}
	if err := h.send(ctx, append([]byte{messageMark}, body...)); err != nil {
		h.dropped.Inc()
		return fmt.Errorf("publish message: %w", err)
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

// Run listens until ctx ends, and then returns nil. It replaces a connection that is lost
// or does not return a probe. It must not run twice at a time.
func (h *Channel) Run(ctx context.Context) error {
	if h.rdb == nil {
		h.onGap()
		<-ctx.Done()
		return nil
	}
	for pause := minPause; ctx.Err() == nil; pause = min(2*pause, maxPause) {
		began := time.Now()
		err := h.listen(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ctx ended
		}
		if h.warnings.Allow() {
			h.o.Log.WarnContext(ctx, "pub/sub interrupted, reconnecting", "hint", "live updates are up to a second late", "err", err)
		}
		if time.Since(began) > maxPause {
			pause = minPause
		}
		_ = clock.Sleep(ctx, clock.Jitter(pause))
	}
	return nil
}

// listen listens on one connection until its first error. The automatic reconnection of
// [redis.PubSub] would hide a gap.
func (h *Channel) listen(ctx context.Context) error {
	var sub *redis.PubSub
	if h.sharded() {
		sub = h.rdb.SSubscribe(ctx, h.o.Channel)
	} else {
		sub = h.rdb.Subscribe(ctx, h.o.Channel)
	}
	defer func() {
		h.connected.Set(0)
		_ = sub.Close() // no longer needed
	}()
	// A blocked receive does not notice the end of ctx.
	defer context.AfterFunc(ctx, func() { _ = sub.Close() })()
	if _, err := sub.ReceiveTimeout(ctx, h.o.Timeout); err != nil { // the answer to SUBSCRIBE
		return fmt.Errorf("subscribe: %w", err)
	}
	h.connects.Inc()
	h.connected.Set(1)
	h.onGap()
	for probed := false; ; {
		wait := h.o.PingAfter
		if probed {
			wait = h.o.Timeout
		}
		got, err := sub.ReceiveTimeout(ctx, wait)
		switch m := got.(type) {
		case *redis.Message:
			probed = false
			if body := []byte(m.Payload); len(body) > 0 && body[0] == messageMark {
				h.handle(body[1:])
			}
			continue
		case *redis.Subscription:
			if m.Kind == "unsubscribe" || m.Kind == "sunsubscribe" { // the slot has moved
				return errors.New("listen: channel moved to another node")
			}
			continue
		default:
		}
		switch {
		case err == nil:
		case !isTimeout(err) || ctx.Err() != nil:
			return fmt.Errorf("listen: %w", err)
		case probed:
			h.probes.Inc()
			return errors.New("listen: probe was not received")
		default:
			probed = true
			if err := h.send(ctx, h.probe); err != nil {
				return fmt.Errorf("publish probe: %w", err)
			}
		}
	}
}

// isTimeout reports whether err is a timeout.
func isTimeout(err error) bool {
	late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err)
	return ok && late.Timeout()
}
