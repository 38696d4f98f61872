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

// startBroadcasts is start, and checks in the end that no subscription has left
// anything.
func startBroadcasts(t *testing.T, cfg Config) *socketSite {
	t.Helper()
	s := start(t, cfg)
	t.Cleanup(func() { testkit.Eventually(t, patience, func() bool { return s.left() == "" }) })
	return s
}

// left says what subscriptions have left, "" for nothing.
func (s *socketSite) left() string {
	b := s.server.broadcasts
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := fmt.Sprint(len(b.executions), s.server.sessions.held(), s.Running("told"), s.counts(b.server.metrics.subscriptions, b.server.metrics.selections, s.server.sockets.metrics.operations)); got != "0 0 0 [0 0 0]" {
		return got
	}
	return ""
}

func (s *socketSite) counts(of ...prometheus.Gauge) (list []float64) {
	for _, g := range of {
		list = append(list, testutil.ToFloat64(g))
	}
	return list
}

// follow opens sockets that subscribe, each with an operation "1", to the topic "a".
func (s *socketSite) follow(t *testing.T, token string, documents ...string) []*visitor {
	t.Helper()
	before := s.Running("told")
	var list []*visitor
	for _, document := range documents {
		v := s.enter(t, token)
		v.subscribe("1", document)
		list = append(list, v)
	}
	eventually(t, "all follow", func() bool { return s.Running("told") == before+len(documents) })
	return list
}

func (s *socketSite) executions() float64 { return testutil.ToFloat64(s.server.metrics.executions) }

const ofA = `subscription { told(topic: "a") { number text } }`

func nextMessage(id, data string) string {
	return `{"type":"next","id":"` + id + `","payload":` + data + `}`
}

// news is what a subscription to number and text is sent.
func news(number int, text string) string {
	return nextMessage("1", `{"data":{"told":{"number":`+strconv.Itoa(number)+`,"text":"`+text+`"}}}`)
}

func TestOneExecutionServesAllWhoWantTheSame(t *testing.T) {
	s := startBroadcasts(t, Config{Limits: Limits{SocketsPerAddress: 200}})
	documents := []string{
		ofA,
		"subscription   Named {\n  told(topic: \"a\") {\n number,\n text } }",
		`subscription { told(topic: "a") { ...F } } fragment F on News { number text }`,
		`subscription { told(topic: "a", after: 0) { number text } }`,
		`subscription { told(topic: "a") { number item @skip(if: true) { id } text @include(if: true) } }`,
	}
	var all []*visitor
	for range 20 {
		all = append(all, s.follow(t, "", documents[0], documents[1], documents[3], documents[4])...)
	}
	inlined := s.follow(t, "", documents[2])
	for i := range 3 {
		s.Tell("a", "x")
		for _, v := range append(all, inlined...) {
			v.wants(news(i+1, "x"))
		}
		if n := s.executions(); n != float64(2*i+2) {
			t.Fatalf("%v executions after %d updates of 2 selections", n, i+1)
		}
	}
	eventually(t, "all deliveries are counted", func() bool { // a pipe counts them after it sent them
		return testutil.ToFloat64(s.server.metrics.deliveries) == 3*81
	})
	for _, v := range all {
		v.lives()
	}
}

func TestEachSelectionIsExecutedForItself(t *testing.T) {
	s := startBroadcasts(t, Config{})
	all := s.follow(t, "", `subscription { told(topic: "a") { number } }`, `subscription { told(topic: "a") { text } }`,
		`subscription { news: told(topic: "a") { text } }`, `subscription { told(topic: "b") { text } }`)
	s.Tell("a", "x")
	for i, data := range []string{`{"told":{"number":1}}`, `{"told":{"text":"x"}}`, `{"news":{"text":"x"}}`} {
		all[i].wants(nextMessage("1", `{"data":`+data+`}`))
	}
	s.Tell("b", "y") // which has the selection of another
	all[3].wants(nextMessage("1", `{"data":{"told":{"text":"y"}}}`))
	for _, v := range all {
		v.lives()
	}
	if n := s.executions(); n != 4 {
		t.Errorf("%v executions", n)
	}
	if n := testutil.ToFloat64(s.server.metrics.selections); n != 3 {
		t.Errorf("%v selections", n)
	}
}

func TestAnAnswerThatDependsOnWhoAsksReachesNobodyElse(t *testing.T) {
	s := startBroadcasts(t, Config{})
	const document = `subscription { told(topic: "a", after: 0) { number viewer } }`
	wants := func(v *visitor, number int, viewer string) {
		t.Helper()
		v.wants(nextMessage("1", fmt.Sprintf(`{"data":{"told":{"number":%d,"viewer":%q}}}`, number, viewer)))
	}
	var all []*visitor
	name := func(i int) string { return "user" + strconv.Itoa(i) }
	for i := range 10 {
		all = append(all, s.follow(t, name(i), document)...)
	}
	for n := range 5 {
		s.Tell("a", "x")
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
		v.lives()
	}
	late := s.follow(t, "late", document)
	for n := range 5 {
		wants(late[0], n+1, "late")
	}
	if n := testutil.ToFloat64(s.server.metrics.selections); n != 11 {
		t.Errorf("%v selections", n)
	}
	if n := testutil.ToFloat64(s.server.metrics.personal); n != 1 {
		t.Errorf("%v personal selections", n)
	}
}

// Many updates wait when the first of them shows that they depend on who asks.
func TestASplitPipeHandsOnWhatWaitsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		s.Break("load", errors.New("away"), errors.New("away"))
		var all []*visitor
		for i := range 5 {
			all = append(all, s.follow(t, "user"+strconv.Itoa(i), `subscription { told(topic: "a") { number viewer } }`)...)
		}
		const updates = 100
		for range updates {
			s.Tell("a", "x")
		}
		for i, v := range all {
			for n := range updates {
				v.wants(nextMessage("1", fmt.Sprintf(`{"data":{"told":{"number":%d,"viewer":"user%d"}}}`, n+1, i)))
			}
			v.lives()
		}
	})
}

func TestWhoCompletesHearsNothingMoreAndTheLastClosesThePipe(t *testing.T) {
	s := startBroadcasts(t, Config{})
	all := s.follow(t, "", ofA, ofA)
	s.Tell("a", "x")
	for i, v := range all {
		v.wants(news(1, "x"))
		v.send(`{"type":"complete","id":"1"}`)
		v.lives()
		if n := s.Running("told"); n != 1-i {
			t.Errorf("%d follow", n)
		}
	}
	if left := s.left(); left != "" {
		t.Errorf("left: %s", left)
	}
	s.Tell("a", "y")
	all[0].subscribe("1", ofA)
	eventually(t, "it follows again", func() bool { return s.Running("told") == 1 })
	s.Tell("a", "z")
	all[0].wants(news(3, "z"))
	all[1].lives()
}

func TestAMemberCountsAsAnOperation(t *testing.T) {
	s := startBroadcasts(t, Config{Limits: Limits{SocketOperations: 2}})
	v := s.enter(t, "")
	v.subscribe("1", ofA)
	v.subscribe("2", ofA)
	eventually(t, "both follow", func() bool { return s.Running("told") == 2 })
	v.subscribe("3", ofA)
	v.wantsError("3", errcode.RateLimited)
	v.subscribe("1", ofA)
	v.wantsClose(statusDuplicateID)
}

func TestWhoComesAgainIsToldWhatItMissed(t *testing.T) {
	s := startBroadcasts(t, Config{})
	for range 50 {
		s.Tell("a", "x")
	}
	var all []*visitor
	for range 20 {
		all = append(all, s.follow(t, "", `subscription { told(topic: "a", after: 10) { number text } }`)...)
	}
	for _, v := range all {
		for n := 11; n <= 50; n++ {
			v.wants(news(n, "x"))
		}
	}
	if n := s.executions(); n != 40 {
		t.Errorf("%v executions", n)
	}
}

func TestTheEndComesBehindWhatWasToldBefore(t *testing.T) {
	s := startBroadcasts(t, Config{})
	v := s.follow(t, "", ofA, ofA)
	s.Tell("a", "x")
	s.End("a", nil)
	for _, v := range v {
		v.wants(news(1, "x"), `{"type":"complete","id":"1"}`)
		v.lives()
	}
	eventually(t, "nobody follows", func() bool { return s.Running("told") == 0 })
	failing := s.follow(t, "", `subscription { told(topic: "b") { text } }`)[0]
	s.End("b", &gqlerror.Error{Message: "no more", Extensions: map[string]any{"code": errcode.Unauthenticated}})
	failing.wantsError("1", errcode.Unauthenticated)
	failing.lives()
}

func TestWhatGoesByIsTriedAgain(t *testing.T) {
	away := &gqlerror.Error{Message: "away", Extensions: map[string]any{"code": errcode.Unavailable}}
	for _, tt := range []struct {
		name, selection string
		breaks          string
		with            []any
		want            string // beside the number
		atLeast, atMost time.Duration
	}{
		{"the store is away", "text", "load", []any{errors.New("1"), errors.New("2"), errors.New("3")}, `"text":"x"`, 600 * time.Millisecond, 800 * time.Millisecond},
		{"a field is", "fragile", "fragile", []any{away, away}, `"fragile":"x"`, 250 * time.Millisecond, 400 * time.Millisecond},
		{"a resolver panics once", "fragile", "fragile", []any{"oh"}, `"fragile":"x"`, 50 * time.Millisecond, 200 * time.Millisecond},
		{"a load panics once", "text", "load", []any{"oh"}, `"text":"x"`, 50 * time.Millisecond, 200 * time.Millisecond},
		{"it panics while it is written", "beat", "beat", []any{errors.New("oh")}, `"beat":1`, 0, time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPiped(t, Config{}, &http.Server{})
				s.Break(tt.breaks, tt.with...)
				v := s.follow(t, "", `subscription { told(topic: "a") { number `+tt.selection+` } }`)[0]
				begin := time.Now()
				s.Tell("a", "x")
				v.wants(nextMessage("1", `{"data":{"told":{"number":1,`+tt.want+`}}}`))
				if took := time.Since(begin); took < tt.atLeast || took > tt.atMost {
					t.Errorf("after %v", took)
				}
			})
		})
	}
}

func TestAPanicReachesItsClientsAndTheNextUpdateWorks(t *testing.T) {
	for field, with := range map[string]any{"fragile": "oh", "beat": errors.New("oh")} {
		t.Run(field, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPiped(t, Config{}, &http.Server{})
				all := s.follow(t, "", `subscription { told(topic: "a") { number `+field+` } }`, `subscription { told(topic: "a") { number `+field+` } }`)
				// One execution tries ten times at most. The worker may start before the
				// second client is in its queue; then it executes the update for each.
				for range 2 * 10 {
					s.Break(field, with)
				}
				s.Tell("a", "1")
				for _, v := range all {
					if got, err := v.read(); err != nil || !strings.Contains(got, errcode.Internal) || strings.Contains(got, "secret") || !strings.HasPrefix(got, `{"type":"next","id":"1"`) {
						t.Errorf("got %s, %v", got, err)
					}
				}
				for range 10 { // until it works again
					s.Tell("a", "1")
				}
				for _, v := range all {
					last := ""
					for range 10 {
						last, _ = v.read()
					}
					if strings.Contains(last, "errors") {
						t.Errorf("got %s", last)
					}
				}
			})
		})
	}
}

// A breaking carrier panics at its first message, and tells the end when it may.
type breaking struct {
	sink
	once sync.Once
	may  chan struct{}
}

func (b *breaking) appendNext(out []byte, m *subscriber, payload []byte, u *broadcast.Update) []byte {
	b.once.Do(func() { panic("oh") })
	return b.sink.appendNext(out, m, payload, u)
}

func (b *breaking) finishSubscriber(m *subscriber, err error) {
	<-b.may
	b.sink.finishSubscriber(m, err)
}

// Who has lost an update is told that, and nothing behind it.
func TestNothingComesBehindWhatAPanicOfTheWorkerLost(t *testing.T) {
	s := startBroadcasts(t, Config{})
	v := s.follow(t, "", ofA)[0]
	may := make(chan struct{})
	b := s.server.broadcasts
	b.mu.Lock()
	for _, p := range b.executions {
		for m := range p.subscribers {
			m.sink = &breaking{sink: m.sink, may: may}
		}
	}
	b.mu.Unlock()
	for range 3 {
		s.Tell("a", "x")
		eventually(t, "the worker is done", func() bool {
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
	v.wantsError("1", errcode.Internal)
	v.lives()
}

// Where a load takes long it is the wait that costs, and not how much is loaded: to ask for
// less at a time would make a replay longer, until all who wait for one have gone.
func TestSlowLoadsAreMadeTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		v := s.follow(t, "", ofA)[0]
		var m *subscriber
		s.server.broadcasts.mu.Lock()
		for _, p := range s.server.broadcasts.executions {
			for one := range p.subscribers {
				m = one
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
			v.wants(news(i, "x"))
		}
		if took := time.Since(begin); took > 7*each { // what was pushed first is loaded first
			t.Errorf("%d updates took %v", updates, took)
		}
	})
}

// A refusing carrier takes nothing once.
type refusing struct {
	sink
	refused chan struct{}
	once    sync.Once
}

func (r *refusing) offer(messages []byte) (taken bool) {
	taken = true
	r.once.Do(func() {
		taken = false
		close(r.refused)
	})
	return taken && r.sink.offer(messages)
}

// A replay is a following that tells some updates again.
type replay struct {
	to      broadcast.Receiver
	updates []*broadcast.Update
}

func (r *replay) Close() {}

func (r *replay) Resume(after int64) {
	r.to.Reset()
	for _, u := range r.updates {
		if u.Seq > after {
			r.to.Push(u)
		}
	}
}

// What was loaded for somebody who then took nothing is loaded anew when it is told again:
// it may have gone since.
func TestNothingIsKeptThatWasLoadedAheadInVain(t *testing.T) {
	s := startBroadcasts(t, Config{})
	v := s.follow(t, "", ofA)[0]
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
	public := &replay{to: m}
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
	m.sink, m.subscription = &refusing{sink: m.sink, refused: refused}, public
	for _, u := range public.updates {
		p.push(delivery{u, m, m.gen.Load()})
	}
	m.started = true
	p.mu.Unlock()
	<-refused
	b.work.Wait()
	m.drained()
	for i := range updates - 1 {
		v.wants(news(i, "x"))
	}
	v.lives()
	before.Close()
}

func TestMemosOfAllSelectionsHaveOneBound(t *testing.T) {
	var total atomic.Int64
	payload := make([]byte, 3*mb)
	var memos []*payloadCache
	for range cacheTotal/len(payload) + 5 {
		m := &payloadCache{total: &total}
		u := &broadcast.Update{}
		m.add(u, payload)
		_, known := m.find(u)
		if known != (len(memos) < cacheTotal/len(payload)) {
			t.Errorf("memo %d: remembered is %v", len(memos), known)
		}
		memos = append(memos, m)
	}
	for _, m := range memos {
		m.clear()
	}
	if n := total.Load(); n != 0 {
		t.Errorf("%d bytes are counted of no memo", n)
	}
	one := &payloadCache{total: &total}
	for range 5 {
		one.add(&broadcast.Update{}, payload)
	}
	if one.find(&broadcast.Update{}); one.bytes > cacheBytes || total.Load() != int64(one.bytes) {
		t.Errorf("%d bytes, %d in all", one.bytes, total.Load())
	}
}

func TestWhoReadsSlowlyIsResumedAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := startPiped(t, Config{}, &http.Server{})
		all := s.follow(t, "", ofA, ofA)
		slow, quick := all[0], all[1]
		text := strings.Repeat("x", 20_000)
		const updates = 100 // of which the slow one's queue takes a few
		begin := time.Now()
		for n := range updates {
			s.Tell("a", text)
			quick.wants(news(n+1, text))
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("the quick one waited %v", took)
		}
		if n := testutil.ToFloat64(s.server.metrics.lagged); n != 1 {
			t.Errorf("%v fell behind", n)
		}
		for n := range updates {
			slow.wants(news(n+1, text))
		}
		slow.lives()
		quick.lives()
		s.Tell("a", "y")
		slow.wants(news(updates+1, "y"))
	})
}

func TestWhoFellBehindIsToldTheEndInOrder(t *testing.T) {
	for _, why := range []error{nil, errors.New("it ended")} {
		synctest.Test(t, func(t *testing.T) {
			s := startPiped(t, Config{}, &http.Server{})
			slow := s.follow(t, "", ofA)[0]
			text := strings.Repeat("x", 20_000)
			const updates = 100
			for range updates {
				s.Tell("a", text)
			}
			synctest.Wait()
			s.End("a", why)
			var n int
			var last string
			for ; ; n++ {
				if last, _ = slow.read(); last != news(n+1, text) {
					break
				}
			}
			if why == nil && (n != updates || last != `{"type":"complete","id":"1"}`) || why != nil && (n < 10 || !strings.Contains(last, `"type":"error"`)) {
				t.Errorf("after %d updates came %.100s", n, last)
			}
			slow.lives()
		})
	}
}

// An idleCarrier takes everything and does nothing.
type idleCarrier struct{}

func (idleCarrier) appendNext(out []byte, m *subscriber, payload []byte, _ *broadcast.Update) []byte {
	return appendFrame(out, m.prefix, payload, []byte{'}'})
}

func (idleCarrier) offer([]byte) bool                       { return true }
func (idleCarrier) drains() uint64                          { return 0 }
func (idleCarrier) finishSubscriber(m *subscriber, _ error) { m.close() }

// A moodyCarrier takes what it likes to, and checks that nothing is missing, comes twice,
// or is somebody else's.
type moodyCarrier struct {
	viewer string

	mu      sync.Mutex
	random  *rand.Rand
	member  *subscriber
	refused bool
	count   uint64
	last    int64
	wrong   string
	ended   bool
}

func (c *moodyCarrier) appendNext(out []byte, _ *subscriber, payload []byte, u *broadcast.Update) []byte {
	out = fmt.Appendf(out, "%d ", u.Seq)
	return append(append(out, payload...), '\n')
}

func (c *moodyCarrier) offer(messages []byte) bool {
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
			c.wrong = fmt.Sprintf("got %s %s, want %s", number, payload, want)
		}
	}
	return true
}

func (c *moodyCarrier) drains() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// drain lets it take more again.
func (c *moodyCarrier) drain() {
	c.mu.Lock()
	was := c.refused
	c.refused = false
	if was {
		c.count++
	}
	c.mu.Unlock()
	if was {
		c.member.drained()
	}
}

func (c *moodyCarrier) finishSubscriber(m *subscriber, _ error) {
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	m.close()
}

func (c *moodyCarrier) state() (last int64, wrong string, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last, c.wrong, c.ended
}

// TestNobodyMissesAnythingOrHearsItTwice is the law: whoever is slow, comes or goes, and
// whatever depends on who asks, each member gets all, once and in order.
func TestNobodyMissesAnythingOrHearsItTwice(t *testing.T) {
	const members, updates = 60, 1500
	seed := testkit.Seed(t)
	h := newHall(t)
	carriers := make([]*moodyCarrier, members)
	stop := make(chan struct{})
	var drains, others sync.WaitGroup
	for i := range carriers {
		c := &moodyCarrier{viewer: "user" + strconv.Itoa(i), random: rand.New(rand.NewPCG(seed, uint64(i)))}
		document := `subscription { told(topic: "a", after: 0) { number } }`
		if i%3 == 0 {
			document = `subscription { told(topic: "a", after: 0) { number viewer } }`
		}
		var source broadcast.Source
		c.member, source = h.join(t, c, document, c.viewer)
		carriers[i] = c
		others.Go(func() { // while it is told
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
			h.schema.Tell("a", "x")
		}
		h.schema.End("a", nil)
	})
	others.Go(func() { // some come and go
		for range 200 {
			m, source := h.join(t, idleCarrier{}, `subscription { told(topic: "a", after: 0) { number } }`, "")
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
		eventually(t, "it has ended", func() bool { _, _, ended := c.state(); return ended })
		if last, wrong, _ := c.state(); last != updates || wrong != "" {
			t.Errorf("%s got %d: %s", c.viewer, last, wrong)
		}
	}
	close(stop)
	drains.Wait()
	if err := h.server.broadcasts.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := h.schema.Running("told"); n != 0 || len(h.server.broadcasts.executions) != 0 {
		t.Errorf("%d are told, %d pipes are left", n, len(h.server.broadcasts.executions))
	}
}

// A hall is a door where members come without a transport.
type hall struct {
	server *Server
	schema *gqltest.Schema
}

func newHall(t testing.TB) *hall {
	t.Helper()
	h := &hall{schema: gqltest.New()}
	var err error
	if h.server, err = New(h.schema.Executable(), Config{}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *hall) join(t testing.TB, to sink, document, viewer string) (*subscriber, broadcast.Source) {
	t.Helper()
	current := caller{key: "a", admission: AuthResult{WithContext: func(ctx context.Context) context.Context { return gqltest.WithViewer(ctx, viewer) }}}
	op, refused := h.server.start(t.Context(), current, &graphql.RawParams{Query: document})
	if refused != nil || op.run() != nil || op.source() == nil {
		t.Fatal("it does not begin")
	}
	defer op.close()
	return h.server.broadcasts.subscribe(t.Context(), op, to), op.source()
}

// A feed is a source that tells those who follow it what a test says.
type feed struct{ to []broadcast.Receiver }

func (f *feed) Subscribe(r broadcast.Receiver) (broadcast.Subscription, error) {
	f.to = append(f.to, r)
	return f, nil
}

func (*feed) Resume(int64) {}
func (*feed) Close()       {}

// BenchmarkFanOut is what it costs to hand an update to 1000 members, without what their
// carriers do with it.
func BenchmarkFanOut(b *testing.B) {
	const members = 1000
	h, source := newHall(b), new(feed)
	for range members {
		m, _ := h.join(b, idleCarrier{}, ofA, "")
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
