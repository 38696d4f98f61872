package redisdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	gateEvery     = 200 * time.Millisecond // between two probes
	gateTimeout   = 400 * time.Millisecond // of a probe
	gateTrust     = time.Second            // validity of a successful probe, from its start
	gateWarnAfter = 15 * time.Second       // from this time on, failing repairs are logged
	gateRetry     = 50 * time.Millisecond  // after a probe without a reply
	gateWait      = 250 * time.Millisecond // maximum wait of a command for the next probe
	gatePoll      = 5 * time.Millisecond   // during gateWait
)

// A WriteGate rejects commands while a Redis takes no writes.
//
// A Redis can answer reads and refuse writes. Examples are a replica after a failover (READONLY),
// and a master with a full disk (MISCONF) or without its replicas (NOREPLICAS). An invalidation is a
// write. So such a Redis returns stale values until they expire, without an error. The gate treats
// it as unavailable: while the gate is closed, commands fail with [ErrBreakerOpen] and are not sent.
//
// The gate writes to the Redis every 200 ms. It is open for a second after a successful write. It
// closes at once when Redis refuses a write of the gate or of a client. Then it opens again when
// Redis takes writes and the caller has repeated the failed invalidations. If Redis only did not
// answer, the gate opens at the next successful write.
//
// A Redis whose memory is full (OOM) stays in use: it takes deletions, and every invalidation
// begins with one.
//
// Before [WriteGate.Run] starts and after it ends, the gate is open unless Redis refuses a write. A
// nil gate is always open. All methods are safe for concurrent use.
type WriteGate struct {
	role string
	key  string // never exists
	m    *RedisMetrics
	log  *slog.Logger

	zero        time.Time
	until       atomic.Int64 // nanoseconds after zero
	probeFailed atomic.Bool  // the last probe failed
	kicked      chan struct{}

	complaints clock.Throttle

	mu       sync.Mutex
	refusals int   // number of refused writes
	refused  error // the last refusal; nil while Redis takes writes
}

// NewWriteGate returns an open gate for the Redis of a role, "state" or "cache". prefix is the key
// prefix of the installation. It starts nothing.
func NewWriteGate(role, prefix string, m *RedisMetrics, log *slog.Logger) *WriteGate {
	g := &WriteGate{role: role, key: prefix + ":probe", m: m, log: log, zero: time.Now(), kicked: make(chan struct{}, 1)}
	g.until.Store(math.MaxInt64)
	return g
}

// Open reports whether Redis may be used.
func (g *WriteGate) Open() bool { return g == nil || int64(time.Since(g.zero)) < g.until.Load() }

// Refused reports whether Redis refused the last write. A missing reply is no refusal.
func (g *WriteGate) Refused() bool {
	return g != nil && g.reason() != nil
}

// ignoreGate is the context key of [IgnoreGate].
type ignoreGate struct{}

// IgnoreGate returns a context whose commands pass a closed gate. Use it only for invalidations and
// for the detection of failovers.
func IgnoreGate(ctx context.Context) context.Context {
	return context.WithValue(ctx, ignoreGate{}, true)
}

// Run probes the Redis through rdb, a client without a gate, until ctx ends. It then returns nil.
//
// When Redis takes writes after a refusal, Run calls repair to repeat the failed invalidations.
// since is the start of the first successful probe. Run calls repair until it returns nil; then the
// gate opens. The context of repair passes the gate and has no deadline.
//
// If no write succeeded for a second, but none was refused, the gate opens at the next success:
// other processes may already use that Redis. Run then calls repair once, in parallel, with a zero
// since, and ignores its error.
//
// Run calls closed shortly after the gate closes: values read from Redis just before may be stale.
func (g *WriteGate) Run(ctx context.Context, rdb redis.UniversalClient, closed func(), repair func(ctx context.Context, since time.Time) error) error {
	defer g.release()
	ctx = IgnoreGate(ctx)
	g.until.CompareAndSwap(math.MaxInt64, int64(time.Since(g.zero)+gateTrust))
	var repairs sync.WaitGroup
	defer repairs.Wait()
	var repairing atomic.Bool // after a gap without successful writes
	wasOpen := true
	var since time.Time // of the first successful probe after a refusal
	recovered := false
	for ctx.Err() == nil {
		began, refusals := time.Now(), g.refusalCount()
		err := g.probe(ctx, rdb)
		g.probeFailed.Store(err != nil)
		if open := g.Open(); open != wasOpen {
			if wasOpen = open; !open {
				closed()
			}
		}
		switch {
		case err != nil:
			since, recovered = time.Time{}, false
			if !g.Open() && !RefusesWrites(err) {
				_ = clock.Sleep(ctx, gateRetry)
				continue
			}
		case g.Open() || recovered:
			g.extend(began, refusals)
			since, recovered, wasOpen = time.Time{}, false, true
		case g.reason() == nil:
			g.extend(began, refusals)
			wasOpen = true
			if repairing.CompareAndSwap(false, true) {
				repairs.Go(func() {
					defer repairing.Store(false)
					g.recover(ctx, time.Time{}, repair)
				})
			}
		default:
			if since.IsZero() {
				since = began
			}
			recovered = g.recover(ctx, since, repair)
			if recovered && refusals == g.refusalCount() {
				continue // probe again: the repair may have outlasted gateTrust
			}
			recovered = false
		}
		g.wait(ctx)
	}
	return nil
}

// reason returns the last refusal, or nil if Redis takes writes.
func (g *WriteGate) reason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refused
}

func (g *WriteGate) refusalCount() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refusals
}

// release leaves the gate open after the last probe, unless Redis refuses writes.
func (g *WriteGate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refused == nil {
		g.until.Store(math.MaxInt64)
	}
}

// wait waits until the next probe is due. A refused write of a client shortens the wait.
func (g *WriteGate) wait(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, gateEvery)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-g.kicked:
		_ = clock.Sleep(ctx, gateEvery/10) // there may be thousands of refusals
	}
}

// recover calls repair and reports whether it succeeded. It logs repairs that keep failing after a
// refusal.
func (g *WriteGate) recover(ctx context.Context, since time.Time, repair func(context.Context, time.Time) error) bool {
	err := repair(ctx, since)
	if err != nil && ctx.Err() == nil && !since.IsZero() && time.Since(since) > gateWarnAfter && g.complaints.Allow() {
		g.log.WarnContext(ctx, "Redis accepts writes but is not repaired", "role", g.role, "err", err)
	}
	return err == nil
}

// extend opens the gate, or extends its opening, after a successful probe. It does nothing if a
// write was refused after the probe began.
func (g *WriteGate) extend(began time.Time, refusals int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refusals != refusals {
		return
	}
	if g.refused != nil {
		g.refused = nil
		g.m.open.WithLabelValues(g.role).Dec()
		g.log.Info("Redis accepts writes again", "role", g.role)
	}
	g.until.Store(int64(began.Sub(g.zero) + gateTrust))
}

// refuse closes the gate.
func (g *WriteGate) refuse(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refusals++
	g.until.Store(0)
	if g.refused == nil {
		g.m.open.WithLabelValues(g.role).Inc()
		g.m.opened.WithLabelValues(g.role).Inc()
		g.log.Warn("Redis rejects writes and is bypassed", "role", g.role, "err", err)
	}
	g.refused = err
	select {
	case g.kicked <- struct{}{}:
	default:
	}
}

// probe returns nil if the Redis, or each reachable master of a cluster, took a write. A refusal
// closes the gate.
func (g *WriteGate) probe(ctx context.Context, rdb redis.UniversalClient) error {
	ctx, cancel := context.WithTimeout(ctx, gateTimeout)
	defer cancel()
	cluster, ok := rdb.(*redis.ClusterClient)
	if !ok {
		// The key does not exist, so the command changes nothing and is not replicated. A full
		// Redis allows it.
		err := rdb.Unlink(ctx, g.key).Err()
		if _, reply := errors.AsType[redis.Error](err); reply && !refusesReads(err) {
			g.refuse(err)
		}
		return err
	}
	return g.probeMasters(ctx, cluster)
}

// writingScript has no keys, so each node of a cluster runs it. It declares that it writes, so a
// node that refuses writes refuses it. Servers before Redis 7 reject the declaration. Only clients'
// commands detect their refusals.
const writingScript = "#!lua flags=allow-oom\nreturn 1"

func (g *WriteGate) probeMasters(ctx context.Context, cluster *redis.ClusterClient) error {
	var mu sync.Mutex
	var refused, failed error
	answers := 0
	err := cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		err := node.Eval(ctx, writingScript, nil).Err()
		mu.Lock()
		defer mu.Unlock()
		_, reply := errors.AsType[redis.Error](err)
		switch {
		case RefusesWrites(err):
			refused = err
		case err == nil || reply:
			answers++
		default:
			failed = err
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case refused != nil:
		g.refuse(refused)
		return refused
	case answers == 0:
		return failed
	}
	return nil
}

// RefusesWrites reports whether err is the reply of a Redis that takes no writes from any client
// now. Full memory does not count.
func RefusesWrites(err error) bool {
	return err != nil && slices.ContainsFunc([]string{"READONLY", "MISCONF", "NOREPLICAS"}, func(word string) bool {
		return redis.HasErrorPrefix(err, word)
	})
}

// refusesReads reports whether err is the reply of a Redis that also refuses reads. Such a Redis
// cannot return stale data.
func refusesReads(err error) bool {
	return slices.ContainsFunc([]string{"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"}, func(word string) bool {
		return redis.HasErrorPrefix(err, word)
	})
}

// rejection returns the error of a command that the closed gate rejects. It returns nil if the
// command may be sent.
func (g *WriteGate) rejection(ctx context.Context) error {
	if g.Open() || ctx.Value(ignoreGate{}) != nil {
		return nil
	}
	if refused := g.reason(); refused != nil {
		return fmt.Errorf("%w: the %s Redis refuses writes: %s", ErrBreakerOpen, g.role, refused.Error()) // not wrapped: go-redis would retry
	}
	// After a suspension, a process finds its gate closed until its next probe.
	for end := time.Now().Add(gateWait); !g.probeFailed.Load() && time.Now().Before(end) && clock.Sleep(ctx, gatePoll) == nil; {
		if g.Open() {
			return nil
		}
	}
	return fmt.Errorf("%w: the %s Redis took no write for a second", ErrBreakerOpen, g.role)
}

// isHandshake reports whether a command belongs to the handshake of a connection, which go-redis
// sends with its own contexts.
func isHandshake(cmd redis.Cmder) bool {
	return slices.Contains([]string{"hello", "auth", "client", "select", "readonly", "command", "cluster", "info"}, cmd.Name())
}

// DialHook implements [redis.Hook].
func (g *WriteGate) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements [redis.Hook].
func (g *WriteGate) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := g.rejection(ctx); err != nil && !isHandshake(cmd) {
			cmd.SetErr(err)
			return err
		}
		err := next(ctx, cmd)
		if RefusesWrites(err) {
			g.refuse(err)
		}
		return err
	}
}

// ProcessPipelineHook implements [redis.Hook].
func (g *WriteGate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if err := g.rejection(ctx); err != nil && !isHandshake(cmds[0]) {
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
			return err
		}
		err := next(ctx, cmds)
		if err == nil {
			return nil
		}
		for _, cmd := range cmds {
			if e := cmd.Err(); RefusesWrites(e) {
				g.refuse(e)
				break
			}
		}
		return err
	}
}
