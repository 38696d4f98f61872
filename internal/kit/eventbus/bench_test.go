package eventbus

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/redistest"
)

// BenchmarkDelivery measures the time from the call of Publish to a handler of another
// client: the median and the slowest of a hundred, in microseconds. Run it on an idle
// machine, with -benchtime 200x or more.
func BenchmarkDelivery(b *testing.B) {
	url := testkit.Redis(b)
	publisher, follower := newBus(redistest.Open(b, url)), newBus(redistest.Open(b, url))
	received := make(chan time.Time, 1)
	follower.Subscribe("t", func(context.Context, [][]byte) { received <- time.Now() })
	e := new(recorder)
	follower.AddObserver(e)
	testkit.RunWorkers(b, follower)
	e.await(b)
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		begin := time.Now()
		if err := publisher.Publish(b.Context(), Message{"t", []byte("shop 1234567")}); err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-received).Sub(begin))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkMemoryPublish(b *testing.B) {
	l := NewMemory()
	l.Subscribe("t", func(context.Context, [][]byte) {})
	body := []byte("shop 1234567")
	for b.Loop() {
		if err := l.Publish(b.Context(), Message{"t", body}); err != nil {
			b.Fatal(err)
		}
	}
}
