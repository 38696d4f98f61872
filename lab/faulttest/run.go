package faulttest

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	runServers    = 2
	runPeople     = 600
	progressEvery = 15 * time.Second
	healTimeout   = 90 * time.Second
	drainTimeout  = 40 * time.Second // until every number reported QUEUED has an outcome
	// cooldown is how long clients go on after the last fault: those answers show whether the
	// servers recovered. Checks of that begin after calmEnough.
	cooldown = calmEnough + 3*time.Second
	// cardSlack is the extra time for chosen cards on a slow machine.
	cardSlack = time.Minute
	// sometimesFrom is the shortest run whose deck must trigger every recovery action.
	sometimesFrom = 2 * time.Minute
)

// Config configures a run. Duration is required; the zero value of every other field is a
// good default.
type Config struct {
	Seed     uint64         // of the deck, of the accounts and of the clients' choices
	Duration time.Duration  // of clients and faults; a fault-free period and the checks follow
	Cards    []PlannedFault // repeated; nil is [Plan] of the seed, an empty slice means no faults
	Once     bool           // play Cards only once
	Binary   string         // the server's program; "" builds it
	Redis    Topology       // topology of Redis
	Standby  Standby        // replication of PostgreSQL
	Embedded bool           // run the single binary with embedded stores, and kill it repeatedly
	Keep     string         // directory for history and logs of a broken run; "" keeps none
	Out      io.Writer      // nil discards the output
	Command  string         // lab command that repeats the run; default fault
	Trailer  string         // arguments that select Cards, such as --six
	// AnswerWithin is the longest time for the answer to a purchase without faults; default
	// 5 s.
	AnswerWithin time.Duration
}

// subject is a deployment together with its faults.
type subject interface {
	System
	// play injects faults until they are over or ctx ends.
	play(ctx context.Context, note func(at time.Duration, what string)) error
	Heal(ctx context.Context) error
	Healthy() (since time.Time, ok bool)
	// settle waits until the stores have no unfinished work.
	settle(ctx context.Context) error
	// differences returns the output of the server's own comparison of both stores, "" if
	// they agree.
	differences(ctx context.Context) (string, error)
	Failovers() []Failover
	Logs() []string
	Deaths() []string
	Ends(server int) []Ending
	Close() error
}

// NewSeed draws a seed that is short enough to type.
func NewSeed() uint64 {
	var b [8]byte
	_, _ = cryptorand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:]))
}

// Run does one run, and prints its progress and its report. The report has the broken
// guarantees. An error means that the run could not be completed.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	dir, err := os.MkdirTemp("", "tandian-faulttest-")
	if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	r := &run{Config: cfg, dir: dir, report: newReport(cfg)}
	r.announce(ctx)
	err = r.do(ctx)
	if err == nil {
		err = r.report.write(cfg.Out)
	}
	if err != nil || r.report.Broken() {
		err = errors.Join(err, r.keep())
	}
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		return nil, fmt.Errorf("fault test with seed %d: %w", cfg.Seed, err)
	}
	return r.report, nil
}

// run is an active run.
type run struct {
	Config
	dir     string
	deck    []PlannedFault
	subject subject
	history *History
	sampler *Sampler // counts the servers' recovery actions
	report  *Report
}

// say prints a line.
func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Out, format+"\n", args...) // a broken output must not end the run
}

// announce prints what the run does, before anything can fail.
func (r *run) announce(ctx context.Context) {
	r.say("seed %d, commit %s, %v", r.Seed, commit(ctx), r.Duration)
	if r.Embedded {
		r.say("single binary, killed and stopped repeatedly")
		return
	}
	if r.Cards == nil {
		r.deck = Plan(rand.New(rand.NewPCG(r.Seed, 1)), r.Duration) //nolint:gosec // repeatable
	} else if r.deck = r.Cards; !r.Once {
		r.deck = fill(r.Cards, r.Duration, r.Seed)
	}
	r.say("deck: %s", deckText(r.deck))
}

// commit returns the tested commit from git describe, or "unknown".
func commit(ctx context.Context) string {
	text, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(text))
}

func (r *run) do(ctx context.Context) (err error) {
	if r.history, err = Create(filepath.Join(r.dir, "history.jsonl")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.history.Close()) }()
	if r.subject, err = r.open(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.subject.Close()) }()
	if err := r.load(ctx); err != nil {
		return err
	}
	return r.judge(ctx)
}

func (r *run) open(ctx context.Context) (subject, error) {
	if r.Binary == "" {
		var err error
		if r.Binary, err = BuildServer(ctx, r.dir, ""); err != nil {
			return nil, err
		}
	}
	o := Options{Binary: r.Binary, Dir: r.dir, Servers: runServers, People: runPeople, Seed: r.Seed, Redis: r.Redis, Standby: r.Standby}
	if r.Embedded {
		s, err := openSingleBinary(ctx, o, r.Duration)
		if err != nil {
			return nil, err // a nil *singleBinary would be a non-nil subject
		}
		return s, nil
	}
	w, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &worldSubject{World: w, cards: r.deck}, nil
}

// load runs the clients during the faults and the cooldown. It returns when every client
// knows the outcome of its orders.
func (r *run) load(ctx context.Context) error {
	w := &Workload{System: r.subject, History: r.history, Seed: r.Seed, Healthy: r.subject.Healthy}
	buying, stopClients := context.WithCancel(ctx)
	defer stopClients()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(buying) }()
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	sampler, watch := NewSampler(r.subject), newWatch(r.subject)
	watched := make(chan error, 1)
	go func() { watched <- watch.run(watching) }()
	var sampled sync.WaitGroup
	sampled.Go(func() { sampler.Run(watching) })
	err := r.injectFaults(ctx)
	if err == nil {
		err = clock.Sleep(ctx, cooldown)
	}
	stopClients()
	stopWatching()
	sampled.Wait()
	err = errors.Join(err, <-watched)
	breaches, checks := watch.verdict()
	r.report.add(breaches...)
	maps.Copy(r.report.Counts, checks)
	r.sampler = sampler
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	return r.end(ctx, w)
}

// injectFaults plays the deck for the length of the run, then heals the world.
func (r *run) injectFaults(ctx context.Context) error {
	begin := time.Now()
	playing, stop := context.WithDeadline(ctx, begin.Add(r.Duration+r.slack()))
	defer stop()
	printed := begin
	err := r.subject.play(playing, func(_ time.Duration, what string) {
		r.report.addEvent(r.history.Now(), what)
		if time.Since(printed) > progressEvery {
			printed = time.Now()
			r.say("%4.0fs  %d requests; now %s", time.Since(begin).Seconds(), len(r.history.Events()), what)
		}
	})
	if err != nil && playing.Err() == nil {
		return fmt.Errorf("inject faults: %w", err)
	}
	_ = clock.Sleep(ctx, time.Until(begin.Add(r.Duration))) // a deck may be shorter
	if err := ctx.Err(); err != nil {
		return err
	}
	healing, cancel := context.WithTimeout(ctx, healTimeout)
	defer cancel()
	if err := r.subject.Heal(healing); err != nil {
		r.report.breach("live", "the servers did not recover after the faults: %v", err)
	}
	return ctx.Err()
}

// slack returns how much longer than the run a deck may take. A chosen deck is played to its
// end even if processes start slowly.
func (r *run) slack() time.Duration {
	if r.Cards == nil {
		return 0
	}
	return cardSlack
}

// end waits until every reported order has an outcome and the stores are quiet.
func (r *run) end(ctx context.Context, w *Workload) error {
	draining, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := w.Drain(draining); err != nil {
		r.say("%v", err) // the checks decide whether that is allowed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.subject.settle(ctx)
}

func (r *run) judge(ctx context.Context) error {
	events := r.history.Events()
	rules := Rules{LosesData: r.Embedded || losesData(r.deck), AnswerWithin: r.AnswerWithin, Seed: r.Seed, Took: r.Duration}
	if !r.Embedded { // the embedded server never reports QUEUED for an order that may get lost
		rules.Killed, rules.Losses = r.killed(), r.report.losses()
	}
	if rules.Lags = lags(r.subject.Failovers(), r.history.begin); len(rules.Lags) > 0 {
		rules.LosesData = true // the database loses data, and lost orders fail
	}
	verdict, err := Check(ctx, r.subject, events, rules)
	if err != nil {
		return err
	}
	r.report.take(verdict, events)
	r.report.Orders = countOrders(events)
	if r.Redis != OneRedis || r.Standby != NoStandby {
		left, err := r.subject.differences(ctx)
		if err != nil {
			return err
		}
		if left != "" {
			r.report.breach("agree", "tandian reconcile finds differences between the stores:\n%s", left)
		}
	}
	r.report.checkServed()
	r.report.Acts, r.report.Repaired = r.sampler.Acts(events), r.sampler.Repairs()
	if r.Duration >= sometimesFrom && r.Cards == nil && !r.Embedded {
		for _, name := range Never(r.report.Acts) {
			r.report.breach("sometimes", "never happened: %s", name)
		}
	}
	r.report.add(CheckLogs(r.subject.Logs())...)
	for _, death := range r.subject.Deaths() {
		r.report.breach("log", "%s", death)
	}
	return nil
}

// killed returns when each server ended, since the history began.
func (r *run) killed() [][]Span {
	all := make([][]Span, r.subject.Servers())
	for i := range all {
		for _, end := range r.subject.Ends(i) {
			one := Span{end.Requested.Sub(r.history.begin), r.history.Now()}
			if !end.Exited.IsZero() {
				one.To = end.Exited.Sub(r.history.begin)
			}
			all[i] = append(all[i], one)
		}
	}
	return all
}

// keep copies history, logs and events to the Keep directory. It prints the path and the
// command that repeats the run.
func (r *run) keep() error {
	r.say("repeat with: %s", r.repeat())
	if r.Keep == "" {
		return nil
	}
	to := filepath.Join(r.Keep, fmt.Sprintf("%d", r.Seed))
	if err := os.MkdirAll(to, 0o750); err != nil {
		return fmt.Errorf("save run files: %w", err)
	}
	files := []string{filepath.Join(r.dir, "history.jsonl")}
	if r.subject != nil {
		files = append(files, r.subject.Logs()...)
	}
	for _, f := range files {
		if err := copyFile(filepath.Join(to, filepath.Base(f)), f); err != nil {
			return fmt.Errorf("save run files: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(to, "happened.txt"), []byte(r.report.timeline()), 0o600); err != nil {
		return fmt.Errorf("save run files: %w", err)
	}
	r.say("history and logs are in %s", to)
	return nil
}

// repeat returns the command that repeats the run.
func (r *run) repeat() string {
	text := fmt.Sprintf("go run ./cmd/lab %s --seed %d", cmp.Or(r.Command, "fault"), r.Seed)
	if r.Command != "cluster" {
		text += fmt.Sprintf(" --dur %v", r.Duration)
	}
	if r.Embedded {
		text += " --embedded"
	}
	return strings.TrimSpace(text + " " + r.Trailer)
}

func copyFile(to, from string) (err error) {
	in, err := os.Open(from) //nolint:gosec // the package's own file
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to) //nolint:gosec // the package's own file
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// worldSubject is a world with the cards played on it.
type worldSubject struct {
	*World
	cards []PlannedFault
}

func (s *worldSubject) play(ctx context.Context, note func(at time.Duration, what string)) error {
	return s.Play(ctx, s.cards, note)
}

func (s *worldSubject) differences(ctx context.Context) (string, error) { return s.Differences(ctx) }

func (s *worldSubject) settle(ctx context.Context) error { return Settle(ctx, s) }
