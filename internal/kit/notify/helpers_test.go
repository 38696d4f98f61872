package notify

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// soon is the time limit for events that take milliseconds on an idle machine.
const soon = 20 * time.Second

// watch watches keys until the test ends.
func watch(t testing.TB, h *Hub, keys ...string) (list []*Watch) {
	t.Helper()
	for _, k := range keys {
		w, err := h.Watch(k)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Close)
		list = append(list, w)
	}
	return list
}

// hinted reports which of the watches have a hint, and removes it.
func hinted(list ...*Watch) []bool {
	got := make([]bool, len(list))
	for i, w := range list {
		select {
		case <-w.C():
			got[i] = true
		default:
		}
	}
	return got
}

// A fakeBus records and delivers published messages, or fails.
type fakeBus struct {
	eventbus.Memory
	mu     sync.Mutex
	fail   error
	tries  int
	bodies []string
}

func (b *fakeBus) Publish(ctx context.Context, ms ...eventbus.Message) error {
	b.mu.Lock()
	b.tries++
	if b.fail != nil {
		defer b.mu.Unlock()
		return b.fail
	}
	for _, m := range ms {
		b.bodies = append(b.bodies, string(m.Body))
	}
	b.mu.Unlock()
	return b.Memory.Publish(ctx, ms...)
}

func (b *fakeBus) failWith(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fail = err
}

func (b *fakeBus) published() (bodies []string, tries int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bodies, b.tries
}

// A syncObserver records syncs.
type syncObserver struct {
	mu sync.Mutex
	at time.Time
}

func (f *syncObserver) Reset(context.Context, eventbus.Gap) {}

func (f *syncObserver) Synced(at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = at
}

// await waits until all messages up to now have been handled.
func (f *syncObserver) await(t testing.TB) {
	t.Helper()
	now := time.Now()
	testkit.Eventually(t, soon, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.at.After(now)
	})
}

// A process has a bus and a hub of its own.
type process struct {
	*Hub
	bus  *eventbus.Redis
	sync *syncObserver
}

func startProcess(t testing.TB, rdb redis.UniversalClient, o Options) process {
	t.Helper()
	bus := eventbus.NewRedis(rdb, redisdb.NewBlockingClient, eventbus.Options{Timeout: 2 * time.Second})
	p := process{Hub: New(bus, o), bus: bus, sync: new(syncObserver)}
	bus.AddObserver(p.sync)
	testkit.RunWorkers(t, bus, p.Hub)
	p.sync.await(t)
	// The start of the bus hints all watches; later ones should not get that hint.
	begun := watch(t, p.Hub, "begun")[0]
	p.Notify("begun")
	testkit.Eventually(t, soon, func() bool { return hinted(begun)[0] })
	begun.Close()
	return p
}
