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

// singleBinary is the server as `go run .` starts it: both stores are in the process, so
// every fault hits both. Its Redis starts empty each time; the database is a file.
type singleBinary struct {
	proc     *Proc
	url      string
	database string
	people   []Person
	shop     string
	random   *rand.Rand
	lasts    time.Duration

	mu    sync.Mutex
	since time.Time // when it became ready again; zero while it is not
}

// Faults of the single binary, and their times.
const (
	embeddedKill      = "kill-server"
	embeddedStop      = "stop-server"          // by SIGTERM
	embeddedKillTwice = "kill-server-twice"    // the second time during its start
	embeddedMinGap    = 400 * time.Millisecond // between two faults
	embeddedMaxGap    = 3 * time.Second
	embeddedMidStart  = 300 * time.Millisecond // a start is cut off within this time
)

func openSingleBinary(ctx context.Context, o Options, lasts time.Duration) (*singleBinary, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	s := &singleBinary{
		url: "http://" + loopback(ports[0]), database: "sqlite://" + filepath.Join(data, "tandian.db"),
		random: rand.New(rand.NewPCG(o.Seed, 2)), lasts: lasts, //nolint:gosec // repeatable
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
		args:  append([]string{o.Binary, "--addr", loopback(ports[0]), "--log-format", "json"}, withoutLimits()...),
		probe: func(ctx context.Context) error { return ready(ctx, s.url) },
	}
	if err := s.Heal(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Servers returns 1.
func (s *singleBinary) Servers() int { return 1 }

// URL returns the server's address.
func (s *singleBinary) URL(int) string { return s.url }

// DatabaseURL returns the address of its database file.
func (s *singleBinary) DatabaseURL() string { return s.database }

// RedisURL returns "", because Redis is embedded.
func (s *singleBinary) RedisURL() string { return "" }

// People returns the accounts.
func (s *singleBinary) People() []Person { return s.people }

// Shop returns the merchant's shop.
func (s *singleBinary) Shop() string { return s.shop }

// Logs returns the path of its log, which covers all restarts.
func (s *singleBinary) Logs() []string { return []string{s.proc.log} }

// Deaths describes the exits that no fault caused.
func (s *singleBinary) Deaths() []string { return s.proc.Deaths() }

// Ends returns its requested exits.
func (s *singleBinary) Ends(int) []Ending { return s.proc.Ends() }

// Healthy returns since when the server answers.
func (s *singleBinary) Healthy() (since time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.since, !s.since.IsZero()
}

func (s *singleBinary) setHealthySince(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = at
}

func (s *singleBinary) play(ctx context.Context, note func(at time.Duration, what string)) error {
	begin := time.Now()
	for n := 0; ; n++ {
		gap := between(embeddedMinGap, embeddedMaxGap)(s.random)
		if time.Since(begin)+gap > s.lasts {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(gap):
		}
		what := embeddedFault(n, s.random)
		note(time.Since(begin), what+begins)
		s.setHealthySince(time.Time{})
		if err := s.apply(ctx, what); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		if err := s.Heal(ctx); err != nil {
			return fmt.Errorf("restart after %s: %w", what, err)
		}
	}
}

// embeddedFault returns the nth fault. The first is a kill, however short the run; the others
// are random.
func embeddedFault(n int, r *rand.Rand) string {
	what := []string{embeddedKill, embeddedKill, embeddedKillTwice, embeddedStop}[r.IntN(4)]
	if n == 0 {
		return embeddedKill
	}
	return what
}

func (s *singleBinary) apply(ctx context.Context, what string) error {
	switch what {
	case embeddedStop:
		return s.proc.Terminate(ctx)
	case embeddedKillTwice:
		if err := s.proc.Kill9(); err != nil {
			return err
		}
		if _, err := s.proc.launch(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(between(0, embeddedMidStart)(s.random)):
		}
	}
	return s.proc.Kill9()
}

// Heal starts the server if it does not run.
func (s *singleBinary) Heal(ctx context.Context) error {
	if err := s.proc.Start(ctx); err != nil {
		return err
	}
	if _, ok := s.Healthy(); !ok {
		s.setHealthySince(time.Now())
	}
	return nil
}

// settle stops the server after its outbox is empty. Unfinished work in its Redis ends with
// it, and SQLite is read without a writer.
func (s *singleBinary) settle(ctx context.Context) error {
	if err := Settle(ctx, s); err != nil {
		return err
	}
	return s.proc.Terminate(ctx)
}

// Close kills it.
func (s *singleBinary) Close() error { return s.proc.Kill9() }

func (*singleBinary) differences(context.Context) (string, error) { return "", nil }

// Failovers returns nil.
func (*singleBinary) Failovers() []Failover { return nil }
