package eventbus

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/keytable"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

// A ledger holds the publication times, by publisher.
type ledger struct {
	mu   sync.Mutex
	acks [][]time.Time // acks[p][n]: when number n of publisher p was in the stream; zero: unknown
}

func (l *ledger) sign(p, n int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.acks[p]) <= n {
		l.acks[p] = append(l.acks[p], time.Time{})
	}
	l.acks[p][n] = at
}

// A reader compares its messages with the ledger.
type reader struct {
	t        *testing.T
	ledger   *ledger
	mu       sync.Mutex
	received []map[int]bool // numbers, by publisher
	last     []int          // the highest of each
	known    []int          // the ledger was compared up to here
	resets   []Gap
	at       time.Time
}

func (r *reader) Reset(_ context.Context, why Gap) { r.resets = append(r.resets, why) }

func (r *reader) handle(_ context.Context, bodies [][]byte) {
	for _, body := range bodies {
		var p, n int
		if _, err := fmt.Sscan(string(body), &p, &n); err != nil {
			r.t.Error(err)
		}
		if n <= r.last[p] {
			r.t.Errorf("publisher %d: got number %d after %d", p, n, r.last[p])
		}
		r.last[p] = n
		r.received[p][n] = true
	}
}

// Synced checks the invariant: all earlier entries of the stream have been handled.
func (r *reader) Synced(at time.Time) {
	r.ledger.mu.Lock()
	for p, acks := range r.ledger.acks {
		for ; r.known[p] < len(acks) && acks[r.known[p]].Before(at); r.known[p]++ {
			if n := r.known[p]; !acks[n].IsZero() && !r.received[p][n] {
				r.t.Errorf("got Synced without number %d of publisher %d", n, p)
			}
		}
	}
	r.ledger.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = at
}

func (r *reader) synced() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// Four processes publish, three follow: each message arrives once and in order, and
// Synced is never too early, even if connections are cut all the time (A16).
func TestMessagesArriveOnceAndInOrder(t *testing.T) {
	for _, cuts := range []bool{false, true} {
		t.Run(map[bool]string{false: "stable connections", true: "cut connections"}[cuts], func(t *testing.T) {
			const publishers, followers, each = 4, 3, 5000
			url := testkit.Redis(t)
			seed := testkit.Seed(t)
			l := &ledger{acks: make([][]time.Time, publishers)}
			lines, readers := make([]*redistest.Proxy, followers), make([]*reader, followers)
			for i := range readers {
				r := &reader{
					t: t, ledger: l, last: slices.Repeat([]int{-1}, publishers),
					known: make([]int, publishers), received: make([]map[int]bool, publishers),
				}
				for p := range r.received {
					r.received[p] = make(map[int]bool, each)
				}
				lines[i] = redistest.NewProxy(t, url)
				s := newBus(redistest.Open(t, lines[i].URL()))
				s.AddObserver(r)
				s.Subscribe("t", r.handle)
				stop := testkit.RunWorkers(t, s)
				defer stop()
				readers[i] = r
			}
			testkit.Eventually(t, soon, func() bool {
				return !slices.ContainsFunc(readers, func(r *reader) bool { return r.synced().IsZero() })
			})
			var all sync.WaitGroup
			for p := range publishers {
				s := newBus(redistest.Open(t, url))
				random := rand.New(rand.NewPCG(seed, uint64(p)))
				all.Go(func() { publishNumbers(t, s, l, p, each, random) })
			}
			ended := make(chan struct{})
			go func() { all.Wait(); close(ended) }()
			random := rand.New(rand.NewPCG(seed, publishers))
			for pause := time.NewTicker(5 * time.Millisecond); cuts; {
				select {
				case <-pause.C:
					lines[random.IntN(followers)].Cut()
					continue
				case <-ended:
				}
				pause.Stop()
				break
			}
			<-ended
			now := time.Now()
			for i, r := range readers {
				testkit.Eventually(t, soon, func() bool { return r.synced().After(now) })
				if diff := cmp.Diff([]Gap{GapStart}, r.resets); diff != "" {
					t.Errorf("process %d: %s", i, diff)
				}
				for p, received := range r.received {
					if len(received) != each {
						t.Errorf("process %d: got %d messages of publisher %d, want %d", i, len(received), p, each)
					}
				}
			}
		})
	}
}

func publishNumbers(t *testing.T, s *Redis, l *ledger, p, each int, random *rand.Rand) {
	for n := 0; n < each; {
		var ms []Message
		for range min(1+random.IntN(5), each-n) {
			ms = append(ms, Message{"t", fmt.Append(nil, p, " ", n)})
			n++
		}
		if err := s.Publish(t.Context(), ms...); err != nil {
			t.Error(err)
			return
		}
		for i := range ms {
			l.sign(p, n-len(ms)+i, time.Now())
		}
	}
}

// A16: with pub/sub, go-redis would resubscribe silently and lose the messages in
// between.
func TestCutConnectionLosesNothing(t *testing.T) {
	url := testkit.Redis(t)
	w := redistest.NewProxy(t, url)
	follower, publisher := newBus(redistest.Open(t, w.URL())), newBus(redistest.Open(t, url))
	e := listen(follower)
	testkit.RunWorkers(t, follower)
	e.await(t)
	w.Freeze() // the cut is not noticed before the publication
	publish(t, publisher, "one", "two")
	w.Cut()
	w.Thaw()
	publish(t, publisher, "three")
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "one", "two", "three"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

// A17: TCP is alive and carries nothing. A process that takes silence for "no message"
// would serve old cache entries until the connection ends.
func TestHalfOpenConnectionEndsSync(t *testing.T) {
	url := testkit.Redis(t)
	w := redistest.NewProxy(t, url)
	follower, publisher := newBus(redistest.Open(t, w.URL())), newBus(redistest.Open(t, url))
	follower.timeout = 250 * time.Millisecond
	e := listen(follower)
	testkit.RunWorkers(t, follower)
	e.await(t)
	w.Freeze()
	frozen := time.Now()
	publish(t, publisher, "unheard")
	failures := follower.metrics.errors.WithLabelValues("follow")
	before := testutil.ToFloat64(failures)
	testkit.Eventually(t, soon, func() bool { return testutil.ToFloat64(failures) >= before+3 })
	if at := e.synced(); at.After(frozen) {
		t.Errorf("got Synced %v after the last byte", at.Sub(frozen))
	}
	if lag := follower.metrics.lag(); lag < time.Since(frozen) {
		t.Errorf("got a lag of %v, %v after the last byte", lag, time.Since(frozen))
	}
	w.Thaw()
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "unheard"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

// A18: messages for a slow handler wait in the stream. If the stream was trimmed
// meanwhile, the gap is detected.
func TestSlowHandlerGetsAllOrGap(t *testing.T) {
	for _, most := range []int{100_000, 100} {
		t.Run(fmt.Sprint("a stream of ", most), func(t *testing.T) {
			rdb := redistest.Open(t, testkit.Redis(t))
			s := newBus(rdb)
			s.maxEntries = most
			e := listen(s)
			entered, release := make(chan struct{}), make(chan struct{})
			e.onMessage = func(body string) {
				if body == "slow" {
					close(entered)
					<-release
				}
			}
			testkit.RunWorkers(t, s)
			e.await(t)
			publish(t, s, "slow")
			<-entered
			begun := time.Now()
			want := []string{"reset start", "slow"}
			for i := range 500 {
				publish(t, s, fmt.Sprint(i))
				if most > 500 {
					want = append(want, fmt.Sprint(i))
				}
			}
			if e.synced().After(begun) {
				t.Error("got Synced while the handler is busy")
			}
			close(release)
			e.await(t)
			publish(t, s, "after")
			e.await(t)
			if most < 500 {
				want = append(want, "reset trimmed")
			}
			if diff := cmp.Diff(append(want, "after"), e.all()); diff != "" {
				t.Error(diff)
			}
			if n := rdb.XLen(t.Context(), "td:bus").Val(); n > int64(most)+100 {
				t.Errorf("got %d entries", n)
			}
			keytable.Check(t, rdb, "td")
		})
	}
}

// A scene is a server that loses messages, and a process connected through a proxy.
type scene struct {
	*redistest.Server
	wire      *redistest.Proxy
	publisher *Redis
	dump      string // of the bus before its last messages
	replica   *redistest.Server
}

func (s *scene) publish(t *testing.T, bodies ...string) {
	t.Helper()
	publish(t, s.publisher, bodies...)
}

// A loss is detected however Redis came back, also after as many or more new messages:
// then the numbers are the same, but not the past.
func TestLostMessagesAreDetected(t *testing.T) {
	tests := []struct {
		name string
		lose func(t *testing.T, s *scene)
	}{
		{"everything was deleted", func(t *testing.T, s *scene) { redistest.Must(t, s.Admin.FlushAll(t.Context())) }},
		{"the stream was deleted", func(t *testing.T, s *scene) { redistest.Must(t, s.Admin.Del(t.Context(), "td:bus")) }},
		{"the stream was emptied", func(t *testing.T, s *scene) { redistest.Must(t, s.Admin.XTrimMaxLen(t.Context(), "td:bus", 0)) }},
		{"the stream was recreated", func(t *testing.T, s *scene) {
			redistest.Must(t, s.Admin.Del(t.Context(), "td:bus"))
			s.publish(t, "1", "2", "3", "4", "5", "6")
		}},
		{"another program wrote to the stream", func(t *testing.T, s *scene) {
			redistest.Must(t, s.Admin.XAdd(t.Context(), &redis.XAddArgs{Stream: "td:bus", Values: []string{"t", "t", "b", "x"}}))
		}},
		{"the stream was restored", func(t *testing.T, s *scene) {
			redistest.Must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump))
		}},
		{"restored, with as many entries", func(t *testing.T, s *scene) {
			redistest.Must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump))
			s.publish(t, "1", "2")
		}},
		{"restored, with more entries", func(t *testing.T, s *scene) {
			redistest.Must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump))
			s.publish(t, "1", "2", "3")
		}},
		{"restarted empty", func(_ *testing.T, s *scene) { s.Crash(); s.Start() }},
		{"restarted with an old snapshot", func(t *testing.T, s *scene) {
			redistest.Must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump), s.Admin.Save(t.Context()))
			s.Crash()
			s.Start()
			s.publish(t, "1", "2", "3")
		}},
		{"failed over to a replica that was behind", func(t *testing.T, s *scene) {
			s.wire.Redirect(s.replica.URL())
			s.publisher = newBus(redistest.Open(t, s.replica.URL()))
			s.publish(t, "1", "2", "3")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scene{Server: redistest.Start(t)}
			s.wire = redistest.NewProxy(t, s.URL())
			s.publisher = newBus(redistest.Open(t, s.URL()))
			follower := newBus(redistest.Open(t, s.wire.URL()))
			e := listen(follower)
			s.publish(t, "before")
			s.dump = s.Admin.Dump(t.Context(), "td:bus").Val()
			s.replica = s.Replicate()
			s.replica.Promote() // this disconnects it
			s.publish(t, "a", "b")
			testkit.RunWorkers(t, follower)
			e.await(t)
			s.wire.Freeze() // the loss comes before the next read
			tt.lose(t, s)
			s.wire.Thaw()
			testkit.Eventually(t, soon, func() bool { return e.has("reset lost") })
			s.publish(t, "after")
			e.await(t)
			calls := e.all()
			if calls[len(calls)-1] != "after" || slices.Contains(calls, "reset trimmed") {
				t.Error(calls)
			}
		})
	}
}

// A replica that has all entries continues the stream.
func TestLosslessFailoverDoesNotReset(t *testing.T) {
	master := redistest.Start(t)
	w := redistest.NewProxy(t, master.URL())
	s := newBus(redistest.Open(t, w.URL()))
	e := listen(s)
	testkit.RunWorkers(t, s)
	e.await(t)
	publish(t, s, "one")
	r := master.Replicate()
	r.Promote()
	w.Redirect(r.URL())
	testkit.Eventually(t, soon, func() bool { return s.Publish(t.Context(), Message{"t", []byte("two")}) == nil })
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "one", "two"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

// Ids are dense, and marks identify the whole past, even if two calls have the same salt:
// a call that was repeated on another master.
func TestEntriesAreDenseAndChained(t *testing.T) {
	for name, rdb := range map[string]redis.UniversalClient{"embedded": redistest.OpenEmbedded(t), "a Redis": redistest.Open(t, testkit.Redis(t))} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				redistest.Must(t, publishScript.Run(t.Context(), rdb, []string{"td:bus"}, 10, "salt", "t", "a", "t", "b"))
			}
			all := rdb.XRangeN(t.Context(), "td:bus", "-", "+", 10).Val()
			if len(all) != 4 {
				t.Fatal(all)
			}
			marks, before := map[string]bool{}, ""
			first, err := parse(all[0])
			if err != nil {
				t.Fatal(err)
			}
			for i, m := range all {
				e, err := parse(m)
				if err != nil {
					t.Fatal(err)
				}
				if e.n != uint64(i)+1 || e.epoch != first.epoch || e.prevMark != before || len(e.mark) != 16 || marks[e.mark] {
					t.Errorf("entry %d: got %+v after mark %q", i, e, before)
				}
				before, marks[e.mark] = e.mark, true
			}
			if at := time.UnixMilli(int64(first.epoch)); time.Since(at).Abs() > time.Minute {
				t.Errorf("got epoch %v", at)
			}
		})
	}
}

func TestPublishAfterClockWentBack(t *testing.T) {
	rdb := redistest.Open(t, testkit.Redis(t))
	future := &redis.XAddArgs{Stream: "td:bus", ID: "99999999999999-5", Values: []string{"t", "t"}}
	redistest.Must(t, rdb.XAdd(t.Context(), future), rdb.XTrimMaxLen(t.Context(), "td:bus", 0))
	s := newBus(rdb)
	e := listen(s)
	testkit.RunWorkers(t, s)
	e.await(t)
	publish(t, s, "now")
	e.await(t)
	if !e.has("now") {
		t.Error(e.all())
	}
}

func TestMarkSuspectResetsObservers(t *testing.T) {
	s := newBus(redistest.Open(t, testkit.Redis(t)))
	e := listen(s)
	testkit.RunWorkers(t, s)
	e.await(t)
	syncs := 0
	e.onMessage = func(body string) {
		if body == "one" {
			syncs = e.syncs // Synced runs in this goroutine
			s.MarkSuspect()
		}
	}
	publish(t, s, "one")
	testkit.Eventually(t, soon, func() bool { return e.has("reset suspect") })
	publish(t, s, "two")
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "one", "reset suspect", "two"}, e.all()); diff != "" {
		t.Error(diff)
	}
	if e.before != syncs {
		t.Error("got Synced between MarkSuspect and the reset")
	}
}

// A failingObserver panics in its first resets.
type failingObserver struct {
	recorder
	fails atomic.Int32
}

func (g *failingObserver) Reset(ctx context.Context, why Gap) {
	if g.fails.Add(-1) >= 0 {
		panic("a fault of this test")
	}
	g.recorder.Reset(ctx, why)
}

func TestSyncComesAfterAllResets(t *testing.T) {
	log := new(testkit.Log)
	s := NewRedis(redistest.Open(t, testkit.Redis(t)), redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second, Log: log.Logger()})
	g := new(failingObserver)
	g.fails.Store(3)
	e := listen(s)
	s.AddObserver(g)
	testkit.RunWorkers(t, s)
	e.await(t)
	if diff := cmp.Diff([]string{"reset start"}, g.all()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(slices.Repeat([]string{"reset start"}, 4), e.all()); diff != "" {
		t.Error(diff)
	}
	if log.Count("a fault of this test") != 1 { // of three, at most every ten seconds
		t.Error(log.String())
	}
}

func TestSecondRunFails(t *testing.T) {
	s := newBus(redistest.Open(t, testkit.Redis(t)))
	e := listen(s)
	stop := testkit.RunWorkers(t, s)
	e.await(t)
	if err := s.Run(t.Context()); err == nil {
		t.Error("got no error from a second Run")
	}
	stop()
	publish(t, s, "without an observer")
	testkit.RunWorkers(t, s)
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "reset start"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

func TestUnsupportedClientFails(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	if err := NewRedis(ring, redisdb.NewBlockingClient, Options{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "copy Redis client: unsupported type *redis.Ring") {
		t.Error(err)
	}
}

func TestPublishToSilentRedisTimesOut(t *testing.T) {
	w := redistest.NewProxy(t, testkit.Redis(t))
	rdb := redistest.OpenConfig(t, redisdb.RedisConfig{URL: w.URL()})
	redistest.Must(t, rdb.Ping(t.Context()))
	s := NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 50 * time.Millisecond})
	w.Freeze()
	defer w.Thaw()
	if err := s.Publish(context.WithoutCancel(t.Context()), Message{"t", nil}); !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(fmt.Sprint(err), "timeout") {
		t.Error(err)
	}
	if n := testutil.ToFloat64(s.metrics.errors.WithLabelValues("publish")); n != 1 {
		t.Errorf("got %v errors", n)
	}
}

func TestMetrics(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	s := NewRedis(redistest.Open(t, testkit.Redis(t)), redisdb.NewBlockingClient, Options{Registerer: reg})
	s.timeout = 2 * time.Second
	e := listen(s)
	const start = `
# HELP tandian_bus_errors_total Failures to publish or to read, and panics of handlers.
# TYPE tandian_bus_errors_total counter
tandian_bus_errors_total{doing="follow"} 0
tandian_bus_errors_total{doing="hear"} 0
tandian_bus_errors_total{doing="publish"} 0
# HELP tandian_bus_gaps_total Possible losses of messages, after which dependent data was dropped, by reason.
# TYPE tandian_bus_gaps_total counter
tandian_bus_gaps_total{why="closed"} 0
tandian_bus_gaps_total{why="lost"} 0
tandian_bus_gaps_total{why="panic"} 0
tandian_bus_gaps_total{why="start"} 0
tandian_bus_gaps_total{why="suspect"} 0
tandian_bus_gaps_total{why="trimmed"} 0
# HELP tandian_bus_heard_total Messages that this process read from the bus.
# TYPE tandian_bus_heard_total counter
tandian_bus_heard_total 0
# HELP tandian_bus_published_total Messages that this process published, by topic.
# TYPE tandian_bus_published_total counter
tandian_bus_published_total{topic="other"} 0
tandian_bus_published_total{topic="t"} 0
`
	compare := func(want string) {
		t.Helper()
		err := testutil.GatherAndCompare(reg, strings.NewReader(want),
			"tandian_bus_errors_total", "tandian_bus_gaps_total", "tandian_bus_heard_total", "tandian_bus_published_total")
		if err != nil {
			t.Error(err)
		}
	}
	compare(start)
	if lag := s.metrics.lag(); lag <= 0 {
		t.Errorf("got a lag of %v before the first sync", lag)
	}
	testkit.RunWorkers(t, s)
	e.await(t)
	if err := s.Publish(t.Context(), Message{"t", nil}, Message{"anything", nil}); err != nil {
		t.Fatal(err)
	}
	e.await(t)
	compare(strings.NewReplacer(`why="start"} 0`, `why="start"} 1`, "heard_total 0", "heard_total 2",
		`topic="other"} 0`, `topic="other"} 1`, `topic="t"} 0`, `topic="t"} 1`).Replace(start))
	if n, err := testutil.GatherAndCount(reg, "tandian_bus_lag_seconds"); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// While no process can publish, silence proves nothing.
func TestNoSyncWhileNotWritable(t *testing.T) {
	rdb := redistest.Open(t, testkit.Redis(t))
	var refused atomic.Bool
	s := NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second, Writable: func() bool { return !refused.Load() }})
	e := listen(s)
	testkit.RunWorkers(t, s)
	e.await(t)
	another := newBus(rdb) // without Writable
	other := listen(another)
	testkit.RunWorkers(t, another)
	refused.Store(true)
	testkit.Eventually(t, soon, func() bool { return e.has("reset " + string(GapClosed)) })
	last := e.synced()
	if err := s.Publish(t.Context(), Message{Topic: "t", Body: []byte("missed")}); err != nil { // by a process that can still publish
		t.Fatal(err)
	}
	testkit.Eventually(t, soon, func() bool { return other.has("missed") })
	other.await(t)
	if now := e.synced(); !now.Equal(last) {
		t.Errorf("got Synced at %v, after %v", now, last)
	}
	refused.Store(false)
	e.await(t)
	want := []string{"reset " + string(GapStart), "reset " + string(GapClosed), "reset " + string(GapClosed)}
	if got := e.all(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := s.Publish(t.Context(), Message{Topic: "t", Body: []byte("heard")}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, soon, func() bool { return e.has("heard") })
}
