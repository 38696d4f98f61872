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
	healPatience  = 90 * time.Second
	drainPatience = 40 * time.Second // until every number that was told QUEUED has an end
	// calm is how long clients go on after the last fault: what they are told then says
	// whether the servers got over it. Checks of that begin when it was calm for a while.
	calm = calmEnough + 3*time.Second
	// moreForCards is what slow machines take longer for cards that somebody chose.
	moreForCards = time.Minute
	// sometimesFrom is the length of a run from which on a deck has to have servers do
	// everything that they do when harmed.
	sometimesFrom = 2 * time.Minute
)

// Config says what is run. Duration is needed; the zero value of everything else is
// good.
type Config struct {
	Seed     uint64         // of the deck, of people and of what clients choose
	Duration time.Duration  // of clients and faults; a moment without faults and the checks come after it
	Cards    []PlannedFault // played again and again; nil is [Plan] of the seed, an empty one no faults
	Once     bool           // Cards are played once, and not again and again
	Binary   string         // the server's program; "" builds it
	Redis    Topology       // of what Redis consists
	Standby  Standby        // what PostgreSQL is replicated to
	Embedded bool           // the single binary with both stores in it, which is killed again and again
	Keep     string         // directory for history and logs of a run that broke something; "" keeps nothing
	Out      io.Writer      // nil is nowhere
	Command  string         // the command of lab that repeats the run; default fault
	Trailer  string         // arguments by which the command deals the same Cards, such as --six
	// AnswerWithin is how soon a wish is answered without faults; default 5 s.
	AnswerWithin time.Duration
}

// A subject is what a run is about: servers on their stores, and what is done to them.
type subject interface {
	Place
	// play harms them until it is over or ctx ends.
	play(ctx context.Context, note func(at time.Duration, what string)) error
	Heal(ctx context.Context) error
	Healthy() (since time.Time, ok bool)
	// settle waits until what is under way in the stores is done.
	settle(ctx context.Context) error
	// differences are what the server's own comparison of both stores finds, "" for none.
	differences(ctx context.Context) (string, error)
	Failovers() []Failover
	Logs() []string
	Deaths() []string
	Ends(server int) []Ending
	Close() error
}

// NewSeed draws one that can be typed.
func NewSeed() uint64 {
	var b [8]byte
	_, _ = cryptorand.Read(b[:]) // never fails
	return uint64(binary.LittleEndian.Uint32(b[:]))
}

// Run does one run, and prints what it does and finds. An error means that the run could
// not be done; what was broken is in the report.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	if cfg.Out == nil {
		cfg.Out = io.Discard
	}
	dir, err := os.MkdirTemp("", "tandian-faulttest-")
	if err != nil {
		return nil, fmt.Errorf("make room for a run: %w", err)
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
		return nil, fmt.Errorf("fault test with the seed %d: %w", cfg.Seed, err)
	}
	return r.report, nil
}

// A run is one that is under way.
type run struct {
	Config
	dir     string
	deck    []PlannedFault
	subject subject
	history *History
	witness *Witness // of what servers did of themselves
	report  *Report
}

// say prints a line.
func (r *run) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.Out, format+"\n", args...) // who does not hear it is not told elsewhere
}

// announce says what is to be run, before anything can go wrong.
func (r *run) announce(ctx context.Context) {
	r.say("seed %d, commit %s, %v", r.Seed, commit(ctx), r.Duration)
	if r.Embedded {
		r.say("the single binary, which is killed and stopped again and again")
		return
	}
	if r.Cards == nil {
		r.deck = Plan(rand.New(rand.NewPCG(r.Seed, 1)), r.Duration) //nolint:gosec // to be repeated
	} else if r.deck = r.Cards; !r.Once {
		r.deck = fill(r.Cards, r.Duration, r.Seed)
	}
	r.say("deck: %s", deckText(r.deck))
}

// commit is what is tested, as git says it.
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
		s, err := openSingle(ctx, o, r.Duration)
		if err != nil {
			return nil, err // and no subject: a nil *single would be one
		}
		return s, nil
	}
	w, err := Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &stage{World: w, cards: r.deck}, nil
}

// load has clients buy while everything breaks, for a while after that, and until all
// of them know what became of their orders.
func (r *run) load(ctx context.Context) error {
	w := &Workload{Place: r.subject, History: r.history, Seed: r.Seed, Healthy: r.subject.Healthy}
	buying, enough := context.WithCancel(ctx)
	defer enough()
	ended := make(chan error, 1)
	go func() { ended <- w.Run(buying) }()
	watching, seen := context.WithCancel(ctx)
	defer seen()
	witness, watch := NewWitness(r.subject), newWatch(r.subject)
	watched := make(chan error, 1)
	go func() { watched <- watch.run(watching) }()
	var witnessed sync.WaitGroup
	witnessed.Go(func() { witness.Run(watching) })
	err := r.harm(ctx)
	if err == nil {
		err = clock.Sleep(ctx, calm)
	}
	enough()
	seen()
	witnessed.Wait()
	err = errors.Join(err, <-watched)
	breaches, looks := watch.verdict()
	r.report.add(breaches...)
	maps.Copy(r.report.Counts, looks)
	r.witness = witness
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	return r.end(ctx, w)
}

// harm plays the deck for as long as the run lasts, and mends everything.
func (r *run) harm(ctx context.Context) error {
	begin := time.Now()
	playing, stop := context.WithDeadline(ctx, begin.Add(r.Duration+r.more()))
	defer stop()
	told := begin
	err := r.subject.play(playing, func(_ time.Duration, what string) {
		r.report.happened(r.history.Now(), what)
		if time.Since(told) > progressEvery {
			told = time.Now()
			r.say("%4.0fs  %d requests; now %s", time.Since(begin).Seconds(), len(r.history.Events()), what)
		}
	})
	if err != nil && playing.Err() == nil {
		return fmt.Errorf("break something: %w", err)
	}
	_ = clock.Sleep(ctx, time.Until(begin.Add(r.Duration))) // a deck may be shorter
	if err := ctx.Err(); err != nil {
		return err
	}
	healing, cancel := context.WithTimeout(ctx, healPatience)
	defer cancel()
	if err := r.subject.Heal(healing); err != nil {
		r.report.breach("live", "it does not work any more, without faults: %v", err)
	}
	return ctx.Err()
}

// more is how long a deck may take beyond the run's length. One that somebody chose is
// played to its end, also where processes start slowly: it is short, and each card is
// there for a reason.
func (r *run) more() time.Duration {
	if r.Cards == nil {
		return 0
	}
	return moreForCards
}

// end waits until everything that was told has its end, and the stores are quiet.
func (r *run) end(ctx context.Context, w *Workload) error {
	draining, cancel := context.WithTimeout(ctx, drainPatience)
	defer cancel()
	if err := w.Drain(draining); err != nil {
		r.say("%v", err) // the checks know whether that must not be
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return r.subject.settle(ctx)
}

func (r *run) judge(ctx context.Context) error {
	events := r.history.Events()
	rules := Rules{Forgets: r.Embedded || forgets(r.deck), AnswerWithin: r.AnswerWithin, Seed: r.Seed, Took: r.Duration}
	if !r.Embedded { // there nothing is told QUEUED that may get lost
		rules.Killed, rules.Forgot = r.killed(), r.report.forgot()
	}
	if rules.Lags = lags(r.subject.Failovers(), r.history.begin); len(rules.Lags) > 0 {
		rules.Forgets = true // the database does, and what it lost fails
	}
	verdict, err := Check(ctx, r.subject, events, rules)
	if err != nil {
		return err
	}
	r.report.take(verdict, events)
	r.report.Orders = ordersOf(events)
	if r.Redis != OneRedis || r.Standby != NoStandby {
		left, err := r.subject.differences(ctx)
		if err != nil {
			return err
		}
		if left != "" {
			r.report.breach("mended", "tandian reconcile finds that both stores differ:\n%s", left)
		}
	}
	r.report.checkServed()
	r.report.Acts, r.report.Mended = r.witness.Acts(events), r.witness.Mended()
	if r.Duration >= sometimesFrom && r.Cards == nil && !r.Embedded {
		for _, name := range Never(r.report.Acts) {
			r.report.breach("sometimes", "it never happened that %s", name)
		}
	}
	r.report.add(CheckLogs(r.subject.Logs())...)
	for _, death := range r.subject.Deaths() {
		r.report.breach("log", "%s", death)
	}
	return nil
}

// killed is when each server ended, since the history began.
func (r *run) killed() [][]Span {
	all := make([][]Span, r.subject.Servers())
	for i := range all {
		for _, end := range r.subject.Ends(i) {
			one := Span{end.Asked.Sub(r.history.begin), r.history.Now()}
			if !end.Gone.IsZero() {
				one.To = end.Gone.Sub(r.history.begin)
			}
			all[i] = append(all[i], one)
		}
	}
	return all
}

// keep copies history, logs and report to where they can be read, and says where,
// and how to do the run again.
func (r *run) keep() error {
	r.say("to repeat it: %s", r.repeat())
	if r.Keep == "" {
		return nil
	}
	to := filepath.Join(r.Keep, fmt.Sprintf("%d", r.Seed))
	if err := os.MkdirAll(to, 0o750); err != nil {
		return fmt.Errorf("keep what a run left: %w", err)
	}
	files := []string{filepath.Join(r.dir, "history.jsonl")}
	if r.subject != nil {
		files = append(files, r.subject.Logs()...)
	}
	for _, f := range files {
		if err := copyFile(filepath.Join(to, filepath.Base(f)), f); err != nil {
			return fmt.Errorf("keep what a run left: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(to, "happened.txt"), []byte(r.report.happenings()), 0o600); err != nil {
		return fmt.Errorf("keep what a run left: %w", err)
	}
	r.say("history and logs are in %s", to)
	return nil
}

// repeat is the command that does the run again.
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
	in, err := os.Open(from) //nolint:gosec // our own
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to) //nolint:gosec // our own
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// A stage is a world and what is played on it.
type stage struct {
	*World
	cards []PlannedFault
}

func (s *stage) play(ctx context.Context, note func(at time.Duration, what string)) error {
	return s.Play(ctx, s.cards, note)
}

func (s *stage) differences(ctx context.Context) (string, error) { return s.Differences(ctx) }

func (s *stage) settle(ctx context.Context) error { return Settle(ctx, s) }
