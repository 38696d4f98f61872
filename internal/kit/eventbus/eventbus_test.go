package eventbus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

// buses returns constructors of all buses.
func buses() map[string]func(t *testing.T) Bus {
	return map[string]func(t *testing.T) Bus{
		"in the process":    func(*testing.T) Bus { return NewMemory() },
		"an embedded Redis": func(t *testing.T) Bus { return newBus(redistest.OpenEmbedded(t)) },
		"a Redis":           func(t *testing.T) Bus { return newBus(redistest.Open(t, testkit.Redis(t))) },
	}
}

func onEachBus(t *testing.T, test func(t *testing.T, b Bus)) {
	for name, make := range buses() {
		t.Run(name, func(t *testing.T) { test(t, make(t)) })
	}
}

func TestResetComesBeforeSync(t *testing.T) {
	onEachBus(t, func(t *testing.T, b Bus) {
		e := listen(b)
		begin := time.Now()
		if !e.synced().IsZero() {
			t.Error("got Synced before Run")
		}
		testkit.RunWorkers(t, b)
		testkit.Eventually(t, soon, func() bool { return e.synced().After(begin) })
		if diff := cmp.Diff([]string{"reset start"}, e.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestHandlersGetTheirTopicInOrder(t *testing.T) {
	hears := func(t *testing.T, b Bus) {
		var mu sync.Mutex
		var calls []string
		note := func(who string) func(context.Context, [][]byte) {
			return func(_ context.Context, bodies [][]byte) {
				mu.Lock()
				defer mu.Unlock()
				calls = append(calls, who+" "+string(bytes.Join(bodies, nil)))
			}
		}
		b.Subscribe("a", note("first a"))
		b.Subscribe("b", note("b"))
		b.Subscribe("a", note("second a"))
		e := listen(b)
		testkit.RunWorkers(t, b)
		e.await(t)
		var ms []Message
		for _, m := range []string{"a1", "a2", "b3", "unhandled 4", "a5", "b6", "b7"} {
			topic := strings.TrimRight(m, " 0123456789")
			ms = append(ms, Message{topic, []byte(m[len(m)-1:])})
		}
		if err := b.Publish(t.Context(), ms...); err != nil {
			t.Fatal(err)
		}
		e.await(t)
		mu.Lock()
		defer mu.Unlock()
		want := []string{"first a 12", "second a 12", "b 3", "first a 5", "second a 5", "b 67"}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Error(diff)
		}
	}
	onEachBus(t, hears)
	t.Run("a cluster of Redis", func(t *testing.T) { hears(t, newBus(redistest.Open(t, testkit.RedisCluster(t)))) })
}

func TestManyAndLargeMessagesArrive(t *testing.T) {
	onEachBus(t, func(t *testing.T, b Bus) {
		e := listen(b)
		testkit.RunWorkers(t, b)
		e.await(t)
		bodies := []string{"", "\x00\xff\r\n", strings.Repeat("x", maxBody)}
		for i := range 2*sendBatch + 1 {
			bodies = append(bodies, fmt.Sprint(i))
		}
		publish(t, b, bodies...)
		publish(t, b) // nothing
		e.await(t)
		if diff := cmp.Diff(append([]string{"reset start"}, bodies...), e.all()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestInvalidMessagesAreRejected(t *testing.T) {
	tests := []struct {
		name string
		m    Message
		want string
	}{
		{"no topic", Message{"", nil}, "topic of 0 bytes"},
		{"a long topic", Message{strings.Repeat("t", 41), nil}, "topic of 41 bytes"},
		{"a long body", Message{"t", make([]byte, maxBody+1)}, "body of 16385 bytes on topic t"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			onEachBus(t, func(t *testing.T, b Bus) {
				e := listen(b)
				testkit.RunWorkers(t, b)
				err := b.Publish(t.Context(), Message{"t", []byte("before")}, tt.m)
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want %s", err, tt.want)
				}
				e.await(t)
				if e.has("before") {
					t.Error("the previous message was published")
				}
			})
		})
	}
}

func TestCancelledPublishSendsNothing(t *testing.T) {
	onEachBus(t, func(t *testing.T, b Bus) {
		e := listen(b)
		testkit.RunWorkers(t, b)
		e.await(t)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.Publish(ended, Message{"t", []byte("late")}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		e.await(t)
		if e.has("late") {
			t.Error("the message was published")
		}
	})
}

// A handler that publishes would deadlock in one process, but not in two, so only some
// installations would fail.
func TestHandlerMayNotPublish(t *testing.T) {
	onEachBus(t, func(t *testing.T, b Bus) {
		refused := make(chan error, 1)
		b.Subscribe("ask", func(ctx context.Context, _ [][]byte) { refused <- b.Publish(ctx, Message{"t", nil}) })
		e := listen(b)
		testkit.RunWorkers(t, b)
		e.await(t)
		if err := b.Publish(t.Context(), Message{"ask", nil}); err != nil {
			t.Fatal(err)
		}
		if err := <-refused; !errors.Is(err, errHandlerPublishes) {
			t.Error(err)
		}
	})
}

func TestPanicOfHandlerResetsObservers(t *testing.T) {
	onEachBus(t, func(t *testing.T, b Bus) {
		b.Subscribe("t", func(_ context.Context, bodies [][]byte) {
			if string(bodies[0]) == "bad" {
				panic("a fault of this test")
			}
		})
		e := listen(b)
		testkit.RunWorkers(t, b)
		e.await(t)
		err := b.Publish(t.Context(), Message{"t", []byte("bad")})
		if _, local := b.(*Memory); (err != nil) != local {
			t.Errorf("Publish: %v", err)
		}
		testkit.Eventually(t, soon, func() bool { return e.has("reset panic") })
		publish(t, b, "good")
		e.await(t)
		if diff := cmp.Diff([]string{"reset start", "bad", "reset panic", "good"}, e.all()); diff != "" {
			t.Error(diff)
		}
	})
}

// When Publish of a Memory returns, its handlers have returned.
func TestMemoryDeliversBeforePublishReturns(t *testing.T) {
	b := NewMemory()
	e := listen(b)
	publish(t, b, "before Run")
	testkit.RunWorkers(t, b)
	e.await(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 100 {
				body := fmt.Sprint(i, " ", j)
				publish(t, b, body)
				if !e.has(body) {
					t.Errorf("%s was not delivered", body)
				}
			}
		})
	}
	all.Wait()
	if until := time.Until(e.synced()); until < 24*time.Hour {
		t.Errorf("got sync until %v only", until)
	}
}

type panickingObserver struct{}

func (panickingObserver) Reset(context.Context, Gap) { panic("a fault of this test") }
func (panickingObserver) Synced(time.Time)           {}

func TestMemoryDoesNotStartAfterFailedReset(t *testing.T) {
	b := NewMemory()
	e := listen(b)
	b.AddObserver(panickingObserver{})
	if err := b.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "a fault of this test") {
		t.Error(err)
	}
	if !e.synced().IsZero() {
		t.Error("got Synced after a failed reset")
	}
}
