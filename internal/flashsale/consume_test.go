package flashsale

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	entorder "github.com/tandian-dev/tandian/ent/order"
	"github.com/tandian-dev/tandian/internal/sale"
	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// rejectUser666 makes the database reject orders of user 666, except tombstones.
func rejectUser666(t *testing.T, r *rig) {
	t.Helper()
	statement := "ALTER TABLE orders ADD CONSTRAINT unwanted CHECK (user_id <> 666 OR status = 'FAILED')"
	if r.Dialect != "postgres" {
		statement = "CREATE TRIGGER unwanted BEFORE INSERT ON orders WHEN NEW.user_id = 666 AND NEW.status <> 'FAILED' BEGIN SELECT RAISE(ABORT, 'unwanted'); END"
	}
	if _, err := r.DB.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// Window 4: an entry that cannot be stored does not delay the others.
func TestWindow04PoisonEntryIsParked(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		rejectUser666(t, r)
		v := r.open(t, 40)
		r.runCertify(t)
		stream := r.admitter.keys.orders(v.Partition)
		var bad int64
		for user := range int64(20) {
			if user == 7 {
				bad = r.order(t, by(v, 666)).Order
				add(t, r, stream, "anything", "goes")
			}
			r.order(t, by(v, user+1))
		}
		a := r.attemptOf(t, by(v, 667)) // readable number, unreadable price
		add(t, r, stream, "o", a.Order, "v", v.VoucherID, "u", 667, "s", v.ShopID, "p", "dear", "t", 1)
		add(t, r, stream, "o", a.Order^1, "v", v.VoucherID, "u", 668, "s", 1, "p", 1, "t", 1) // of another partition
		r.run(t, r.Consume)
		r.awaitEmptyQueues(t)
		if d := cmp.Diff(map[entorder.Status]int{"UNPAID": 20, "FAILED": 2}, r.counts(t, v)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for _, number := range []int64{bad, a.Order} {
			if row := r.DB.Order.GetX(t.Context(), number); row.Status != entorder.StatusFAILED || failureOf(row) != codeNotCompleted {
				t.Errorf("rejected order: got %v", row)
			}
			if failure, ok := r.orders.outcome(number); !ok || failure != codeNotCompleted {
				t.Errorf("got decision %q, %v", failure, ok)
			}
		}
		r.checkSale(t, v, 40)
		parked := r.Redis.XRange(t.Context(), r.admitter.keys.parked(v.Partition), "-", "+").Val()
		if len(parked) != 4 {
			t.Errorf("got %d parked entries, want 4", len(parked))
		}
		for _, p := range parked {
			if p.Values["why"] == "" {
				t.Errorf("parked without a reason: %v", p.Values)
			}
		}
		if n := counterOf(t, r, "tandian_sale_queue_events_total", eventParked); n != 4 {
			t.Errorf("parked metric: got %v, want 4", n)
		}
		if n := counterOf(t, r, "tandian_sale_queue_events_total", eventBisected); n < 1 {
			t.Error("no batch was split")
		}
	})
}

func add(t *testing.T, r *rig, stream string, values ...any) string {
	t.Helper()
	id, err := r.Redis.XAdd(t.Context(), &redis.XAddArgs{Stream: stream, Values: values}).Result()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Windows 5 and 9: while the database is unavailable, nothing is acknowledged or presumed lost,
// and retries have pauses.
func TestWindow05And09NothingIsAcknowledgedWithoutDatabase(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		now := newRigClock()
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait, c.Now = -1, now.now }})
		v := r.open(t, 40)
		r.runCertify(t)
		rename := func(from, to string) {
			if _, err := r.DB.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("orders", "moved")
		var numbers []int64
		for user := range int64(9) {
			numbers = append(numbers, r.order(t, by(v, user+1)).Order)
		}
		r.run(t, r.Consume)
		testkit.Eventually(t, patience, func() bool { return counterOf(t, r, "tandian_sale_commit_failures_total") >= 3 })
		now.add(time.Minute)
		if err := r.sweep(t.Context()); err == nil {
			t.Error("a sweep without the table succeeded")
		}
		stats, err := r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if q := stats[v.Partition]; q.Pending != 9 || q.Lag != 0 || q.Oldest < 50*time.Second {
			t.Errorf("without the database: got %+v", q)
		}
		if n := counterOf(t, r, "tandian_sale_commit_failures_total"); n > 50 {
			t.Errorf("got %v commits without a pause", n)
		}
		rename("moved", "orders")
		r.awaitEmptyQueues(t)
		if d := cmp.Diff(map[entorder.Status]int{"UNPAID": 9}, r.counts(t, v)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for _, n := range numbers {
			if failure, ok := r.orders.outcome(n); !ok || failure != "" {
				t.Errorf("order %d: got decision %q, %v", n, failure, ok)
			}
		}
		r.checkSale(t, v, 40)
	})
}

// Window 10: two consumers decide the same entry.
func TestWindow10TwoConsumersOfOneEntryStoreItOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 30)
		r.runCertify(t)
		for user := range int64(40) { // ten of them are refused
			r.order(t, by(v, user+1))
		}
		entries := r.Redis.XRange(t.Context(), r.admitter.keys.orders(v.Partition), "-", "+").Val()
		var both sync.WaitGroup
		for range 4 {
			both.Go(func() {
				c := newConsumer(r.Service, nil)
				var all []delivery
				for _, m := range entries {
					all = append(all, deliveryOf(v.Partition, r.admitter.expected(v.Partition), m))
				}
				for len(all) > 0 {
					n := min(7, len(all))
					c.decide(t.Context(), all[:n])
					all = all[n:]
				}
				c.commits.Wait()
			})
		}
		both.Wait()
		if d := cmp.Diff(map[entorder.Status]int{"UNPAID": 30}, r.counts(t, v)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		r.checkSale(t, v, 30)
	})
}

// Window 3: one consumer died after its commit and another before it. The next consumer takes
// over their entries, under any name.
func TestWindow03ConsumerTakesOverFromDeadOne(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 30)
		r.runCertify(t)
		for user := range int64(10) {
			r.order(t, by(v, user+1))
		}
		stream := r.admitter.keys.orders(v.Partition)
		if err := r.Redis.XGroupCreateMkStream(t.Context(), stream, group, "0").Err(); err != nil {
			t.Fatal(err)
		}
		read, err := r.Redis.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "dead", Streams: []string{stream, ">"}, Block: -1}).Result()
		if err != nil || len(read[0].Messages) != 10 {
			t.Fatal(read, err)
		}
		var half []attempt
		claim := []any{"XCLAIM", stream, group, "dead", 0}
		for i, m := range read[0].Messages {
			if i < 5 { // stored, but not published
				half = append(half, deliveryOf(v.Partition, "", m).attempt)
			}
			claim = append(claim, m.ID)
		}
		commitAll(t, r, half...)
		if err := r.Redis.Do(t.Context(), append(claim, "IDLE", 60_000)...).Err(); err != nil { // idle for a minute
			t.Fatal(err)
		}
		r.run(t, r.Consume)
		r.awaitEmptyQueues(t)
		r.checkSale(t, v, 30)
		if n := len(r.orders.decided); n != 10 {
			t.Errorf("got %d decided orders, want 10", n)
		}
		if n := counterOf(t, r, "tandian_sale_queue_events_total", eventTakenOver); n != 10 {
			t.Errorf("taken over: got %v, want 10", n)
		}
	})
}

// An entry of a running batch may look idle and return to the same consumer.
func TestActiveEntryIsNotDecidedTwice(t *testing.T) {
	c := newConsumer(nil, nil)
	one, two := delivery{id: "1-0", partition: 1}, delivery{id: "1-0", partition: 2}
	if n := len(c.markActive([]delivery{one})); n != 1 {
		t.Errorf("got %d entries, want 1", n)
	}
	if got := c.markActive([]delivery{one, two}); len(got) != 1 || got[0].partition != 2 {
		t.Errorf("got %v, want the entry of the other partition", got)
	}
	c.clearActive([]delivery{one})
	if n := len(c.markActive([]delivery{one})); n != 1 {
		t.Errorf("got %d finished entries, want 1", n)
	}
}

// Each start of a process adds a consumer with a new name. Those of ended processes must be
// removed.
func TestIdleConsumersAreRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 30)
		r.runCertify(t)
		r.order(t, by(v, 1))
		stream := r.admitter.keys.orders(v.Partition)
		for p := range r.admitter.partitions {
			if err := r.Redis.XGroupCreateMkStream(t.Context(), r.admitter.keys.orders(p), group, "0").Err(); err != nil {
				t.Fatal(err)
			}
		}
		read, err := r.Redis.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "gone", Streams: []string{stream, ">"}, Block: -1}).Result()
		if err != nil {
			t.Fatal(err)
		}
		claim := &redis.XClaimArgs{Stream: stream, Group: group, Consumer: "busy", Messages: []string{read[0].Messages[0].ID}}
		if err := r.Redis.XClaim(t.Context(), claim).Err(); err != nil { // its entry was taken over
			t.Fatal(err)
		}
		names := func() (all []string) {
			for _, c := range r.Redis.XInfoConsumers(t.Context(), stream, group).Val() {
				all = append(all, c.Name)
			}
			return all
		}
		if err := r.admitter.removeIdleConsumers(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]string{"busy", "gone"}, names()); d != "" {
			t.Errorf("consumers (-want +got)\n%s", d)
		}
		if r.Dialect != "postgres" { // the embedded Redis has one process and ends with it
			if err := r.admitter.removeIdleConsumers(t.Context(), 0); err != nil {
				t.Error(err)
			}
			return
		}
		r.idle = 0
		r.run(t, r.Consume)
		testkit.Eventually(t, patience, func() bool { return !slices.Contains(names(), "gone") })
		if !slices.Contains(names(), "busy") {
			t.Error("a consumer with an entry was removed")
		}
		r.awaitEmptyQueues(t)
		r.checkSale(t, v, 30)
	})
}

// A stopping server does not wait for the next order.
func TestWaitingConsumerStopsAtOnce(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{})
		r.block = time.Minute // longer than the read timeout of its client
		v := r.open(t, 1)
		r.runCertify(t)
		stop := r.run(t, r.Consume)
		r.order(t, by(v, 1))
		r.awaitEmptyQueues(t) // now it waits for entries
		begin := time.Now()
		stop()
		if took := time.Since(begin); took > time.Second {
			t.Errorf("took %v, want at most a second", took)
		}
	})
}

// On a cluster each partition has a reader, and several of them block on one node.
func testPartitionReadersAreIndependent(t *testing.T, on storetest.Stores) {
	r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Partitions = PartitionsCluster }})
	r.block = 2 * time.Second
	sales := make([]sale.Request, PartitionsCluster)
	for i := range sales {
		sales[i] = r.open(t, 5)
	}
	r.runCertify(t)
	r.run(t, r.Consume)
	testkit.Eventually(t, patience, func() bool { // all have read
		return counterOf(t, r, "tandian_sale_queue_events_total", eventRemade) == PartitionsCluster
	})
	begin := time.Now()
	for _, v := range sales {
		if got := r.order(t, by(v, 1)); got.Result != sale.Stored {
			t.Errorf("partition %d: %+v", v.Partition, got)
		}
	}
	if took := time.Since(begin); took > 8*time.Second {
		t.Errorf("got %d sequential orders in %v, want at most 8 s", len(sales), took)
	}
	if n := counterOf(t, r, "tandian_sale_queue_events_total", eventFailed); n != 0 {
		t.Errorf("got %v failed Redis calls", n)
	}
}

func TestOftenDeliveredEntryIsTriedAlone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		rejectUser666(t, r)
		v := r.open(t, 30)
		r.runCertify(t)
		r.order(t, by(v, 1))
		r.order(t, by(v, 666))
		stream := r.admitter.keys.orders(v.Partition)
		if err := r.Redis.XGroupCreateMkStream(t.Context(), stream, group, "0").Err(); err != nil {
			t.Fatal(err)
		}
		read, err := r.Redis.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "dead", Streams: []string{stream, ">"}, Block: -1}).Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range read[0].Messages {
			if err := r.Redis.Do(t.Context(), "XCLAIM", stream, group, "dead", 0, m.ID, "IDLE", 60_000, "RETRYCOUNT", 9).Err(); err != nil {
				t.Fatal(err)
			}
		}
		r.run(t, r.Consume)
		r.awaitEmptyQueues(t)
		if d := cmp.Diff(map[entorder.Status]int{"UNPAID": 1, "FAILED": 1}, r.counts(t, v)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if n := counterOf(t, r, "tandian_sale_queue_events_total", eventBisected); n != 0 {
			t.Error("the entries shared a batch")
		}
		r.checkSale(t, v, 30)
	})
}

// A flush also deletes the consumer groups.
func TestFlushDoesNotMakeConsumersSpin(t *testing.T) {
	r := newRig(t, storetest.Real(t), rigOptions{})
	v := r.open(t, 30)
	r.run(t, r.Consume, r.Certify)
	r.awaitCertificates(t)
	if got := r.order(t, by(v, 1)); got.Result != sale.Stored {
		t.Errorf("before: %+v", got)
	}
	if err := testkit.AdminClient(t, r.Redis).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	testkit.AdminClient(t, r.Redis).ConfigResetStat(t.Context())
	begin := time.Now()
	testkit.Eventually(t, patience, func() bool {
		got, err := r.Order(t.Context(), by(v, 2))
		return err == nil && (got.Result == sale.Stored || got.Result == sale.Held)
	})
	for i := range 3 { // only the groups are deleted, several times
		testkit.Eventually(t, patience, func() bool {
			return r.Redis.XGroupDestroy(t.Context(), r.admitter.keys.orders(v.Partition), group).Val() == 1
		})
		testkit.Eventually(t, patience, func() bool {
			return counterOf(t, r, "tandian_sale_queue_events_total", eventRemade) >= float64(4+1+i)
		})
	}
	for user := range int64(3) {
		if got := r.order(t, by(v, user+10)); got.Result != sale.Stored && got.Result != sale.Queued {
			t.Errorf("after: %+v", got)
		}
	}
	r.awaitEmptyQueues(t)
	reads := 0
	for line := range strings.SplitSeq(r.Redis.Info(t.Context(), "commandstats").Val(), "\n") {
		if rest, ok := strings.CutPrefix(line, "cmdstat_xreadgroup:calls="); ok {
			calls, _, _ := strings.Cut(rest, ",")
			reads, _ = strconv.Atoi(calls)
		}
	}
	// Each read ends after 50 ms, or with entries, or because the group is missing.
	if limit := int(time.Since(begin)/(50*time.Millisecond)) + 30; reads > limit {
		t.Errorf("got %d reads, want at most %d", reads, limit)
	}
}

// Redis lost a buyer between the read of an entry and its commit.
func TestEntryOfAnotherIncarnationIsReservedAgain(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 30)
		r.runCertify(t)
		r.order(t, by(v, 1))
		m := r.Redis.XRange(t.Context(), r.admitter.keys.orders(v.Partition), "-", "+").Val()[0]
		r.Redis.HDel(t.Context(), r.admitter.keys.bucket(v.Partition, v.VoucherID, 0), "1")
		r.Redis.Incr(t.Context(), r.admitter.keys.stock(v.Partition, v.VoucherID))
		c := newConsumer(r.Service, nil)
		c.decide(t.Context(), []delivery{deliveryOf(v.Partition, "another", m)})
		c.commits.Wait()
		r.checkSale(t, v, 30)
	})
}

// Window 15: another process compared a Redis without the buyer with the database, before the
// commit of the order. This process has not probed Redis since.
func TestWindow15AnotherProcessCertifiedBeforeTheCommit(t *testing.T) {
	on := storetest.Real(t)
	r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
	v := r.open(t, 30)
	stop := r.run(t, r.Certify)
	r.awaitCertificates(t)
	r.order(t, by(v, 1))
	m := r.Redis.XRange(t.Context(), r.admitter.keys.orders(v.Partition), "-", "+").Val()[0]
	d := deliveryOf(v.Partition, r.admitter.expected(v.Partition), m)
	stop()
	if err := testkit.AdminClient(t, r.Redis).FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	other := newRig(t, on, rigOptions{})
	if err := other.Apply(t.Context(), v.VoucherID); err != nil {
		t.Fatal(err)
	}
	other.runCertify(t)
	c := newConsumer(r.Service, nil)
	c.decide(t.Context(), []delivery{d})
	c.commits.Wait()
	if got, err := other.Order(t.Context(), by(v, 1)); err != nil || got.Result != sale.Held || got.Order != d.Order {
		t.Errorf("holder of order %d: got %+v, %v", d.Order, got, err)
	}
	r.checkSale(t, v, 30)
}

// Where the stores differ, the database decides, and Redis gets its units back.
func TestRefusedOrdersAreReleasedInRedis(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 5)
		r.runCertify(t)
		for user := range int64(5) {
			r.order(t, by(v, user+1))
		}
		r.DB.FlashSale.UpdateOneID(v.VoucherID).SetStock(2).ExecX(t.Context())
		r.run(t, r.Consume)
		r.awaitEmptyQueues(t)
		if d := cmp.Diff(map[entorder.Status]int{"UNPAID": 2, "FAILED": 3}, r.counts(t, v)); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if left := r.stock(t, v); left != 0 {
			t.Errorf("got %d left, want 0", left)
		}
		if _, buyers := r.redisStock(t, v); buyers != 2 {
			t.Errorf("Redis has %d buyers, want 2", buyers)
		}
		if n := counterOf(t, r, "tandian_sale_orders_failed_total", codeOutOfStock); n != 3 {
			t.Errorf("failed without stock: got %v, want 3", n)
		}
	})
}

func TestStoppingConsumerFinishesItsBatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 900)
		r.runCertify(t)
		for user := range int64(300) {
			r.order(t, by(v, user+1))
		}
		stop := r.run(t, r.Consume)
		testkit.Eventually(t, patience, func() bool {
			stats, err := r.Stats(t.Context())
			return err == nil && stats[v.Partition].Lag < 300
		})
		stop()
		// Exactly the stored orders are acknowledged.
		stats, err := r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left := stats[v.Partition].Lag + stats[v.Partition].Pending
		if stored := r.counts(t, v)[entorder.StatusUNPAID]; stored+left != 300 {
			t.Errorf("got %d stored and %d left, want 300 together", stored, left)
		}
	})
}

func TestStatsReportQueueStates(t *testing.T) {
	storetest.EachAndCluster(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 30)
		stats, err := r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff([]QueueStat{{Name: "sale:0"}, {Name: "sale:1"}}, stats); d != "" {
			t.Errorf("initial stats (-want +got)\n%s", d)
		}
		r.runCertify(t)
		for user := range int64(5) {
			r.order(t, by(v, user+1))
		}
		add(t, r, r.admitter.keys.parked(v.Partition), "why", "a test")
		stream := r.admitter.keys.orders(v.Partition)
		r.Redis.XGroupCreateMkStream(t.Context(), stream, group, "0")
		_, err = r.Redis.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: group, Consumer: "any", Streams: []string{stream, ">"}, Count: 2, Block: -1}).Result()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.setQueueGauges(t.Context()); err != nil {
			t.Fatal(err)
		}
		stats, err = r.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := stats[v.Partition]
		if got.Oldest <= 0 || got.Oldest > time.Minute {
			t.Errorf("oldest %v", got.Oldest)
		}
		got.Oldest = 0
		if d := cmp.Diff(QueueStat{Name: fmt.Sprint("sale:", v.Partition), Lag: 3, Pending: 2, Parked: 1}, got); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		for name, want := range map[string]float64{"lag": 3, "pending": 2, "parked": 1} {
			if n := counterOf(t, r, "tandian_sale_queue_"+name, got.Name); n != want {
				t.Errorf("gauge %s: got %v, want %v", name, n, want)
			}
		}
	})
}

// rigClock is a clock that tests advance.
type rigClock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func newRigClock() *rigClock { return &rigClock{} }

func (c *rigClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *rigClock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

// The pauses are exact, because the test has a fake clock.
func TestGatherWaitsAfterSmallCommits(t *testing.T) {
	const maxWait = time.Second
	for _, test := range []struct {
		name              string
		commit, end, want time.Duration // duration of the commit, and end of the process
	}{
		{"half of a short commit", 4 * time.Millisecond, maxWait, 6 * time.Millisecond},
		{"bounded after a long commit", 60 * time.Millisecond, maxWait, 60*time.Millisecond + maxGather},
		{"bounded for a hanging commit", maxWait, maxWait, commitPatience},
		{"process ends during the commit", maxWait, 3 * time.Millisecond, 3 * time.Millisecond},
		{"process ends during the pause", 8 * time.Millisecond, 9 * time.Millisecond, 9 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), test.end)
				defer cancel()
				begin, committed := time.Now(), make(chan struct{})
				time.AfterFunc(test.commit, func() { close(committed) })
				gather(ctx, committed, begin)
				if took := time.Since(begin); took != test.want {
					t.Errorf("took %v, want %v", took, test.want)
				}
			})
		})
	}
	gather(t.Context(), nil, time.Now()) // nothing was committed
}

// A consumer reads again when its orders are stored, unless that takes too long.
func TestSmallCommitEndsBeforeTheNextRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		r := newRig(t, on, rigOptions{cfg: func(c *Config) { c.Wait = -1 }})
		v := r.open(t, 20)
		r.runCertify(t)
		c := newConsumer(r.Service, r.Redis)
		partitions := r.readers()[0]
		if err := c.makeGroups(t.Context(), partitions); err != nil {
			t.Fatal(err)
		}
		for user := range int64(20) {
			number := r.order(t, by(v, user+1)).Order
			begin := time.Now()
			if err := c.read(t.Context(), partitions); err != nil {
				t.Fatal(err)
			}
			stored, err := r.DB.Order.Query().Where(entorder.ID(number)).Exist(t.Context())
			if took := time.Since(begin); err != nil || !stored && took < commitPatience {
				t.Errorf("order %d: not stored after %v: %v", user, took, err)
			}
		}
		c.commits.Wait()
	})
}
