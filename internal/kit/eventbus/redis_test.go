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

// A ledger knows what was published when, by publisher.
type ledger struct {
	mu   sync.Mutex
	acks [][]time.Time // of publisher p, when number n was in the stream; zero: nobody knows whether it is
}

func (l *ledger) sign(p, n int, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.acks[p]) <= n {
		l.acks[p] = append(l.acks[p], time.Time{})
	}
	l.acks[p][n] = at
}

// A reader holds what it is told to the ledger.
type reader struct {
	t      *testing.T
	ledger *ledger
	mu     sync.Mutex
	heard  []map[int]bool // numbers, by publisher
	last   []int          // the highest of each
	known  []int          // up to which the ledger was compared
	resets []Gap
	at     time.Time
}

func (r *reader) Reset(_ context.Context, why Gap) { r.resets = append(r.resets, why) }

func (r *reader) hear(_ context.Context, bodies [][]byte) {
	for _, body := range bodies {
		var p, n int
		if _, err := fmt.Sscan(string(body), &p, &n); err != nil {
			r.t.Error(err)
		}
		if n <= r.last[p] {
			r.t.Errorf("publisher %d: number %d after %d", p, n, r.last[p])
		}
		r.last[p] = n
		r.heard[p][n] = true
	}
}

// Synced is the law: what was in the stream before has been heard.
func (r *reader) Synced(at time.Time) {
	r.ledger.mu.Lock()
	for p, acks := range r.ledger.acks {
		for ; r.known[p] < len(acks) && acks[r.known[p]].Before(at); r.known[p]++ {
			if n := r.known[p]; !acks[n].IsZero() && !r.heard[p][n] {
				r.t.Errorf("in sync, without number %d of publisher %d", n, p)
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

// Four processes publish, three follow: nobody misses a message, hears one twice
// or out of order, or is told to be in sync too early; also when connections are
// cut all the time (A16).
func TestEveryMessageReachesEveryFollowerOnceAndInOrder(t *testing.T) {
	for _, cuts := range []bool{false, true} {
		t.Run(map[bool]string{false: "calm", true: "with connections cut"}[cuts], func(t *testing.T) {
			const publishers, followers, each = 4, 3, 5000
			url := testkit.Redis(t)
			seed := testkit.Seed(t)
			l := &ledger{acks: make([][]time.Time, publishers)}
			lines, readers := make([]*redistest.Proxy, followers), make([]*reader, followers)
			for i := range readers {
				r := &reader{
					t: t, ledger: l, last: slices.Repeat([]int{-1}, publishers),
					known: make([]int, publishers), heard: make([]map[int]bool, publishers),
				}
				for p := range r.heard {
					r.heard[p] = make(map[int]bool, each)
				}
				lines[i] = redistest.NewProxy(t, url)
				s := newStream(open(t, lines[i].URL()))
				s.AddObserver(r)
				s.Subscribe("t", r.hear)
				stop := run(t, s)
				defer stop()
				readers[i] = r
			}
			testkit.Eventually(t, soon, func() bool {
				return !slices.ContainsFunc(readers, func(r *reader) bool { return r.synced().IsZero() })
			})
			var all sync.WaitGroup
			for p := range publishers {
				s := newStream(open(t, url))
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
					t.Errorf("follower %d: %s", i, diff)
				}
				for p, heard := range r.heard {
					if len(heard) != each {
						t.Errorf("follower %d heard %d of publisher %d, want %d", i, len(heard), p, each)
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

// A16: go-redis subscribes again in silence, and what was sent meanwhile is lost.
func TestACutConnectionLosesNothing(t *testing.T) {
	url := testkit.Redis(t)
	w := redistest.NewProxy(t, url)
	follower, publisher := newStream(open(t, w.URL())), newStream(open(t, url))
	e := listen(follower)
	run(t, follower)
	e.await(t)
	w.Freeze() // nobody hears of the cut until it is published
	publish(t, publisher, "one", "two")
	w.Cut()
	w.Thaw()
	publish(t, publisher, "three")
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "one", "two", "three"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

// A17: TCP is alive and carries nothing. Whoever took silence for "nothing
// happened" would serve old entries until the connection ends.
func TestAHalfOpenConnectionEndsTheSyncAtOnce(t *testing.T) {
	url := testkit.Redis(t)
	w := redistest.NewProxy(t, url)
	follower, publisher := newStream(open(t, w.URL())), newStream(open(t, url))
	follower.timeout = 250 * time.Millisecond
	e := listen(follower)
	run(t, follower)
	e.await(t)
	w.Freeze()
	frozen := time.Now()
	publish(t, publisher, "unheard")
	failures := follower.metrics.errors.WithLabelValues("follow")
	before := testutil.ToFloat64(failures)
	testkit.Eventually(t, soon, func() bool { return testutil.ToFloat64(failures) >= before+3 })
	if at := e.synced(); at.After(frozen) {
		t.Errorf("in sync %v after the last byte", at.Sub(frozen))
	}
	if lag := follower.metrics.lag(); lag < time.Since(frozen) {
		t.Errorf("the lag shown is %v, %v after the last byte", lag, time.Since(frozen))
	}
	w.Thaw()
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "unheard"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

// A18: messages that a slow hearer would lose elsewhere wait in the stream; when
// that was trimmed meanwhile, the gap is seen.
func TestASlowHearerHearsAllOrOfTheGap(t *testing.T) {
	for _, most := range []int{100_000, 100} {
		t.Run(fmt.Sprint("a stream of ", most), func(t *testing.T) {
			rdb := open(t, testkit.Redis(t))
			s := newStream(rdb)
			s.maxEntries = most
			e := listen(s)
			entered, release := make(chan struct{}), make(chan struct{})
			e.hearer = func(body string) {
				if body == "slow" {
					close(entered)
					<-release
				}
			}
			run(t, s)
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
				t.Error("in sync while the hearer is busy")
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
				t.Errorf("the stream has %d entries", n)
			}
			keytable.Check(t, rdb, "td")
		})
	}
}

// A scene is a server that loses messages, behind the wire of a follower.
type scene struct {
	*redistest.Server
	wire      *redistest.Proxy
	publisher *Redis
	dump      string // of the bus as it was before its last messages
	replica   *redistest.Server
}

func (s *scene) publish(t *testing.T, bodies ...string) {
	t.Helper()
	publish(t, s.publisher, bodies...)
}

// What Redis lost is noticed however it came back, also where as many messages, or
// more, were published since: the numbers are the same then, the past is not.
func TestMessagesThatRedisLostAreNoticed(t *testing.T) {
	tests := []struct {
		name string
		lose func(t *testing.T, s *scene)
	}{
		{"everything was deleted", func(t *testing.T, s *scene) { must(t, s.Admin.FlushAll(t.Context())) }},
		{"the stream was deleted", func(t *testing.T, s *scene) { must(t, s.Admin.Del(t.Context(), "td:bus")) }},
		{"the stream was emptied", func(t *testing.T, s *scene) { must(t, s.Admin.XTrimMaxLen(t.Context(), "td:bus", 0)) }},
		{"the stream was begun anew", func(t *testing.T, s *scene) {
			must(t, s.Admin.Del(t.Context(), "td:bus"))
			s.publish(t, "1", "2", "3", "4", "5", "6")
		}},
		{"somebody else wrote into the stream", func(t *testing.T, s *scene) {
			must(t, s.Admin.XAdd(t.Context(), &redis.XAddArgs{Stream: "td:bus", Values: []string{"t", "t", "b", "x"}}))
		}},
		{"the stream was restored", func(t *testing.T, s *scene) {
			must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump))
		}},
		{"it was restored and has as many entries again", func(t *testing.T, s *scene) {
			must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump))
			s.publish(t, "1", "2")
		}},
		{"it was restored and has more", func(t *testing.T, s *scene) {
			must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump))
			s.publish(t, "1", "2", "3")
		}},
		{"restarted empty", func(_ *testing.T, s *scene) { s.Crash(); s.Start() }},
		{"restarted with an old snapshot", func(t *testing.T, s *scene) {
			must(t, s.Admin.RestoreReplace(t.Context(), "td:bus", 0, s.dump), s.Admin.Save(t.Context()))
			s.Crash()
			s.Start()
			s.publish(t, "1", "2", "3")
		}},
		{"failed over to a replica that was behind", func(t *testing.T, s *scene) {
			s.wire.Redirect(s.replica.URL())
			s.publisher = newStream(open(t, s.replica.URL()))
			s.publish(t, "1", "2", "3")
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &scene{Server: redistest.Start(t)}
			s.wire = redistest.NewProxy(t, s.URL())
			s.publisher = newStream(open(t, s.URL()))
			follower := newStream(open(t, s.wire.URL()))
			e := listen(follower)
			s.publish(t, "before")
			s.dump = s.Admin.Dump(t.Context(), "td:bus").Val()
			s.replica = s.Replicate()
			s.replica.Promote() // and so cut off
			s.publish(t, "a", "b")
			run(t, follower)
			e.await(t)
			s.wire.Freeze() // what is lost is lost before anybody looks
			tt.lose(t, s)
			s.wire.Thaw()
			testkit.Eventually(t, soon, func() bool { return e.has("reset lost") })
			s.publish(t, "after")
			e.await(t)
			told := e.all()
			if told[len(told)-1] != "after" || slices.Contains(told, "reset trimmed") {
				t.Error(told)
			}
		})
	}
}

// A failover without a loss is none: a replica that had everything goes on.
func TestAFailoverThatLostNothingResetsNobody(t *testing.T) {
	master := redistest.Start(t)
	w := redistest.NewProxy(t, master.URL())
	s := newStream(open(t, w.URL()))
	e := listen(s)
	run(t, s)
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

// Dense ids, and marks that tell the whole past, also where two calls had the same
// salt: one that was repeated on another master.
func TestEntriesAreDenseAndChained(t *testing.T) {
	for name, rdb := range map[string]redis.UniversalClient{"embedded": embedded(t), "a Redis": open(t, testkit.Redis(t))} {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				must(t, publishScript.Run(t.Context(), rdb, []string{"td:bus"}, 10, "salt", "t", "a", "t", "b"))
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
				if e.n != uint64(i)+1 || e.epoch != first.epoch || e.before != before || len(e.mark) != 16 || marks[e.mark] {
					t.Errorf("entry %d: %+v after the mark %q", i, e, before)
				}
				before, marks[e.mark] = e.mark, true
			}
			if at := time.UnixMilli(int64(first.epoch)); time.Since(at).Abs() > time.Minute {
				t.Errorf("begun at %v", at)
			}
		})
	}
}

func TestAClockThatWentBackKeepsNobodyFromPublishing(t *testing.T) {
	rdb := open(t, testkit.Redis(t))
	future := &redis.XAddArgs{Stream: "td:bus", ID: "99999999999999-5", Values: []string{"t", "t"}}
	must(t, rdb.XAdd(t.Context(), future), rdb.XTrimMaxLen(t.Context(), "td:bus", 0))
	s := newStream(rdb)
	e := listen(s)
	run(t, s)
	e.await(t)
	publish(t, s, "now")
	e.await(t)
	if !e.has("now") {
		t.Error(e.all())
	}
}

func TestASuspicionResetsAndEndsTheSyncUntilThen(t *testing.T) {
	s := newStream(open(t, testkit.Redis(t)))
	e := listen(s)
	run(t, s)
	e.await(t)
	syncs := 0
	e.hearer = func(body string) {
		if body == "one" {
			syncs = e.syncs // they come from this goroutine
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
		t.Error("in sync between the suspicion and the reset")
	}
}

// A grudge is a follower that cannot forget at first.
type grudge struct {
	ear
	fails atomic.Int32
}

func (g *grudge) Reset(ctx context.Context, why Gap) {
	if g.fails.Add(-1) >= 0 {
		panic("a fault of this test")
	}
	g.ear.Reset(ctx, why)
}

func TestNobodyIsInSyncBeforeAllHaveForgotten(t *testing.T) {
	log := new(testkit.Log)
	s := NewRedis(open(t, testkit.Redis(t)), redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second, Log: log.Logger()})
	g := new(grudge)
	g.fails.Store(3)
	e := listen(s)
	s.AddObserver(g)
	run(t, s)
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

func TestABusIsFollowedOnce(t *testing.T) {
	s := newStream(open(t, testkit.Redis(t)))
	e := listen(s)
	stop := run(t, s)
	e.await(t)
	if err := s.Run(t.Context()); err == nil {
		t.Error("a second Run follows too")
	}
	stop()
	publish(t, s, "while nobody followed")
	run(t, s)
	e.await(t)
	if diff := cmp.Diff([]string{"reset start", "reset start"}, e.all()); diff != "" {
		t.Error(diff)
	}
}

func TestABusOverAClientThatCannotBeCopiedDoesNotStart(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	defer func() { _ = ring.Close() }()
	if err := NewRedis(ring, redisdb.NewBlockingClient, Options{}).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "*redis.Ring cannot be copied") {
		t.Error(err)
	}
}

func TestPublishOnARedisThatIsSilentEndsByItsDeadline(t *testing.T) {
	w := redistest.NewProxy(t, testkit.Redis(t))
	rdb := openWith(t, redisdb.RedisConfig{URL: w.URL()})
	must(t, rdb.Ping(t.Context()))
	s := NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 50 * time.Millisecond})
	w.Freeze()
	defer w.Thaw()
	if err := s.Publish(context.WithoutCancel(t.Context()), Message{"t", nil}); !errors.Is(err, context.DeadlineExceeded) && !strings.Contains(fmt.Sprint(err), "timeout") {
		t.Error(err)
	}
	if n := testutil.ToFloat64(s.metrics.errors.WithLabelValues("publish")); n != 1 {
		t.Errorf("%v errors are counted", n)
	}
}

func TestMetricsAreThereFromTheStartAndCount(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	s := NewRedis(open(t, testkit.Redis(t)), redisdb.NewBlockingClient, Options{Registerer: reg})
	s.timeout = 2 * time.Second
	e := listen(s)
	const start = `
# HELP tandian_bus_errors_total Failures of the bus: to publish, to follow, and hearers that panicked.
# TYPE tandian_bus_errors_total counter
tandian_bus_errors_total{doing="follow"} 0
tandian_bus_errors_total{doing="hear"} 0
tandian_bus_errors_total{doing="publish"} 0
# HELP tandian_bus_gaps_total Times that messages may have been missed and what rested on them was forgotten, by reason.
# TYPE tandian_bus_gaps_total counter
tandian_bus_gaps_total{why="closed"} 0
tandian_bus_gaps_total{why="lost"} 0
tandian_bus_gaps_total{why="panic"} 0
tandian_bus_gaps_total{why="start"} 0
tandian_bus_gaps_total{why="suspect"} 0
tandian_bus_gaps_total{why="trimmed"} 0
# HELP tandian_bus_heard_total Messages of all processes that this one read from the bus.
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
		t.Errorf("a lag of %v before the first sync", lag)
	}
	run(t, s)
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

// While nobody can publish, that nothing is heard proves nothing.
func TestFollowersAreNotInSyncWhileNothingCanBePublished(t *testing.T) {
	rdb := open(t, testkit.Redis(t))
	var refused atomic.Bool
	s := NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second, Writable: func() bool { return !refused.Load() }})
	e := listen(s)
	run(t, s)
	e.await(t)
	another := newStream(rdb) // which does not know
	other := listen(another)
	run(t, another)
	refused.Store(true)
	testkit.Eventually(t, soon, func() bool { return e.has("reset " + string(GapClosed)) })
	last := e.synced()
	if err := s.Publish(t.Context(), Message{Topic: "t", Body: []byte("missed")}); err != nil { // by a process that may still
		t.Fatal(err)
	}
	testkit.Eventually(t, soon, func() bool { return other.has("missed") })
	other.await(t)
	if now := e.synced(); !now.Equal(last) {
		t.Errorf("in sync at %v, after %v", now, last)
	}
	refused.Store(false)
	e.await(t)
	want := []string{"reset " + string(GapStart), "reset " + string(GapClosed), "reset " + string(GapClosed)}
	if got := e.all(); !slices.Equal(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
	if err := s.Publish(t.Context(), Message{Topic: "t", Body: []byte("heard")}); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, soon, func() bool { return e.has("heard") })
}
