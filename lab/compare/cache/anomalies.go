package cache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Anomaly is one interleaving, forced step by step, with a forbidden outcome.
type Anomaly struct {
	ID, Name string
	run      func(ctx context.Context, l *lab) error
}

// Verdict is the result of one anomaly for one variant.
type Verdict struct {
	Passes bool
	None   bool   // the anomaly does not arise
	Why    string // what happened instead
}

func (v Verdict) String() string {
	switch {
	case v.None:
		return "–"
	case v.Passes:
		return "passes"
	}
	return "FAILS"
}

// errNone reports that the anomaly does not arise for a scheme.
var errNone = errors.New("does not arise")

// patience limits the time of events that must happen at once, and the wait for effects that only
// some schemes have.
const patience = time.Second

// Anomalies returns the anomalies that one or two processes of a scheme can show. The tests of
// internal/kit/cache use the same numbers.
func Anomalies() []Anomaly {
	return []Anomaly{
		{"A1", "a load from before the write stores after its delete", staleStore},
		{"A2", "the same, while the same process loads again", staleStoreOfTwo},
		{"A3", "a read after the write joins a load from before it", joinOld},
		{"A5", "a cancelled request leaves the key stale or locked", cancelled},
		{"A6", "one key of a batch is written during the load, the others suffer", batch},
		{"A7", "a load under way leaves a key without a life", noLife},
		{"A9", "the life differs from the setting", life},
		{"A14", "a read between the delete and the commit stores the old row", beforeCommit},
		{"A20", "a row that was not warmed reads as absent", cold},
		{"A25", "two writers reach the cache in the wrong order", outOfOrder},
		{"A27", "a value looks like a mark of the cache", marks},
	}
}

// Try runs one anomaly on one variant. An error means that the anomaly could not be tried.
func Try(ctx context.Context, a Anomaly, v Variant, url, prefix string) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	rdb, err := client(url)
	if err != nil {
		return Verdict{}, err
	}
	defer func() { _ = rdb.Close() }()
	l := &lab{variant: v, url: url, prefix: prefix, rdb: rdb, opened: make(map[*fleet]struct{})}
	err = a.run(ctx, l)
	if failed := l.close(); failed != nil {
		return Verdict{}, fmt.Errorf("%s of %s: %w", a.ID, v.Name, failed)
	}
	switch {
	case errors.Is(err, errNone):
		return Verdict{None: true}, nil
	case err != nil:
		return Verdict{Why: err.Error()}, nil
	}
	return Verdict{Passes: true}, nil
}

// lab runs one anomaly on one variant.
type lab struct {
	variant     Variant
	url, prefix string
	rdb         *redis.Client
	worlds      int
	opened      map[*fleet]struct{}
}

// stage holds three processes over one database, with their own keys. Gates stop its loads, its
// transactions before their commit, and its writes after it.
type stage struct {
	db                     *DB
	prefix                 string
	p1, p2, p3             Scheme
	loads, commits, writes *gate
}

func (l *lab) stage(ttl time.Duration) (*stage, error) {
	l.worlds++
	s := &stage{
		db: NewDB(), prefix: fmt.Sprintf("%s%d:", l.prefix, l.worlds),
		loads: newGate(), commits: newGate(), writes: newGate(),
	}
	s.db.read = s.loads.pass
	s.db.inside = s.commits.pass
	s.db.decided = func(ctx context.Context) { _ = s.writes.pass(ctx) }
	f, err := start(l.variant, l.url, 3, Process{Prefix: s.prefix, DB: s.db, TTL: ttl})
	if err != nil {
		return nil, err
	}
	l.opened[f] = struct{}{}
	s.p1, s.p2, s.p3 = f.schemes[0], f.schemes[1], f.schemes[2]
	return s, nil
}

func (l *lab) close() error {
	var all []error
	for f := range l.opened {
		all = append(all, f.close(l.variant))
	}
	return errors.Join(all...)
}

// gate stops the next few callers.
type gate struct {
	stop    chan struct{} // one for each caller to stop
	stopped chan *held
}

// held is a caller at a gate.
type held struct{ gone chan struct{} }

func (h *held) release() { close(h.gone) }

func newGate() *gate { return &gate{stop: make(chan struct{}, 8), stopped: make(chan *held, 8)} }

func (g *gate) close(n int) {
	for range n {
		g.stop <- struct{}{}
	}
}

// open lets all further callers pass.
func (g *gate) open() {
	for len(g.stop) > 0 {
		<-g.stop
	}
}

func (g *gate) pass(ctx context.Context) error {
	select {
	case <-g.stop:
	default:
		return nil
	}
	h := &held{make(chan struct{})}
	g.stopped <- h
	select {
	case <-h.gone:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// next waits for a caller at the gate, and returns nil if none comes.
func (g *gate) next(ctx context.Context, within time.Duration) *held {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case h := <-g.stopped:
		return h
	case <-ctx.Done():
		return nil
	}
}

// answer is the result of a read in the background.
type answer struct {
	value string
	err   error
}

func readLater(ctx context.Context, s Scheme, key string) <-chan answer {
	done := make(chan answer, 1)
	go func() {
		v, err := s.Read(ctx, key)
		done <- answer{v, err}
	}()
	return done
}

// soon waits a moment for an answer, and reports whether it came.
func soon(ctx context.Context, from <-chan answer, a *answer) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case *a = <-from:
		return true
	case <-ctx.Done():
		return false
	}
}

// wants returns an error unless a read returned this value.
func (a answer) wants(value string) error {
	if a.err != nil {
		return fmt.Errorf("read row: %w", a.err)
	}
	if a.value != value {
		return fmt.Errorf("read %q, not %q", a.value, value)
	}
	return nil
}

func read(ctx context.Context, s Scheme) answer {
	v, err := s.Read(ctx, row)
	return answer{v, err}
}

const row = "row"

// writeSettled writes and waits for the scheme's background work.
func writeSettled(ctx context.Context, s Scheme) error {
	if _, err := s.Write(ctx, row); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return settle(ctx, s)
}

// heldRead is a stage with a read of P1 that has read version 1 without returning it, and version 2
// written by P2 meanwhile. A scheme whose read does not load has no held read.
func (l *lab) heldRead(ctx context.Context, hold int) (s *stage, first *held, reading <-chan answer, err error) {
	if s, err = l.stage(time.Minute); err != nil {
		return nil, nil, nil, err
	}
	s.db.Put(row, "1")
	s.loads.close(hold)
	reading = readLater(ctx, s.p1, row)
	first = s.loads.next(ctx, patience)
	if err := writeSettled(ctx, s.p2); err != nil {
		return nil, nil, nil, err
	}
	return s, first, reading, nil
}

func staleStore(ctx context.Context, l *lab) error {
	s, first, reading, err := l.heldRead(ctx, 1)
	if err != nil {
		return err
	}
	if first != nil {
		first.release()
	}
	<-reading // it may return either version: it began before the write
	if err := s.rest(ctx); err != nil {
		return err
	}
	return read(ctx, s.p3).wants("2")
}

// rest waits for the background work of all processes.
func (s *stage) rest(ctx context.Context) error {
	return errors.Join(settle(ctx, s.p1), settle(ctx, s.p2))
}

func staleStoreOfTwo(ctx context.Context, l *lab) error {
	s, first, reading, err := l.heldRead(ctx, 2)
	if err != nil {
		return err
	}
	again := readLater(ctx, s.p1, row)
	second := s.loads.next(ctx, patience) // nil if it joined the first load, or if there was nothing to load
	s.loads.open()
	if first != nil {
		first.release()
	}
	var old answer
	ended := soon(ctx, reading, &old) // not if it receives the invalidation and waits for the second load
	if err := settle(ctx, s.p1); err != nil {
		return err
	}
	third := readLater(ctx, s.p3, row)
	var got answer
	came := soon(ctx, third, &got)
	if second != nil {
		second.release()
	}
	if !came {
		got = <-third
	}
	<-again
	if !ended {
		<-reading
	}
	return got.wants("2")
}

func joinOld(ctx context.Context, l *lab) error {
	s, first, reading, err := l.heldRead(ctx, 1)
	if err != nil {
		return err
	}
	after := readLater(ctx, s.p1, row)
	var got answer
	came := soon(ctx, after, &got)
	if first != nil {
		first.release()
	}
	<-reading
	if !came {
		got = <-after
	}
	return got.wants("2")
}

func cancelled(ctx context.Context, l *lab) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	s.db.Put(row, "1")
	if err := warm(ctx, s.p1, row); err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	if err := writeSettled(ctx, s.p1); err != nil {
		return err
	}
	s.loads.close(1)
	request, end := context.WithCancel(ctx)
	defer end()
	reading := readLater(request, s.p1, row)
	load := s.loads.next(ctx, patience)
	s.loads.open()
	end()
	if load != nil {
		load.release()
	}
	<-reading
	return seen(ctx, s.p2, "2")
}

// seen reads until it gets this value, for a moment.
func seen(ctx context.Context, s Scheme, value string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		got := make(chan answer, 1)
		go func() { got <- read(ctx, s) }() // a library may sleep without its ctx
		var last answer
		select {
		case last = <-got:
		case <-ctx.Done():
			return fmt.Errorf("a read after it waited longer than %v", patience)
		}
		err := last.wants(value)
		if err == nil {
			return nil
		}
		if clock.Sleep(ctx, time.Millisecond) != nil {
			return fmt.Errorf("still after %v: %w", patience, err)
		}
	}
}

func batch(ctx context.Context, l *lab) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	many, ok := s.p1.(Batch)
	if !ok {
		return errNone
	}
	keys := []string{row, "b", "c", "d"}
	want := make(map[string]string)
	for _, key := range keys {
		s.db.Put(key, "1")
		want[key] = "1"
	}
	s.loads.close(1)
	done := make(chan error, 1)
	go func() {
		_, err := many.ReadMany(ctx, keys)
		done <- err
	}()
	load := s.loads.next(ctx, patience)
	if load == nil {
		return errors.New("a cold batch loads nothing")
	}
	if err := writeSettled(ctx, s.p2); err != nil {
		return err
	}
	load.release()
	if err := <-done; err != nil {
		return fmt.Errorf("read the batch: %w", err)
	}
	return s.others(ctx, keys[1:])
}

// others returns an error if keys of a batch are loaded again.
func (s *stage) others(ctx context.Context, keys []string) error {
	before := s.db.Loads()
	for _, key := range keys {
		later := readLater(ctx, s.p3, key)
		var got answer
		if !soon(ctx, later, &got) {
			<-later
			return fmt.Errorf("the read of another key waited longer than %v", patience)
		}
		if err := got.wants("1"); err != nil {
			return err
		}
	}
	if n := s.db.Loads() - before; n > 0 {
		return fmt.Errorf("%d of 3 other keys were loaded again", n)
	}
	return nil
}

func noLife(ctx context.Context, l *lab) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	s.db.Put(row, "1")
	standing, err := l.standing(ctx, s)
	if err != nil {
		return err
	}
	s.loads.close(1)
	reading := readLater(ctx, s.p1, row)
	load := s.loads.next(ctx, patience)
	lives, err := l.lives(ctx, s.prefix, standing) // as they would stay if the process died now
	if load != nil {
		load.release()
	}
	<-reading
	if err != nil {
		return err
	}
	if load == nil || len(lives) == 0 {
		return errNone
	}
	for key, life := range lives {
		if life < 0 {
			return fmt.Errorf("%s has no TTL", key)
		}
	}
	return nil
}

// standing returns the keys that exist before the row is read: those of another row, and shared
// keys of a scheme.
func (l *lab) standing(ctx context.Context, s *stage) (map[string]time.Duration, error) {
	s.db.Put("another", "1")
	if err := warm(ctx, s.p1, "another"); err != nil {
		return nil, fmt.Errorf("warm: %w", err)
	}
	return l.lives(ctx, s.prefix, nil)
}

// lives returns the keys under a prefix, without some, and their remaining time to live; below 0
// means forever.
func (l *lab) lives(ctx context.Context, prefix string, without map[string]time.Duration) (map[string]time.Duration, error) {
	found := make(map[string]time.Duration)
	it := l.rdb.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for it.Next(ctx) {
		if _, ok := without[it.Val()]; ok {
			continue
		}
		life, err := l.rdb.PTTL(ctx, it.Val()).Result()
		if err != nil {
			return nil, fmt.Errorf("read the TTL of %s: %w", it.Val(), err)
		}
		found[it.Val()] = life
	}
	return found, it.Err()
}

func life(ctx context.Context, l *lab) error {
	for _, ttl := range []time.Duration{500 * time.Millisecond, 2 * time.Second, 10 * time.Second} {
		s, err := l.stage(ttl)
		if err != nil {
			return err
		}
		if l.variant.Single {
			return errNone
		}
		s.db.Put(row, "1")
		standing, err := l.standing(ctx, s)
		if err != nil {
			return err
		}
		if err := warm(ctx, s.p1, row); err != nil {
			return fmt.Errorf("warm: %w", err)
		}
		lives, err := l.lives(ctx, s.prefix, standing)
		if err != nil {
			return err
		}
		longest := slices.Max(append(slices.Collect(maps.Values(lives)), 0))
		shortest := slices.Min(append(slices.Collect(maps.Values(lives)), longest))
		switch {
		case shortest < 0:
			return fmt.Errorf("TTL %v became unlimited", ttl)
		case longest > ttl:
			return fmt.Errorf("TTL %v became %v", ttl, longest.Round(time.Second))
		case longest < ttl/2:
			return fmt.Errorf("TTL %v became %v", ttl, longest.Round(time.Millisecond))
		}
	}
	return nil
}

func beforeCommit(ctx context.Context, l *lab) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	s.db.Put(row, "1")
	if err := warm(ctx, s.p1, row); err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	s.commits.close(1)
	written := make(chan error, 1)
	go func() { written <- writeSettled(ctx, s.p1) }()
	commit := s.commits.next(ctx, patience)
	between := read(ctx, s.p2) // of what is committed
	if commit == nil {
		return errors.Join(<-written, errNone) // its rows are written later, in no transaction of the writer
	}
	commit.release()
	if err := errors.Join(between.wants("1"), <-written); err != nil {
		return err
	}
	return read(ctx, s.p3).wants("2")
}

func cold(ctx context.Context, l *lab) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	s.db.Put(row, "1")
	return read(ctx, s.p1).wants("1")
}

func outOfOrder(ctx context.Context, l *lab) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	s.db.Put(row, "1")
	if err := warm(ctx, s.p1, row); err != nil {
		return fmt.Errorf("warm: %w", err)
	}
	s.writes.close(1)
	written := make(chan error, 1)
	go func() { written <- writeSettled(ctx, s.p1) }()
	slow := s.writes.next(ctx, patience)
	if slow == nil {
		return errors.New("write did not reach the database")
	}
	if err := writeSettled(ctx, s.p2); err != nil {
		return err
	}
	slow.release()
	if err := <-written; err != nil {
		return err
	}
	return read(ctx, s.p3).wants("3")
}

func marks(ctx context.Context, l *lab) error {
	var all []error
	for _, value := range []string{"", "*", "LOCKED", "null", "{}", "rueidisid:"} {
		if err := l.mark(ctx, value); err != nil {
			all = append(all, fmt.Errorf("value %q: %w", value, err))
		}
	}
	return errors.Join(all...)
}

func (l *lab) mark(ctx context.Context, value string) error {
	s, err := l.stage(time.Minute)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.db.Put(row, value)
	if err := warm(ctx, s.p1, row); err != nil {
		return err
	}
	before := s.db.Loads()
	if err := read(ctx, s.p2).wants(value); err != nil {
		return err
	}
	if s.db.Loads() > before {
		return errors.New("every read loads it")
	}
	return nil
}
