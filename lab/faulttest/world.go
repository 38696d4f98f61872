package faulttest

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	seedTimeout      = 2 * time.Minute // for creating all accounts
	reconcileTimeout = time.Minute     // for comparing both stores
)

// Options configures a [World].
type Options struct {
	Binary  string   // path of the server's program, see [BuildServer]
	Dir     string   // for data and logs; it must exist, and the caller removes it
	Servers int      // default 2
	People  int      // customers; default 200
	Seed    uint64   // chooses names and ids of people, not ports
	Flags   []string // extra flags of the servers
	Redis   Topology // topology of Redis; default one server
	Standby Standby  // replication of PostgreSQL; default none
	// RedisProxy, if not nil, opens a proxy in front of Redis and returns its address. The
	// servers connect to that proxy. The caller closes it. It requires a single Redis.
	RedisProxy func(ctx context.Context, redis string) (addr string, err error)
}

// World runs servers with a PostgreSQL and a Redis as processes of this machine, with a proxy
// between each server and each store. It is a [System]. Its methods are safe for concurrent
// use.
type World struct {
	o       Options
	dir     string
	people  []Person
	shop    string
	servers []*Proc
	urls    []string
	group   *group   // several Redis; nil for one
	redis   string   // target of the servers' Redis proxies
	toPG    []*proxy // per server
	toRedis []*proxy
	direct  *proxy // to Redis, without faults; its address stays the same after a failover

	replication *proxy // from the primary to its standby

	mu        sync.Mutex
	pg        *postgres // the primary
	standby   *postgres // nil if there is none, or after its promotion
	former    *postgres // the dead former primary
	failovers []Failover
	nodes     [2]*redisNode // the master and the spare node
	active    map[*running]bool
	calm      time.Time // end of the last fault
}

// running is an active fault.
type running struct {
	name  string
	begun chan struct{} // closed when the fault has begun
	end   func(context.Context) error
	once  sync.Once
	err   error
}

var _ System = (*World)(nil)

// Open starts everything, creates the accounts and returns when all servers are ready.
// [World.Close] ends it.
func Open(ctx context.Context, o Options) (*World, error) {
	o.Servers, o.People = cmp.Or(o.Servers, 2), cmp.Or(o.People, 200)
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("open world: %w", err)
	}
	w := &World{o: o, dir: dir, active: map[*running]bool{}}
	if err := w.open(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open world: %w", err), w.Close())
	}
	w.calm = time.Now()
	return w, nil
}

func (w *World) open(ctx context.Context) error {
	// Ports of PostgreSQL, two Redis and their direct proxy; per server one port and two
	// proxies.
	ports, err := freePorts(ctx, 4+3*w.o.Servers)
	if err != nil {
		return err
	}
	if err := w.openStores(ctx, ports[:4]); err != nil {
		return err
	}
	if err := w.seed(ctx); err != nil {
		return err
	}
	if err := w.openStandby(ctx); err != nil {
		return err
	}
	for i := range w.o.Servers {
		if err := w.addServer(i, ports[4+3*i:]); err != nil {
			return err
		}
	}
	return w.each(func(p *Proc) error { return p.Start(ctx) })
}

// Differences compares both stores by the server's program, without repairs. It returns the
// reported differences, "" for none.
func (w *World) Differences(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, reconcileTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, w.o.Binary, "reconcile", "--dry-run", "--rate", "-1") //nolint:gosec // the caller's program
	cmd.Env, cmd.Dir = environment(w.DatabaseURL(), w.RedisURL()), w.dir
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
		return string(out), nil
	}
	if err != nil {
		return "", fmt.Errorf("compare stores: %w\n%s", err, out)
	}
	return "", nil
}

func (w *World) openStores(ctx context.Context, ports []int) (err error) {
	if w.pg, err = openPostgres(ctx, w.dir, ports[0]); err != nil {
		return err
	}
	if w.o.Redis != OneRedis {
		w.group, err = openGroup(ctx, w.dir, w.o.Redis)
		return err
	}
	for i := range w.nodes {
		if w.nodes[i], err = newRedis(w.dir, "redis-"+strconv.Itoa(i), ports[1+i]); err != nil {
			return err
		}
	}
	if err := w.nodes[0].Start(ctx); err != nil {
		return err
	}
	if w.direct, err = openProxy("to Redis", loopback(ports[3]), w.nodes[0].addr()); err != nil {
		return err
	}
	w.redis = w.nodes[0].addr()
	if w.o.RedisProxy != nil {
		w.redis, err = w.o.RedisProxy(ctx, w.redis)
	}
	return err
}

// openStandby starts the standby of the options, if any.
func (w *World) openStandby(ctx context.Context) error {
	if w.o.Standby == NoStandby {
		return nil
	}
	ports, err := freePorts(ctx, 2)
	if err != nil {
		return err
	}
	if w.replication, err = openProxy("replication", loopback(ports[0]), w.pg.addr()); err != nil {
		return err
	}
	if w.standby, err = w.pg.openStandby(ctx, w.dir, ports[0], ports[1]); err != nil {
		return err
	}
	if w.o.Standby == Synchronous {
		return w.pg.waitForStandby(ctx)
	}
	return nil
}

// addServer prepares a server and opens its proxies. Stores with several addresses, or with
// addresses of their own, get no proxy.
func (w *World) addServer(i int, ports []int) error {
	name := "server-" + strconv.Itoa(i)
	database, redis := w.DatabaseURL(), w.RedisURL()
	if w.standby == nil {
		toPG, err := openProxy(name+" to PostgreSQL", loopback(ports[1]), w.pg.addr())
		if err != nil {
			return err
		}
		w.toPG, database = append(w.toPG, toPG), databaseURL(toPG.listen)
	}
	if w.group == nil {
		toRedis, err := openProxy(name+" to Redis", loopback(ports[2]), w.redis)
		if err != nil {
			return err
		}
		w.toRedis, redis = append(w.toRedis, toRedis), redisURL(toRedis.listen)
	}
	url := "http://" + loopback(ports[0])
	w.urls = append(w.urls, url)
	w.servers = append(w.servers, &Proc{
		Name: name, dir: w.dir, log: filepath.Join(w.dir, name+".log"),
		probe: func(ctx context.Context) error { return ready(ctx, url) },
		env:   environment(database, redis),
		args:  slices.Concat([]string{w.o.Binary, "--addr", loopback(ports[0]), "--log-format", "json"}, w.o.Flags, withoutLimits()),
	})
	return nil
}

// withoutLimits returns flags that disable the server's limits. All clients share one address
// and read ids that may not exist, so limits would refuse the tested requests.
func withoutLimits() []string {
	return []string{
		"--rate-anonymous", "0", "--rate-user", "0", "--conns-per-address", "0", "--absent-reads", "0",
		"--notes-per-user", "0", "--comments-per-user", "0", "--likes-per-user", "0", "--follows-per-user", "0", "--shops-per-user", "0", "--vouchers-per-user", "0",
		"--fake-payments", "serve",
	}
}

// environment returns the environment of this process without settings, and with the
// addresses of the stores.
func environment(databaseURL, redisURL string) []string {
	var env []string
	for _, pair := range os.Environ() {
		switch name, _, _ := strings.Cut(pair, "="); {
		case strings.HasPrefix(name, "TANDIAN_"), name == "DATABASE_URL", strings.HasPrefix(name, "REDIS_"):
		default:
			env = append(env, pair)
		}
	}
	return append(env, "DATABASE_URL="+databaseURL, "REDIS_URL="+redisURL)
}

// seed creates the accounts and the shop.
func (w *World) seed(ctx context.Context) (err error) {
	if w.people, err = seedPeople(ctx, w.o, w.dir, environment(w.pg.url(), w.RedisURL())); err != nil {
		return err
	}
	return w.pg.with(func(db *sql.DB) error { w.shop, err = firstShop(ctx, db); return err })
}

// seedPeople creates accounts and a shop in the stores of env, by the server's own command.
func seedPeople(ctx context.Context, o Options, dir string, env []string) ([]Person, error) {
	ctx, cancel := context.WithTimeout(ctx, seedTimeout)
	defer cancel()
	tokens := filepath.Join(dir, "tokens.tsv")
	cmd := exec.CommandContext(ctx, o.Binary, "seed", "--pictures=false", "--users", strconv.Itoa(o.People+2), "--shops", "1", //nolint:gosec // the caller's program
		"--seed", strconv.FormatUint(max(o.Seed, 1), 10), "--tokens", tokens)
	cmd.Env, cmd.Dir = env, dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("seed people: %w\n%s", err, out)
	}
	return readTokens(tokens)
}

// firstShop returns the global id of the seeded shop.
func firstShop(ctx context.Context, db *sql.DB) (string, error) {
	var id int64
	if err := db.QueryRowContext(ctx, `SELECT min(id) FROM shops`).Scan(&id); err != nil {
		return "", fmt.Errorf("find shop: %w", err)
	}
	return globalID("Shop", id), nil
}

// readTokens reads the file of `seed --tokens`: USER_ID, ROLE and SESSION_TOKEN, first an
// ADMIN, then a MERCHANT.
func readTokens(path string) ([]Person, error) {
	file, err := os.Open(path) //nolint:gosec // the path is internal
	if err != nil {
		return nil, fmt.Errorf("read tokens: %w", err)
	}
	defer func() { _ = file.Close() }()
	var people []Person
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Split(lines.Text(), "\t")
		if len(fields) != 3 {
			return nil, fmt.Errorf("read tokens: line %d has %d fields, want 3", len(people)+1, len(fields))
		}
		people = append(people, Person{ID: fields[0], Token: fields[2]})
	}
	if len(people) < 3 {
		return nil, fmt.Errorf("read tokens: got %d people, want at least 3", len(people))
	}
	return people, nil
}

// ready checks that a server is ready.
func ready(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 200))
	if err != nil {
		return err
	}
	// A server without Redis reports "ready" with a remark; a world needs both stores.
	if body := strings.TrimSpace(string(text)); body != "ready" {
		return fmt.Errorf("%s: %d %s", url, res.StatusCode, body)
	}
	return nil
}

// each runs do for all servers in parallel.
func (w *World) each(do func(p *Proc) error) error {
	failed := make([]error, len(w.servers))
	var all sync.WaitGroup
	for i, p := range w.servers {
		all.Go(func() { failed[i] = do(p) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// Servers returns the number of servers.
func (w *World) Servers() int { return len(w.servers) }

// URL returns the base URL of a server.
func (w *World) URL(server int) string { return w.urls[server] }

// DatabaseURL returns the address of the database, without proxies. With a standby it names
// both servers, and clients use the one that accepts writes. It stays the same after a
// promotion.
func (w *World) DatabaseURL() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, other := range []*postgres{w.standby, w.former} {
		if other != nil {
			return databasesURL(min(w.pg.port, other.port), max(w.pg.port, other.port))
		}
	}
	return w.pg.url()
}

// RedisURL returns the address of Redis without faults of proxies. It stays the same after a
// failover.
func (w *World) RedisURL() string {
	if w.group != nil {
		return w.group.url()
	}
	return redisURL(w.direct.listen)
}

// People returns the accounts.
func (w *World) People() []Person { return w.people }

// Shop returns the global id of the merchant's shop.
func (w *World) Shop() string { return w.shop }

// Logs returns the paths of the servers' logs, which cover all restarts.
func (w *World) Logs() []string {
	paths := make([]string, len(w.servers))
	for i, p := range w.servers {
		paths[i] = p.log
	}
	return paths
}

// Deaths describes the process exits that no fault caused. There should be none.
func (w *World) Deaths() []string {
	var all []string
	for _, p := range append(w.stores(), w.servers...) {
		all = append(all, p.Deaths()...)
	}
	return all
}

// stores returns the store processes that should be alive.
func (w *World) stores() []*Proc {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := []*Proc{w.pg.Proc}
	if w.standby != nil {
		all = append(all, w.standby.Proc)
	}
	if w.group != nil {
		return append(all, w.group.procs()...)
	}
	return append(all, w.nodes[0].Proc, w.nodes[1].Proc)
}

// Ends returns the requested exits of a server.
func (w *World) Ends(server int) []Ending { return w.servers[server].Ends() }

// Healthy returns since when no fault has been active; ok is false while one is. Servers may
// still be recovering.
func (w *World) Healthy() (since time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm, len(w.active) == 0
}

// master returns the Redis that the servers use.
func (w *World) master() *redisNode {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[0]
}

// spare returns the Redis that can become a replica.
func (w *World) spare() *Proc {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.nodes[1].Proc
}

// withRedis opens the servers' Redis without proxies and calls do.
func (w *World) withRedis(do func(rdb redis.UniversalClient) error) error {
	if w.group == nil {
		return w.master().with(do)
	}
	rdb, err := openServersRedis(w.RedisURL())
	if err != nil {
		return err
	}
	defer func() { _ = rdb.Close() }()
	return do(rdb)
}

// begin starts a fault, which is active from now on. After an error the fault is over.
func (w *World) begin(ctx context.Context, f Fault, r *rand.Rand) (*running, error) {
	active := &running{name: f.Name, begun: make(chan struct{})}
	w.mu.Lock()
	w.active[active] = true
	w.mu.Unlock()
	end, err := f.Begin(ctx, w, r)
	active.end = end
	close(active.begun)
	if err != nil {
		return nil, errors.Join(err, w.finish(ctx, active))
	}
	return active, nil
}

// finish ends a fault once. Concurrent calls wait for the first.
func (w *World) finish(ctx context.Context, f *running) error {
	<-f.begun
	f.once.Do(func() {
		if f.end != nil {
			f.err = f.end(ctx)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.active, f)
		w.calm = time.Now()
	})
	return f.err
}

// Heal ends every active fault, restarts dead processes and resumes stopped ones. It returns
// when both stores and all servers answer.
func (w *World) Heal(ctx context.Context) error {
	w.mu.Lock()
	var active []*running
	for f := range w.active {
		active = append(active, f)
	}
	w.mu.Unlock()
	var all sync.WaitGroup
	for _, f := range active {
		all.Go(func() { _ = w.finish(ctx, f) }) // the rest is healed below
	}
	all.Wait()
	var failed []error
	for _, p := range append(append([]*proxy{}, w.toPG...), w.toRedis...) {
		failed = append(failed, p.heal())
	}
	revive := func(p *Proc) error { return errors.Join(p.Cont(), p.Start(ctx)) }
	for _, p := range w.stores() {
		if w.group != nil || p != w.spare() { // the spare node is not needed
			failed = append(failed, revive(p))
		}
	}
	if w.group != nil {
		failed = append(failed, w.group.waitInSync(ctx))
	}
	if err := errors.Join(append(failed, w.each(revive))...); err != nil {
		return fmt.Errorf("heal world: %w", err)
	}
	return nil
}

// Close ends all processes. Their logs and the data of Redis stay in Dir.
func (w *World) Close() error {
	failed := []error{w.each(func(p *Proc) error { return p.Kill9() })}
	for _, p := range append(append([]*proxy{w.direct, w.replication}, w.toPG...), w.toRedis...) {
		if p != nil {
			p.close()
		}
	}
	for _, s := range w.nodes {
		if s != nil {
			failed = append(failed, s.close())
		}
	}
	if w.group != nil {
		failed = append(failed, w.group.close())
	}
	for _, s := range []*postgres{w.pg, w.standby, w.former} {
		if s != nil {
			failed = append(failed, s.close())
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("close world: %w", err)
	}
	return nil
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }

// freePorts returns free ports of this machine. They are below the range of client ports, so
// a dead server finds its port still free.
func freePorts(ctx context.Context, n int) ([]int, error) {
	var listen net.ListenConfig
	var ports []int
	for tries := 0; len(ports) < n; tries++ {
		port := 20_000 + rand.IntN(12_000) //nolint:gosec // no secret
		held, err := listen.Listen(ctx, "tcp", loopback(port))
		if err != nil {
			if tries > 1000 {
				return nil, fmt.Errorf("find free ports: %w", err)
			}
			continue
		}
		defer func() { _ = held.Close() }() // avoids duplicates
		ports = append(ports, port)
	}
	return ports, nil
}
