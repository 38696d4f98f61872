package flashsale

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// BenchmarkConsumer stores orders from a stream with the durability of the test Postgres. Run
// it where fsync is on.
func BenchmarkConsumer(b *testing.B) {
	benchmark(b, func(b *testing.B, r *rig) {
		v := r.sale(b, b.N, -time.Hour, time.Hour)
		fill(b, r, v, b.N)
		ctx, stop := context.WithCancel(b.Context())
		var done sync.WaitGroup
		b.ResetTimer()
		done.Go(func() { _ = r.Consume(ctx) })
		for r.Redis.XLen(b.Context(), r.admitter.keys.orders(v.Partition)).Val() > 0 {
			time.Sleep(time.Millisecond)
		}
		b.StopTimer()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
		stop()
		done.Wait()
		if left := r.stock(b, v); left != 0 {
			b.Errorf("got %d left, want 0", left)
		}
	})
}

// BenchmarkCommit runs only the transactions, with two workers.
func BenchmarkCommit(b *testing.B) {
	for _, size := range []int{50, 200, 500} {
		b.Run(fmt.Sprint("batch-", size), func(b *testing.B) {
			benchmark(b, func(b *testing.B, r *rig) {
				v := r.sale(b, b.N, -time.Hour, time.Hour)
				batches := make(chan []attempt, b.N/size+1)
				for user := 0; user < b.N; user += size {
					var batch []attempt
					for i := user; i < min(user+size, b.N); i++ {
						batch = append(batch, numbered(v, i))
					}
					batches <- batch
				}
				close(batches)
				b.ResetTimer()
				var workers sync.WaitGroup
				for range 2 {
					workers.Go(func() {
						for batch := range batches {
							if _, err := r.writer.commit(b.Context(), batch); err != nil {
								b.Error(err)
							}
						}
					})
				}
				workers.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "orders/s")
			})
		})
	}
}

func benchmark(b *testing.B, run func(*testing.B, *rig)) {
	b.Helper()
	run(b, newRig(b, storetest.Real(b), rigOptions{}))
}

// numbered returns the order of user i+1.
func numbered(v sale.Request, i int) attempt {
	return attempt{Entry: Entry{
		Order: int64(i+1)<<partitionBits | int64(v.Partition), User: int64(i + 1), Voucher: v.VoucherID, Shop: v.ShopID, Price: v.Price, At: time.Now(),
	}, final: true}
}

// fill adds entries to the stream of a sale as admit.lua does.
func fill(b *testing.B, r *rig, v sale.Request, n int) {
	b.Helper()
	for from := 0; from < n; from += 500 {
		pipe := r.Redis.Pipeline()
		for i := from; i < min(from+500, n); i++ {
			e := numbered(v, i)
			pipe.XAdd(b.Context(), &redis.XAddArgs{Stream: r.admitter.keys.orders(v.Partition), Values: []any{
				"v", e.Voucher, "u", e.User, "o", e.Order, "s", e.Shop, "p", e.Price, "t", e.At.UnixMilli(), "k", "",
			}})
		}
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
