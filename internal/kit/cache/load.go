package cache

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// maxPause is the longest pause between two checks of a busy key.
const maxPause = 20 * time.Millisecond

// loadMissing adds the values of the wants to found. It joins running loads of this process
// and starts one for the rest. It returns the keys that could not be read, with the first
// loader error, or with the error of ctx.
func (c *core[K, V]) loadMissing(ctx context.Context, wants []want[K], found map[K]V) (failed []K, first error) {
	for len(wants) > 0 {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		waiters, own, started := c.flights.join(ctx, wants)
		if started != nil {
			c.client.loads.Go(func() { c.runLoad(started, own) })
		}
		c.counts.waits.Add(int64(len(waiters) - len(own)))
		wants = nil
		for i, s := range waiters {
			select {
			case <-s.done:
			case <-ctx.Done():
				for _, left := range waiters[i:] {
					c.flights.leave(left)
				}
				return failed, ctx.Err()
			}
			c.flights.leave(s)
			switch {
			case !s.isValid():
				wants = append(wants, s.original)
			case s.err != nil:
				failed, first = append(failed, s.k), cmp.Or(first, s.err)
			case s.state == value:
				found[s.k] = s.v
			}
		}
	}
	return failed, first
}

// runLoad decides flights. It takes leases, loads the granted keys and those that need no
// lease in one call, and stores the former. It checks keys that another load holds until they
// are stored or their lease is free. This wait is long enough for one lost loader and its
// successor. After it, runLoad loads the key without a lease.
func (c *core[K, V]) runLoad(l *load, list []*flight[K, V]) {
	token := rand.Text() // one per load: otherwise a slow load could store under the lease of a later one
	all := list
	defer l.cancel()
	defer func() { c.failPanicked(l, token, all, recover()) }()
	var waitUntil time.Time
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		c.begin(list)
		granted, direct, busy, lease := c.acquire(l, token, list)
		c.loadAndStore(l, token, granted, direct)
		if len(busy) == 0 {
			return
		}
		list = busy
		if l.background {
			c.failAll(list, errAbandoned)
			return
		}
		if waitUntil.IsZero() {
			c.counts.waits.Add(int64(len(list)))
			waitUntil = time.Now().Add(min(lease, c.policy.LeaseTTL) + c.policy.LoadTimeout)
		}
		if time.Now().After(waitUntil) {
			for _, fl := range list {
				fl.direct = true
			}
			continue
		}
		if err := clock.Sleep(l.ctx, pause); err != nil || c.flights.abandoned(l) {
			c.failAll(list, errAbandoned)
			return
		}
	}
}

// failPanicked ends the flights that a panic or the exit of this goroutine left undecided, and
// releases their leases. The goroutine is not the reader's: a panic would end the process.
func (c *core[K, V]) failPanicked(l *load, token string, all []*flight[K, V], panicked any) {
	left := slices.DeleteFunc(slices.Clone(all), (*flight[K, V]).over)
	if len(left) == 0 {
		return
	}
	err := errExited
	if panicked != nil {
		err = fmt.Errorf("panic: %v\n%s", panicked, debug.Stack())
	}
	c.counts.loadErrors.Add(1)
	c.store(l.ctx, token, left, make([]result[V], len(left)))
	for _, fl := range left {
		c.flights.end(fl, outcome[V]{err: c.loadFailed(left, err)}, fl.round)
	}
}

func (c *core[K, V]) loadFailed(todo []*flight[K, V], err error) error {
	return fmt.Errorf("load %d keys of cache %s: %w", len(todo), c.policy.Name, err)
}

func (c *core[K, V]) begin(list []*flight[K, V]) {
	c.flights.begin(list)
	if c.local == nil {
		return
	}
	for _, fl := range list {
		fl.stamp = c.local.stamp(fl.k)
	}
}

// failAll ends flights without a value. Readers that joined them read again.
func (c *core[K, V]) failAll(list []*flight[K, V], err error) {
	for _, fl := range list {
		c.flights.end(fl, outcome[V]{err: err}, 0)
	}
}

// acquire requests leases. It ends flights whose record is stored by now. It sorts the others
// into granted, direct (to load without a lease) and busy. The lease is the longest of the busy.
func (c *core[K, V]) acquire(l *load, token string, list []*flight[K, V]) (granted, direct, busy []*flight[K, V], lease time.Duration) {
	var leased []*flight[K, V]
	for _, fl := range list {
		if fl.direct {
			direct = append(direct, fl)
		} else {
			leased = append(leased, fl)
		}
	}
	for part := range slices.Chunk(leased, batch) {
		calls := make([]scriptCall, len(part))
		for i, fl := range part {
			rejects := ""
			if fl.rejected != nil {
				rejects = "1"
			}
			calls[i] = scriptCall{script: acquireScript, key: fl.name, args: []any{token, c.policy.LeaseTTL.Milliseconds(), fl.rejected, rejects}}
		}
		var failed error
		for i, cmd := range c.client.run(l.ctx, calls) {
			fl, a := part[i], readAcquired(cmd)
			failed = cmp.Or(failed, a.err)
			switch {
			case a.granted:
				granted = append(granted, fl)
			case a.busy > 0:
				busy, lease = append(busy, fl), max(lease, a.busy)
			default:
				r := c.decodeReply(l.ctx, &fl.want, a.reply)
				switch {
				case r.state == value || r.state == negative:
					c.storeLocal(&fl.want, r)
					c.flights.end(fl, outcome[V]{v: r.v, state: r.state}, fl.round)
				case c.table != nil && a.there: // stored meanwhile, under an old generation
					busy = append(busy, fl)
				default:
					fl.direct = true
					direct = append(direct, fl)
				}
			}
		}
		if failed != nil {
			c.redisFailed(l.ctx, failed)
		}
	}
	return granted, direct, busy, lease
}

// loadAndStore loads flights in one loader call, stores the granted ones and ends all. A
// background load skips those that it could not store.
func (c *core[K, V]) loadAndStore(l *load, token string, granted, direct []*flight[K, V]) {
	if l.background {
		c.failAll(direct, errAbandoned)
		direct = nil
	}
	todo := slices.Concat(granted, direct)
	if len(todo) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, c.policy.LoadTimeout)
	defer cancel()
	var loaded map[K]V
	began, epoch := time.Now(), c.client.epoch.Load()
	err := c.acquireSlot(ctx, l)
	if err == nil {
		began, epoch = time.Now(), c.client.epoch.Load() // data read before a new epoch does not count in it
		c.flights.detach(direct)                         // this load cannot serve later readers
		c.begin(todo)
		loaded, err = c.callLoader(ctx, todo)
	}
	results, rounds := make([]result[V], len(todo)), make([]int, len(todo))
	for i, fl := range todo {
		rounds[i] = fl.round
		if v, ok := loaded[fl.k]; err == nil && (i < len(granted) || c.local != nil) {
			results[i] = c.encode(l.ctx, v, ok, began, header{version: fl.generation, epoch: epoch})
		} else if ok {
			results[i] = result[V]{v: v, state: value}
		} else {
			results[i].state = negative
		}
	}
	c.flights.begin(granted) // a successful store proves that the value is current until now
	stored := c.store(l.ctx, token, granted, results[:len(granted)])
	for i, fl := range todo {
		r := results[i]
		switch {
		case err != nil:
			c.flights.end(fl, outcome[V]{err: err}, rounds[i])
			continue
		case i >= len(granted):
			c.storeLocalBriefly(&fl.want, r)
		case stored[i]:
			rounds[i] = fl.round
			c.storeLocal(&fl.want, r)
		case c.local != nil:
			c.local.drop(fl.k) // invalidated, perhaps by another process whose message is in transit
		}
		if r.state == negative {
			c.foundAbsent(fl.want)
		}
		c.flights.end(fl, outcome[V]{v: r.v, state: r.state}, rounds[i])
	}
}

// acquireSlot waits for a load slot of this policy and of the process. A background load does
// not wait.
func (c *loadLimiter) acquireSlot(ctx context.Context, l *load) error {
	if l.background {
		if !c.slots.TryAcquire(1) {
			return errNoSlot
		}
		if !c.client.slots.TryAcquire(1) {
			c.slots.Release(1)
			return errNoSlot
		}
		return nil
	}
	err := c.slots.Acquire(ctx, 1)
	if err == nil {
		if err = c.client.slots.Acquire(ctx, 1); err != nil {
			c.slots.Release(1)
		}
	}
	if err == nil {
		return nil
	}
	if l.ctx.Err() != nil { // all readers left
		return l.ctx.Err()
	}
	c.counts.busy.Add(1)
	return fmt.Errorf("wait for load slot of cache %s: %w", c.policy.Name, ErrBusy)
}

var errNoSlot = errors.New("no load slot is free")

func (c *loadLimiter) releaseSlot() {
	c.client.slots.Release(1)
	c.slots.Release(1)
}

// callLoader runs the loader once and releases the slot.
func (c *core[K, V]) callLoader(ctx context.Context, todo []*flight[K, V]) (map[K]V, error) {
	defer c.releaseSlot()
	c.counts.loadCalls.Add(1)
	c.counts.loads.Add(int64(len(todo)))
	keys := make([]K, len(todo))
	for i, fl := range todo {
		keys[i] = fl.k
	}
	loaded, err := c.source.load(ctx, keys)
	if err != nil {
		c.counts.loadErrors.Add(1)
		return nil, c.loadFailed(todo, err)
	}
	return loaded, nil
}

// store ends the load of granted keys and reports which records Redis stored. It stores a record
// if the lease still belongs to this load, and removes the lease. A key without a record only
// releases its lease, so that other readers need not wait for its expiry.
func (c *core[K, V]) store(ctx context.Context, token string, granted []*flight[K, V], records []result[V]) []bool {
	stored := make([]bool, len(granted))
	for start := 0; start < len(granted); start += batch {
		part := granted[start:min(start+batch, len(granted))]
		calls := make([]scriptCall, len(part))
		for i, fl := range part {
			r := records[start+i]
			calls[i] = scriptCall{script: storeScript, key: fl.name, args: []any{token, r.record, r.ttl.Milliseconds()}}
		}
		var failed error
		for i, cmd := range c.client.run(ctx, calls) {
			done, err := cmd.Int64()
			failed = cmp.Or(failed, err)
			hasRecord := len(records[start+i].record) > 0
			stored[start+i] = err == nil && done == 1 && hasRecord
			if err == nil && done == 0 && hasRecord {
				c.counts.storesRefused.Add(1)
			}
		}
		if failed != nil {
			c.redisFailed(ctx, failed)
		}
	}
	return stored
}

// result is the outcome of one read or load.
type result[V any] struct {
	header
	v      V
	state  recordKind
	record []byte        // as in Redis
	ttl    time.Duration // of the record in Redis
}

// encode returns the record of one loaded key. A value that cannot be stored gets a bare record
// with a short TTL. Otherwise every reader of a hot key would queue for the lease. The header h
// holds the epoch in which the load began, and the generation of a list.
func (c *core[K, V]) encode(ctx context.Context, v V, ok bool, began time.Time, h header) result[V] {
	h.created, h.delta = c.client.wall(), time.Since(began)
	f := result[V]{v: v, state: value, header: h}
	if !ok && c.policy.NegativeTTL < 0 {
		f.state = negative
		return f // without a record: store only releases the lease
	}
	f.soft = spread(c.policy.shortTTL(), c.policy.Jitter, mathrand.Float64())
	f.ttl = f.soft
	if !ok {
		f.state, f.flags = negative, flagNegative
		f.record = f.appendTo(nil)
		return f
	}
	codec, payload, err := c.source.pack(v)
	if err != nil {
		c.counts.undecodable.Add(1)
		c.client.logFailure(ctx, "encode value", c.policy.Name, err)
	} else if headerSize+len(payload) > c.policy.MaxBytes {
		c.counts.oversize.Add(1)
	} else {
		f.codec = codec
		f.soft = spread(c.policy.TTL, c.policy.Jitter, mathrand.Float64())
		f.ttl = f.soft + c.policy.StaleTTL
		if c.source.version != nil {
			f.version = c.source.version(v)
		}
		f.record = append(f.appendTo(make([]byte, 0, headerSize+len(payload))), payload...)
		return f
	}
	f.flags = flagBare
	f.record = f.appendTo(nil)
	return f
}

// shortTTL returns the TTL of a record without a value.
func (p Policy) shortTTL() time.Duration {
	if p.NegativeTTL < 0 {
		return time.Second
	}
	return p.NegativeTTL
}

// refresh reloads stale keys in the background, while readers get the old values. It runs once
// at a time per key in this process; leases prevent duplicates in other processes. It never
// waits for a slot. After a failure it pauses, so a failing database gets no storm of loads.
func (c *core[K, V]) refresh(ctx context.Context, wants []want[K]) {
	l := newLoad(ctx)
	l.background, l.stores = true, true
	var list []*flight[K, V]
	for _, w := range wants {
		if _, under := c.refreshing.LoadOrStore(w.k, struct{}{}); !under {
			list = append(list, newFlight[K, V](w, l))
		}
	}
	if len(list) == 0 {
		l.cancel()
		return
	}
	c.client.loads.Go(func() {
		c.counts.refreshes.Add(int64(len(list)))
		defer func() {
			for _, fl := range list {
				pause := refreshPause
				if fl.err == nil || errors.Is(fl.err, errAbandoned) || errors.Is(fl.err, errNoSlot) {
					pause = maxPause // another process refreshes it, or no slot is free
				}
				time.AfterFunc(pause, func() { c.refreshing.Delete(fl.k) })
			}
		}()
		c.runLoad(l, list)
	})
}

// refreshPause is the pause after a failed refresh of a key.
const refreshPause = time.Second
