package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	mathrand "math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// longestPause ends the doubling of the pauses between two looks at a busy key.
const longestPause = 20 * time.Millisecond

var errExited = errors.New("the loader's goroutine exited")

// flight is what one round of acquire, load and store brought.
type flight[K comparable, V any] struct {
	found map[K]V
	busy  []want[K]     // somebody else loads these
	lease time.Duration // the longest that a busy lease has left
	err   error         // the loader's
}

// fill finds the wants and adds them to found, absent ones excepted. What
// somebody else is loading is looked at again until it is there or the right to
// load it has come to this reader, because the other failed or was invalidated.
// The end of the wait leaves time for one lost loader and its successor; after
// it the reader loads for itself.
func (c *Cache[K, V]) fill(ctx context.Context, wants []want[K], found map[K]V) error {
	var waitUntil time.Time
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		f, err := c.start(ctx, wants)
		if err != nil {
			return err
		}
		maps.Copy(found, f.found)
		if f.err != nil || len(f.busy) == 0 {
			return f.err
		}
		wants = f.busy
		if waitUntil.IsZero() {
			c.counts.waits.Add(int64(len(wants)))
			waitUntil = time.Now().Add(min(f.lease, c.policy.LeaseTTL) + c.policy.LoadTimeout)
		}
		if time.Now().After(waitUntil) {
			for i := range wants {
				wants[i].direct = true
			}
			continue
		}
		if err := clock.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// start runs a flight that does not end with ctx, and waits for it or for ctx.
func (c *Cache[K, V]) start(ctx context.Context, wants []want[K]) (flight[K, V], error) {
	if err := ctx.Err(); err != nil {
		return flight[K, V]{}, err
	}
	done := make(chan flight[K, V], 1)
	c.hub.loads.Go(func() {
		f := flight[K, V]{err: errExited}
		defer func() { done <- f }()
		f = c.fly(ctx, wants)
	})
	select {
	case f := <-done:
		return f, nil
	case <-ctx.Done():
		return flight[K, V]{}, ctx.Err()
	}
}

// fly takes leases, loads what it was granted and what needs no lease in one
// call, and stores the former. A load whose result nobody would keep ends with
// the reader.
func (c *Cache[K, V]) fly(ctx context.Context, wants []want[K]) flight[K, V] {
	if slices.ContainsFunc(wants, func(w want[K]) bool { return !w.direct }) {
		ctx = context.WithoutCancel(ctx)
	}
	f := flight[K, V]{found: make(map[K]V, len(wants))}
	token := rand.Text() // one for each load: with one for each process, a slow load could store under a later load's lease
	granted, direct := c.acquire(ctx, token, wants, &f)
	todo := slices.Concat(granted, direct)
	if len(todo) == 0 {
		return f
	}
	started := time.Now()
	loaded, err := c.call(ctx, todo)
	f.err = err
	for _, w := range todo {
		if v, ok := loaded[w.k]; ok {
			f.found[w.k] = v
		}
	}
	c.store(ctx, token, granted, func(w want[K]) ([]byte, time.Duration) {
		if err != nil {
			return nil, 0
		}
		v, ok := loaded[w.k]
		return c.encode(ctx, v, ok, started)
	})
	return f
}

// acquire asks for the leases. It adds to f what is there already and what is
// busy, and returns what is granted and what has to be loaded without a lease.
func (c *Cache[K, V]) acquire(ctx context.Context, token string, wants []want[K], f *flight[K, V]) (granted, direct []want[K]) {
	var ask []want[K]
	for _, w := range wants {
		if w.direct {
			direct = append(direct, w)
		} else {
			ask = append(ask, w)
		}
	}
	for part := range slices.Chunk(ask, batch) {
		calls := make([]call, len(part))
		for i, w := range part {
			calls[i] = call{w.name, []any{token, c.policy.LeaseTTL.Milliseconds(), w.garble}}
		}
		var failed error
		for i, cmd := range c.hub.run(ctx, acquireScript, calls) {
			w, a := part[i], readAcquired(cmd)
			failed = cmp.Or(failed, a.err)
			switch {
			case a.granted:
				granted = append(granted, w)
			case a.busy > 0:
				f.busy, f.lease = append(f.busy, w), max(f.lease, a.busy)
			default:
				if v, is := c.read(ctx, &w, a.reply); is == value {
					f.found[w.k] = v
				} else if is != negative {
					direct = append(direct, w)
				}
			}
		}
		if failed != nil {
			c.redisFailed(ctx, failed)
		}
	}
	return granted, direct
}

// call runs the loader once. A panic of the loader becomes an error: it would
// end the process, because the goroutine is not the reader's.
func (c *Cache[K, V]) call(ctx context.Context, todo []want[K]) (loaded map[K]V, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.policy.LoadTimeout)
	defer cancel()
	c.counts.loadCalls.Add(1)
	c.counts.loads.Add(int64(len(todo)))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		if err != nil {
			c.counts.loadErrors.Add(1)
			loaded, err = nil, fmt.Errorf("load %d keys of cache %s: %w", len(todo), c.policy.Name, err)
		}
	}()
	keys := make([]K, len(todo))
	for i, w := range todo {
		keys[i] = w.k
	}
	return c.load(ctx, keys)
}

// store ends the load of each granted key: its record is kept if the lease is
// still this load's, and the lease is given back. No record means only the
// latter, so that others need not wait for the lease to expire.
func (c *Cache[K, V]) store(ctx context.Context, token string, granted []want[K], record func(want[K]) ([]byte, time.Duration)) {
	for part := range slices.Chunk(granted, batch) {
		calls := make([]call, len(part))
		kept := make([]bool, len(part))
		for i, w := range part {
			b, life := record(w)
			calls[i] = call{w.name, []any{token, b, life.Milliseconds()}}
			kept[i] = len(b) > 0
		}
		var failed error
		for i, cmd := range c.hub.run(ctx, storeScript, calls) {
			stored, err := cmd.Int64()
			failed = cmp.Or(failed, err)
			if err == nil && stored == 0 && kept[i] {
				c.counts.storesRefused.Add(1)
			}
		}
		if failed != nil {
			c.redisFailed(ctx, failed)
		}
	}
}

// encode makes the record of one loaded key and says how long it may live. A
// value that cannot be kept leaves a bare record for a short while: without it
// every reader of a hot one would queue for the lease.
func (c *Cache[K, V]) encode(ctx context.Context, v V, ok bool, started time.Time) ([]byte, time.Duration) {
	now := time.Now()
	h := header{created: now, delta: now.Sub(started)}
	h.soft = spread(c.policy.Negative, c.policy.Jitter, mathrand.Float64())
	if !ok {
		h.flags = flagNegative
		return h.appendTo(nil), h.soft
	}
	payload, err := json.Marshal(v)
	if err != nil {
		c.counts.undecodable.Add(1)
		c.hub.complain(ctx, "writing a value", c.policy.Name, err)
	} else if headerSize+len(payload) > c.policy.MaxBytes {
		c.counts.oversize.Add(1)
	} else {
		h.soft = spread(c.policy.Fresh, c.policy.Jitter, mathrand.Float64())
		return append(h.appendTo(make([]byte, 0, headerSize+len(payload))), payload...), h.soft
	}
	h.flags = flagBare
	return h.appendTo(nil), h.soft
}
