package bench

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/hyperloglog"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// A VisitCounter counts visits like a whole server.
type VisitCounter interface {
	// Operation counts an operation of a user, like package visit.
	Operation(user string)
	// Intercept returns a function that sends an operation through all visit counting of the
	// GraphQL server: of a user, or of an anonymous client if user is "". It does not run the
	// operation.
	Intercept(ctx context.Context, user string) (func(), error)
}

// VisitsOptions configures [Visits].
type VisitsOptions struct {
	MaxVisitors int // visitors that are counted, at least 1000
	Open        func(ctx context.Context, redisURL string) (v VisitCounter, stop func() error, err error)
}

const (
	visitsOff    = 2.0       // maximum error of a count, in %
	visitsBytes  = 16 << 10  // per day
	visitsCost   = 1000      // nanoseconds per operation of a recent visitor
	visitsEach   = 1000      // visitors of a PFADD
	visitsRounds = 9         // per candidate
	visitsTrips  = 2000      // round trips in a round
	visitsCalls  = 1_000_000 // calls that stay in the process
)

// Visits measures the accuracy and size of visitor counters, in a private Redis and in
// kit/hyperloglog. It also measures the cost that recording a visit adds to a read.
func Visits(ctx context.Context, o VisitsOptions, out, progress io.Writer) (err error) {
	server, err := subprocess.StartRedis(ctx)
	if err != nil {
		return fmt.Errorf("bench visits: %w", err)
	}
	defer server.Stop()
	rdb, err := subprocess.OpenPatient(server.URL)
	if err != nil {
		return fmt.Errorf("bench visits: %w", err)
	}
	defer func() { _ = rdb.Close() }()
	b := &visitsBench{o: o, rdb: rdb, url: server.URL}
	return harness.Table(ctx, "visits", []harness.Measurement{
		{Name: "accuracy", Measure: b.accuracy},
		{Name: "cost per read", Measure: b.cost},
	}, out, progress)
}

type visitsBench struct {
	o   VisitsOptions
	rdb redis.UniversalClient
	url string
}

// accuracy counts the same visitors in every run.
func (b *visitsBench) accuracy(ctx context.Context) (rows []harness.Row, err error) {
	random, sketch, n := rand.New(rand.NewPCG(1, 2026)), new(hyperloglog.Sketch), 0 //nolint:gosec // fixed on purpose
	const key = "visit:uv:{site}:20261123"
	for next := visitsEach; next <= b.o.MaxVisitors; next *= 10 {
		for ; n < next; n += visitsEach {
			some := make([]any, visitsEach)
			for i := range some {
				id := fmt.Sprintf("v:%016x%016x", random.Uint64(), random.Uint64())
				sketch.Add([]byte(id))
				some[i] = id
			}
			if err := b.rdb.PFAdd(ctx, key, some...).Err(); err != nil {
				return nil, fmt.Errorf("add visitors: %w", err)
			}
		}
		row, err := b.counted(ctx, key, n, sketch)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row...)
	}
	return rows, nil
}

func (b *visitsBench) counted(ctx context.Context, key string, n int, sketch *hyperloglog.Sketch) ([]harness.Row, error) {
	got, err := b.rdb.PFCount(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("count visitors: %w", err)
	}
	text, err := b.rdb.Get(ctx, key).Bytes()
	if err != nil {
		return nil, fmt.Errorf("read visitors: %w", err)
	}
	memory, err := b.rdb.MemoryUsage(ctx, key).Result()
	if err != nil {
		return nil, fmt.Errorf("read the size of visitors: %w", err)
	}
	theirs, err := hyperloglog.Parse(text)
	if err != nil {
		return nil, err
	}
	off := 100 * (float64(got)/float64(n) - 1)
	label := strconv.Itoa(n) + " visitors"
	return []harness.Row{
		{What: label + " by PFCOUNT", Measured: fmt.Sprintf("%d, %+.2f %%", got, off), Goal: "within 2 %", Met: math.Abs(off) <= visitsOff},
		{What: label + " in the row", Measured: fmt.Sprint(sketch.Count()), Goal: "the same", Met: sketch.Count() == got && *theirs == *sketch},
		{What: label + ", key", Measured: fmt.Sprintf("%d bytes, %d in memory", len(text), memory), Goal: "16 KB at most", Met: memory <= visitsBytes},
	}, nil
}

// cost compares recording in the process with a round trip for each visit.
func (b *visitsBench) cost(ctx context.Context) (rows []harness.Row, err error) {
	v, stop, err := b.o.Open(ctx, b.url)
	if err != nil {
		return nil, fmt.Errorf("open a server to measure: %w", err)
	}
	defer func() {
		if ended := stop(); err == nil {
			err = ended
		}
	}()
	v.Operation("1") // later operations are of a recent visitor
	user, err := v.Intercept(ctx, "1")
	if err != nil {
		return nil, err
	}
	anonymous, err := v.Intercept(ctx, "")
	if err != nil {
		return nil, err
	}
	user()
	anonymous()
	each := map[string]float64{}
	names := []string{"PFADD", "record", "user", "anonymous"}
	took := map[string][]float64{}
	for range visitsRounds {
		for name, round := range map[string]func() (time.Duration, int, error){
			"PFADD":     func() (time.Duration, int, error) { return b.trips(ctx) },
			"record":    func() (time.Duration, int, error) { return calls(func() { v.Operation("1") }) },
			"user":      func() (time.Duration, int, error) { return calls(user) },
			"anonymous": func() (time.Duration, int, error) { return calls(anonymous) },
		} {
			all, n, err := round()
			if err != nil {
				return nil, err
			}
			took[name] = append(took[name], float64(all.Nanoseconds())/float64(n))
		}
	}
	for _, name := range names {
		slices.Sort(took[name])
		each[name] = took[name][visitsRounds/2]
	}
	row := func(what, name string) harness.Row {
		return harness.Row{
			What: what, Measured: fmt.Sprintf("%.0f ns, 1/%.0f of a PFADD", each[name], each["PFADD"]/each[name]),
			Goal: fmt.Sprintf("below %d ns", visitsCost), Met: each[name] < visitsCost,
		}
	}
	return []harness.Row{
		{What: "a PFADD and its round trip", Measured: fmt.Sprintf("%.0f ns", each["PFADD"])},
		row("recording an operation of a recent visitor", "record"),
		row("the same with identification, of a user", "user"),
		row("the same of an anonymous client", "anonymous"),
	}, nil
}

// trips adds one visitor at a time.
func (b *visitsBench) trips(ctx context.Context) (time.Duration, int, error) {
	begin := time.Now()
	for range visitsTrips {
		if err := b.rdb.PFAdd(ctx, "visit:uv:{site}:20261124", "u:1").Err(); err != nil {
			return 0, 0, fmt.Errorf("add a visitor: %w", err)
		}
	}
	return time.Since(begin), visitsTrips, nil
}

func calls(once func()) (time.Duration, int, error) {
	begin := time.Now()
	for range visitsCalls {
		once()
	}
	return time.Since(begin), visitsCalls, nil
}
