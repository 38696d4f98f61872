package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/flashsale"
	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/kit/eventbus"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/media"
	"github.com/tandian-dev/tandian/internal/seeder"
	"github.com/tandian-dev/tandian/internal/shop"
)

// Roles of a Redis.
const (
	stateRole = "state"
	cacheRole = "cache"
)

// Components holds the stores and the services of a process, for the server and for
// commands.
type Components struct {
	DB    *sqldb.SQL
	State redis.UniversalClient // sessions, sales, streams, GEO cells
	Cache redis.UniversalClient // evictable values; may be the client of State
	graph.Services

	exclusive     *lock.Locker   // for work of one process at a time
	prefix        string         // of the Redis keys
	zone          *time.Location // of days
	bus           eventbus.Bus
	hub           *cache.Client
	outbox        *outbox.Box
	sales         *flashsale.Service
	scans         *reconcile.Scans
	numbers       *sequence.Sequence
	schedule      *schedule.Schedule
	warmer        *warmer
	admissions    redis.UniversalClient                  // of sales only
	state         redisdb.RedisConfig                    // of State
	metrics       *redisdb.RedisMetrics                  // of all clients
	watched       map[string]redis.UniversalClient       // by role, for monitoring only; none of an embedded Redis
	gates         map[string]*redisdb.WriteGate          // by role; the same if both Redis are the same. None of an embedded Redis
	foreign       atomic.Int64                           // time of the last change from the log reader, unix nanoseconds
	sharedWorkers map[string]func(context.Context) error // run by any process for all
	localWorkers  map[string]func(context.Context) error // run by each process
	closers       []func() error
	searchable    chan struct{} // closed when the start has rewritten search texts

	sessionsEnded atomic.Pointer[func(sessions ...string)] // rechecks connections; nil without a GraphQL server
}

// Open opens the stores that cfg names, waits for them, migrates the database and builds
// the services. Any number of processes may call it at once on the same real stores.
// Embedded stores admit one process: a second one gets an error that names the first.
// Login codes for the terminal go to out.
func Open(ctx context.Context, cfg *config.Config, out io.Writer, reg prometheus.Registerer, log *slog.Logger) (*Components, error) {
	return open(ctx, cfg, out, reg, log, func(d dialect.Driver) dialect.Driver { return d })
}

// open implements Open. around wraps the driver of all services.
func open(ctx context.Context, cfg *config.Config, out io.Writer, reg prometheus.Registerer, log *slog.Logger, around func(dialect.Driver) dialect.Driver) (h *Components, err error) {
	h = &Components{
		sharedWorkers: map[string]func(context.Context) error{}, localWorkers: map[string]func(context.Context) error{},
		watched: map[string]redis.UniversalClient{}, gates: map[string]*redisdb.WriteGate{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	waiting, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	if err := h.openSQL(waiting, cfg, reg, log); err != nil {
		return h, err
	}
	if err := h.migrate(ctx, log); err != nil {
		return h, err
	}
	ctx, cancelStart := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancelStart()
	if err := h.openRedis(ctx, cfg, reg, log); err != nil {
		return h, err
	}
	client := ent.NewClient(ent.Driver(around(h.DB.Driver(sqldb.NewSQLMetrics(reg, h.DB.DB)))))
	if err := h.openChanges(cfg, reg, log); err != nil {
		return h, err
	}
	if err := h.build(ctx, cfg, client, out, reg, log); err != nil {
		return h, err
	}
	if err := h.Shops.SaveCatalogue(ctx); err != nil {
		return h, err
	}
	return h, nil
}

// build builds the services and registers their background work.
func (h *Components) build(ctx context.Context, cfg *config.Config, client *ent.Client, out io.Writer, reg prometheus.Registerer, log *slog.Logger) error {
	var err error
	h.prefix = cfg.RedisPrefix
	if h.zone, err = cfg.Location(); err != nil {
		return fmt.Errorf("load the time zone: %w", err)
	}
	sender, err := h.codeSender(cfg, out)
	if err != nil {
		return err
	}
	countries, err := cfg.CallingCodes()
	if err != nil {
		return fmt.Errorf("parse code countries: %w", err)
	}
	pictures, err := h.openMedia(ctx, cfg, client, reg, log)
	if err != nil {
		return err
	}
	limits := h.openQuotas(cfg, reg, log)
	h.Services = graph.Services{
		Media: pictures,
		Accounts: account.New(client, h.hub, h.outbox, account.Config{
			Redis: h.State, Registerer: reg, Log: log,
			Prefix: cfg.RedisPrefix, Sender: sender, Pictures: pictures.UsagesOf(media.OfUser),
			CodeCountries: countries, CodesPerHour: cfg.CodesPerHour, DemoPhones: cfg.CodeSender != "webhook",
			CodesPerAddress: cfg.CodesPerAddress, LoginsPerAddress: cfg.LoginsPerAddress, WrongCodesPerHour: cfg.WrongCodesPerHour, OnSessionsEnded: h.publishEnded,
		}),
		Shops: shop.New(client, h.hub, h.outbox, shop.Config{
			Redis: h.State, Prefix: cfg.RedisPrefix, Pictures: pictures.UsagesOf(media.OfShop), Icons: pictures.UsagesOf(media.OfShopType),
			Quota: limits.Limit("shops", cfg.ShopsPerUser), Registerer: reg, Log: log,
		}),
		Caches: h.hub,
	}
	if err := h.openSales(ctx, cfg, client, limits, reg, log); err != nil {
		return err
	}
	h.openSocial(cfg, client, limits, reg, log)
	h.openCheckIns(cfg, client)
	h.openVisits(cfg, client, reg, log) //nolint:contextcheck // the last roll-up follows the end of all contexts
	h.openScans(reg, log)
	h.warmer = newWarmer(h, reg, log)
	h.openSchedule(cfg, reg, log)
	if cfg.DatabaseURL != "" {
		h.localWorkers["database failover"] = newFailoverMonitor(h, client, reg, log).run
	}
	h.Queues = queues{h.outbox, h.sales, h.Feed, log}
	h.localWorkers["caches"] = h.hub.Run
	h.localWorkers["shops"] = h.Shops.Run // rebuilds GEO cells that local readers missed
	h.propagateChanges(cfg, reg, log)
	return nil
}

// codeSender returns the sender of login codes, or nil without one.
func (h *Components) codeSender(cfg *config.Config, out io.Writer) (account.Sender, error) {
	switch {
	case cfg.CodeSender == "webhook":
		sender, err := account.Webhook(account.WebhookConfig{URL: cfg.CodeWebhookURL, Secret: cfg.CodeWebhookSecret})
		if err != nil {
			return nil, err
		}
		h.closers = append(h.closers, func() error { sender.Close(); return nil })
		return sender, nil
	case cfg.CodeSender == "console" || cfg.CodeSender == "" && cfg.Embedded():
		return account.Console(out), nil
	}
	return nil, nil //nolint:nilnil // no sender
}

func (h *Components) openSQL(ctx context.Context, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) error {
	if cfg.DatabaseURL == "" {
		release, err := sqldb.LockDir(cfg.DataDir, fmt.Sprintf("process %d", os.Getpid()))
		if err != nil {
			return err
		}
		h.closers = append(h.closers, release)
	}
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{
		URL: cfg.DatabaseURL, DataDir: cfg.DataDir, MaxConns: cfg.DBMaxConns, MaxIdle: cfg.DBMaxIdle,
	})
	if err != nil {
		return err
	}
	h.DB = db
	h.closers = append(h.closers, db.Close)
	if err := db.Await(ctx, waiting(ctx, log)); err != nil {
		return err
	}
	if err := h.openExclusive(reg, log); err != nil { //nolint:contextcheck // locks close after the end of all contexts
		return err
	}
	if cfg.DatabaseURL == "" {
		return nil
	}
	claim, err := claimDatabase(ctx, h.exclusive, cfg.RedisURL != "", waiting(ctx, log))
	if errors.Is(err, errClaimed) {
		if cfg.RedisURL == "" {
			return errors.New("database is in use by other processes: set the same --redis-url in all of them")
		}
		return errors.New("database is in use by a process with an embedded Redis: set the same --redis-url in both")
	}
	if err != nil {
		return err
	}
	h.closers = append(h.closers, claim.release)
	h.localWorkers["database claim"] = claim.run
	return nil
}

// waiting returns a callback that logs why the start waits for the database.
func waiting(ctx context.Context, log *slog.Logger) func(error) {
	return func(err error) { log.WarnContext(ctx, "waiting for the database", "err", err) }
}

// migrateTimeout bounds all migrations together. An index over millions of rows takes
// minutes, and an interrupted one would start again at each attempt.
const migrateTimeout = time.Hour

func (h *Components) migrate(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	files, err := migrate.Files(h.DB.Dialect)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	applied, err := h.DB.Migrate(ctx, files)
	if err != nil {
		return err
	}
	for _, m := range applied {
		log.InfoContext(ctx, "migrated", "version", m.Version, "file", m.Name)
	}
	return nil
}

func (h *Components) openRedis(ctx context.Context, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) error {
	metrics := redisdb.NewRedisMetrics(reg)
	c := redisdb.RedisConfig{
		URL: cfg.RedisURL, Role: "state",
		PoolSize: cfg.RedisPoolSize, MinIdle: cfg.RedisMinIdle, PoolTimeout: cfg.RedisPoolTimeout,
		Log: log, TLS: cfg.RedisTLS(),
	}
	if cfg.RedisURL == "" {
		embedded, err := embedredis.Start(embedredis.Options{})
		if err != nil {
			return fmt.Errorf("start the embedded Redis: %w", err)
		}
		// Its clock runs until the process closes it, longer than the workers.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		var clock errgroup.Group
		clock.Go(func() error { return embedded.Run(ctx) })
		h.closers = append(h.closers, func() error { stop(); return errors.Join(clock.Wait(), embedded.Close()) })
		c.URL, c.Dial = "redis://embedded", embedded.Dial
	}
	if cfg.RedisURL != "" {
		h.gates[stateRole] = redisdb.NewWriteGate(stateRole, cfg.RedisPrefix, metrics, log)
		h.gates[cacheRole] = h.gates[stateRole]
		if cfg.RedisCacheURL != "" {
			h.gates[cacheRole] = redisdb.NewWriteGate(cacheRole, cfg.RedisPrefix, metrics, log)
		}
	}
	c.Gate = h.gates[stateRole]
	var err error
	h.state, h.metrics = c, metrics
	shared := c // for requests; sales batch admissions themselves, and monitoring uses no pipeline
	shared.AutoPipeline = !slices.Contains(cfg.Without, "together")
	if h.State, err = redisdb.OpenRedis(shared, metrics); err != nil {
		return err
	}
	h.closers = append(h.closers, h.State.Close)
	h.Cache = h.State
	if cfg.RedisCacheURL != "" {
		shared.URL, shared.Role, shared.Gate = cfg.RedisCacheURL, cacheRole, h.gates[cacheRole]
		if h.Cache, err = redisdb.OpenRedis(shared, metrics); err != nil {
			return err
		}
		h.closers = append(h.closers, h.Cache.Close)
	}
	if cfg.RedisURL != "" {
		// Monitoring has its own connections, so that it never waits for those it monitors.
		for role, url := range map[string]string{stateRole: cfg.RedisURL, cacheRole: cmp.Or(cfg.RedisCacheURL, cfg.RedisURL)} {
			watch := c
			watch.Gate = nil
			watch.URL, watch.Role, watch.PoolSize, watch.MinIdle = url, role+"-watch", 2, 0
			client, err := redisdb.OpenRedis(watch, metrics)
			if err != nil {
				return err
			}
			h.watched[role] = client
			h.closers = append(h.closers, client.Close)
		}
	}
	for role, client := range map[string]redis.UniversalClient{"state": h.State, "cache": h.Cache} {
		report := func(err error) { log.WarnContext(ctx, "waiting for Redis", "role", role, "err", err) }
		if err := redisdb.Await(ctx, "the "+role+" Redis", client, report); err != nil {
			return err
		}
		if cfg.RedisURL != "" {
			if err := redisdb.CheckACL(ctx, client, cfg.RedisPrefix); err != nil {
				return fmt.Errorf("check the ACL of the %s Redis: %w", role, err)
			}
		}
	}
	return nil
}

// start starts the local workers, and the shared ones if workers is set. The first failure
// ends the group.
func (h *Components) start(ctx context.Context, group *errgroup.Group, workers bool) {
	begin := func(ctx context.Context, all map[string]func(context.Context) error) {
		for name, run := range all {
			group.Go(func() error {
				if err := run(ctx); err != nil {
					return fmt.Errorf("worker %s: %w", name, err)
				}
				return nil
			})
		}
	}
	begin(ctx, h.localWorkers)
	if workers {
		begin(sqldb.Worker(ctx), h.sharedWorkers)
	} else {
		close(h.searchable) // another process rewrites them
	}
}

// Run runs the background work of a server without HTTP, until ctx ends or a worker fails.
// workers adds the work that one process does for all. Call it once.
func (h *Components) Run(ctx context.Context, workers bool) error {
	group, ctx := errgroup.WithContext(ctx)
	h.start(ctx, group, workers)
	return group.Wait()
}

// Outbox returns the background jobs of the installation.
func (h *Components) Outbox() *outbox.Box { return h.outbox }

// Scans returns the comparisons of derived data with its source. `tandian reconcile` runs
// them, and so does the schedule of a process with workers.
func (h *Components) Scans() *reconcile.Scans { return h.scans }

// Schedule returns the jobs that one process with workers runs for all when they are due.
func (h *Components) Schedule() *schedule.Schedule { return h.schedule }

// Zone returns the time zone in which days are counted.
func (h *Components) Zone() *time.Location { return h.zone }

// SeedServices returns the services that generated and demo data is written to.
func (h *Components) SeedServices() seeder.Services {
	return seeder.Services{
		Shops: h.Shops, Accounts: h.Accounts, Notes: h.Notes, Likes: h.NoteLikes, Follows: h.Follows, Comments: h.Comments,
		Pictures: h.Media, Icons: h.Shops, CheckIns: h.CheckIns, Visits: h.Visits,
	}
}

// Sales returns the flash sales of the installation.
func (h *Components) Sales() *flashsale.Service { return h.sales }

// AddRedisHook adds a hook to the clients of the state Redis, also to that of flash sales.
// Call it before anything uses them.
func (h *Components) AddRedisHook(hook redis.Hook) {
	h.State.AddHook(hook)
	h.admissions.AddHook(hook)
}

// Close waits for running loads and closes everything that Open opened, in reverse order.
func (h *Components) Close() error {
	if h.Notifier != nil {
		h.Notifier.Wait()
	}
	if h.Feed != nil {
		h.Feed.Wait()
	}
	if h.hub != nil {
		h.hub.Wait()
	}
	if h.outbox != nil {
		h.outbox.Wait()
	}
	var errs []error
	for _, closeIt := range slices.Backward(h.closers) {
		errs = append(errs, closeIt())
	}
	h.closers = nil
	return errors.Join(errs...)
}

// queues implements the queue statistics of the graph.
type queues struct {
	box   *outbox.Box
	sales *flashsale.Service
	feed  *feed.Service
	log   *slog.Logger
}

// QueueStats returns the statistics of each sale partition, of the live feeds of this
// process and of each outbox topic. Without Redis, it omits the sales.
func (q queues) QueueStats(ctx context.Context) ([]graph.QueueStats, error) {
	topics, err := q.box.Stats(ctx)
	if err != nil {
		return nil, err
	}
	sales, err := q.sales.Stats(ctx)
	if err != nil {
		q.log.WarnContext(ctx, "cannot read sale queues", "err", err)
	}
	list := make([]graph.QueueStats, 0, len(topics)+len(sales)+1)
	for _, s := range sales {
		list = append(list, graph.QueueStats{Name: s.Name, Lag: int64(s.Lag), Pending: int64(s.Pending), Oldest: s.Oldest, Parked: int64(s.Parked)})
	}
	lag := q.feed.Lag()
	list = append(list, graph.QueueStats{Name: "live", Lag: lag.Numbers, Pending: int64(lag.Joining), Oldest: lag.Oldest})
	for _, s := range topics {
		list = append(list, graph.QueueStats{Name: s.Name, Lag: s.Waiting, Pending: s.Pending, Oldest: s.Oldest, Parked: s.Parked})
	}
	return list, nil
}
