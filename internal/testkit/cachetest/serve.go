package cachetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

// process is a process of a fleet.
type process struct {
	truth  *Truth
	number int
	cache  *cache.Cache[int, Row]
	local  bool               // races read local memory
	seen   [Keys]atomic.Int64 // newest version that a race read here
	beat   atomic.Int64       // last moment at which this process ran, unix nanoseconds
}

// Serve runs a process of a fleet. It reads a Setting and then commands from in, and writes
// results to out, like [subprocess.Serve]. The process must exit when Serve returns.
func Serve(ctx context.Context, in io.Reader, out io.Writer, open func(url string) (redis.UniversalClient, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	return subprocess.Serve(in, out, func(s Setting) (func(Command) Result, error) {
		p, err := newProcess(ctx, s, open)
		if err != nil {
			return nil, err
		}
		return func(c Command) Result { return p.do(ctx, c) }, nil
	})
}

func newProcess(ctx context.Context, s Setting, open func(url string) (redis.UniversalClient, error)) (*process, error) {
	truth, _, err := openTruth(s.Truth) // mapped until the process ends
	if err != nil {
		return nil, err
	}
	rdb, err := open(s.URL)
	if err != nil {
		return nil, fmt.Errorf("open Redis: %w", err)
	}
	o := cache.Options{Prefix: s.Prefix, LocalBytes: s.LocalBytes, RedisTimeout: s.RedisTimeout, MaxAge: s.MaxAge}
	if s.BusURL != "" {
		if o.Bus, err = openBus(s, truth, open); err != nil {
			return nil, err
		}
	}
	client, err := cache.NewClient(rdb, o)
	if err != nil {
		return nil, err
	}
	p := &process{truth: truth, number: s.Number, local: o.Bus != nil}
	p.cache = cache.New(client, s.Policy, cache.Source[int, Row]{
		Key: strconv.Itoa, Parse: strconv.Atoi, Load: p.load, Version: func(r Row) int64 { return r.Version },
	})
	if s.LocalBytes > 0 {
		go func() { _ = client.Run(ctx) }() // always nil
	}
	if o.Bus != nil {
		go func() { _ = o.Bus.Run(ctx) }() // ends with the process
		go p.recordBeats(ctx)
	}
	return p, nil
}

// openBus returns the bus of a process, with its own Redis client.
func openBus(s Setting, truth *Truth, open func(url string) (redis.UniversalClient, error)) (eventbus.Bus, error) {
	rdb, err := open(s.BusURL)
	if err != nil {
		return nil, fmt.Errorf("open Redis of bus: %w", err)
	}
	var bus eventbus.Bus = eventbus.NewRedis(rdb, redisdb.NewBlockingClient, eventbus.Options{Prefix: s.Prefix})
	if s.Reorder {
		bus = &reorderingBus{Bus: bus, shuffled: &truth.Shuffled}
	}
	return bus, nil
}

// recordBeats records the moments at which this process runs. A gap means that it had no CPU time,
// in which the clock of its cache stops too.
func (p *process) recordBeats(ctx context.Context) {
	every := time.NewTicker(beatInterval)
	defer every.Stop()
	for ctx.Err() == nil {
		p.beat.Store(time.Now().UnixNano())
		<-every.C
	}
}

const (
	beatInterval = 5 * time.Millisecond
	minPause     = 20 * time.Millisecond // without a beat; a shorter gap is no pause
)

// load reads rows and returns them after a delay, like a database.
func (p *process) load(ctx context.Context, keys []int) (map[int]Row, error) {
	found := make(map[int]Row, len(keys))
	for _, k := range keys {
		p.truth.begin(p.number, k)
		defer p.truth.end(p.number, k)
		if v := p.truth.Version[k].Load(); !absent(v) {
			found[k] = Row{v}
		}
	}
	wait := p.truth.Delay.Load()
	if spread := p.truth.Spread.Load(); spread > 0 {
		wait += rand.Int64N(spread)
	}
	return found, clock.Sleep(ctx, time.Duration(wait))
}

func (p *process) do(ctx context.Context, c Command) (a Result) {
	var err error
	began := time.Now()
	switch c.Do {
	case Get:
		a.Version, err = p.get(cache.SkipLocal(ctx), c.Key)
	case Put:
		a.Stored, err = p.cache.Put(ctx, c.Key, Row{c.Version})
	case Invalidate:
		err = p.cache.Invalidate(ctx, c.Key)
	case ReadHot:
		a.Reads, a.Slow, err = p.readHot(ctx, c)
	case Race:
		p.race(ctx, c)
	default:
		err = fmt.Errorf("unknown operation %q", c.Do)
	}
	a.Took, a.Stats = time.Since(began), p.cache.Stats()
	if err != nil {
		a.Err = err.Error()
	}
	return a
}

// get returns the version of a row, 0 for no row.
func (p *process) get(ctx context.Context, key int) (int64, error) {
	r, err := p.cache.Get(ctx, key)
	if errors.Is(err, cache.ErrNotFound) {
		return 0, nil
	}
	return r.Version, err
}

func (p *process) readHot(ctx context.Context, c Command) (reads, slow int64, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, c.For, errReadTimeOver)
	defer cancel()
	var all sync.WaitGroup
	var read, late atomic.Int64
	var failed atomic.Pointer[error]
	for range c.Readers {
		all.Go(func() {
			for ctx.Err() == nil {
				began := time.Now()
				// A read finishes after the deadline too: a cancelled one would count as failed.
				if _, err := p.get(context.WithoutCancel(ctx), c.Key); err != nil {
					failed.Store(&err)
					return
				}
				read.Add(1)
				if time.Since(began) >= c.Slow {
					late.Add(1)
				}
				_ = clock.Sleep(ctx, c.Pause)
			}
		})
	}
	all.Wait()
	if e := failed.Load(); e != nil {
		err = *e
	}
	return read.Load(), late.Load(), err
}

var errReadTimeOver = errors.New("read time is over")

// race runs one writer and some readers.
func (p *process) race(ctx context.Context, c Command) {
	var all sync.WaitGroup
	all.Go(func() { p.write(ctx, rand.New(rand.NewPCG(c.Seed, 0)), c.Pause) })
	for i := range c.Readers {
		draw := rand.New(rand.NewPCG(c.Seed, uint64(i+1)))
		if p.local {
			all.Go(func() { p.readLocal(ctx, draw) })
		} else {
			all.Go(func() { p.read(cache.SkipLocal(ctx), draw) })
		}
	}
	all.Wait()
}

// write commits versions, puts or invalidates them, and then raises the floor.
func (p *process) write(ctx context.Context, draw *rand.Rand, rest time.Duration) {
	for !p.truth.Stop.Load() && clock.Sleep(ctx, time.Duration(draw.Int64N(int64(rest)))) == nil {
		key := draw.IntN(Keys)
		version := p.truth.commit(key)
		if err := p.announce(ctx, key, version, draw.IntN(2) == 0); err != nil {
			p.truth.Errors.Add(1)
			continue // not announced: reads may miss this version
		}
		p.truth.announced(key, version)
		p.truth.Writes.Add(1)
	}
}

func (p *process) announce(ctx context.Context, key int, version int64, put bool) error {
	if put && !absent(version) {
		_, err := p.cache.Put(ctx, key, Row{version})
		return err
	}
	return p.cache.Invalidate(ctx, key)
}

// read compares results with the floor before the read. One read in four may have several keys.
func (p *process) read(ctx context.Context, draw *rand.Rand) {
	for ctx.Err() == nil && !p.truth.Stop.Load() {
		keys := draw.Perm(Keys)[:1+draw.IntN(4)/3*draw.IntN(Keys)]
		var floor [Keys]int64
		for _, k := range keys {
			floor[k] = p.truth.Floor[k].Load()
		}
		found, err := p.getAll(ctx, keys)
		if err != nil {
			p.truth.Errors.Add(1)
			continue
		}
		for _, k := range keys {
			p.truth.judge(k, floor[k], found[k].Version)
		}
	}
}

// readLocal reads through local memory. It compares the result with the versions that must be
// visible by now, and with earlier results of this process. It pauses briefly between reads to
// leave CPU time to others.
func (p *process) readLocal(ctx context.Context, draw *rand.Rand) {
	for !p.truth.Stop.Load() && clock.Sleep(ctx, time.Duration(draw.Int64N(int64(time.Millisecond)))) == nil {
		key := draw.IntN(Keys)
		floor, seen := p.truth.Floor[key].Load(), p.seen[key].Load()
		began := time.Now()
		paused := time.Duration(began.UnixNano() - p.beat.Load())
		if paused < minPause {
			paused = 0
		}
		skipLocal := draw.IntN(50) == 0
		at := ctx
		if skipLocal {
			at = cache.SkipLocal(ctx)
		}
		got, err := p.get(at, key)
		if err != nil {
			p.truth.Errors.Add(1)
			continue
		}
		if skipLocal {
			p.truth.judge(key, floor, got)
		} else {
			p.truth.judgeLocal(key, floor, got, began, paused)
		}
		if got > 0 && got < seen {
			p.truth.Back.Add(1)
		}
		for old := p.seen[key].Load(); old < got && !p.seen[key].CompareAndSwap(old, got); {
			old = p.seen[key].Load()
		}
	}
}

func (p *process) getAll(ctx context.Context, keys []int) (map[int]Row, error) {
	if len(keys) > 1 {
		return p.cache.GetMany(ctx, keys)
	}
	version, err := p.get(ctx, keys[0])
	return map[int]Row{keys[0]: {version}}, err
}
