package livetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

const (
	servers         = 2
	steadyOf        = 8 // one client in this many stays connected
	streamsOf       = 4 // one client in this many uses an event stream
	databaseConns   = 20
	progressEvery   = 10 * time.Second
	beginTimeout    = time.Minute // until all clients are connected for the first time
	healTimeout     = 90 * time.Second
	workTimeout     = 90 * time.Second // for active operations to finish
	recoveryTimeout = time.Minute      // until every client has received the last note
	drainTime       = 500 * time.Millisecond
	pollEvery       = 5 * time.Millisecond
)

// Run does one run, and prints its progress and its report. The report has the broken
// guarantees. An error means that the run could not be completed.
func Run(ctx context.Context, cfg Config) (report *Report, err error) {
	cfg = cfg.withDefaults()
	if cfg.Keep != "" {
		if err := os.MkdirAll(cfg.Keep, 0o750); err != nil {
			return nil, fmt.Errorf("create run directory: %w", err)
		}
	}
	dir, err := os.MkdirTemp(cfg.Keep, "tandian-livetest-")
	if err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	r := &run{Config: cfg, dir: dir, report: &Report{Seed: cfg.Seed}, counters: newCounters(), choices: choicesOf(cfg.Seed, 0)}
	r.say("seed %d, %v, %d clients that follow %d each of %d authors", cfg.Seed, cfg.Duration, cfg.Clients, cfg.Follows, cfg.Authors)
	err = r.do(ctx)
	if err == nil {
		err = r.report.write(cfg.Out)
	}
	if cfg.Keep != "" && (err != nil || r.report.Broken()) {
		r.say("logs are in %s", dir)
		r.say("repeat with: go run ./cmd/lab live --seed %d --dur %v", cfg.Seed, cfg.Duration)
	} else {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("live test with seed %d: %w", cfg.Seed, err)
	}
	return r.report, nil
}

// choicesOf returns a generator for a seed and a stream.
func choicesOf(seed, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) } //nolint:gosec // repeatable

// run is an active run.
type run struct {
	Config
	dir      string
	choices  *rand.Rand
	counters *counters
	report   *Report

	world     *faulttest.World
	proxy     *redisProxy
	api       *api
	load      *workload
	followers []*follower
	begin     time.Time

	mu     sync.Mutex
	events []faultEvent
}

// faultEvent is the start or the end of a fault.
type faultEvent struct {
	at   time.Duration
	what string
}

// say prints a line.
func (r *run) say(format string, args ...any) { fmt.Fprintf(r.Out, format+"\n", args...) }

func (r *run) now() time.Duration { return time.Since(r.begin) }

func (r *run) do(ctx context.Context) (err error) {
	if err := r.open(ctx); err != nil {
		return errors.Join(err, r.close())
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.load.followInitial(ctx, r.choices); err != nil {
		return err
	}
	if err := r.runLoad(ctx); err != nil {
		return err
	}
	return r.judge(ctx)
}

// open starts everything.
func (r *run) open(ctx context.Context) error {
	if r.Binary == "" {
		var err error
		if r.Binary, err = faulttest.BuildServer(ctx, r.dir, ""); err != nil {
			return err
		}
	}
	var err error
	r.world, err = faulttest.Open(ctx, faulttest.Options{
		Binary: r.Binary, Dir: r.dir, Servers: servers, People: r.Authors + r.Clients, Seed: r.Seed,
		Flags: []string{"--conns-per-user", "0", "--stop-timeout", "3s"},
		RedisProxy: func(ctx context.Context, redis string) (string, error) {
			var err error
			if r.proxy, err = openRedisProxy(ctx, redis); err != nil {
				return "", err
			}
			return r.proxy.addr(), nil
		},
	})
	if err != nil {
		return err
	}
	r.begin = time.Now()
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: r.world.DatabaseURL(), MaxConns: databaseConns})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	people, err := members(r.world.People())
	if err != nil {
		return errors.Join(err, db.Close())
	}
	r.api = newAPI(r.world)
	people = people[2:] // without administrator and merchant
	r.load = &workload{world: r.world, api: r.api, db: db.DB, authors: people[:r.Authors], users: people[r.Authors:], cfg: r.Config, begin: r.begin, counters: r.counters}
	if r.load.shop, err = idOf("Shop", r.world.Shop()); err != nil {
		return fmt.Errorf("read id of shop: %w", err)
	}
	return nil
}

// close closes everything that open opened.
func (r *run) close() error {
	var failed []error
	if r.api != nil {
		r.api.close()
	}
	if r.load != nil {
		failed = append(failed, r.load.db.Close())
	}
	if r.world != nil {
		failed = append(failed, r.world.Close())
	}
	if r.proxy != nil {
		r.proxy.close()
	}
	return errors.Join(failed...)
}

// runLoad runs clients and writers during the faults, and then until all clients have
// received the last note.
func (r *run) runLoad(ctx context.Context) (err error) {
	listening, disconnect := context.WithCancel(ctx)
	stay := make(chan struct{})
	var clients sync.WaitGroup
	defer func() { disconnect(); clients.Wait() }()
	if err := r.connectClients(listening, stay, &clients); err != nil {
		return err
	}
	working, stopWork := context.WithCancel(ctx)
	defer stopWork()
	worked := make(chan error, 1)
	complete, tooLong := context.WithCancel(ctx)
	defer tooLong()
	choices := choicesOf(r.choices.Uint64(), 0)
	go func() { worked <- r.load.run(working, complete, choices) }()
	err = r.injectFaults(ctx)
	if err == nil {
		// The load continues for a moment without faults.
		err = clock.Sleep(ctx, r.Leeway/4)
	}
	stopWork()
	if err != nil {
		tooLong()
	}
	late := time.AfterFunc(workTimeout, tooLong)
	defer late.Stop()
	if err = errors.Join(err, <-worked); err != nil {
		return err
	}
	close(stay)
	return r.publishLast(ctx)
}

// connectClients starts the clients and returns when all are connected.
func (r *run) connectClients(ctx context.Context, stay <-chan struct{}, all *sync.WaitGroup) error {
	for i, user := range r.load.users {
		f := &follower{world: r.world, person: user.Person, sse: i%streamsOf == 1, begin: r.begin, stay: stay, counters: r.counters, client: Client{User: user.id}}
		if i%steadyOf != 0 {
			f.life = r.Life/2 + time.Duration(r.choices.Int64N(int64(r.Life)))
		}
		if i%3 == 0 { // start at a cursor, like a page that has read the feed
			got, err := r.api.callUntilDone(ctx, r.choices, user.Person, liveCursor, nil)
			if err != nil || got.Data.Me == nil || got.Data.Me.Feed == nil {
				return fmt.Errorf("read feed of user %d: %w", user.id, err)
			}
			f.cursor = got.Data.Me.Feed.LiveCursor
			if f.client.From, err = numberOf(f.cursor); err != nil {
				return fmt.Errorf("read cursor of user %d: %w", user.id, err)
			}
		}
		r.followers = append(r.followers, f)
		mine := choicesOf(r.choices.Uint64(), 0)
		all.Go(func() { f.run(ctx, mine) })
	}
	for deadline := time.Now().Add(beginTimeout); ; {
		waiting := 0
		for _, f := range r.followers {
			if len(f.result().Received) == 0 {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			counts, flaws, _ := r.counters.all()
			return fmt.Errorf("wait for clients: %d received nothing within %v: %v %v", waiting, beginTimeout, counts, flaws)
		}
		if err := clock.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// injectFaults plays the deck until the run is over, then heals the world.
func (r *run) injectFaults(ctx context.Context) error {
	draw, err := r.deck(choicesOf(r.Seed, 1))
	if err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	go r.progress(watching)
	begin := time.Now()
	for played := 0; played < len(r.Deck) || time.Since(begin) < r.Duration ||
		r.counters.connections()-r.Clients < r.Reconnects || len(r.report.Recoveries) < r.RedisRestarts; played++ {
		card, err := draw()
		if err != nil {
			return err
		}
		if err := r.play(ctx, card); err != nil {
			return fmt.Errorf("inject faults: %w", err)
		}
	}
	healing, cancel := context.WithTimeout(ctx, healTimeout)
	defer cancel()
	r.proxy.lossPerMille.Store(0)
	r.proxy.resume()
	return r.world.Heal(healing)
}

// play plays a card. After a restart of Redis it measures the recovery.
func (r *run) play(ctx context.Context, card faulttest.PlannedFault) error {
	var back time.Duration
	err := r.world.Play(ctx, []faulttest.PlannedFault{card}, func(_ time.Duration, what string) {
		now := r.record(what)
		if name, over := strings.CutSuffix(what, isOver); over && restartsRedis(name) {
			back = now
		}
	})
	if err != nil || back == 0 {
		return err
	}
	took, err := r.measureRecovery(ctx, back)
	if err != nil {
		return err
	}
	r.report.Recoveries = append(r.report.Recoveries, took)
	r.record(fmt.Sprintf("Redis is back: a note was sent after %v, answered after %v, received by half of the clients after %v, by all after %v", took.Sent, took.Answered, took.Half, took.All))
	return nil
}

// record records an event and returns its time.
func (r *run) record(what string) time.Duration {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, faultEvent{now, what})
	return now
}

// Suffixes of a fault's name in the notes of [faulttest.World.Play].
const (
	begins = " begins"
	isOver = " is over"
)

// measureRecovery publishes a note for all clients and measures its delivery since a time.
func (r *run) measureRecovery(ctx context.Context, since time.Duration) (Recovery, error) {
	beacon := r.load.authors[0]
	ctx, cancel := context.WithTimeout(ctx, recoveryTimeout)
	defer cancel()
	var w Recovery
	var note int64
	for server := 0; ; server = (server + 1) % servers {
		w.Sent = r.now() - since
		var err error
		if note, err = r.load.publish(ctx, server, beacon); err == nil {
			break
		}
		if clock.Sleep(ctx, pollEvery) != nil {
			return w, fmt.Errorf("publish note for all clients: %w", err)
		}
	}
	w.Answered = r.now() - since
	var times []time.Duration
	for _, f := range r.followers {
		for {
			if at, ok := f.receivedAt(note); ok {
				times = append(times, at-since)
				break
			}
			if clock.Sleep(ctx, pollEvery) != nil {
				if err := context.Cause(ctx); !errors.Is(err, context.DeadlineExceeded) {
					return w, err
				}
				times = append(times, recoveryTimeout) // the checks report the missing messages
				break
			}
		}
	}
	slices.Sort(times)
	w.Half, w.All = times[len(times)/2], times[len(times)-1]
	return w, nil
}

// publishLast publishes a last note and waits for wrong messages after it.
func (r *run) publishLast(ctx context.Context) error {
	if _, err := r.measureRecovery(ctx, r.now()); err != nil {
		return err
	}
	return clock.Sleep(ctx, drainTime)
}

// progress prints the progress of the run every ten seconds.
func (r *run) progress(ctx context.Context) {
	for clock.Sleep(ctx, progressEvery) == nil {
		r.mu.Lock()
		now := "nothing yet"
		if n := len(r.events); n > 0 {
			now = r.events[n-1].what
		}
		restarts := 0
		for _, h := range r.events {
			if name, over := strings.CutSuffix(h.what, isOver); over && restartsRedis(name) {
				restarts++
			}
		}
		r.mu.Unlock()
		r.say("%4.0fs  %d connections, %d messages received, %d restarts of Redis, %d hints lost; %s",
			r.now().Seconds(), r.counters.connections(), r.counters.received.Load(), restarts, r.proxy.dropped.Load(), now)
	}
}

// judge compares the received messages with the database.
func (r *run) judge(ctx context.Context) error {
	events, err := r.load.log(ctx)
	if err != nil {
		return err
	}
	record := &Record{Events: events, Follows: r.load.history(r.times(pauseServer, 0)), Deletes: r.load.deletes}
	for _, f := range r.followers {
		record.Clients = append(record.Clients, f.result())
	}
	r.report.Verdict = Check(record)
	r.report.measure(record, r.load.published, r.troubles(), func(i int) bool { return r.followers[i].life == 0 })
	r.report.Sockets, r.report.Streams = int(r.counters.sockets.Load()), int(r.counters.streams.Load())
	r.report.Reconnects = r.report.Sockets + r.report.Streams - len(r.followers)
	r.report.Events = len(events)
	r.report.HintsDelivered, r.report.HintsLost = int(r.proxy.delivered.Load()), int(r.proxy.dropped.Load())
	r.report.Happened, r.report.Flaws, r.report.Flawed = r.counters.all()
	r.report.Faults = map[string]int{}
	for _, h := range r.events {
		if name, ok := strings.CutSuffix(h.what, begins); ok {
			r.report.Faults[name]++
		}
	}
	for _, w := range r.report.Recoveries {
		if w.All > r.RecoverWithin {
			r.report.Slow++
		}
	}
	for _, b := range faulttest.CheckLogs(r.world.Logs()) {
		r.report.flaw("log: %v", b)
	}
	for _, death := range r.world.Deaths() {
		r.report.flaw("%s", death)
	}
	return r.writeTimeline()
}

// troubles returns the times of faults, including a moment after each.
func (r *run) troubles() [][2]time.Duration { return r.times("", deckPause/2) }

// pauseServer is the name of the fault that suspends a server.
const pauseServer = "pause-server"

// times returns the times of the faults with a name, or of all for "", each extended by after.
func (r *run) times(of string, after time.Duration) (all [][2]time.Duration) {
	begun := map[string]time.Duration{}
	for _, h := range r.events {
		if name, ok := strings.CutSuffix(h.what, begins); ok {
			begun[name] = h.at
		}
		if name, ok := strings.CutSuffix(h.what, isOver); ok && (of == "" || name == of) {
			all = append(all, [2]time.Duration{begun[name], h.at + after})
		}
	}
	return all
}

func (r *run) writeTimeline() error {
	var text strings.Builder
	for _, h := range r.events {
		fmt.Fprintf(&text, "%8.3fs  %s\n", h.at.Seconds(), h.what)
	}
	return os.WriteFile(filepath.Join(r.dir, "happened.txt"), []byte(text.String()), 0o600)
}
