package eventbus

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the time limit for events that take milliseconds on an idle machine.
const soon = 20 * time.Second

// newBus returns a bus with a longer timeout than in a server: other tests may load the
// machine.
func newBus(rdb redis.UniversalClient) *Redis {
	return NewRedis(rdb, redisdb.NewBlockingClient, Options{Timeout: 2 * time.Second})
}

// A recorder observes a bus and handles the topic "t".
type recorder struct {
	mu        sync.Mutex
	calls     []string // "reset WHY" and bodies
	at        time.Time
	syncs     int
	before    int               // syncs before the last reset
	onMessage func(body string) // called before a body is recorded; may be nil
}

func listen(b Bus) *recorder {
	e := new(recorder)
	b.AddObserver(e)
	b.Subscribe("t", e.handle)
	return e
}

func (e *recorder) handle(_ context.Context, bodies [][]byte) {
	for _, body := range bodies {
		if e.onMessage != nil {
			e.onMessage(string(body))
		}
		e.mu.Lock()
		e.calls = append(e.calls, string(body))
		e.mu.Unlock()
	}
}

func (e *recorder) Reset(_ context.Context, why Gap) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls = append(e.calls, "reset "+string(why))
	e.before = e.syncs
}

func (e *recorder) Synced(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.at = at
	e.syncs++
}

func (e *recorder) all() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

func (e *recorder) has(what string) bool { return slices.Contains(e.all(), what) }

func (e *recorder) synced() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// await waits until all messages up to now have been handled.
func (e *recorder) await(t testing.TB) {
	t.Helper()
	now := time.Now()
	testkit.Eventually(t, soon, func() bool { return e.synced().After(now) })
}

func publish(t testing.TB, b Bus, bodies ...string) {
	t.Helper()
	var ms []Message
	for _, body := range bodies {
		ms = append(ms, Message{"t", []byte(body)})
	}
	if err := b.Publish(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
}
