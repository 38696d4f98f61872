package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestReplayRepeatsRetainedJobsOnly(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var done recorder
		b := o.box(t, handlers{"retained": {Do: done.handle, Retention: never}, "deleted": {Do: done.handle}}, outbox.Options{HeadStart: never})
		b.Finish(t.Context(), nil, b.add(t, "retained", "long ago"))
		b.Wait()
		o.exec(t, "UPDATE outbox_jobs SET done_at = done_at - 120000")
		b.Finish(t.Context(), nil, b.add(t, "retained", "lately"), b.add(t, "retained", "lately too"), b.add(t, "deleted", "not retained"))
		b.Wait()
		b.add(t, "retained", "not done yet")
		b.add(t, "deleted", "not done yet, not retained")
		n, err := b.Replay(t.Context(), time.Minute)
		if err != nil || n != 3 {
			t.Errorf("got %d, %v, want 3", n, err)
		}
		if d := cmp.Diff(map[string]int{"lately": 1, "lately too": 1, "not done yet": 1}, done.all()); d != "" {
			t.Errorf("calls (-want +got)\n%s", d)
		}
		// They are retained again.
		if n, err := b.Replay(t.Context(), time.Hour); err != nil || n != 4 {
			t.Errorf("got %d, %v the second time, want 4", n, err)
		}
		if d := cmp.Diff(map[string]int{"long ago": 1, "lately": 2, "lately too": 2, "not done yet": 2}, done.all()); d != "" {
			t.Errorf("calls after the second (-want +got)\n%s", d)
		}
		if d := cmp.Diff(outbox.Stats{Name: "deleted", Waiting: 1}, b.stats(t, "deleted")); d != "" {
			t.Errorf("stats without retention (-want +got)\n%s", d)
		}
	})
}

func TestReplayIsSharedBetweenProcesses(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		const jobs = 300
		var done recorder
		h := handlers{"t": {Do: done.handle, Retention: never}}
		b, other := o.box(t, h, outbox.Options{HeadStart: never}), o.box(t, h, outbox.Options{HeadStart: never, Poll: 20 * time.Millisecond})
		other.run(t)
		want := map[string]int{}
		for i := range jobs {
			ticket, err := b.Add(t.Context(), o.db, "t", fmt.Sprint(i))
			if err != nil {
				t.Fatal(err)
			}
			b.Finish(t.Context(), nil, ticket)
			want[fmt.Sprint(i)] = 1
		}
		b.Wait()
		if n, err := b.Replay(t.Context(), time.Hour); err != nil || n != jobs {
			t.Errorf("got %d, %v, want %d", n, err, jobs)
		}
		if d := cmp.Diff(want, done.all()); d != "" {
			t.Errorf("calls (-want +got)\n%s", d)
		}
	})
}

func TestReplayEndsWithItsContext(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"t": {Do: func(context.Context, []byte) error { return outbox.Transient(errors.New("unavailable")) }, Retention: never}}, outbox.Options{HeadStart: never})
		b.Finish(t.Context(), nil, b.add(t, "t", "x"))
		b.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if n, err := b.Replay(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || n != 1 {
			t.Errorf("got %d, %v, want 1 and ErrIncomplete", n, err)
		}
	})
}

// The effect of an attempt before the replay may be lost: it must not end the job,
// however late it reports.
func TestAttemptBeforeReplayDoesNotEndJob(t *testing.T) {
	for _, tt := range []struct {
		name   string
		writer bool // the attempt is the writer's
	}{{"the writer's", true}, {"a claim's", false}} {
		t.Run(tt.name, func(t *testing.T) {
			eachDialect(t, func(t *testing.T, o *fixture) {
				begun, release := make(chan struct{}), make(chan struct{})
				early := o.box(t, handlers{"t": {Do: func(context.Context, []byte) error { close(begun); <-release; return nil }, Retention: never}},
					outbox.Options{HeadStart: map[bool]time.Duration{true: never, false: time.Millisecond}[tt.writer], Timeout: time.Minute})
				ticket := early.add(t, "t", "x")
				endEarly := func() {
					early.Finish(t.Context(), nil, ticket)
					early.Wait()
				}
				if !tt.writer {
					ctx, cancel := context.WithCancel(t.Context())
					ended := make(chan error, 1)
					go func() { ended <- early.Run(ctx) }()
					<-begun
					cancel() // no more claims
					endEarly = func() {
						close(release)
						if err := <-ended; err != nil {
							t.Error(err)
						}
					}
				}
				var back atomic.Bool
				var done recorder
				late := o.box(t, handlers{"t": {Do: func(ctx context.Context, payload []byte) error {
					if !back.Load() {
						return outbox.Transient(errors.New("unavailable"))
					}
					return done.handle(ctx, payload)
				}, Retention: never}}, outbox.Options{HeadStart: never, RetryDelay: time.Millisecond, MaxRetryDelay: 10 * time.Millisecond})
				replayed := make(chan error, 1)
				go func() {
					n, err := late.Replay(t.Context(), time.Hour)
					if n != 1 {
						err = fmt.Errorf("got %d replayed jobs: %w", n, err)
					}
					replayed <- err
				}()
				testkit.Eventually(t, patience, func() bool { return late.outcomes(t, "t")["failed"] > 0 })
				endEarly()
				if d := cmp.Diff(outbox.Stats{Name: "t", Waiting: 1, Pending: 1}, late.stats(t, "t")); d != "" {
					t.Errorf("after the early attempt (-want +got)\n%s", d)
				}
				back.Store(true)
				if err := <-replayed; err != nil {
					t.Error(err)
				}
				if done.of("x") != 1 {
					t.Errorf("got %d runs after the replay, want 1", done.of("x"))
				}
			})
		})
	}
}

// The same, before any process has claimed the job again.
func TestAttemptBeforeReplayDoesNotEndUnclaimedJob(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		begun, release := make(chan struct{}, 2), make(chan struct{}) // the replay repeats the plug
		var done recorder
		b := o.box(t, handlers{"t": {Do: func(ctx context.Context, payload []byte) error {
			if string(payload) == `"plug"` { // the only worker is busy: nothing else is claimed
				begun <- struct{}{}
				<-release
			}
			return done.handle(ctx, payload)
		}, Retention: never}}, outbox.Options{HeadStart: never, Batch: 1, Timeout: time.Minute, Poll: 20 * time.Millisecond})
		b.run(t)
		b.add(t, "t", "plug")
		o.exec(t, "UPDATE outbox_jobs SET due_at = 1")
		<-begun
		ticket := b.add(t, "t", "x")
		replayed := make(chan error, 1)
		go func() { _, err := b.Replay(t.Context(), time.Hour); replayed <- err }()
		testkit.Eventually(t, patience, func() bool {
			var due int
			err := o.db.QueryRowContext(t.Context(), "SELECT count(*) FROM outbox_jobs WHERE payload = '\"x\"' AND due_at < created_at + 1000000").Scan(&due)
			return err == nil && due == 1
		})
		b.Finish(t.Context(), nil, ticket)
		b.Wait()
		if s := b.stats(t, "t"); s.Waiting != 2 {
			t.Errorf("got %d waiting jobs, want the plug and the job", s.Waiting)
		}
		close(release)
		if err := <-replayed; err != nil {
			t.Error(err)
		}
		if done.of("x") != 1 {
			t.Errorf("got %d runs after the replay, want 1", done.of("x"))
		}
	})
}

func TestCollapseReplacesTooManyJobs(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		const jobs = 8
		var calls atomic.Int64
		var b box
		all := func(ctx context.Context) error {
			if calls.Add(1) == 1 {
				return errors.New("first call fails")
			}
			if !o.real() { // SQLite has one writer: nothing can commit meanwhile
				return nil
			}
			_, err := b.Add(ctx, o.db, "piles", "during")
			return err
		}
		h := func(all func(context.Context) error) handlers {
			return handlers{"piles": {Do: (&recorder{}).handle, Collapse: all}, "other": {Do: (&recorder{}).handle}}
		}
		b = o.box(t, h(all), outbox.Options{HeadStart: never, MaxWaiting: jobs - 1, MaintainEvery: 20 * time.Millisecond})
		for i := range jobs {
			b.add(t, "piles", i)
			b.add(t, "other", i)
		}
		b.run(t)
		want := outbox.Stats{Name: "piles"}
		if o.real() {
			want.Waiting = 1
		}
		testkit.Eventually(t, patience, func() bool { return cmp.Equal(want, b.stats(t, "piles")) })
		if d := cmp.Diff(outbox.Stats{Name: "other", Waiting: jobs}, b.stats(t, "other")); d != "" {
			t.Errorf("stats of the other topic (-want +got)\n%s", d)
		}
		testkit.Eventually(t, patience, func() bool { return b.outcomes(t, "piles")["replaced"] == jobs })
		if n := calls.Load(); n != 2 {
			t.Errorf("got %d calls, want a failed one and another", n)
		}
		if n := b.metric(t, "tandian_outbox_errors_total", "replace"); n != 1 {
			t.Errorf("got %v failures, want 1", n)
		}
	})
}

func TestFewJobsAreNotCollapsed(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var calls atomic.Int64
		b := o.box(t, handlers{"t": {Do: (&recorder{}).handle, Collapse: func(context.Context) error { calls.Add(1); return nil }}},
			outbox.Options{HeadStart: never, MaxWaiting: 3, MaintainEvery: 10 * time.Millisecond})
		for i := range 3 {
			b.add(t, "t", i)
		}
		b.run(t)
		testkit.Eventually(t, patience, func() bool { return b.metric(t, "tandian_outbox_waiting", "t") == 3 })
		b.add(t, "t", 3) // now they are too many; a check has passed
		testkit.Eventually(t, patience, func() bool { return calls.Load() == 1 })
		if n := b.outcomes(t, "t")["replaced"]; n != 0 && n != 4 {
			t.Errorf("got %v replaced jobs, want all 4 at once", n)
		}
		testkit.Eventually(t, patience, func() bool { return o.rows(t) == 0 })
	})
}

func TestSweepDeletesExpiredJobs(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		const many = 2500 // more than two batches
		fails := func(context.Context, []byte) error { return errors.New("broken handler") }
		options := quickRetries(1)
		options.ParkedRetention = time.Millisecond
		b := o.box(t, handlers{"short": {Do: (&recorder{}).handle, Retention: time.Millisecond}, "long": {Do: (&recorder{}).handle, Retention: never}, "broken": {Do: fails}}, options)
		o.exec(t, `INSERT INTO outbox_jobs (topic, payload, created_at, due_at, done_at, keep_until)
			WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT 'gone', '0', 1, 1, 1, 1 FROM n`, many)
		b.Finish(t.Context(), nil, b.add(t, "short", "x"), b.add(t, "long", "x"))
		b.Wait()
		b.add(t, "broken", "x")
		b.run(t)
		testkit.Eventually(t, patience, func() bool {
			if err := b.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			return b.outcomes(t, "broken")["parked"] == 1 && o.rows(t) == 1
		})
		var topic string
		if err := o.db.QueryRowContext(t.Context(), "SELECT topic FROM outbox_jobs").Scan(&topic); err != nil || topic != "long" {
			t.Errorf("got remaining topic %q, want long (%v)", topic, err)
		}
	})
}

func TestStatsSumUpEachTopic(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		b := o.box(t, handlers{"b": {Do: (&recorder{}).handle}, "idle": {Do: (&recorder{}).handle}}, outbox.Options{HeadStart: never})
		for range 3 {
			b.add(t, "b", "x")
		}
		o.exec(t, "UPDATE outbox_jobs SET created_at = created_at - 5000, tries = 2 WHERE id = (SELECT min(id) FROM outbox_jobs)")
		o.exec(t, "UPDATE outbox_jobs SET parked_at = 1, created_at = 1 WHERE id = (SELECT max(id) FROM outbox_jobs)")
		o.exec(t, "INSERT INTO outbox_jobs (topic, payload, created_at, due_at, parked_at) VALUES ('a', '0', 1, 1, 1)")
		list, err := b.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		want := []outbox.Stats{{Name: "a", Parked: 1}, {Name: "b", Waiting: 2, Pending: 1, Parked: 1}, {Name: "idle"}}
		oldest := list[1].Oldest
		list[1].Oldest = 0
		if d := cmp.Diff(want, list); d != "" {
			t.Errorf("(-want +got)\n%s", d)
		}
		if oldest < 5*time.Second || oldest > time.Minute {
			t.Errorf("got age %v, want a little more than 5 s", oldest)
		}
	})
}

// The other processes run the remaining jobs, without a second replay.
func TestIncompleteReplayLeavesJobsToOthers(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		hold := make(chan struct{})
		defer close(hold)
		b := o.box(t, handlers{"t": {Retention: never, Do: func(ctx context.Context, _ []byte) error {
			select {
			case <-hold:
			case <-ctx.Done():
			}
			return nil
		}}}, outbox.Options{HeadStart: never, Timeout: 300 * time.Millisecond})
		for range 3 {
			b.Finish(t.Context(), nil, b.add(t, "t", 1))
		}
		b.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if n, err := b.Replay(ctx, time.Hour); n != 3 || !errors.Is(err, outbox.ErrIncomplete) {
			t.Errorf("got %d, %v; want 3 and ErrIncomplete", n, err)
		}
	})
}

func TestUnfinishedReturnsUnfinishedJobs(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		h := handlers{"t": {Do: func(context.Context, []byte) error { return nil }, Retention: never}, "other": {Do: func(context.Context, []byte) error { return nil }}}
		b := o.box(t, h, outbox.Options{HeadStart: never})
		undone := func(most int) (list []string) {
			t.Helper()
			payloads, err := b.Unfinished(t.Context(), "t", most)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range payloads {
				list = append(list, string(p))
			}
			slices.Sort(list)
			return list
		}
		b.Finish(t.Context(), nil, b.add(t, "t", "done"))
		b.Wait()
		b.add(t, "other", "of another topic")
		if got := undone(10); got != nil {
			t.Errorf("got %v, want nothing", got)
		}
		b.add(t, "t", "waits")
		b.add(t, "t", "parked")
		o.exec(t, "UPDATE outbox_jobs SET parked_at = due_at, keep_until = NULL WHERE payload LIKE '%parked%'")
		if d := cmp.Diff([]string{`"parked"`, `"waits"`}, undone(10)); d != "" {
			t.Errorf("unfinished (-want +got)\n%s", d)
		}
		if got := undone(1); len(got) != 1 {
			t.Errorf("got %v, want one of two", got)
		}
	})
}

func TestDrainRunsWaitingJobsOfRetainedTopics(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var done recorder
		h := handlers{"retained": {Do: done.handle, Retention: never}, "left out": {Do: done.handle, Retention: never}, "deleted": {Do: done.handle}}
		b := o.box(t, h, outbox.Options{HeadStart: never})
		if err := b.Drain(t.Context()); err != nil {
			t.Errorf("got %v with no waiting job", err)
		}
		b.Finish(t.Context(), nil, b.add(t, "retained", "done"))
		b.Wait()
		o.exec(t, "UPDATE outbox_jobs SET done_at = done_at - 1000")
		b.Finish(t.Context(), errors.New("Redis is unavailable"), b.add(t, "retained", "failed"))
		b.add(t, "left out", "waits")
		b.add(t, "deleted", "waits")
		if err := b.Drain(t.Context(), "left out"); err != nil {
			t.Error(err)
		}
		if d := cmp.Diff(map[string]int{"failed": 1}, done.all()); d != "" {
			t.Errorf("calls (-want +got)\n%s", d)
		}
	})
}

func TestDrainWaitsForFailingJobs(t *testing.T) {
	eachDialect(t, func(t *testing.T, o *fixture) {
		var broken atomic.Bool
		broken.Store(true)
		do := func(context.Context, []byte) error {
			if broken.Load() {
				return outbox.Transient(errors.New("Redis is unavailable"))
			}
			return nil
		}
		b := o.box(t, handlers{"t": {Do: do, Retention: never}}, outbox.Options{HeadStart: never, RetryDelay: time.Millisecond})
		b.add(t, "t", "a")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if err := b.Drain(ctx); !errors.Is(err, outbox.ErrIncomplete) && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v with a failing job", err)
		}
		broken.Store(false)
		if err := b.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
