// Package ratingtest injects faults into servers while clients rate and save shops. Then it
// compares the stores and the answers of all servers with the rows: counters, scores, ratings
// of users, rankings and filtered lists.
//
// It knows the servers only as programs and by their API, and computes everything else from
// the rows. Package faulttest runs the processes.
package ratingtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

// Config configures a run. Duration and Out are required.
type Config struct {
	Seed     uint64        // of the faults, the shops and all choices
	Duration time.Duration // of the faults; checks follow
	Binary   string        // path of the server's program; "" builds it
	Keep     string        // directory for the servers' logs of a broken run; "" keeps none
	Out      io.Writer
}

const (
	servers     = 2
	connections = 64
	usersEach   = 4 // per connection: no other connection writes for them
	shops       = 90

	settleTimeout = 90 * time.Second // for the outbox to be empty
	agreeTimeout  = 30 * time.Second // for servers to answer like the rows
	agreeInterval = 500 * time.Millisecond
	progressEvery = 10 * time.Second
)

// Run does one run, and prints its seed, its progress and all differences. It returns their
// number. An error means that the run could not be completed.
func Run(ctx context.Context, cfg Config) (differences int, err error) {
	if cfg.Keep != "" {
		if err := os.MkdirAll(cfg.Keep, 0o750); err != nil {
			return 0, fmt.Errorf("create run directory: %w", err)
		}
	}
	dir, err := os.MkdirTemp(cfg.Keep, "tandian-ratingtest-")
	if err != nil {
		return 0, fmt.Errorf("create run directory: %w", err)
	}
	r := &run{Config: cfg, dir: dir, choices: choicesOf(cfg.Seed, 0)}
	r.say("seed %d, %v, %d connections, %d shops", cfg.Seed, cfg.Duration, connections, shops)
	found, err := r.do(ctx)
	found.write(cfg.Out)
	if cfg.Keep != "" && (err != nil || len(found) > 0) {
		r.say("logs are in %s", dir)
		r.say("repeat with: go run ./cmd/lab ratings --seed %d --dur %v", cfg.Seed, cfg.Duration)
	} else {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return len(found), fmt.Errorf("rating test with seed %d: %w", cfg.Seed, err)
	}
	return len(found), nil
}

// choicesOf returns a generator for a seed and a stream.
func choicesOf(seed, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) } //nolint:gosec // repeatable

// run is an active run.
type run struct {
	Config
	dir     string
	choices *rand.Rand

	world *faulttest.World
	db    *sqldb.SQL
	api   *api
	town  *town
	load  *workload
}

func (r *run) say(format string, args ...any) { fmt.Fprintf(r.Out, format+"\n", args...) }

func (r *run) do(ctx context.Context) (found differences, err error) {
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	if err := r.runLoad(ctx); err != nil {
		return nil, err
	}
	return r.judge(ctx)
}

// open starts everything and creates the shops.
func (r *run) open(ctx context.Context) (err error) {
	if r.Binary == "" {
		if r.Binary, err = faulttest.BuildServer(ctx, r.dir, ""); err != nil {
			return err
		}
	}
	r.world, err = faulttest.Open(ctx, faulttest.Options{
		Binary: r.Binary, Dir: r.dir, Servers: servers, People: connections*usersEach + 1, Seed: r.Seed,
		Flags: []string{"--ratings-per-user", "0", "--saves-per-user", "0", "--stop-timeout", "3s"},
	})
	if err != nil {
		return err
	}
	if r.db, err = sqldb.OpenSQL(sqldb.SQLConfig{URL: r.world.DatabaseURL(), MaxConns: 4}); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	r.api = newAPI(r.world)
	r.town = &town{api: r.api, world: r.world, choices: r.choices}
	if err := r.town.build(ctx); err != nil {
		return fmt.Errorf("create shops: %w", err)
	}
	r.load = newWorkload(r.api, r.world.People()[2:], r.town.shops)
	return nil
}

func (r *run) close() error {
	var failed []error
	if r.api != nil {
		r.api.close()
	}
	if r.db != nil {
		failed = append(failed, r.db.Close())
	}
	if r.world != nil {
		failed = append(failed, r.world.Close())
	}
	return errors.Join(failed...)
}

// runLoad runs the clients during the faults. Then it heals the world, lets the servers cache
// all answers, and rates each shop again. A killed process forgets of which shops it must
// compute trends, and the job that computes the others runs once an hour.
func (r *run) runLoad(ctx context.Context) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	for i := range connections {
		choices := choicesOf(r.choices.Uint64(), uint64(i)) //nolint:gosec // small
		all.Go(func() { r.load.work(working, i, choices) })
	}
	all.Go(func() {
		for clock.Sleep(working, progressEvery) == nil {
			r.say("%v", r.load)
		}
	})
	err := r.injectFaults(ctx)
	if err == nil {
		err = clock.Sleep(ctx, time.Second) // the load continues for a moment
	}
	stop()
	all.Wait()
	if err != nil {
		return err
	}
	r.say("%v", r.load)
	if err := r.world.Heal(ctx); err != nil {
		return err
	}
	if err := r.newComparison().compare(ctx, r.readRows); err != nil { // of a moment with changes
		return err
	}
	return r.load.rateEach(ctx)
}

func (r *run) newComparison() *comparison {
	return &comparison{api: r.api, town: r.town, people: r.load.people, choices: choicesOf(r.Seed, 1)}
}

func (r *run) readRows(ctx context.Context) (*rows, error) { return readRows(ctx, r.db) }

// injectFaults kills one server after the other, and four times Redis: twice it keeps its
// data, twice it is empty.
func (r *run) injectFaults(ctx context.Context) error {
	redis := []faulttest.Fault{faulttest.KillRedis(), faulttest.RedisWipe(), faulttest.RedisReborn(), faulttest.KillRedis(), faulttest.RedisWipe()}
	begin := time.Now()
	for n, done := 0, 0; time.Since(begin) < r.Duration || done < len(redis); n++ {
		faults := []faulttest.Fault{faulttest.KillServer(faulttest.Nth(n % servers))}
		if done < len(redis) && time.Since(begin) > r.Duration*time.Duration(done+1)/time.Duration(len(redis)+1) {
			faults = append(faults, redis[done])
			done++
		}
		card := faulttest.PlannedFault{
			After: time.Second/2 + time.Duration(r.choices.Int64N(int64(time.Second))), Faults: faults,
			Stagger: time.Duration(r.choices.Int64N(int64(time.Second / 2))), Seed: r.choices.Uint64(),
		}
		err := r.world.Play(ctx, []faulttest.PlannedFault{card}, func(_ time.Duration, what string) {
			r.say("  %.1fs %s", time.Since(begin).Seconds(), what)
		})
		if err != nil {
			return fmt.Errorf("inject faults: %w", err)
		}
	}
	return nil
}

// judge compares everything with the rows. The counters of shops must be right at once; the
// servers have a moment.
func (r *run) judge(ctx context.Context) (differences, error) {
	if err := r.settle(ctx); err != nil {
		return nil, err
	}
	rows, err := r.readRows(ctx)
	if err != nil {
		return nil, err
	}
	var found differences
	rows.checkCounters(&found)
	r.load.checkAcknowledged(rows, &found)
	for _, b := range faulttest.CheckLogs(r.world.Logs()) {
		found.add("log", "%v", b)
	}
	for _, death := range r.world.Deaths() {
		found.add("process", "%s", death)
	}
	answers, err := r.compareAnswers(ctx)
	if err != nil {
		return found, err
	}
	r.say("checked %d ratings and %d saves of %d shops, %d lists and %d rankings of %d servers", len(rows.ratings), len(rows.saves), len(rows.shops), answers.lists, answers.rankings, servers)
	return append(found, answers.found...), nil
}

// settle waits until the outbox is empty.
func (r *run) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	for {
		var waiting int
		err := r.db.QueryRowContext(ctx, statement("waiting")).Scan(&waiting)
		if err == nil && waiting == 0 {
			return nil
		}
		if failed := clock.Sleep(ctx, agreeInterval); failed != nil {
			return errors.Join(fmt.Errorf("wait for %d outbox jobs: %w", waiting, failed), err)
		}
	}
}

// compareAnswers compares the answers of all servers with the rows until they agree.
func (r *run) compareAnswers(ctx context.Context) (*comparison, error) {
	for begin := time.Now(); ; {
		c := r.newComparison()
		err := c.compare(ctx, r.readRows)
		if err != nil || len(c.found) == 0 || time.Since(begin) > agreeTimeout {
			return c, err
		}
		if err := clock.Sleep(ctx, agreeInterval); err != nil {
			return c, err
		}
	}
}
