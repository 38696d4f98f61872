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
	prefix        string         // of Redis keys
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
	watched       map[string]redis.UniversalClient       // by role, for monitoring; none of an embedded Redis
	gates         map[string]*redisdb.WriteGate          // by role, the same for a shared Redis; none of an embedded one
	lastForeign   atomic.Int64                           // last change from the log reader, unix nanoseconds
	sharedWorkers map[string]func(context.Context) error // for all processes; one with workers runs them
	localWorkers  map[string]func(context.Context) error // for this process
	closers       []func() error
	searchable    chan struct{} // closed when the start has rewritten search texts

	sessionsEnded atomic.Pointer[func(sessions ...string)] // rechecks connections; nil without a GraphQL server
}

// Open opens the stores that cfg names, waits for them, migrates the database and builds
// the services. Any number of processes may call it at once on the same real stores.
// Embedded stores admit one process: a second one gets an error that names the first.
// Login codes for the terminal go to out.
//
// Waiting is limited by [config.Config].StartTimeout, and migrating by an hour. Close the
// components after use.
func Open(ctx context.Context, cfg *config.Config, out io.Writer, reg prometheus.Registerer, log *slog.Logger) (*Components, error) {
	return open(ctx, cfg, out, reg, log, func(d dialect.Driver) dialect.Driver { return d })
}

// open implements Open. around wraps the driver of all services.
func open(ctx context.Context, cfg *config.Config, out io.Writer, reg prometheus.Registerer, log *slog.Logger, around func(dialect.Driver) dialect.Driver) (c *Components, err error) {
	c = &Components{
		sharedWorkers: map[string]func(context.Context) error{}, localWorkers: map[string]func(context.Context) error{},
		watched: map[string]redis.UniversalClient{}, gates: map[string]*redisdb.WriteGate{},
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	waiting, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()
	if err := c.openSQL(waiting, cfg, reg, log); err != nil {
		return c, err
	}
	if err := c.migrate(ctx, log); err != nil {
		return c, err
	}
	ctx, cancelStart := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancelStart()
	if err := c.openRedis(ctx, cfg, reg, log); err != nil {
		return c, err
	}
	client := ent.NewClient(ent.Driver(around(c.DB.Driver(sqldb.NewSQLMetrics(reg, c.DB.DB)))))
	if err := c.openChanges(cfg, reg, log); err != nil {
		return c, err
	}
	if err := c.build(ctx, cfg, client, out, reg, log); err != nil {
		return c, err
	}
	if err := c.Shops.SaveCatalogue(ctx); err != nil {
		return c, err
	}
	return c, nil
}

// build builds the services and registers their background work.
func (c *Components) build(ctx context.Context, cfg *config.Config, client *ent.Client, out io.Writer, reg prometheus.Registerer, log *slog.Logger) error {
	var err error
	c.prefix = cfg.RedisPrefix
	if c.zone, err = cfg.Location(); err != nil {
		return fmt.Errorf("load the time zone: %w", err)
	}
	sender, err := c.codeSender(cfg, out)
	if err != nil {
		return err
	}
	countries, err := cfg.CallingCodes()
	if err != nil {
		return fmt.Errorf("parse code countries: %w", err)
	}
	pictures, err := c.openMedia(ctx, cfg, client, reg, log)
	if err != nil {
		return err
	}
	limits := c.openQuotas(cfg, reg, log)
	c.Services = graph.Services{
		Media: pictures,
		Accounts: account.New(client, c.hub, c.outbox, account.Config{
			Redis: c.State, Registerer: reg, Log: log,
			Prefix: cfg.RedisPrefix, Sender: sender, Pictures: pictures.UsagesOf(media.OfUser),
			CodeCountries: countries, CodesPerHour: cfg.CodesPerHour, DemoPhones: cfg.CodeSender != "webhook",
			CodesPerAddress: cfg.CodesPerAddress, LoginsPerAddress: cfg.LoginsPerAddress, WrongCodesPerHour: cfg.WrongCodesPerHour, OnSessionsEnded: c.publishEnded,
		}),
		Shops: shop.New(client, c.hub, c.outbox, shop.Config{
			Redis: c.State, Prefix: cfg.RedisPrefix, Pictures: pictures.UsagesOf(media.OfShop), Icons: pictures.UsagesOf(media.OfShopType),
			Quota: limits.Limit("shops", cfg.ShopsPerUser), Registerer: reg, Log: log,
			Prior: shop.Prior{Mean: cfg.RatingPriorMean, Weight: cfg.RatingPriorWeight}, Zone: c.zone,
		}),
		Caches: c.hub,
	}
	if err := c.openSales(ctx, cfg, client, limits, reg, log); err != nil {
		return err
	}
	c.openSocial(cfg, client, limits, reg, log)
	c.openCheckIns(cfg, client)
	c.openVisits(cfg, client, reg, log) //nolint:contextcheck // the last roll-up runs after all contexts end
	c.openScans(reg, log)
	c.warmer = newWarmer(c, reg, log)
	c.openSchedule(cfg, reg, log)
	if cfg.DatabaseURL != "" {
		c.localWorkers["database failover"] = newFailoverMonitor(c, client, reg, log).run
	}
	c.Queues = queues{c.outbox, c.sales, c.Feed, log}
	c.localWorkers["caches"] = c.hub.Run
	c.localWorkers["shops"] = c.Shops.Run // rebuilds missing GEO cells
	c.propagateChanges(cfg, reg, log)
	return nil
}

// codeSender returns the sender of login codes, or nil without one.
func (c *Components) codeSender(cfg *config.Config, out io.Writer) (account.Sender, error) {
	switch {
	case cfg.CodeSender == "webhook":
		sender, err := account.Webhook(account.WebhookConfig{URL: cfg.CodeWebhookURL, Secret: cfg.CodeWebhookSecret})
		if err != nil {
			return nil, err
		}
		c.closers = append(c.closers, func() error { sender.Close(); return nil })
		return sender, nil
	case cfg.CodeSender == "console" || cfg.CodeSender == "" && cfg.Embedded():
		return account.Console(out), nil
	}
	return nil, nil //nolint:nilnil // no sender
}

func (c *Components) openSQL(ctx context.Context, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) error {
	if cfg.DatabaseURL == "" {
		release, err := sqldb.LockDir(cfg.DataDir, fmt.Sprintf("process %d", os.Getpid()))
		if err != nil {
			return err
		}
		c.closers = append(c.closers, release)
	}
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{
		URL: cfg.DatabaseURL, DataDir: cfg.DataDir, MaxConns: cfg.DBMaxConns, MaxIdle: cfg.DBMaxIdle,
	})
	if err != nil {
		return err
	}
	c.DB = db
	c.closers = append(c.closers, db.Close)
	if err := db.Await(ctx, waiting(ctx, log)); err != nil {
		return err
	}
	if err := c.openExclusive(reg, log); err != nil { //nolint:contextcheck // locks close after all contexts end
		return err
	}
	if cfg.DatabaseURL == "" {
		return nil
	}
	claim, err := claimDatabase(ctx, c.exclusive, cfg.RedisURL != "", waiting(ctx, log))
	if errors.Is(err, errClaimed) {
		if cfg.RedisURL == "" {
			return errors.New("database is in use by other processes: set the same --redis-url in all of them")
		}
		return errors.New("database is in use by a process with an embedded Redis: set the same --redis-url in both")
	}
	if err != nil {
		return err
	}
	c.closers = append(c.closers, claim.release)
	c.localWorkers["database claim"] = claim.run
	return nil
}

// waiting returns a callback that logs why the start waits for the database.
func waiting(ctx context.Context, log *slog.Logger) func(error) {
	return func(err error) { log.WarnContext(ctx, "waiting for the database", "err", err) }
}

// migrateTimeout bounds all migrations together. An index over millions of rows takes
// minutes, and an interrupted one would start again at each attempt.
const migrateTimeout = time.Hour

func (c *Components) migrate(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, migrateTimeout)
	defer cancel()
	files, err := migrate.Files(c.DB.Dialect)
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	applied, err := c.DB.Migrate(ctx, files)
	if err != nil {
		return err
	}
	for _, m := range applied {
		log.InfoContext(ctx, "migrated", "version", m.Version, "file", m.Name)
	}
	return nil
}

func (c *Components) openRedis(ctx context.Context, cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) error {
	metrics := redisdb.NewRedisMetrics(reg)
	base := redisdb.RedisConfig{
		URL: cfg.RedisURL, Role: stateRole,
		PoolSize: cfg.RedisPoolSize, MinIdle: cfg.RedisMinIdle, PoolTimeout: cfg.RedisPoolTimeout,
		Log: log, TLS: cfg.RedisTLS(),
	}
	if cfg.RedisURL == "" {
		embedded, err := embedredis.Start(embedredis.Options{})
		if err != nil {
			return fmt.Errorf("start the embedded Redis: %w", err)
		}
		// The clock outlives the workers: it runs until Close.
		ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
		var clock errgroup.Group
		clock.Go(func() error { return embedded.Run(ctx) })
		c.closers = append(c.closers, func() error { stop(); return errors.Join(clock.Wait(), embedded.Close()) })
		base.URL, base.Dial = "redis://embedded", embedded.Dial
	}
	if cfg.RedisURL != "" {
		c.gates[stateRole] = redisdb.NewWriteGate(stateRole, cfg.RedisPrefix, metrics, log)
		c.gates[cacheRole] = c.gates[stateRole]
		if cfg.RedisCacheURL != "" {
			c.gates[cacheRole] = redisdb.NewWriteGate(cacheRole, cfg.RedisPrefix, metrics, log)
		}
	}
	base.Gate = c.gates[stateRole]
	var err error
	c.state, c.metrics = base, metrics
	shared := base // for requests; sales batch admissions themselves, and monitoring uses no pipelines
	shared.AutoPipeline = !slices.Contains(cfg.Without, "together")
	if c.State, err = redisdb.OpenRedis(shared, metrics); err != nil {
		return err
	}
	c.closers = append(c.closers, c.State.Close)
	c.Cache = c.State
	if cfg.RedisCacheURL != "" {
		shared.URL, shared.Role, shared.Gate = cfg.RedisCacheURL, cacheRole, c.gates[cacheRole]
		if c.Cache, err = redisdb.OpenRedis(shared, metrics); err != nil {
			return err
		}
		c.closers = append(c.closers, c.Cache.Close)
	}
	if cfg.RedisURL != "" {
		// Monitoring has its own connections, so it never waits for the clients that it monitors.
		for role, url := range map[string]string{stateRole: cfg.RedisURL, cacheRole: cmp.Or(cfg.RedisCacheURL, cfg.RedisURL)} {
			watch := base
			watch.Gate = nil
			watch.URL, watch.Role, watch.PoolSize, watch.MinIdle = url, role+"-watch", 2, 0
			client, err := redisdb.OpenRedis(watch, metrics)
			if err != nil {
				return err
			}
			c.watched[role] = client
			c.closers = append(c.closers, client.Close)
		}
	}
	for role, client := range map[string]redis.UniversalClient{stateRole: c.State, cacheRole: c.Cache} {
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

// start starts the local workers, and with workers the shared ones. The first failure ends
// the group.
func (c *Components) start(ctx context.Context, group *errgroup.Group, workers bool) {
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
	begin(ctx, c.localWorkers)
	if workers {
		begin(sqldb.Worker(ctx), c.sharedWorkers)
	} else {
		close(c.searchable) // another process rewrites the search texts
	}
}

// Run runs the local workers, and with workers the shared ones, until ctx ends or a worker
// fails. It is a server without HTTP. Call it once.
func (c *Components) Run(ctx context.Context, workers bool) error {
	group, ctx := errgroup.WithContext(ctx)
	c.start(ctx, group, workers)
	return group.Wait()
}

// Outbox returns the background jobs of the installation.
func (c *Components) Outbox() *outbox.Box { return c.outbox }

// Scans returns the comparisons of derived data with its source. `tandian reconcile` runs
// them, and so does the schedule of a process with workers.
func (c *Components) Scans() *reconcile.Scans { return c.scans }

// Schedule returns the periodic jobs. One process with workers runs each due job for all.
func (c *Components) Schedule() *schedule.Schedule { return c.schedule }

// Zone returns the time zone in which days are counted.
func (c *Components) Zone() *time.Location { return c.zone }

// SeedServices returns the services that generated and demo data is written to.
func (c *Components) SeedServices() seeder.Services {
	return seeder.Services{
		Shops: c.Shops, Accounts: c.Accounts, Notes: c.Notes, Likes: c.NoteLikes, Follows: c.Follows, Comments: c.Comments,
		Pictures: c.Media, Icons: c.Shops, CheckIns: c.CheckIns, Visits: c.Visits,
		Ratings: c.Ratings, ShopSaves: c.ShopSaves, NoteSaves: c.NoteSaves,
	}
}

// Sales returns the flash sales of the installation.
func (c *Components) Sales() *flashsale.Service { return c.sales }

// AddRedisHook adds a hook to the clients of the state Redis, including the one of flash
// sales. Call it before their first use.
func (c *Components) AddRedisHook(hook redis.Hook) {
	c.State.AddHook(hook)
	c.admissions.AddHook(hook)
}

// Close waits for running loads and closes everything that Open opened, in reverse order.
func (c *Components) Close() error {
	if c.Notifier != nil {
		c.Notifier.Wait()
	}
	if c.Feed != nil {
		c.Feed.Wait()
	}
	if c.hub != nil {
		c.hub.Wait()
	}
	if c.outbox != nil {
		c.outbox.Wait()
	}
	var errs []error
	for _, closeIt := range slices.Backward(c.closers) {
		errs = append(errs, closeIt())
	}
	c.closers = nil
	return errors.Join(errs...)
}

// queues implements [graph.Queues].
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
