package sequence_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lib/pq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	name     = "things"
	patience = 20 * time.Second
	cycle    = 1 << 26
	epoch    = 1767225600
)

// A fixture is a database with the table; each Sequence on it acts as another process.
type fixture struct {
	*sqldb.SQL
	config sqldb.SQLConfig
}

func each(t *testing.T, test func(*testing.T, *fixture)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { test(t, open(t, sqldb.SQLConfig{DataDir: t.TempDir()})) })
	t.Run("postgres", func(t *testing.T) { test(t, open(t, sqldb.SQLConfig{URL: testkit.Postgres(t)})) })
}

func open(t *testing.T, config sqldb.SQLConfig) *fixture {
	t.Helper()
	s := &fixture{pool(t, config), config}
	s.exec(t, table(t, s.Dialect))
	return s
}

// table returns the statement that creates the table, from the migrations: packages and
// tools do not import each other.
func table(t *testing.T, dialect string) string {
	t.Helper()
	names, err := filepath.Glob("../../../ent/migrate/" + strings.TrimSuffix(dialect, "3") + "/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile("(?m)^CREATE TABLE .id_segments. .*;$").Find(text); found != nil {
			return string(found)
		}
	}
	t.Fatal("no migration creates id_segments")
	return ""
}

func pool(t *testing.T, config sqldb.SQLConfig) *sqldb.SQL {
	t.Helper()
	db, err := sqldb.OpenSQL(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// process returns a Sequence like another process, with its own pool.
func (s *fixture) process(t *testing.T, now func() time.Time) *sequence.Sequence {
	t.Helper()
	q := s.over(t, pool(t, s.config).DB, now, nil)
	t.Cleanup(q.Wait)
	return q
}

func (s *fixture) over(t *testing.T, db *sql.DB, now func() time.Time, reg prometheus.Registerer) *sequence.Sequence {
	t.Helper()
	q, err := sequence.New(db, sequence.Options{Dialect: s.Dialect, Name: name, Now: now, Registerer: reg})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (s *fixture) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	if _, err := s.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func (s *fixture) row(t *testing.T) (next, second int64) {
	t.Helper()
	if err := s.QueryRowContext(t.Context(), "SELECT next, second FROM id_segments WHERE name = $1", name).Scan(&next, &second); err != nil {
		t.Fatal(err)
	}
	return next, second
}

// A clock shows a settable time.
type clock struct{ second atomic.Int64 }

func at(second int64) *clock {
	c := new(clock)
	c.second.Store(second)
	return c
}

func (c *clock) now() time.Time   { return time.Unix(c.second.Load(), 999_999_999) }
func (c *clock) step(by int64)    { c.second.Add(by) }
func (c *clock) shows() time.Time { return time.Unix(c.second.Load(), 0).UTC() }

const morning = epoch + 325*24*3600

// numbers holds all numbers made so far.
type numbers struct {
	t    *testing.T
	mu   sync.Mutex
	seen map[int64]bool
}

func newNumbers(t *testing.T) *numbers { return &numbers{t: t, seen: map[int64]bool{}} }

// make makes count numbers and returns the last.
func (n *numbers) make(q *sequence.Sequence, count int) (last int64) {
	n.t.Helper()
	made := make([]int64, 0, count)
	ctx, cancel := context.WithTimeout(n.t.Context(), patience)
	defer cancel()
	for i := range count {
		number, err := q.Next(ctx, i%sequence.Partitions)
		if err != nil {
			n.t.Errorf("number %d of %d: %v", i, count, err)
			return 0
		}
		if got := sequence.Partition(number); got != i%sequence.Partitions {
			n.t.Errorf("number %d: got partition %d, want %d", number, got, i%sequence.Partitions)
		}
		made = append(made, number)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, number := range made {
		if number <= 0 {
			n.t.Errorf("%d is not positive", number)
		}
		if n.seen[number>>6] { // also in two partitions
			n.t.Fatalf("%d was made twice", number)
		}
		n.seen[number>>6] = true
	}
	return made[count-1]
}

func TestNumbersOfTwoProcessesAreUnique(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all := newNumbers(t)
		processes := []*sequence.Sequence{s.process(t, nil), s.process(t, nil)}
		var crowd sync.WaitGroup
		for i := range 300 {
			crowd.Go(func() { all.make(processes[i%2], 100) })
		}
		crowd.Wait()
		if len(all.seen) != 300*100 {
			t.Errorf("got %d numbers, want 30 000", len(all.seen))
		}
	})
}

func TestNumbersAreUniqueAcrossRestarts(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, c := newNumbers(t), at(morning)
		for range 20 {
			all.make(s.process(t, c.now), 1500)
			c.step(-1)
		}
	})
}

func TestAtReturnsTimeOfNumber(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, c := newNumbers(t), at(morning)
		q := s.process(t, c.now)
		for _, step := range []int64{0, 1, 59, 3600, 86400, -86400, -1, 1} {
			c.step(step)
			if got := sequence.At(all.make(q, 10)); !got.Equal(c.shows()) {
				t.Errorf("after a step of %d s: got %v, want %v", step, got, c.shows())
			}
		}
	})
}

// nearTheEnd moves the row to left positions before the end of the cycle.
func (s *fixture) nearTheEnd(t *testing.T, left int64) {
	t.Helper()
	s.exec(t, "UPDATE id_segments SET next = (next >> 26) * $1 + $1 - $2", cycle, left)
}

// The clock stands still, and every cycle begins with the same positions.
func TestLaterCycleHasLaterSeconds(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, c := newNumbers(t), at(morning)
		all.make(s.process(t, c.now), 10)
		for _, left := range []int64{512, 0, 1, 1023, 1024, 1025, 2048} {
			s.nearTheEnd(t, left)
			_, ceiling := s.row(t)
			last := all.make(s.process(t, c.now), 3500)
			if made := sequence.At(last).Unix(); made <= ceiling {
				t.Errorf("%d positions before the end: got second %d, want above the ceiling %d of the previous cycle", left, made, ceiling)
			} else if _, above := s.row(t); made > above {
				t.Errorf("%d positions before the end: got second %d, above its own ceiling %d", left, made, above)
			}
		}
	})
}

// A process sleeps through the end of a cycle with the first positions of the old one.
// When it wakes, its clock shows the second in which others use these positions again.
func TestOldSegmentIsNotUsedInLaterCycle(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, c, later := newNumbers(t), at(morning), at(morning)
		asleep := s.process(t, c.now)
		all.make(asleep, 1)
		s.nearTheEnd(t, 0)
		made := sequence.At(all.make(s.process(t, later.now), 1024))
		c.second.Store(made.Unix())
		all.make(asleep, 1023)
	})
}

func TestSlowClockDoesNotLowerCeiling(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, ahead, behind := newNumbers(t), at(morning+1000), at(morning)
		all.make(s.process(t, ahead.now), 1024)
		_, before := s.row(t)
		all.make(s.process(t, behind.now), 1)
		if _, after := s.row(t); after != before {
			t.Errorf("got ceiling %[2]d, want at least %[1]d", before, after)
		}
		s.nearTheEnd(t, 0)
		all.make(s.process(t, ahead.now), 1024) // the same positions, in the same second if that were allowed
	})
}

func TestNumbersAreUniqueAcrossCyclesAndClocks(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		all, clocks, ends := newNumbers(t), []*clock{at(morning), at(morning - 7), at(morning + 200)}, 0
		all.make(s.process(t, clocks[0].now), 1)
		for range 8 {
			var processes []*sequence.Sequence // some segments last beyond the next end
			for _, c := range clocks {
				processes = append(processes, s.process(t, c.now))
			}
			for range 4 {
				s.nearTheEnd(t, random.Int64N(3000))
				before, _ := s.row(t)
				for i, q := range processes {
					all.make(q, 700+random.IntN(1500))
					q.Wait()
					clocks[i].step(random.Int64N(900) - 450)
				}
				if after, _ := s.row(t); after>>26 > before>>26 {
					ends++
				}
			}
		}
		if ends < 8 {
			t.Errorf("got only %d ends of a cycle", ends)
		}
	})
}

func TestSegmentIsDroppedAfterItsCeiling(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, c := newNumbers(t), at(morning)
		q := s.process(t, c.now)
		all.make(q, 1)
		before, ceiling := s.row(t)
		if ceiling != morning+300 {
			t.Fatalf("got ceiling %d, want five minutes after %d", ceiling, morning)
		}
		c.step(301)
		all.make(q, 1)
		after, above := s.row(t)
		if after <= before || above != morning+601 {
			t.Errorf("next changed from %d to %d, the ceiling to %d", before, after, above)
		}
	})
}

func TestClockOutOfRange(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		c := at(0)
		q := s.process(t, c.now)
		all := newNumbers(t)
		if got, want := sequence.At(all.make(q, 3000)).Unix(), int64(epoch+1); got != want {
			t.Errorf("clock of 1970: got second %d, want %d", got, want)
		}
		q.Wait()
		before, ceiling := s.row(t)
		c.second.Store(1 << 40)
		if _, err := q.Next(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "beyond the range of sequence numbers") {
			t.Errorf("clock of 36812: got %v", err)
		}
		q.Wait()
		if after, same := s.row(t); after != before || same != ceiling {
			t.Error("the row changed")
		}
	})
}

func TestRoundTripsPerNumber(t *testing.T) {
	s := open(t, sqldb.SQLConfig{URL: testkit.Postgres(t)})
	connector, err := pq.NewConnector(s.config.URL)
	if err != nil {
		t.Fatal(err)
	}
	counted := &counting{Connector: connector}
	db := sql.OpenDB(counted)
	defer func() { _ = db.Close() }()
	reg := prometheus.NewRegistry()
	q := s.over(t, db, nil, reg)
	all := newNumbers(t)
	var crowd sync.WaitGroup
	for range 100 {
		crowd.Go(func() { all.make(q, 1000) })
	}
	crowd.Wait()
	q.Wait()
	statements := counted.statements.Load()
	t.Logf("%d statements for %d numbers", statements, len(all.seen))
	// pq prepares a statement with parameters: two round trips each.
	if trips := 2 * statements; trips > 200 || statements == 0 {
		t.Errorf("got %d round trips", trips)
	}
	want := "# HELP tandian_sequence_failures_total Failed leases.\n# TYPE tandian_sequence_failures_total counter\n" +
		`tandian_sequence_failures_total{name="things"} 0` + "\n"
	if err := testutil.GatherAndCompare(reg, strings.NewReader(want), "tandian_sequence_failures_total"); err != nil {
		t.Error(err)
	}
}

// counting counts the sent statements.
type counting struct {
	driver.Connector
	statements atomic.Int64
}

func (c *counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	return countedConn{conn, c}, err
}

type countedConn struct {
	driver.Conn
	c *counting
}

func (c countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.c.statements.Add(1)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (s *fixture) away(t *testing.T) { s.exec(t, "ALTER TABLE id_segments RENAME TO away") }
func (s *fixture) back(t *testing.T) { s.exec(t, "ALTER TABLE away RENAME TO id_segments") }

func TestLeasedNumbersSurviveDatabaseOutage(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		reg := prometheus.NewRegistry()
		q := s.over(t, s.DB, nil, reg)
		defer q.Wait()
		all := newNumbers(t)
		all.make(q, 1)
		s.away(t)
		all.make(q, 1023) // the rest of the segment

		began, refused := time.Now(), 0
		var err error
		for time.Since(began) < 300*time.Millisecond {
			if _, err = q.Next(t.Context(), 0); err == nil {
				t.Fatal("got a number without a lease")
			}
			refused++
		}
		if cause := (*pq.Error)(nil); s.Dialect == "postgres" && !errors.As(err, &cause) {
			t.Errorf("got %v, want a wrapped cause", err)
		}
		if !strings.Contains(err.Error(), "id_segments") {
			t.Errorf("got %v, want the cause in the text", err)
		}
		if failed := failures(t, reg); failed < 1 || failed > 8 {
			t.Errorf("%d calls caused %d leases, want a few", refused, failed)
		}

		s.back(t)
		for deadline := time.Now().Add(patience); ; {
			if _, err = q.Next(t.Context(), 0); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("got %v after the outage", err)
			}
		}
		all.make(q, 5000)
	})
}

func failures(t *testing.T, reg *prometheus.Registry) int {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "tandian_sequence_failures_total" {
			return int(family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	t.Fatal("metric not found")
	return 0
}

// A transaction locks the row, so a lease takes as long.
func TestCancelledWaitKeepsSharedLease(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all := newNumbers(t)
		first := s.process(t, nil)
		all.make(first, 1)
		q := s.process(t, nil)
		tx, err := s.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback() }()
		if _, err := tx.ExecContext(t.Context(), "UPDATE id_segments SET next = next WHERE name = $1", name); err != nil {
			t.Fatal(err)
		}
		before, _ := s.row(t)
		ctx, cancel := context.WithCancel(t.Context())
		var crowd, patient sync.WaitGroup
		for range 20 {
			crowd.Go(func() {
				if _, err := q.Next(ctx, 0); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v, want the error of the context", err)
				}
			})
			patient.Go(func() { all.make(q, 2) })
		}
		cancel()
		crowd.Wait()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		patient.Wait()
		q.Wait()
		if after, _ := s.row(t); after-before != 1024 {
			t.Errorf("got %d leased numbers, want one lease of 1024", after-before)
		}
	})
}

// Two processes that begin at once must agree on the permutation.
func TestSecretIsCreatedOnce(t *testing.T) {
	each(t, func(t *testing.T, s *fixture) {
		all, c := newNumbers(t), at(morning)
		var crowd sync.WaitGroup
		for range 8 {
			q := s.process(t, c.now)
			crowd.Go(func() { all.make(q, 1000) })
		}
		crowd.Wait()
		var secret int64
		if err := s.QueryRowContext(t.Context(), "SELECT secret FROM id_segments").Scan(&secret); err != nil {
			t.Fatal(err)
		}
		if secret>>16 == 0 || secret>>16 == -1 {
			t.Errorf("secret %d is not random", secret)
		}
	})
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	reg := prometheus.NewRegistry()
	good := sequence.Options{Dialect: "postgres", Name: name, Registerer: reg}
	q, err := sequence.New(nil, good)
	if err != nil {
		t.Fatal(err)
	}
	for _, partition := range []int{-1, 64} {
		if _, err := q.Next(t.Context(), partition); err == nil {
			t.Errorf("partition %d: got no error", partition)
		}
	}
	tests := map[string]sequence.Options{
		"dialect": {Dialect: "mysql", Name: name},
		"no name": {Dialect: "postgres"},
		"long":    {Dialect: "postgres", Name: strings.Repeat("x", 65)},
		"twice":   good,
	}
	for what, o := range tests {
		if _, err := sequence.New(nil, o); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
}
