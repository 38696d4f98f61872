package salebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
	"github.com/tandian-dev/tandian/lab/testbed"
)

const (
	admissionShare    = 0.30                   // wanted admissions relative to a bare server
	lagOrders         = 10_000                 // orders for the delay until the last one is stored
	lagGoal           = time.Second            // after the load
	withoutRedisShare = 0.5                    // of the normal rate, without Redis
	storeTimeout      = time.Minute            // until the last order is stored
	defaultWait       = 150 * time.Millisecond // of orderVoucher
)

// A Stage prepares sales for a server process. It runs no shared background work.
type Stage interface {
	// People returns the tokens of n new users.
	People(ctx context.Context, n int) ([]string, error)
	// Open opens a sale, and also returns the global id of its voucher.
	Open(ctx context.Context, stock int) (sale Sale, id string, err error)
	// OpenApart opens a sale on keys that no server uses, for Admission.
	OpenApart(ctx context.Context, stock int) (Sale, error)
	// Admission returns the script, keys and arguments with which a server admits a user to a sale.
	// number is the number of the order.
	Admission(ctx context.Context, sale Sale, user, number int64) (script string, keys []string, args []any, err error)
	Close() error
}

// HTTPOptions configures [HTTPRows]. Again and Stage are required.
type HTTPOptions struct {
	Command     func() *exec.Cmd // a process that calls [testbed.Process]
	Stage       func(ctx context.Context, on Stores) (Stage, error)
	Users       int       // of a sale, one unit each; default 20 000, the queue limit of a partition
	Connections int       // default 64
	Rounds      int       // of each kind; default 3
	Profiles    string    // folder for server profiles; default none
	Progress    io.Writer // default none
}

// HTTPRows measures sales over HTTP on a server process with a private durable PostgreSQL and Redis.
// For comparison it measures a bare server under the same load and the admission script alone.
func HTTPRows(ctx context.Context, o HTTPOptions, out io.Writer) (err error) {
	o.Users, o.Connections, o.Rounds = cmp.Or(o.Users, 20_000), cmp.Or(o.Connections, 64), cmp.Or(o.Rounds, 3)
	o.Progress = cmp.Or(o.Progress, io.Discard)
	pg, err := subprocess.StartPostgres(ctx)
	if err != nil {
		return err
	}
	defer pg.Stop()
	private, err := subprocess.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	defer private.Stop()
	b := &httpBench{HTTPOptions: o, on: Stores{DatabaseURL: pg.URL, RedisURL: private.URL}, private: private}
	if b.db, err = openDatabase(ctx, pg.URL); err != nil {
		return err
	}
	defer func() { _ = b.db.Close() }()
	if b.rdb, err = subprocess.OpenPatient(private.URL); err != nil {
		return err
	}
	defer func() { _ = b.rdb.Close() }()
	if b.stage, err = o.Stage(ctx, b.on); err != nil {
		return fmt.Errorf("prepare the stage: %w", err)
	}
	defer func() { err = errors.Join(err, b.stage.Close()) }()
	if b.tokens, err = b.stage.People(ctx, o.Users); err != nil {
		return fmt.Errorf("seed %d users: %w", o.Users, err)
	}
	defer b.stop()
	list := []harness.Measurement{
		{Name: "admissions alone", Measure: b.alone},
		{Name: "admissions and their orders", Measure: func(ctx context.Context) ([]harness.Row, error) { return b.all(ctx, 0) }},
		{Name: "the last of 10 000", Measure: b.lag},
		{Name: "waiting for the commit", Measure: func(ctx context.Context) ([]harness.Row, error) { return b.all(ctx, defaultWait) }},
		{Name: "without Redis", Measure: b.withoutRedis},
	}
	return harness.Table(ctx, "bench sale over HTTP", list, out, o.Progress)
}

// httpBench is one run.
type httpBench struct {
	HTTPOptions
	on      Stores
	private *subprocess.Redis
	db      *sqldb.SQL
	rdb     redis.UniversalClient
	stage   Stage
	tokens  []string

	whole, bare *testbed.Server // nil before their start
	apart       bool            // another process stores the orders, after the load
	profiles    int
	normal      *figures // of the last server
}

func (b *httpBench) stop() {
	for _, s := range []*testbed.Server{b.whole, b.bare} {
		if s != nil {
			s.Kill()
		}
	}
}

// start starts the servers, and sends one request of each user.
func (b *httpBench) start(ctx context.Context, wait time.Duration, run ...string) error {
	if b.whole != nil {
		b.whole.Kill()
	}
	var err error
	b.apart = len(run) > 0
	b.whole, err = testbed.Start(ctx, b.Command, testbed.Setting{DatabaseURL: b.on.DatabaseURL, RedisURL: b.on.RedisURL, Wait: wait, Run: run})
	if err != nil {
		return err
	}
	c, err := b.sell(ctx, min(b.Users, 2000), 0) // warm-up
	if err != nil || b.bare != nil {
		return err
	}
	b.bare, err = testbed.Start(ctx, b.Command, testbed.Setting{Bare: c.bytes})
	return err
}

// httpSale holds the results of one sale over HTTP.
type httpSale struct {
	*outcomes
	cpu      time.Duration // of the server, for each answer
	mallocs  float64       // of the server, for each answer
	lag      time.Duration // from the last answer to the last row
	stored   float64       // orders a second, from the first request to the last row
	database count
	left     int
	stores   testbed.StoresCPU // for each order
	commits  float64           // of PostgreSQL, for each order
	wrong    string            // error of the sale; "" if every unit was sold once and all answers were wins
}

// sell opens a sale, lets users order once each, and waits until all orders are stored. The stock
// exceeds the number of users by spare.
func (b *httpBench) sell(ctx context.Context, users, spare int) (*httpSale, error) {
	if err := b.warmSessions(ctx, b.tokens[:users]); err != nil {
		return nil, err
	}
	sale, id, err := b.stage.Open(ctx, users+spare)
	if err != nil {
		return nil, fmt.Errorf("open a sale: %w", err)
	}
	l := load{b.whole.Addr, b.Connections, orderRequests(b.whole.Addr, id, b.tokens[:users])}
	c := &httpSale{}
	before, commits, err := b.costs(ctx)
	if err != nil {
		return nil, err
	}
	profiled, err := b.profile(ctx)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	c.outcomes, c.cpu, c.mallocs, err = b.storm(ctx, b.whole, l)
	if err := errors.Join(err, profiled()); err != nil {
		return nil, err
	}
	loaded := time.Now()
	begin = begin.Add(loaded.Sub(begin) - c.all) // excludes reading the figures of the server
	if b.apart {
		workers, err := testbed.Start(ctx, b.Command, testbed.Setting{DatabaseURL: b.on.DatabaseURL, RedisURL: b.on.RedisURL, Run: []string{"workers"}})
		if err != nil {
			return nil, err
		}
		defer workers.Kill()
	}
	if err := gone(ctx, b.db, sale, c.won, storeTimeout); err != nil {
		return nil, err
	}
	c.lag = time.Since(loaded)
	c.stored = float64(c.won) / time.Since(begin).Seconds()
	after, commitsAfter, err := b.costs(ctx)
	if err != nil {
		return nil, err
	}
	n := max(c.won, 1)
	used := after.Since(before)
	c.stores = testbed.StoresCPU{Redis: used.Redis / time.Duration(n), Postgres: used.Postgres / time.Duration(n)}
	c.commits = (commitsAfter - commits) / float64(n)
	return c, b.check(ctx, sale, c, users, spare)
}

// costs returns the work of the stores so far.
func (b *httpBench) costs(ctx context.Context) (c testbed.StoresCPU, commits float64, err error) {
	if err := b.db.QueryRowContext(ctx, "SELECT pg_stat_clear_snapshot(), xact_commit FROM pg_stat_database WHERE datname = current_database()").Scan(new(any), &commits); err != nil {
		return c, 0, fmt.Errorf("count commits: %w", err)
	}
	c, err = testbed.CPUOfStores(ctx, b.rdb, b.db)
	return c, commits, err
}

// storm runs a load with one processor, so that the server has one of two.
func (b *httpBench) storm(ctx context.Context, s *testbed.Server, l load) (o *outcomes, cpu time.Duration, mallocs float64, err error) {
	before, err := s.Ask(ctx, testbed.Question{})
	if err != nil {
		return nil, 0, 0, err
	}
	runtime.GC() // garbage of the previous load
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	o = l.run(ctx)
	after, err := s.Ask(ctx, testbed.Question{})
	n := max(len(l.requests), 1)
	return o, (after.CPU - before.CPU) / time.Duration(n), float64(after.Mallocs-before.Mallocs) / float64(n), errors.Join(err, ctx.Err())
}

// warmSessions sends one request of each user, as buyers do before a sale begins.
func (b *httpBench) warmSessions(ctx context.Context, tokens []string) error {
	o, err := b.sendGreetings(ctx, tokens)
	if err == nil && o.won != len(tokens) {
		err = fmt.Errorf("%d of %d users are unknown: %s", len(tokens)-o.won, len(tokens), o.odd())
	}
	return err
}

func (b *httpBench) sendGreetings(ctx context.Context, tokens []string) (*outcomes, error) {
	requests := make([][]byte, len(tokens))
	for i, token := range tokens {
		requests[i] = request(b.whole.Addr, token, `{"query":"{ me { id } }"}`)
	}
	o := load{b.whole.Addr, b.Connections, requests}.run(ctx)
	return o, ctx.Err()
}

// orderDocument is the document of a client.
const orderDocument = `mutation Order($voucher: ID!) { orderVoucher(voucherId: $voucher) { order { id status createdAt } userErrors { code message } } }`

func orderRequests(addr, voucher string, tokens []string) [][]byte {
	body := fmt.Sprintf(`{"operationName":"Order","query":%q,"variables":{"voucher":%q}}`, orderDocument, voucher)
	requests := make([][]byte, len(tokens))
	for i, token := range tokens {
		requests[i] = request(addr, token, body)
	}
	return requests
}

func request(addr, token, body string) []byte {
	return fmt.Appendf(nil, "POST /graphql HTTP/1.1\r\nHost: %s\r\nUser-Agent: salebench\r\nAccept: application/json\r\nContent-Type: application/json\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s",
		addr, token, len(body), body)
}

// check compares the responses with the stored orders.
func (b *httpBench) check(ctx context.Context, sale Sale, c *httpSale, users, spare int) error {
	if err := b.readSale(ctx, sale, c); err != nil {
		return err
	}
	switch {
	case c.won != users:
		c.wrong = fmt.Sprintf("%d of %d users won: %s", c.won, users, c.odd())
	case c.database != (count{users, users, users, users}):
		c.wrong = fmt.Sprintf("%d users won, with %d live orders of %d, of %d users; %d units are gone", users, c.database.live, c.database.orders, c.database.users, c.database.gone)
	case c.left != spare:
		c.wrong = fmt.Sprintf("%d units are left in Redis, want %d", c.left, spare)
	}
	return nil
}

func (b *httpBench) readSale(ctx context.Context, sale Sale, c *httpSale) error {
	d := &c.database
	if err := b.db.QueryRowContext(ctx, sqldb.Statement(countSQL), sale.Voucher()).Scan(&d.orders, &d.live, &d.users, &d.gone); err != nil {
		return fmt.Errorf("count the orders of voucher %d: %w", sale.Voucher(), err)
	}
	var err error
	c.left, err = sale.Left(ctx)
	return err
}

// alone measures admissions without order storage, in turns with the bare server and the bare
// script. A process that starts afterwards stores the orders.
func (b *httpBench) alone(ctx context.Context) ([]harness.Row, error) {
	if err := b.start(ctx, 0, "api"); err != nil {
		return nil, err
	}
	var scripts rates
	f, err := b.rounds(ctx, func() error {
		rate, err := b.script(ctx)
		scripts = append(scripts, rate)
		return err
	})
	if err != nil {
		return nil, err
	}
	const how = ", stored by another process after the load"
	rows := append(f.bareRows(), f.admissionRows(how)...)
	rows[3].Goal, rows[3].Met = fmt.Sprintf("≥ %.2f", admissionShare), f.shares.median() >= admissionShare
	return append(rows,
		harness.Row{What: "the same script called bare, a second", Measured: scripts.String()},
		harness.Row{What: "admissions ÷ bare script", Measured: fmt.Sprintf("%.2f", f.door.median()/scripts.median())},
		f.checkRow(how)), nil
}

// all measures sales of a server with all of its work.
func (b *httpBench) all(ctx context.Context, wait time.Duration) ([]harness.Row, error) {
	if err := b.start(ctx, wait); err != nil {
		return nil, err
	}
	f, err := b.rounds(ctx, func() error { return nil })
	if err != nil {
		return nil, err
	}
	b.normal = f
	how := ", stored meanwhile"
	if wait > 0 {
		how += fmt.Sprintf(" and waited for, %v at most", wait)
	}
	stored := harness.Row{What: "orders stored a second, first request to last row" + how, Measured: f.stored.String()}
	if wait == 0 {
		stored.Goal, stored.Met = fmt.Sprintf("≥ %d", goal), f.stored.median() >= goal
	}
	return append(f.admissionRows(how), stored,
		harness.Row{What: "CPU of Redis and of PostgreSQL for an order; transactions" + how, Measured: fmt.Sprintf("%.0f and %.0f µs; %.3f", f.redisCPU.median(), f.postgresCPU.median(), f.commits.median())},
		f.checkRow(how)), nil
}

// figures holds the figures of some rounds.
type figures struct {
	bare, bareCPU                          rates
	door, shares, doorCPU, mallocs, stored rates
	redisCPU, postgresCPU, commits         rates
	bareTook, doorTook                     harness.Samples
	rounds, queued, won                    int
	wrong                                  []string
}

// rounds measures in turns the bare server and a sale, and calls also.
func (b *httpBench) rounds(ctx context.Context, also func() error) (*figures, error) {
	f := &figures{rounds: b.Rounds}
	for range b.Rounds {
		_, id, err := b.stage.Open(ctx, 1) // without buyers: the requests have the same size
		if err != nil {
			return nil, err
		}
		requests := orderRequests(b.bare.Addr, id, b.tokens)
		o, cpu, _, err := b.storm(ctx, b.bare, load{b.bare.Addr, b.Connections, slices.Concat(requests, requests)})
		if err != nil {
			return nil, err
		}
		if o.won != 2*len(requests) {
			return nil, fmt.Errorf("the bare server: %s", o.odd())
		}
		f.bare, f.bareCPU, f.bareTook = append(f.bare, o.rate()), append(f.bareCPU, micros(cpu)), append(f.bareTook, o.took...)
		c, err := b.sell(ctx, b.Users, b.Users/10)
		if err != nil {
			return nil, err
		}
		f.add(c, o.rate())
		if err := also(); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *figures) add(c *httpSale, bare float64) {
	f.door, f.shares, f.stored = append(f.door, c.rate()), append(f.shares, c.rate()/bare), append(f.stored, c.stored)
	f.doorCPU, f.mallocs, f.doorTook = append(f.doorCPU, micros(c.cpu)), append(f.mallocs, c.mallocs), append(f.doorTook, c.took...)
	f.redisCPU, f.postgresCPU = append(f.redisCPU, micros(c.stores.Redis)), append(f.postgresCPU, micros(c.stores.Postgres))
	f.commits = append(f.commits, c.commits)
	f.queued, f.won = f.queued+c.queued, f.won+c.won
	if c.wrong != "" {
		f.wrong = append(f.wrong, c.wrong)
	}
}

func (f *figures) bareRows() []harness.Row {
	return []harness.Row{
		{What: "bare POST a second", Measured: f.bare.String()},
		{What: "bare POST, p50 and p99; server CPU", Measured: fmt.Sprintf("%s; %.0f µs", millis(f.bareTook), f.bareCPU.median())},
	}
}

func (f *figures) admissionRows(how string) []harness.Row {
	return []harness.Row{
		{What: "admissions a second" + how, Measured: f.door.String()},
		{What: "admissions ÷ bare POST" + how, Measured: f.shares.ratio()},
		{What: "an admission, p50 and p99; server CPU, allocations" + how, Measured: fmt.Sprintf("%s; %.0f µs, %.0f", millis(f.doorTook), f.doorCPU.median(), f.mallocs.median())},
		{What: "of the answers, QUEUED" + how, Measured: fmt.Sprintf("%.1f %%", 100*float64(f.queued)/float64(max(f.won, 1)))},
	}
}

func (f *figures) checkRow(how string) harness.Row {
	return harness.Row{
		What:     "sales in which every answer was a win and every win is one row" + how,
		Measured: strings.Join(append([]string{fmt.Sprintf("%d of %d", f.rounds-len(f.wrong), f.rounds)}, f.wrong...), "; "), Goal: "all", Met: len(f.wrong) == 0,
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (r rates) ratio() string {
	return fmt.Sprintf("%.2f (%.2f to %.2f)", r.median(), slices.Min(r), slices.Max(r))
}

// profile starts a CPU profile of the server if Profiles is set. done ends it.
func (b *httpBench) profile(ctx context.Context) (done func() error, err error) {
	if b.Profiles == "" {
		return func() error { return nil }, nil
	}
	b.profiles++
	path := filepath.Join(b.Profiles, fmt.Sprintf("sale-%d", b.profiles))
	if _, err := b.whole.Ask(ctx, testbed.Question{CPUProfile: path + ".cpu.pprof"}); err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	return func() error {
		_, err := b.whole.Ask(ctx, testbed.Question{Profiled: true})
		_, allocErr := b.whole.Ask(ctx, testbed.Question{AllocProfile: path + ".allocs.pprof"})
		return errors.Join(err, allocErr)
	}, nil
}

// script returns the admissions per second of the bare script, called like in the server.
func (b *httpBench) script(ctx context.Context) (float64, error) {
	sale, err := b.stage.OpenApart(ctx, b.Users)
	if err != nil {
		return 0, fmt.Errorf("open a sale: %w", err)
	}
	type admission struct {
		keys []string
		args []any
	}
	all := make([]admission, b.Users)
	var text string
	for i := range all {
		number := int64(i+1) << 6
		if text, all[i].keys, all[i].args, err = b.stage.Admission(ctx, sale, int64(i+1), number); err != nil {
			return 0, err
		}
	}
	s := redis.NewScript(text)
	if err := s.Load(ctx, b.rdb).Err(); err != nil {
		return 0, fmt.Errorf("load the script: %w", err)
	}
	var n atomic.Int64
	took, err := harness.RunParallel(ctx, b.Connections, b.Users, func(ctx context.Context) error {
		a := &all[n.Add(1)-1]
		answer, err := s.EvalSha(ctx, b.rdb, a.keys, a.args...).Slice()
		if err == nil && answer[0] != "admitted" {
			err = fmt.Errorf("script returned %v", answer)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("admit with bare script: %w", err)
	}
	return float64(b.Users) / took.Seconds(), nil
}

// lag measures the delay until the last of 10 000 orders is stored.
func (b *httpBench) lag(ctx context.Context) ([]harness.Row, error) {
	users := min(lagOrders, b.Users)
	var lags, stored rates
	for range b.Rounds {
		c, err := b.sell(ctx, users, 0)
		if err != nil {
			return nil, err
		}
		if c.wrong != "" {
			return nil, errors.New(c.wrong)
		}
		lags, stored = append(lags, c.lag.Seconds()), append(stored, c.stored)
	}
	return []harness.Row{
		{
			What: fmt.Sprintf("seconds until the last of %d is stored, after the load", users), Measured: lags.ratio(),
			Goal: fmt.Sprintf("≤ %v", lagGoal), Met: slices.Max(lags) <= lagGoal.Seconds(),
		},
		{What: fmt.Sprintf("orders stored a second, %d of them", users), Measured: stored.String()},
	}, nil
}

// withoutRedis measures two sales: Redis is stopped until the end of the load in one, and killed in
// the other.
func (b *httpBench) withoutRedis(ctx context.Context) ([]harness.Row, error) {
	send, err := b.private.Signal(ctx)
	if err != nil {
		return nil, err
	}
	var rows []harness.Row
	for _, signal := range []string{"STOP", "KILL"} {
		more, err := b.without(ctx, signal, send)
		if err != nil {
			return nil, fmt.Errorf("sell without Redis after %s: %w", signal, err)
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// without measures one such sale. The stock suffices for nine tenths of the users.
func (b *httpBench) without(ctx context.Context, signal string, send func(string) error) ([]harness.Row, error) {
	if err := b.warmSessions(ctx, b.tokens); err != nil {
		return nil, err
	}
	stock := b.Users - b.Users/10
	sale, id, err := b.stage.Open(ctx, stock)
	if err != nil {
		return nil, fmt.Errorf("open a sale: %w", err)
	}
	requests := orderRequests(b.whole.Addr, id, b.tokens)
	head := len(requests) / 5
	before := load{b.whole.Addr, b.Connections, requests[:head]}.run(ctx)
	if err := send(signal); err != nil {
		return nil, err
	}
	profiled, err := b.profile(ctx)
	if err != nil {
		return nil, err
	}
	after := load{b.whole.Addr, b.Connections, requests[head:]}.run(ctx)
	if err := profiled(); err != nil {
		return nil, err
	}
	known, err := b.sendGreetings(ctx, b.tokens[:min(1000, len(b.tokens))])
	if err != nil {
		return nil, err
	}
	if signal == "STOP" {
		if err := send("CONT"); err != nil {
			return nil, err
		}
	}
	var last time.Duration
	for _, w := range after.wins {
		last = max(last, w.at)
	}
	rate := float64(after.won) / last.Seconds()
	c := &httpSale{outcomes: after}
	if err := gone(ctx, b.db, sale, before.won+after.won, storeTimeout); err != nil {
		return nil, err
	}
	d := &c.database
	if err := b.db.QueryRowContext(ctx, sqldb.Statement(countSQL), sale.Voucher()).Scan(&d.orders, &d.live, &d.users, &d.gone); err != nil {
		return nil, fmt.Errorf("count the orders: %w", err)
	}
	at := ", without Redis after " + signal
	return []harness.Row{
		{What: "wins a second" + at, Measured: strconv.Itoa(int(rate))},
		{
			What: "÷ orders stored normally, ÷ admissions normally" + at, Measured: fmt.Sprintf("%.2f, %.2f", rate/b.normal.stored.median(), rate/b.normal.door.median()),
			Goal: fmt.Sprintf("≥ %.1f", withoutRedisShare), Met: rate/b.normal.stored.median() >= withoutRedisShare,
		},
		{What: "an answer, p50 and p99" + at, Measured: millis(after.took)},
		{
			What:     "units; wins, live orders, users with one, units gone" + at,
			Measured: fmt.Sprintf("%d; %d, %d, %d, %d", stock, before.won+after.won, d.live, d.users, d.gone), Goal: "no oversell",
			Met: d.live <= stock && d.users == d.live && d.gone == d.live,
		},
		{What: "answers other than wins" + at, Measured: after.odd()},
		{
			What: "UNAUTHENTICATED answers; unknown tokens" + at, Measured: fmt.Sprintf("%d; %d", before.signedOut+after.signedOut+known.signedOut, len(known.took)-known.won), Goal: "0; 0",
			Met: before.signedOut+after.signedOut+known.signedOut == 0 && len(known.took) == known.won,
		},
	}, nil
}
