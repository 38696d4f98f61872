package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// A writer that dies right after its commit leaves its job in the database. The other
// process finds it there; on SQLite there is one process.
func TestJobOfDeadWriterRunsAfterHeadStart(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		done := make(chan time.Time, 1)
		h := handlers{"t": {Do: func(context.Context, []byte) error { done <- time.Now(); return nil }}}
		writer := o.box(t, h, fastOptions())
		other := writer
		if o.real() {
			other = o.box(t, h, fastOptions())
		}
		other.run(t)
		took := func() (sinceAdding, sinceCommit time.Duration) {
			adding := time.Now()
			writer.add(t, "t", "x")
			committed := time.Now()
			select {
			case at := <-done:
				return at.Sub(adding), at.Sub(committed)
			case <-time.After(patience):
				t.Fatal("no process ran the job")
				return 0, 0
			}
		}
		took() // Run may have started only now
		var all []time.Duration
		shortest := never
		for range 50 {
			// The head start begins during the call, so the lower bound counts from before it.
			sinceAdding, sinceCommit := took()
			all, shortest = append(all, sinceCommit), min(shortest, sinceAdding)
		}
		slices.Sort(all)
		t.Logf("after the commit: median %v, p90 %v, longest %v", all[25], all[45], all[49])
		if all[45] > 500*time.Millisecond {
			t.Errorf("got p90 %v, want at most 500ms", all[45])
		}
		if early := 10 * time.Millisecond; shortest < early {
			t.Errorf("a job ran %v after it was added, within the head start", shortest)
		}
	})
}

// With the defaults: 1.1 s of head start, and less than half a second for the rest.
func TestDeadWriterIsReplacedInTime(t *testing.T) {
	t.Parallel()
	eachDialect(t, func(t *testing.T, o *fixture) {
		const jobs, promise = 8, 1500 * time.Millisecond
		done := make(chan time.Time, jobs)
		h := handlers{"t": {Do: func(context.Context, []byte) error { done <- time.Now(); return nil }}}
		writer := o.box(t, h, outbox.Options{})
		other := writer
		if o.real() {
			other = o.box(t, h, outbox.Options{})
		}
		other.run(t)
		var committed []time.Time
		for i := range jobs { // at different times between two polls
			writer.add(t, "t", i)
			committed = append(committed, time.Now())
			time.Sleep(130 * time.Millisecond)
		}
		var took []time.Duration
		for i := range jobs {
			select {
			case at := <-done: // in the order of their due times
				took = append(took, at.Sub(committed[i]))
			case <-time.After(patience):
				t.Fatal("no process ran the job")
			}
		}
		slices.Sort(took)
		t.Logf("after the commit: %v", took)
		if took[0] < time.Second {
			t.Errorf("a job ran %v after its commit, want at least 1s", took[0])
		}
		if median := took[jobs/2]; median > promise {
			t.Errorf("got median %v, want at most %v", median, promise)
		}
		if worst := took[jobs-1]; worst > 2*promise { // the machine may be busy for a moment
			t.Errorf("got %v, want at most %v", worst, promise)
		}
	})
}

// A poll finds the next due time, also during the head start of another job.
func TestPollFindsNextDueTime(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		done := make(chan string, 2)
		h := handlers{"t": {Do: func(_ context.Context, payload []byte) error { done <- string(payload); return nil }}}
		first := o.box(t, h, outbox.Options{HeadStart: 300 * time.Millisecond})
		second := o.box(t, h, outbox.Options{HeadStart: 600 * time.Millisecond, Poll: never})
		first.add(t, "t", 1)
		second.add(t, "t", 2)
		second.run(t) // polls once, at its start
		for _, want := range []string{"1", "2"} {
			select {
			case got := <-done:
				if got != want {
					t.Errorf("got job %s, want %s", got, want)
				}
			case <-time.After(patience):
				t.Fatalf("no process ran job %s", want)
			}
		}
	})
}

func TestQueuedJobRunsAtOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		done := make(chan string, 2)
		do := func(_ context.Context, payload []byte) error { done <- string(payload); return nil }
		b := o.box(t, handlers{"queued": {Queued: true, Do: do}, "t": {Do: do}}, outbox.Options{HeadStart: never, Poll: never})
		b.run(t)
		b.add(t, "t", "its writer's")
		for range 3 { // Run may have polled only after the first commit
			b.add(t, "queued", "x")
			begin := time.Now()
			b.Wake()
			select {
			case got := <-done:
				t.Logf("done after %v", time.Since(begin))
				if got != `"x"` {
					t.Errorf("got job %s", got)
				}
			case <-time.After(patience):
				t.Fatal("no process ran the job")
			}
		}
		if s := b.stats(t, "t"); s.Waiting != 1 {
			t.Errorf("got %d waiting jobs, want 1", s.Waiting)
		}
	})
}

func TestCompetingProcessesRunEachJobOnce(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		const boxes, jobs = 4, 500
		var done recorder
		h := handlers{"even": {Do: done.handle}, "odd": {Do: done.handle}}
		writer := o.box(t, h, fastOptions())
		want := map[string]int{}
		for i := range jobs {
			topic, payload := []string{"even", "odd"}[i%2], fmt.Sprint(i)
			if _, err := writer.Add(t.Context(), o.db, topic, payload); err != nil {
				t.Fatal(err)
			}
			want[payload] = 1
		}
		relayed := 0.0
		var all []box
		for range boxes {
			b := o.box(t, h, outbox.Options{Poll: 20 * time.Millisecond})
			b.run(t)
			all = append(all, b)
		}
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if d := cmp.Diff(want, done.all()); d != "" {
			t.Errorf("calls (-want +got)\n%s", d)
		}
		for _, b := range all {
			relayed += b.outcomes(t, "even")["relayed"] + b.outcomes(t, "odd")["relayed"]
		}
		if relayed != jobs {
			t.Errorf("got %v relayed jobs, want %d", relayed, jobs)
		}
	})
}

// quickRetries makes retries follow quickly.
func quickRetries(tries int) outbox.Options {
	return outbox.Options{HeadStart: time.Millisecond, RetryDelay: time.Millisecond, MaxRetryDelay: 4 * time.Millisecond, MaxTries: tries, Poll: 20 * time.Millisecond, MaintainEvery: 20 * time.Millisecond}
}

func TestFailingJobIsParkedUntilUnpark(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var calls recorder
		var repaired atomic.Bool
		long := strings.Repeat("漢", 200) // 600 bytes
		b := o.box(t, handlers{"t": {Do: func(_ context.Context, payload []byte) error {
			if calls.record(payload); repaired.Load() {
				return nil
			}
			return errors.New("it is broken\x00" + long)
		}}}, quickRetries(3))
		b.run(t)
		b.add(t, "t", "x")
		testkit.Eventually(t, patience, func() bool { return b.stats(t, "t").Parked == 1 })
		if d := cmp.Diff(outbox.Stats{Name: "t", Parked: 1}, b.stats(t, "t")); d != "" {
			t.Errorf("stats (-want +got)\n%s", d)
		}
		testkit.Eventually(t, patience, func() bool { return b.metric(t, "tandian_outbox_parked", "t") == 1 })
		var text string
		if err := o.db.QueryRowContext(t.Context(), "SELECT last_error FROM outbox_jobs").Scan(&text); err != nil {
			t.Fatal(err)
		}
		if want := "it is broken?" + strings.Repeat("漢", 162); text != want { // 13 and 486 bytes: the next character would not fit
			t.Errorf("got error text %q, want %q", text, want)
		}
		if n := calls.of("x"); n != 3 {
			t.Errorf("got %d tries before parking, want 3", n)
		}
		if d := cmp.Diff(map[string]float64{"failed": 3, "parked": 1}, b.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes (-want +got)\n%s", d)
		}
		unpark := func(topic string, want int64) {
			t.Helper()
			if n, err := b.Unpark(t.Context(), topic); err != nil || n != want {
				t.Fatalf("Unpark(%[2]q): got %[1]d, %[3]v, want %[4]d", n, topic, err, want)
			}
		}
		unpark("other", 0)
		unpark("t", 1)
		testkit.Eventually(t, patience, func() bool { return b.stats(t, "t").Parked == 1 && b.outcomes(t, "t")["parked"] == 2 })
		if n := calls.of("x"); n != 6 {
			t.Errorf("got %d tries before parking again, want 6", n)
		}
		repaired.Store(true)
		unpark("", 1)
		unpark("", 0)
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if n := calls.of("x"); n != 7 {
			t.Errorf("got %d tries in all, want 7", n)
		}
	})
}

func TestTransientFailureNeverParks(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var calls recorder
		away := errors.New("Redis is unavailable")
		b := o.box(t, handlers{"t": {Do: func(_ context.Context, payload []byte) error {
			switch n := calls.record(payload); {
			case n <= 6:
				return fmt.Errorf("drop a key: %w", outbox.Transient(away))
			case n == 7:
				return errors.New("first failure of the job itself")
			}
			return nil
		}}}, quickRetries(2))
		b.run(t)
		b.add(t, "t", "x")
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if d := cmp.Diff(map[string]float64{"failed": 7, "late": 1}, b.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes (-want +got)\n%s", d)
		}
	})
}

func TestPanicFailsOnlyItsJob(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var calls recorder
		b := o.box(t, handlers{"t": {Do: func(_ context.Context, payload []byte) error {
			if n := calls.record(payload); string(payload) == `"mine"` && n == 1 {
				panic("a mine")
			}
			return nil
		}}}, quickRetries(5))
		b.add(t, "t", "mine")
		b.add(t, "t", "other")
		b.run(t)
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if d := cmp.Diff(map[string]int{"mine": 2, "other": 1}, calls.all()); d != "" {
			t.Errorf("calls (-want +got)\n%s", d)
		}
	})
}

func TestTopicWithoutHandlerIsSkipped(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var news, olds recorder
		newer := o.box(t, handlers{"old": {Do: news.handle}, "new": {Do: news.handle}}, fastOptions())
		older := o.box(t, handlers{"old": {Do: olds.handle}}, outbox.Options{Poll: 20 * time.Millisecond, MaintainEvery: 20 * time.Millisecond})
		newer.add(t, "new", "n")
		newer.add(t, "old", "o")
		older.run(t)
		testkit.Eventually(t, patience, func() bool { return olds.of("o") == 1 && o.rows(t) == 1 })
		if d := cmp.Diff(outbox.Stats{Name: "new", Waiting: 1}, older.stats(t, "new")); d != "" {
			t.Errorf("stats (-want +got)\n%s", d)
		}
		testkit.Eventually(t, patience, func() bool { return older.metric(t, "tandian_outbox_waiting", "new") == 1 })
		newer.run(t)
		testkit.Eventually(t, patience, func() bool { return news.of("n") == 1 && o.rows(t) == 0 })
		testkit.Eventually(t, patience, func() bool { return older.metric(t, "tandian_outbox_waiting", "new") == 0 })
	})
}

func TestHungHandlerDoesNotBlockOtherTopics(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		release := make(chan struct{})
		var done recorder
		b := o.box(t, handlers{
			"hangs": {Do: func(context.Context, []byte) error { <-release; return nil }},
			"works": {Do: done.handle},
		}, outbox.Options{Batch: 2, HeadStart: 15 * time.Millisecond, Poll: 20 * time.Millisecond})
		for i := range 6 { // more than a claim and a half
			b.add(t, "hangs", i)
		}
		for i := range 6 {
			b.add(t, "works", fmt.Sprint(i))
		}
		stop := b.run(t)
		testkit.Eventually(t, patience, func() bool { return len(done.all()) == 6 })
		if s := b.stats(t, "hangs"); s.Pending > 3 {
			t.Errorf("got %d running jobs of the hung topic, more than a claim and a half", s.Pending)
		}
		close(release)
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		stop()
	})
}

func TestRunFinishesCurrentJobs(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		begun, release := make(chan struct{}), make(chan struct{})
		var cut atomic.Bool
		b := o.box(t, handlers{"t": {Do: func(ctx context.Context, _ []byte) error {
			close(begun)
			<-release
			cut.Store(ctx.Err() != nil)
			return ctx.Err()
		}}}, outbox.Options{Timeout: time.Minute, HeadStart: 15 * time.Millisecond})
		b.add(t, "t", "x")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		<-begun
		cancel()
		select {
		case err := <-ended:
			t.Fatalf("Run returned %v with a running job", err)
		case <-time.After(50 * time.Millisecond): // the other goroutines have ended by then
		}
		close(release)
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(patience):
			t.Fatal("Run did not end")
		}
		if cut.Load() {
			t.Error("the handler's context ended with that of Run")
		}
		if n := o.rows(t); n != 0 {
			t.Errorf("got %d rows: the result was not written", n)
		}
	})
}

func TestHandlerHasTimeout(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var calls recorder
		options := quickRetries(5)
		options.Timeout = 100 * time.Millisecond
		b := o.box(t, handlers{"t": {Do: func(ctx context.Context, payload []byte) error {
			if calls.record(payload) == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}}, options)
		b.run(t)
		b.add(t, "t", "x")
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if n := calls.of("x"); n < 2 {
			t.Errorf("got %d tries", n)
		}
	})
}

// A process that died during a job leaves a claim.
func TestExpiredLeaseIsClaimedAgain(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		begun, release := make(chan struct{}), make(chan struct{})
		options := quickRetries(5)
		options.Timeout = 250 * time.Millisecond // a lease of half a second
		dead := o.box(t, handlers{"t": {Do: func(context.Context, []byte) error {
			close(begun)
			<-release
			return errors.New("too late to count")
		}}}, options)
		dead.add(t, "t", "x")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- dead.Run(ctx) }()
		<-begun
		cancel() // no more claims
		var done recorder
		other := o.box(t, handlers{"t": {Do: done.handle}}, options)
		other.run(t)
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
		if done.of("x") != 1 {
			t.Errorf("got %d runs in the other process", done.of("x"))
		}
		if d := cmp.Diff(map[string]float64{"late": 1}, other.outcomes(t, "t")); d != "" {
			t.Errorf("outcomes (-want +got)\n%s", d)
		}
		close(release)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if n := o.rows(t); n != 0 {
			t.Errorf("got %d rows after the late attempt", n)
		}
	})
}
