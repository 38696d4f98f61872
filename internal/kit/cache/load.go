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

// maxPause ends the doubling of the pauses between two looks at a busy key.
const maxPause = 20 * time.Millisecond

// fill finds the wants and adds them to found, absent ones excepted. It joins
// loads of this process that are under way and begins one for the rest. It
// returns the keys that could not be read, with the first error of a loader, or
// with that of ctx.
func (c *core[K, V]) fill(ctx context.Context, wants []want[K], found map[K]V) (failed []K, first error) {
	for len(wants) > 0 {
		if err := ctx.Err(); err != nil {
			return failed, err
		}
		seats, own, begun := c.flights.join(ctx, wants)
		if begun != nil {
			c.hub.loads.Go(func() { c.fly(begun, own) })
		}
		c.counts.waits.Add(int64(len(seats) - len(own)))
		wants = nil
		for i, s := range seats {
			select {
			case <-s.done:
			case <-ctx.Done():
				for _, left := range seats[i:] {
					c.flights.leave(left)
				}
				return failed, ctx.Err()
			}
			c.flights.leave(s)
			switch {
			case !s.counts():
				wants = append(wants, s.asked)
			case s.err != nil:
				failed, first = append(failed, s.k), cmp.Or(first, s.err)
			case s.is == value:
				found[s.k] = s.v
			}
		}
	}
	return failed, first
}

// fly settles flights: it takes leases, loads what it was granted and what needs
// no lease in one call, and stores the former. What somebody else is loading is
// looked at again until it is there or the right to load it has come here,
// because the other failed or was invalidated. The end of that wait leaves time
// for one lost loader and its successor; after it the key is loaded without a
// lease.
func (c *core[K, V]) fly(l *load, list []*flight[K, V]) {
	token := rand.Text() // one for each load: with one for each process, a slow load could store under a later load's lease
	all := list
	defer l.cancel()
	defer func() { c.bury(l, token, all, recover()) }()
	var patience time.Time
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		c.begin(list)
		granted, direct, busy, lease := c.acquire(l, token, list)
		c.run(l, token, granted, direct)
		if len(busy) == 0 {
			return
		}
		list = busy
		if l.background {
			c.give(list, errDeserted)
			return
		}
		if patience.IsZero() {
			c.counts.waits.Add(int64(len(list)))
			patience = time.Now().Add(min(lease, c.policy.LeaseTTL) + c.policy.LoadTimeout)
		}
		if time.Now().After(patience) {
			for _, at := range list {
				at.direct = true
			}
			continue
		}
		if err := clock.Sleep(l.ctx, pause); err != nil || c.flights.deserted(l) {
			c.give(list, errDeserted)
			return
		}
	}
}

// bury ends the flights that a panic in this goroutine, or its end by the
// loader, left unsettled, and gives their leases back. The goroutine is not the
// reader's: a panic would end the process.
func (c *core[K, V]) bury(l *load, token string, all []*flight[K, V], panicked any) {
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
	for _, at := range left {
		c.flights.end(at, outcome[V]{err: c.loadFailed(left, err)}, at.round)
	}
}

func (c *core[K, V]) loadFailed(todo []*flight[K, V], err error) error {
	return fmt.Errorf("load %d keys of cache %s: %w", len(todo), c.policy.Name, err)
}

// begin opens a round for these flights.
func (c *core[K, V]) begin(list []*flight[K, V]) {
	c.flights.begin(list)
	if c.local == nil {
		return
	}
	for _, at := range list {
		at.stamp = c.local.stamp(at.k)
	}
}

// give ends flights without a value.
func (c *core[K, V]) give(list []*flight[K, V], err error) {
	for _, at := range list {
		c.flights.end(at, outcome[V]{err: err}, 0)
	}
}

// acquire asks for the leases. It settles what is there already and returns
// what is granted, what has to be loaded without a lease, and what is busy, with
// the longest time that its leases have left.
func (c *core[K, V]) acquire(l *load, token string, list []*flight[K, V]) (granted, direct, busy []*flight[K, V], lease time.Duration) {
	var ask []*flight[K, V]
	for _, at := range list {
		if at.direct {
			direct = append(direct, at)
		} else {
			ask = append(ask, at)
		}
	}
	for part := range slices.Chunk(ask, batch) {
		calls := make([]scriptCall, len(part))
		for i, at := range part {
			rejects := ""
			if at.rejected != nil {
				rejects = "1"
			}
			calls[i] = scriptCall{script: acquireScript, key: at.name, args: []any{token, c.policy.LeaseTTL.Milliseconds(), at.rejected, rejects}}
		}
		var failed error
		for i, cmd := range c.hub.run(l.ctx, calls) {
			at, a := part[i], readAcquired(cmd)
			failed = cmp.Or(failed, a.err)
			switch {
			case a.granted:
				granted = append(granted, at)
			case a.busy > 0:
				busy, lease = append(busy, at), max(lease, a.busy)
			default:
				r := c.read(l.ctx, &at.want, a.reply)
				switch {
				case r.is == value || r.is == negative:
					c.keep(&at.want, r)
					c.flights.end(at, outcome[V]{v: r.v, is: r.is}, at.round)
				case c.table != nil && a.there: // stored meanwhile, under a generation that is over
					busy = append(busy, at)
				default:
					at.direct = true
					direct = append(direct, at)
				}
			}
		}
		if failed != nil {
			c.redisFailed(l.ctx, failed)
		}
	}
	return granted, direct, busy, lease
}

// run loads flights in one loader call, stores those that were granted a lease,
// and settles all. A background load does not load what it could not store.
func (c *core[K, V]) run(l *load, token string, granted, direct []*flight[K, V]) {
	if l.background {
		c.give(direct, errDeserted)
		direct = nil
	}
	todo := slices.Concat(granted, direct)
	if len(todo) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(l.ctx, c.policy.LoadTimeout)
	defer cancel()
	var loaded map[K]V
	began, epoch := time.Now(), c.hub.epoch.Load()
	err := c.place(ctx, l)
	if err == nil {
		began, epoch = time.Now(), c.hub.epoch.Load() // what is read before a new one begins does not count in it
		c.flights.shut(direct)                        // who comes now could not be served by it
		c.begin(todo)
		loaded, err = c.call(ctx, todo)
	}
	results, rounds := make([]result[V], len(todo)), make([]int, len(todo))
	for i, at := range todo {
		rounds[i] = at.round
		if v, ok := loaded[at.k]; err == nil && (i < len(granted) || c.local != nil) {
			results[i] = c.encode(l.ctx, v, ok, began, header{version: at.generation, epoch: epoch})
		} else if ok {
			results[i] = result[V]{v: v, is: value}
		} else {
			results[i].is = negative
		}
	}
	c.flights.begin(granted) // a store that succeeds proves the value current until now
	kept := c.store(l.ctx, token, granted, results[:len(granted)])
	for i, at := range todo {
		r := results[i]
		switch {
		case err != nil:
			c.flights.end(at, outcome[V]{err: err}, rounds[i])
			continue
		case i >= len(granted):
			c.keepBriefly(&at.want, r)
		case kept[i]:
			rounds[i] = at.round
			c.keep(&at.want, r)
		case c.local != nil:
			c.local.drop(at.k) // it was invalidated, and that may not have been heard yet
		}
		if r.is == negative {
			c.foundAbsent(at.want)
		}
		c.flights.end(at, outcome[V]{v: r.v, is: r.is}, rounds[i])
	}
}

// place waits for a place among the loads of this policy and of the process. A
// load that nobody waits for takes only a place that is free.
func (c *loading) place(ctx context.Context, l *load) error {
	if l.background {
		if !c.places.TryAcquire(1) {
			return errFull
		}
		if !c.hub.places.TryAcquire(1) {
			c.places.Release(1)
			return errFull
		}
		return nil
	}
	err := c.places.Acquire(ctx, 1)
	if err == nil {
		if err = c.hub.places.Acquire(ctx, 1); err != nil {
			c.places.Release(1)
		}
	}
	if err == nil {
		return nil
	}
	if l.ctx.Err() != nil { // all readers left
		return l.ctx.Err()
	}
	c.counts.busy.Add(1)
	return fmt.Errorf("wait for a place to load for cache %s: %w", c.policy.Name, ErrBusy)
}

var errFull = errors.New("no place is free")

func (c *loading) leave() {
	c.hub.places.Release(1)
	c.places.Release(1)
}

// call runs the loader once and leaves the place that it had.
func (c *core[K, V]) call(ctx context.Context, todo []*flight[K, V]) (map[K]V, error) {
	defer c.leave()
	c.counts.loadCalls.Add(1)
	c.counts.loads.Add(int64(len(todo)))
	keys := make([]K, len(todo))
	for i, at := range todo {
		keys[i] = at.k
	}
	loaded, err := c.source.load(ctx, keys)
	if err != nil {
		c.counts.loadErrors.Add(1)
		return nil, c.loadFailed(todo, err)
	}
	return loaded, nil
}

// store ends the load of each granted key: its record is kept if the lease is
// still this load's, and the lease is given back. A key without a record, for
// its load failed, gets only the latter, so that others need not wait for the
// lease to expire. It reports which records were kept.
func (c *core[K, V]) store(ctx context.Context, token string, granted []*flight[K, V], records []result[V]) []bool {
	kept := make([]bool, len(granted))
	for start := 0; start < len(granted); start += batch {
		part := granted[start:min(start+batch, len(granted))]
		calls := make([]scriptCall, len(part))
		for i, at := range part {
			r := records[start+i]
			calls[i] = scriptCall{script: storeScript, key: at.name, args: []any{token, r.record, r.life.Milliseconds()}}
		}
		var failed error
		for i, cmd := range c.hub.run(ctx, calls) {
			stored, err := cmd.Int64()
			failed = cmp.Or(failed, err)
			hasRecord := len(records[start+i].record) > 0
			kept[start+i] = err == nil && stored == 1 && hasRecord
			if err == nil && stored == 0 && hasRecord {
				c.counts.storesRefused.Add(1)
			}
		}
		if failed != nil {
			c.redisFailed(ctx, failed)
		}
	}
	return kept
}

// result is what is known of one key, as it was read or loaded.
type result[V any] struct {
	header
	v      V
	is     answer
	record []byte        // as it is in Redis
	life   time.Duration // of the record there
}

// encode makes the record of one loaded key and says how long it may live. A
// value that cannot be kept leaves a bare record for a short while: without it
// every reader of a hot one would queue for the lease. The header comes with the
// epoch in which the load began, and with the generation of a list.
func (c *core[K, V]) encode(ctx context.Context, v V, ok bool, began time.Time, h header) result[V] {
	h.created, h.delta = c.hub.wall(), time.Since(began)
	f := result[V]{v: v, is: value, header: h}
	if !ok && c.policy.NegativeTTL < 0 {
		f.is = negative
		return f // without a record, the lease alone is given back
	}
	f.soft = spread(c.policy.brief(), c.policy.Jitter, mathrand.Float64())
	f.life = f.soft
	if !ok {
		f.is, f.flags = negative, flagNegative
		f.record = f.appendTo(nil)
		return f
	}
	codec, payload, err := c.source.pack(v)
	if err != nil {
		c.counts.undecodable.Add(1)
		c.hub.logFailure(ctx, "writing a value", c.policy.Name, err)
	} else if headerSize+len(payload) > c.policy.MaxBytes {
		c.counts.oversize.Add(1)
	} else {
		f.codec = codec
		f.soft = spread(c.policy.TTL, c.policy.Jitter, mathrand.Float64())
		f.life = f.soft + c.policy.StaleTTL
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

// brief is how long a record lives that says there is nothing to serve.
func (p Policy) brief() time.Duration {
	if p.NegativeTTL < 0 {
		return time.Second
	}
	return p.NegativeTTL
}

// refresh loads keys anew whose values are served meanwhile, in the background,
// each once at a time in this process; leases see to it that no other process
// does the same. It never waits for a place. After a failure the key is left
// alone for a moment: a database in trouble gets no storm.
func (c *core[K, V]) refresh(ctx context.Context, wants []want[K]) {
	l := newLoad(ctx)
	l.background, l.keeps = true, true
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
	c.hub.loads.Go(func() {
		c.counts.refreshes.Add(int64(len(list)))
		defer func() {
			for _, at := range list {
				pause := refreshPause
				if at.err == nil || errors.Is(at.err, errDeserted) || errors.Is(at.err, errFull) {
					pause = maxPause // somebody else refreshes it, or nobody can now
				}
				time.AfterFunc(pause, func() { c.refreshing.Delete(at.k) })
			}
		}()
		c.fly(l, list)
	})
}

// refreshPause is how long a key is left alone after a refresh that failed.
const refreshPause = time.Second
