package faulttest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"time"
)

// A single is the server as `go run .` starts it: both stores are in the process, so
// whatever harms it harms both. What its Redis held is gone each time; the database is
// a file.
type single struct {
	proc     *Proc
	url      string
	database string
	people   []Person
	shop     string
	random   *rand.Rand
	lasts    time.Duration

	mu    sync.Mutex
	since time.Time // when it answered again; zero while it does not
}

// What is done to it.
const (
	blowKill    = "kill-server"
	blowStop    = "stop-server"          // by SIGTERM
	blowTwice   = "kill-server-twice"    // the second time while it starts
	shortestGap = 400 * time.Millisecond // that it is left alone
	longestGap  = 3 * time.Second
	midStart    = 300 * time.Millisecond // within which a start is cut off
)

func openSingle(ctx context.Context, o Options, lasts time.Duration) (*single, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	s := &single{
		url: "http://" + loopback(ports[0]), database: "sqlite://" + filepath.Join(data, "tandian.db"),
		random: rand.New(rand.NewPCG(o.Seed, 2)), lasts: lasts, //nolint:gosec // to be repeated
	}
	env := append(environment("", ""), "TANDIAN_DATA_DIR="+data)
	if s.people, err = seedPeople(ctx, o, dir, env); err != nil {
		return nil, err
	}
	db, err := openDatabase(s.database)
	if err != nil {
		return nil, err
	}
	s.shop, err = firstShop(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, err
	}
	s.proc = &Proc{
		Name: "server", dir: dir, log: filepath.Join(dir, "server.log"), env: env,
		args:    append([]string{o.Binary, "--addr", loopback(ports[0]), "--log-format", "json"}, unlimited()...),
		answers: func(ctx context.Context) error { return ready(ctx, s.url) },
	}
	if err := s.Heal(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Servers is one.
func (s *single) Servers() int { return 1 }

// URL is where it answers.
func (s *single) URL(int) string { return s.url }

// DatabaseURL is its file.
func (s *single) DatabaseURL() string { return s.database }

// RedisURL is none: it is in the process.
func (s *single) RedisURL() string { return "" }

// People are those who can sign in.
func (s *single) People() []Person { return s.people }

// Shop is the merchant's.
func (s *single) Shop() string { return s.shop }

// Logs is what it said, over all its lives.
func (s *single) Logs() []string { return []string{s.proc.log} }

// Deaths are the ends that were not ours.
func (s *single) Deaths() []string { return s.proc.Deaths() }

// Ends says when it was told to end, or was killed.
func (s *single) Ends(int) []Ending { return s.proc.Ends() }

// Healthy says since when it answers.
func (s *single) Healthy() (since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, !s.since.IsZero()
}

func (s *single) answersSince(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = at
}

func (s *single) play(ctx context.Context, note func(at time.Duration, what string)) error {
	begin := time.Now()
	for n := 0; ; n++ {
		gap := between(shortestGap, longestGap)(s.random)
		if time.Since(begin)+gap > s.lasts {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gap):
		}
		what := blowOf(n, s.random)
		note(time.Since(begin), what+begins)
		s.answersSince(time.Time{})
		if err := s.blow(ctx, what); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := s.Heal(ctx); err != nil {
			return fmt.Errorf("start again after %s: %w", what, err)
		}
	}
}

// blowOf is the nth blow: the first is a kill, however short the run, the others are any.
func blowOf(n int, r *rand.Rand) string {
	what := []string{blowKill, blowKill, blowTwice, blowStop}[r.IntN(4)]
	if n == 0 {
		return blowKill
	}
	return what
}

func (s *single) blow(ctx context.Context, what string) error {
	switch what {
	case blowStop:
		return s.proc.Terminate(ctx)
	case blowTwice:
		if err := s.proc.Kill9(); err != nil {
			return err
		}
		if _, err := s.proc.launch(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(between(0, midStart)(s.random)):
		}
	}
	return s.proc.Kill9()
}

// Heal starts it if it does not run.
func (s *single) Heal(ctx context.Context) error {
	if err := s.proc.Start(ctx); err != nil {
		return err
	}
	if _, ok := s.Healthy(); !ok {
		s.answersSince(time.Now())
	}
	return nil
}

// settle stops it: what was under way in its Redis ends with it, and SQLite is read when
// nobody writes. Jobs of the outbox have a while before.
func (s *single) settle(ctx context.Context) error {
	if err := Settle(ctx, s); err != nil {
		return err
	}
	return s.proc.Terminate(ctx)
}

// Close ends it.
func (s *single) Close() error { return s.proc.Kill9() }

func (*single) differences(context.Context) (string, error) { return "", nil }

// Failovers are none.
func (*single) Failovers() []Failover { return nil }
