package gqlserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/gqltest/generated"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// startFanOut is startServer. At the end it checks that subscriptions left nothing behind.
func startFanOut(t *testing.T, cfg Config) *wsTestServer {
	t.Helper()
	s := startServer(t, cfg)
	t.Cleanup(func() { testkit.Eventually(t, testTimeout, func() bool { return s.leftovers() == "" }) })
	return s
}

// leftovers returns the counts of what subscriptions left behind, "" for none.
func (s *wsTestServer) leftovers() string {
	b := s.server.broadcasts
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := fmt.Sprint(len(b.executions), s.server.sessions.size(), s.Running("told"), s.counts(b.server.metrics.subscriptions, b.server.metrics.selections, s.server.sockets.metrics.operations)); got != "0 0 0 [0 0 0]" {
		return got
	}
	return ""
}

func (s *wsTestServer) counts(of ...prometheus.Gauge) (list []float64) {
	for _, g := range of {
		list = append(list, testutil.ToFloat64(g))
	}
	return list
}

// subscribeAll opens a socket for each document and subscribes as operation "1".
func (s *wsTestServer) subscribeAll(t *testing.T, token string, documents ...string) []*wsClient {
	t.Helper()
	before := s.Running("told")
	var list []*wsClient
	for _, document := range documents {
		v := s.connectAs(t, token)
		v.subscribe("1", document)
		list = append(list, v)
	}
	eventually(t, "all are subscribed", func() bool { return s.Running("told") == before+len(documents) })
	return list
}

func (s *wsTestServer) executions() float64 { return testutil.ToFloat64(s.server.metrics.executions) }

const subscribeToA = `subscription { told(topic: "a") { number text } }`

func nextMessage(id, data string) string {
	return `{"type":"next","id":"` + id + `","payload":` + data + `}`
}

// newsMessage is the next message of a subscription to number and text.
func newsMessage(number int, text string) string {
	return nextMessage("1", `{"data":{"told":{"number":`+strconv.Itoa(number)+`,"text":"`+text+`"}}}`)
}

func TestEqualSubscriptionsShareOneExecution(t *testing.T) {
	s := startFanOut(t, Config{Limits: Limits{SocketsPerAddress: 200}})
	documents := []string{
		subscribeToA,
		"subscription   Named {\n  told(topic: \"a\") {\n number,\n text } }",
		`subscription { told(topic: "a") { ...F } } fragment F on News { number text }`,
		`subscription { told(topic: "a", after: 0) { number text } }`,
		`subscription { told(topic: "a") { number item @skip(if: true) { id } text @include(if: true) } }`,
	}
	var all []*wsClient
	for range 20 {
		all = append(all, s.subscribeAll(t, "", documents[0], documents[1], documents[3], documents[4])...)
	}
	inlined := s.subscribeAll(t, "", documents[2])
	for i := range 3 {
		s.Publish("a", "x")
		for _, v := range append(all, inlined...) {
			v.wantMessages(newsMessage(i+1, "x"))
		}
		if n := s.executions(); n != float64(2*i+2) {
			t.Fatalf("got %v executions after %d updates, want %d", n, i+1, 2*i+2)
		}
	}
	eventually(t, "all deliveries are counted", func() bool { // they are counted after they are sent
		return testutil.ToFloat64(s.server.metrics.deliveries) == 3*81
	})
	for _, v := range all {
		v.wantPong()
	}
}

func TestEachSelectionIsExecutedSeparately(t *testing.T) {
	s := startFanOut(t, Config{})
	all := s.subscribeAll(t, "", `subscription { told(topic: "a") { number } }`, `subscription { told(topic: "a") { text } }`,
		`subscription { news: told(topic: "a") { text } }`, `subscription { told(topic: "b") { text } }`)
	s.Publish("a", "x")
	for i, data := range []string{`{"told":{"number":1}}`, `{"told":{"text":"x"}}`, `{"news":{"text":"x"}}`} {
		all[i].wantMessages(nextMessage("1", `{"data":`+data+`}`))
	}
	s.Publish("b", "y") // its subscription has the selection of another
	all[3].wantMessages(nextMessage("1", `{"data":{"told":{"text":"y"}}}`))
	for _, v := range all {
		v.wantPong()
	}
	if n := s.executions(); n != 4 {
		t.Errorf("got %v executions, want 4", n)
	}
	if n := testutil.ToFloat64(s.server.metrics.selections); n != 3 {
		t.Errorf("got %v selections, want 3", n)
	}
}

func TestViewerDependentPayloadIsNotShared(t *testing.T) {
	s := startFanOut(t, Config{})
	const document = `subscription { told(topic: "a", after: 0) { number viewer } }`
	wants := func(v *wsClient, number int, viewer string) {
		t.Helper()
		v.wantMessages(nextMessage("1", fmt.Sprintf(`{"data":{"told":{"number":%d,"viewer":%q}}}`, number, viewer)))
	}
	var all []*wsClient
	name := func(i int) string { return "user" + strconv.Itoa(i) }
	for i := range 10 {
		all = append(all, s.subscribeAll(t, name(i), document)...)
	}
	for n := range 5 {
		s.Publish("a", "x")
		if n == 0 {
			for i, v := range all {
				wants(v, 1, name(i))
			}
		}
	}
	for i, v := range all {
		for n := range 4 {
			wants(v, n+2, name(i))
		}
		v.wantPong()
	}
	late := s.subscribeAll(t, "late", document)
	for n := range 5 {
		wants(late[0], n+1, "late")
	}
	if n := testutil.ToFloat64(s.server.metrics.selections); n != 11 {
		t.Errorf("got %v selections, want 11", n)
	}
	if n := testutil.ToFloat64(s.server.metrics.personal); n != 1 {
		t.Errorf("got %v personal selections, want 1", n)
	}
}

// Many updates are queued when the first one shows that they depend on the viewer.
func TestSplitExecutionKeepsQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		s.InjectFault("load", errors.New("unavailable"), errors.New("unavailable"))
		var all []*wsClient
		for i := range 5 {
			all = append(all, s.subscribeAll(t, "user"+strconv.Itoa(i), `subscription { told(topic: "a") { number viewer } }`)...)
		}
		const updates = 100
		for range updates {
			s.Publish("a", "x")
		}
		for i, v := range all {
			for n := range updates {
				v.wantMessages(nextMessage("1", fmt.Sprintf(`{"data":{"told":{"number":%d,"viewer":"user%d"}}}`, n+1, i)))
			}
			v.wantPong()
		}
	})
}

func TestCompleteStopsDeliveryAndLastClosesExecution(t *testing.T) {
	s := startFanOut(t, Config{})
	all := s.subscribeAll(t, "", subscribeToA, subscribeToA)
	s.Publish("a", "x")
	for i, v := range all {
		v.wantMessages(newsMessage(1, "x"))
		v.send(`{"type":"complete","id":"1"}`)
		v.wantPong()
		if n := s.Running("told"); n != 1-i {
			t.Errorf("got %d subscribers, want %d", n, 1-i)
		}
	}
	if left := s.leftovers(); left != "" {
		t.Errorf("left behind: %s", left)
	}
	s.Publish("a", "y")
	all[0].subscribe("1", subscribeToA)
	eventually(t, "the client is subscribed again", func() bool { return s.Running("told") == 1 })
	s.Publish("a", "z")
	all[0].wantMessages(newsMessage(3, "z"))
	all[1].wantPong()
}

func TestSubscriberCountsAsOperation(t *testing.T) {
	s := startFanOut(t, Config{Limits: Limits{SocketOperations: 2}})
	v := s.connectAs(t, "")
	v.subscribe("1", subscribeToA)
	v.subscribe("2", subscribeToA)
	eventually(t, "both are subscribed", func() bool { return s.Running("told") == 2 })
	v.subscribe("3", subscribeToA)
	v.wantError("3", errcode.RateLimited)
	v.subscribe("1", subscribeToA)
	v.wantClose(statusDuplicateID)
}

func TestReconnectReplaysMissedUpdates(t *testing.T) {
	s := startFanOut(t, Config{})
	for range 50 {
		s.Publish("a", "x")
	}
	var all []*wsClient
	for range 20 {
		all = append(all, s.subscribeAll(t, "", `subscription { told(topic: "a", after: 10) { number text } }`)...)
	}
	for _, v := range all {
		for n := 11; n <= 50; n++ {
			v.wantMessages(newsMessage(n, "x"))
		}
	}
	if n := s.executions(); n != 40 {
		t.Errorf("got %v executions, want 40", n)
	}
}

func TestEndFollowsEarlierUpdates(t *testing.T) {
	s := startFanOut(t, Config{})
	all := s.subscribeAll(t, "", subscribeToA, subscribeToA)
	s.Publish("a", "x")
	s.EndTopic("a", nil)
	for _, v := range all {
		v.wantMessages(newsMessage(1, "x"), `{"type":"complete","id":"1"}`)
		v.wantPong()
	}
	eventually(t, "no client is subscribed", func() bool { return s.Running("told") == 0 })
	failing := s.subscribeAll(t, "", `subscription { told(topic: "b") { text } }`)[0]
	s.EndTopic("b", &gqlerror.Error{Message: "no more", Extensions: map[string]any{"code": errcode.Unauthenticated}})
	failing.wantError("1", errcode.Unauthenticated)
	failing.wantPong()
}

func TestTransientFailuresAreRetried(t *testing.T) {
	unavailable := &gqlerror.Error{Message: "unavailable", Extensions: map[string]any{"code": errcode.Unavailable}}
	for _, tt := range []struct {
		name, selection  string
		breaks           string
		with             []any
		want             string // after the number
		minTime, maxTime time.Duration
	}{
		{"unavailable store", "text", "load", []any{errors.New("1"), errors.New("2"), errors.New("3")}, `"text":"x"`, 600 * time.Millisecond, 800 * time.Millisecond},
		{"unavailable field", "fragile", "fragile", []any{unavailable, unavailable}, `"fragile":"x"`, 250 * time.Millisecond, 400 * time.Millisecond},
		{"resolver panics once", "fragile", "fragile", []any{"oh"}, `"fragile":"x"`, 50 * time.Millisecond, 200 * time.Millisecond},
		{"load panics once", "text", "load", []any{"oh"}, `"text":"x"`, 50 * time.Millisecond, 200 * time.Millisecond},
		{"encoding panics once", "beat", "beat", []any{errors.New("oh")}, `"beat":1`, 0, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPipeServer(t, Config{}, &http.Server{})
				s.InjectFault(tt.breaks, tt.with...)
				v := s.subscribeAll(t, "", `subscription { told(topic: "a") { number `+tt.selection+` } }`)[0]
				begin := time.Now()
				s.Publish("a", "x")
				v.wantMessages(nextMessage("1", `{"data":{"told":{"number":1,`+tt.want+`}}}`))
				if took := time.Since(begin); took < tt.minTime || took > tt.maxTime {
					t.Errorf("delivered after %v, want %v to %v", took, tt.minTime, tt.maxTime)
				}
			})
		})
	}
}

func TestPanicIsReportedAndNextUpdateWorks(t *testing.T) {
	for field, with := range map[string]any{"fragile": "oh", "beat": errors.New("oh")} {
		t.Run(field, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPipeServer(t, Config{}, &http.Server{})
				all := s.subscribeAll(t, "", `subscription { told(topic: "a") { number `+field+` } }`, `subscription { told(topic: "a") { number `+field+` } }`)
				// One execution makes at most ten attempts. If the worker starts before the second
				// client is in its queue, it executes the update for each client.
				for range 2 * 10 {
					s.InjectFault(field, with)
				}
				s.Publish("a", "1")
				for _, v := range all {
					if got, err := v.read(); err != nil || !strings.Contains(got, errcode.Internal) || strings.Contains(got, "secret") || !strings.HasPrefix(got, `{"type":"next","id":"1"`) {
						t.Errorf("got %s, %v, want an internal error", got, err)
					}
				}
				for range 10 { // until the field works again
					s.Publish("a", "1")
				}
				for _, v := range all {
					last := ""
					for range 10 {
						last, _ = v.read()
					}
					if strings.Contains(last, "errors") {
						t.Errorf("got %s, want no errors", last)
					}
				}
			})
		})
	}
}

// A panickingSink panics at its first message. It delays the end until allowEnd closes.
type panickingSink struct {
	sink
	once     sync.Once
	allowEnd chan struct{}
}

func (b *panickingSink) appendNext(out []byte, m *subscriber, payload []byte, u *broadcast.Update) []byte {
	b.once.Do(func() { panic("oh") })
	return b.sink.appendNext(out, m, payload, u)
}

func (b *panickingSink) finishSubscriber(m *subscriber, err error) {
	<-b.allowEnd
	b.sink.finishSubscriber(m, err)
}

// A client that lost an update gets an error and nothing after it.
func TestNothingFollowsUpdateLostToPanic(t *testing.T) {
	s := startFanOut(t, Config{})
	v := s.subscribeAll(t, "", subscribeToA)[0]
	may := make(chan struct{})
	b := s.server.broadcasts
	b.mu.Lock()
	for _, p := range b.executions {
		for m := range p.subscribers {
			m.sink = &panickingSink{sink: m.sink, allowEnd: may}
		}
	}
	b.mu.Unlock()
	for range 3 {
		s.Publish("a", "x")
		eventually(t, "the worker is idle", func() bool {
			b.mu.Lock()
			defer b.mu.Unlock()
			for _, p := range b.executions {
				p.mu.Lock()
				defer p.mu.Unlock()
				if p.working || len(p.queue) > 0 {
					return false
				}
			}
			return true
		})
	}
	close(may)
	v.wantError("1", errcode.Internal)
	v.wantPong()
}

// Slow loads cost latency and not work. Loading fewer at a time would prolong a replay until
// every waiting client has disconnected.
func TestSlowLoadsRunInParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		v := s.subscribeAll(t, "", subscribeToA)[0]
		var m *subscriber
		s.server.broadcasts.mu.Lock()
		for _, p := range s.server.broadcasts.executions {
			for member := range p.subscribers {
				m = member
			}
		}
		s.server.broadcasts.mu.Unlock()
		const updates, each = 5 * loadAhead, 400 * time.Millisecond
		begin := time.Now()
		for i := range updates {
			m.Push(&broadcast.Update{Seq: int64(i + 1), Load: func(ctx context.Context) (any, error) {
				return &generated.News{Number: i, Text: "x"}, clock.Sleep(ctx, each)
			}})
		}
		for i := range updates {
			v.wantMessages(newsMessage(i, "x"))
		}
		if took := time.Since(begin); took > 7*each { // loads start in the order of Push
			t.Errorf("%d updates took %v, want at most %v", updates, took, 7*each)
		}
	})
}

// A refusingSink refuses its first messages.
type refusingSink struct {
	sink
	refused chan struct{}
	once    sync.Once
}

func (r *refusingSink) offer(messages []byte) (taken bool) {
	taken = true
	r.once.Do(func() {
		taken = false
		close(r.refused)
	})
	return taken && r.sink.offer(messages)
}

// A replaySubscription replays its updates on Resume.
type replaySubscription struct {
	to      broadcast.Receiver
	updates []*broadcast.Update
}

func (r *replaySubscription) Close() {}

func (r *replaySubscription) Resume(after int64) {
	r.to.Reset()
	for _, u := range r.updates {
		if u.Seq > after {
			r.to.Push(u)
		}
	}
}

// An update that was loaded ahead for a rejected message is loaded again after a resume: its
// object may no longer exist.
func TestRejectedUpdatesAreLoadedAgain(t *testing.T) {
	s := startFanOut(t, Config{})
	v := s.subscribeAll(t, "", subscribeToA)[0]
	var m *subscriber
	b := s.server.broadcasts
	b.mu.Lock()
	for _, p := range b.executions {
		for one := range p.subscribers {
			m = one
		}
	}
	b.mu.Unlock()
	eventually(t, "the member has its subscription", func() bool {
		p := m.lock()
		defer p.mu.Unlock()
		return m.subscription != nil
	})
	const updates = loadAhead
	var loads [updates]atomic.Int64
	public := &replaySubscription{to: m}
	for i := range updates {
		public.updates = append(public.updates, &broadcast.Update{Seq: int64(i + 1), Load: func(context.Context) (any, error) {
			if loads[i].Add(1) > 1 && i == updates-1 {
				return nil, broadcast.ErrSkip
			}
			return &generated.News{Number: i, Text: "x"}, nil
		}})
	}
	refused := make(chan struct{})
	p := m.lock()
	before := m.subscription
	m.sink, m.subscription = &refusingSink{sink: m.sink, refused: refused}, public
	for _, u := range public.updates {
		p.push(delivery{u, m, m.gen.Load()})
	}
	m.started = true
	p.mu.Unlock()
	<-refused
	b.work.Wait()
	m.drained()
	for i := range updates - 1 {
		v.wantMessages(newsMessage(i, "x"))
	}
	v.wantPong()
	before.Close()
}

func TestPayloadCachesShareOneLimit(t *testing.T) {
	var total atomic.Int64
	payload := make([]byte, 3*mb)
	var caches []*payloadCache
	for range cacheTotal/len(payload) + 5 {
		m := &payloadCache{total: &total}
		u := &broadcast.Update{}
		m.add(u, payload)
		_, known := m.find(u)
		if known != (len(caches) < cacheTotal/len(payload)) {
			t.Errorf("cache %d: got stored %v, want %v", len(caches), known, !known)
		}
		caches = append(caches, m)
	}
	for _, m := range caches {
		m.clear()
	}
	if n := total.Load(); n != 0 {
		t.Errorf("got %d bytes after clear, want 0", n)
	}
	single := &payloadCache{total: &total}
	for range 5 {
		single.add(&broadcast.Update{}, payload)
	}
	if single.find(&broadcast.Update{}); single.bytes > cacheBytes || total.Load() != int64(single.bytes) {
		t.Errorf("got %d bytes, %d in total, want the same and at most %d", single.bytes, total.Load(), cacheBytes)
	}
}

func TestSlowReaderIsResumedAndBlocksNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPipeServer(t, Config{}, &http.Server{})
		all := s.subscribeAll(t, "", subscribeToA, subscribeToA)
		slow, fast := all[0], all[1]
		text := strings.Repeat("x", 20_000)
		const updates = 100 // more than fit into the queue of the slow client
		begin := time.Now()
		for n := range updates {
			s.Publish("a", text)
			fast.wantMessages(newsMessage(n+1, text))
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("the fast client waited %v, want 0", took)
		}
		if n := testutil.ToFloat64(s.server.metrics.lagged); n != 1 {
			t.Errorf("got %v lagging subscribers, want 1", n)
		}
		for n := range updates {
			slow.wantMessages(newsMessage(n+1, text))
		}
		slow.wantPong()
		fast.wantPong()
		s.Publish("a", "y")
		slow.wantMessages(newsMessage(updates+1, "y"))
	})
}

func TestLaggingSubscriberGetsEndInOrder(t *testing.T) {
	for _, cause := range []error{nil, errors.New("source failed")} {
		synctest.Test(t, func(t *testing.T) {
			s := startPipeServer(t, Config{}, &http.Server{})
			slow := s.subscribeAll(t, "", subscribeToA)[0]
			text := strings.Repeat("x", 20_000)
			const updates = 100
			for range updates {
				s.Publish("a", text)
			}
			synctest.Wait()
			s.EndTopic("a", cause)
			var n int
			var last string
			for ; ; n++ {
				if last, _ = slow.read(); last != newsMessage(n+1, text) {
					break
				}
			}
			if cause == nil && (n != updates || last != `{"type":"complete","id":"1"}`) || cause != nil && (n < 10 || !strings.Contains(last, `"type":"error"`)) {
				t.Errorf("got %.100s after %d updates, want the end", last, n)
			}
			slow.wantPong()
		})
	}
}

// A discardSink accepts and discards everything.
type discardSink struct{}

func (discardSink) appendNext(out []byte, m *subscriber, payload []byte, _ *broadcast.Update) []byte {
	return appendFrame(out, m.prefix, payload, []byte{'}'})
}

func (discardSink) offer([]byte) bool                       { return true }
func (discardSink) drains() uint64                          { return 0 }
func (discardSink) finishSubscriber(m *subscriber, _ error) { m.close() }

// A flakySink refuses messages at random. It checks that no update is missing, repeated or
// personalized for another viewer.
type flakySink struct {
	viewer string

	mu       sync.Mutex
	random   *rand.Rand
	member   *subscriber
	refused  bool
	count    uint64
	last     int64
	mismatch string
	ended    bool
}

func (c *flakySink) appendNext(out []byte, _ *subscriber, payload []byte, u *broadcast.Update) []byte {
	out = fmt.Appendf(out, "%d ", u.Seq)
	return append(append(out, payload...), '\n')
}

func (c *flakySink) offer(messages []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused || c.random.IntN(10) == 0 {
		c.refused = true
		return false
	}
	for line := range strings.Lines(string(messages)) {
		number, payload, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.last++
		viewer := ""
		if strings.Contains(payload, "viewer") {
			viewer = `,"viewer":"` + c.viewer + `"`
		}
		if want := fmt.Sprintf(`{"data":{"told":{"number":%d%s}}}`, c.last, viewer); number != strconv.FormatInt(c.last, 10) || payload != want {
			c.mismatch = fmt.Sprintf("got %s %s, want %s", number, payload, want)
		}
	}
	return true
}

func (c *flakySink) drains() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// drain lets the sink accept messages again.
func (c *flakySink) drain() {
	c.mu.Lock()
	wasRefused := c.refused
	c.refused = false
	if wasRefused {
		c.count++
	}
	c.mu.Unlock()
	if wasRefused {
		c.member.drained()
	}
}

func (c *flakySink) finishSubscriber(m *subscriber, _ error) {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	m.close()
}

func (c *flakySink) state() (last int64, wrong string, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.mismatch, c.ended
}

// TestEverySubscriberGetsEachUpdateOnce checks the main invariant: every subscriber gets every
// update once and in order, despite slow and short-lived subscribers and personal payloads.
func TestEverySubscriberGetsEachUpdateOnce(t *testing.T) {
	const members, updates = 60, 1500
	seed := testkit.Seed(t)
	h := newFanOutFixture(t)
	carriers := make([]*flakySink, members)
	stop := make(chan struct{})
	var drains, others sync.WaitGroup
	for i := range carriers {
		c := &flakySink{viewer: "user" + strconv.Itoa(i), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		document := `subscription { told(topic: "a", after: 0) { number } }`
		if i%3 == 0 {
			document = `subscription { told(topic: "a", after: 0) { number viewer } }`
		}
		var source broadcast.Source
		c.member, source = h.join(t, c, document, c.viewer)
		carriers[i] = c
		others.Go(func() { // concurrently with updates
			if err := c.member.follow(source); err != nil {
				t.Error(err)
			}
		})
		drains.Go(func() {
			for again := time.NewTicker(time.Millisecond); ; {
				select {
				case <-again.C:
					c.drain()
				case <-stop:
					return
				}
			}
		})
	}
	others.Go(func() {
		for range updates {
			h.schema.Publish("a", "x")
		}
		h.schema.EndTopic("a", nil)
	})
	others.Go(func() { // short-lived subscribers
		for range 200 {
			m, source := h.join(t, discardSink{}, `subscription { told(topic: "a", after: 0) { number } }`, "")
			var both sync.WaitGroup
			both.Go(func() {
				if err := m.follow(source); err != nil {
					t.Error(err)
				}
			})
			both.Go(m.close)
			both.Wait()
		}
	})
	others.Wait()
	for _, c := range carriers {
		eventually(t, "the subscriber has ended", func() bool { _, _, ended := c.state(); return ended })
		if last, wrong, _ := c.state(); last != updates || wrong != "" {
			t.Errorf("%s: got %d updates, want %d: %s", c.viewer, last, updates, wrong)
		}
	}
	close(stop)
	drains.Wait()
	if err := h.server.broadcasts.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.schema.Running("told"); n != 0 || len(h.server.broadcasts.executions) != 0 {
		t.Errorf("got %d subscriptions and %d executions, want none", n, len(h.server.broadcasts.executions))
	}
}

// A fanOutFixture is a server whose subscribers join without a transport.
type fanOutFixture struct {
	server *Server
	schema *gqltest.Schema
}

func newFanOutFixture(t testing.TB) *fanOutFixture {
	t.Helper()
	h := &fanOutFixture{schema: gqltest.New()}
	var err error
	if h.server, err = New(h.schema.Executable(), Config{}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *fanOutFixture) join(t testing.TB, to sink, document, viewer string) (*subscriber, broadcast.Source) {
	t.Helper()
	from := caller{key: "a", admission: AuthResult{WithContext: func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, viewer) }}}
	op, refused := h.server.start(t.Context(), from, &graphql.RawParams{Query: document})
	if refused != nil || op.run() != nil || op.source() == nil {
		t.Fatal("the subscription did not start")
	}
	defer op.close()
	return h.server.broadcasts.subscribe(t.Context(), op, to), op.source()
}

// A manualSource collects its receivers, so that a test pushes updates to them.
type manualSource struct{ to []broadcast.Receiver }

func (f *manualSource) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	f.to = append(f.to, r)
	return f, nil
}

func (*manualSource) Resume(int64) {}
func (*manualSource) Close()       {}

// BenchmarkFanOut delivers an update to 1000 subscribers, without the cost of their sinks.
func BenchmarkFanOut(b *testing.B) {
	const members = 1000
	h, source := newFanOutFixture(b), new(manualSource)
	for range members {
		m, _ := h.join(b, discardSink{}, subscribeToA, "")
		m.prefix = []byte(`{"type":"next","id":"0f6f0dd8-6f3b-4d0e-9b2f-0a4b8b1f9f5e","payload":`)
		if err := m.follow(source); err != nil {
			b.Fatal(err)
		}
		defer m.close()
	}
	b.ReportAllocs()
	for seq := int64(1); b.Loop(); seq++ {
		u := &broadcast.Update{Seq: seq, Load: func(context.Context) (any, error) {
			return &generated.News{Number: 1, Text: "What happened."}, nil
		}}
		for _, r := range source.to {
			r.Push(u)
		}
		h.server.broadcasts.work.Wait()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/members, "ns/delivery")
}
