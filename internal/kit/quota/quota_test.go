package quota

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ann, bob = int64(7), int64(8) // users

// process has the limits of one process.
type process struct {
	*Set
	rdb redis.UniversalClient
	reg *prometheus.Registry

	mu      sync.Mutex
	created time.Time // creation time of all accounts
	unknown bool      // the age of accounts is unknown
}

func open(t *testing.T, on storetest.Stores) *process {
	t.Helper()
	from := storetest.Open(t, on)
	p := &process{rdb: from.Redis, reg: prometheus.NewRegistry()}
	p.Set = NewSet(Config{Redis: from.Redis, Prefix: storetest.Prefix, CreatedAt: p.createdAt, Registerer: p.reg, Log: slog.New(slog.DiscardHandler)})
	return p
}

var errNoUsers = errors.New("read users")

func (p *process) createdAt(context.Context, int64) (time.Time, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unknown {
		return time.Time{}, errNoUsers
	}
	return p.created, nil
}

func (p *process) age(age time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.created = time.Now().Add(-age)
}

// counter returns the value of a counter, or "".
func (p *process) counter(t *testing.T, l *Limit, user int64) string {
	t.Helper()
	n, err := p.rdb.Get(t.Context(), l.key(user)).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}

// failed returns the number of failures of an operation.
func (p *process) failed(t *testing.T, doing string) (n float64) {
	t.Helper()
	families, err := p.reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tandian_quota_failures_total" && m.GetLabel()[0].GetValue() == doing {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// take counts writes until a refusal, at most 1000, and returns their number.
func take(t *testing.T, l *Limit, user int64) int {
	t.Helper()
	for n := range 1000 {
		if err := l.Take(t.Context(), user).Wait(); err != nil {
			refusal(t, err)
			return n
		}
	}
	return 1000
}

// refusal returns the only error of a refusal.
func refusal(t *testing.T, err error) apierror.UserError {
	t.Helper()
	why, ok := errors.AsType[apierror.UserErrors](err)
	if !ok || len(why) != 1 || why[0].Code != LimitReached {
		t.Fatalf("got %v, want %s", err, LimitReached)
	}
	return why[0]
}

func TestProcessesShareALimit(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		one, two := open(t, on), open(t, on)
		limits := []*Limit{one.Limit("notes", 5), two.Limit("notes", 5)}
		var allowed atomic.Int64
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() {
				if limits[i%2].Take(t.Context(), ann).Wait() == nil {
					allowed.Add(1)
				}
			})
		}
		all.Wait()
		if n := allowed.Load(); n != 5 {
			t.Errorf("got %d allowed writes, want 5", n)
		}
		why := refusal(t, limits[0].Take(t.Context(), ann).Wait())
		if why.RetryAfter <= 0 || why.RetryAfter > Window || *why.RetryAfterSeconds() < 1 || !strings.Contains(why.Message, "60 minutes") {
			t.Errorf("got refusal %+v", why)
		}
		ttl, err := one.rdb.PTTL(t.Context(), limits[0].key(ann)).Result()
		if err != nil || ttl <= 0 || ttl > Window {
			t.Errorf("got TTL %v, %v", ttl, err)
		}
		if n := take(t, limits[1], bob); n != 5 {
			t.Errorf("another user: got %d writes, want 5", n)
		}
		if n := take(t, one.Limit("comments", 3), ann); n != 3 {
			t.Errorf("another kind: got %d writes, want 3", n)
		}
	})
}

func TestYoungAccountsHaveATenth(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		for i, tt := range []struct {
			perHour, want int
			age           time.Duration
			unknown       bool
		}{
			{perHour: 60, want: 6},
			{perHour: 60, want: 6, age: Young - time.Minute},
			{perHour: 60, want: 60, age: Young + time.Minute},
			{perHour: 60, want: 60, unknown: true},
			{perHour: 19, want: 1},
			{perHour: 3, want: 1},
			{perHour: 0, want: 1000},
		} {
			p.age(tt.age)
			p.unknown = tt.unknown
			user := int64(100 + i)
			l := p.Limit("notes", tt.perHour)
			if got := take(t, l, user); got != tt.want {
				t.Errorf("%+v: got %d allowed writes", tt, got)
			}
			p.unknown = false
		}
		// Refused writes do not count towards the full limit of the older account.
		p.age(0)
		l := p.Limit("notes", 60)
		take(t, l, ann)
		refusal(t, l.Take(t.Context(), ann).Wait())
		if n := p.counter(t, l, ann); n != "6" {
			t.Errorf("got counter %q, want 6", n)
		}
	})
}

func TestReleaseUncountsAWriteOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		l := p.Limit("likes", 2)
		first, second := l.Take(t.Context(), ann), l.Take(t.Context(), ann)
		if err := errors.Join(first.Wait(), second.Wait()); err != nil {
			t.Fatal(err)
		}
		refused := l.Take(t.Context(), ann)
		refusal(t, refused.Wait())
		refused.Release(t.Context())
		for range 3 {
			first.Release(t.Context())
		}
		if n := p.counter(t, l, ann); n != "1" {
			t.Errorf("got counter %q, want 1", n)
		}
		if n := take(t, l, ann); n != 1 {
			t.Errorf("got %d more writes, want 1", n)
		}
		// The counter expires before the write fails.
		p.rdb.Unlink(t.Context(), l.key(ann))
		second.Release(t.Context())
		if n := p.counter(t, l, ann); n != "" {
			t.Errorf("got counter %q without an expiry, want none", n)
		}
	})
}

func TestWritesContinueWithoutRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		l := p.Limit("notes", 1)
		take(t, l, ann)
		p.rdb.AddHook(&hook{before: func() error { return &net.OpError{Op: "dial", Err: errors.New("refused")} }})
		for range 3 {
			use := l.Take(t.Context(), ann)
			if err := use.Wait(); err != nil {
				t.Fatalf("got %v, want an allowed write", err)
			}
			use.Release(t.Context())
		}
		if n := p.failed(t, doingTake); n != 3 {
			t.Errorf("got %v failures, want 3", n)
		}
		if n := p.failed(t, doingRelease); n != 0 {
			t.Errorf("got %v failed releases of uncounted writes, want 0", n)
		}
	})
}

func TestTakeDoesNotWaitForRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		l := p.Limit("notes", 1)
		arrived, answer := make(chan struct{}), make(chan struct{})
		var once sync.Once
		p.rdb.AddHook(&hook{before: func() error {
			once.Do(func() { close(arrived) })
			<-answer
			return nil
		}})
		use := l.Take(t.Context(), ann) // must not block
		<-arrived
		select {
		case <-use.done:
			t.Error("the write was counted before the reply of Redis")
		default:
		}
		close(answer)
		if err := use.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// A client that disconnects must not escape the limit.
func TestDisconnectedCallersAreCounted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on)
		l := p.Limit("comments", 1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Take(ctx, ann).Wait(); err != nil {
			t.Fatal(err)
		}
		refusal(t, l.Take(ctx, ann).Wait())
	})
}

func TestNoLimitAllowsAll(t *testing.T) {
	var none *Limit
	use := none.Take(t.Context(), ann)
	use.Release(t.Context())
	if err := use.Wait(); use != nil || err != nil {
		t.Errorf("got %v, %v", use, err)
	}
}

// hook runs a function before each command.
type hook struct{ before func() error }

func (*hook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := h.before(); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (*hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
