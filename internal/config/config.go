// Package config is what can be set about a server: names, defaults, checks.
//
// Every setting is a flag and an environment variable of the same name
// (--redis-prefix, TANDIAN_REDIS_PREFIX), but for the three URLs of the stores,
// which keep the names that platforms use. A flag wins over the environment.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/tandian-dev/tandian/internal/kit/blob"
	"github.com/tandian-dev/tandian/internal/kit/clientaddr"
	"github.com/tandian-dev/tandian/internal/kit/e164"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/kit/observe"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/kit/webhook"
)

// Config is all settings. Its values are checked by [Config.Check].
type Config struct {
	Addr        string // host:port to listen on
	MetricsAddr string // host:port of metrics and probes alone; "" is Addr
	DataDir     string // folder of the embedded stores

	DatabaseURL   string   // postgres://…; "" is the embedded SQLite
	RedisURL      string   // see store.RedisConfig; "" is the embedded Redis
	RedisCacheURL string   // caches; "" is RedisURL
	RedisLockURLs []string // independent masters for the locks of orders; empty is RedisURL
	RedisPrefix   string   // begins every key and channel
	RedisCA       string   // files of TLS to both, see store.RedisTLS
	RedisCert     string
	RedisKey      string

	DBMaxConns       int
	DBMaxIdle        int
	RedisPoolSize    int
	RedisMinIdle     int
	RedisPoolTimeout time.Duration
	RedisReadLimit   int    // reads of Redis a second by the caches of this process; 0 is no limit
	LogReader        string // auto: the log of Postgres is read where that is possible; off
	L1Bytes          int    // memory of the process's own caches; -1 is a tenth of what the process may have, 0 is none

	CodeSender        string   // of login codes: console, webhook; "" is console when embedded, else nobody
	CodeWebhookURL    string   // see webhook.CheckURL
	CodeWebhookSecret string   // signs what is sent there
	CodeCountries     []string // calling codes of the phones that may get login codes; empty is all
	CodesPerHour      int      // login codes an hour of the whole installation; 0 is no limit
	CodesPerAddress   int      // login codes an hour for one client address; 0 is no limit
	LoginsPerAddress  int      // tries to log in an hour from one client address; 0 is no limit
	WrongCodesPerHour int      // wrong login codes an hour of the whole installation; 0 is no limit

	PayWithin            time.Duration // how long an order may stay unpaid
	OrderWait            time.Duration // how long orderVoucher waits for its order to be stored; 0 answers QUEUED at once
	OrderListSize        int           // newest orders of a user that are listed from Redis
	OrderListStripes     int           // locks under which such lists are read from the database
	PaymentWebhookSecret string        // signs what a payment provider posts; "" accepts nothing
	FakePayments         bool          // confirm every payment without money; see FakesPayments
	Zone                 string        // IANA name of the zone whose days count; "" is that of the machine

	FeedPushThreshold int // followers from which on an author's notes are not pushed to them

	MediaURL       string // where pictures are kept, see blob.Open; "" is the folder media in DataDir
	UploadsPerUser int    // pictures that a user may add in an hour; 0 is no limit
	DemoPictures   bool   // whether the demo town has pictures, which are drawn at the first start

	DeletedTextRetention time.Duration // how long texts of deleted notes and their comments stay in the database

	NotesPerUser    int // new notes of a user in an hour; 0 is no limit. Young accounts have a tenth of these six
	CommentsPerUser int // new comments and replies
	LikesPerUser    int // likes given or taken back
	FollowsPerUser  int // follows begun or ended
	ShopsPerUser    int // new shops
	VouchersPerUser int // new vouchers, also of flash sales

	TrustedProxies  []string // networks and addresses whose X-Forwarded-For is believed
	CORSOrigins     []string // foreign origins whose pages may use the API
	RateAnonymous   int      // requests a second of one client address; twice as many at once; 0 is no limit
	RateUser        int      // requests a second of one user; twice as many at once; 0 is no limit
	AbsentReads     int      // reads by id a minute of one user or client address that may end in nothing; 0 is no limit
	ConnsPerAddress int      // sockets and event streams of one client address, and a tenth of its connections in all; 0 is no limit
	ConnsPerUser    int      // sockets and event streams of one user; 0 is no limit
	Conns           int      // connections in all; 0 is no limit
	Limits          []string // NAME=VALUE of other limits, see gqlserver.Limits.Set

	Run           []string      // what this process does: api, workers
	Without       []string      // means of being fast, of Means, that the server does without
	Introspection bool          // whether clients may read the schema
	StartTimeout  time.Duration // how long to wait for the stores at the start
	StopTimeout   time.Duration // how long to wait for requests at the end
	LogFormat     string        // auto, json, text
	LogLevel      string        // debug, info, warn, error
	LogSample     int           // of the successful fast requests of a busy second, one in so many is logged; 1 is all
	LogSlow       time.Duration // requests that take this long are always logged
}

// Features are what Config.Without may name: the cache of shops, plans of queries, round trips
// to Redis that are shared.
func Features() []string { return []string{"cache", "plans", "together"} }

// Default returns the settings of a start without flags and environment.
func Default() Config {
	return Config{
		Addr: "127.0.0.1:8080", DataDir: "data",
		RedisPrefix: "td", RedisPoolSize: 32, RedisMinIdle: 2, RedisPoolTimeout: 250 * time.Millisecond,
		RedisReadLimit: 50_000, L1Bytes: -1, LogReader: "auto",
		CodesPerHour: 1000, CodesPerAddress: 200, LoginsPerAddress: 600, WrongCodesPerHour: 1000,
		PayWithin: 15 * time.Minute, OrderWait: 150 * time.Millisecond, OrderListSize: 200, OrderListStripes: 128, FeedPushThreshold: 100_000,
		UploadsPerUser: 200, DemoPictures: true, DeletedTextRetention: 30 * 24 * time.Hour,
		NotesPerUser: 60, CommentsPerUser: 300, LikesPerUser: 1000, FollowsPerUser: 500, ShopsPerUser: 20, VouchersPerUser: 100,
		RateAnonymous: 1000, RateUser: 200, AbsentReads: 50, ConnsPerAddress: 100, ConnsPerUser: 10, Conns: 5000,
		Run: []string{"api", "workers"}, Introspection: true,
		StartTimeout: time.Minute, StopTimeout: 15 * time.Second,
		LogFormat: "auto", LogLevel: "info", LogSample: observe.DefaultLogSample, LogSlow: observe.DefaultLogSlow,
	}
}

// LiftContentLimits removes the hourly limits on what users write. Load generators call it:
// they write much as a few users.
func (c *Config) LiftContentLimits() {
	c.NotesPerUser, c.CommentsPerUser, c.LikesPerUser = 0, 0, 0
	c.FollowsPerUser, c.ShopsPerUser, c.VouchersPerUser = 0, 0, 0
}

var prefix = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) //nolint:gochecknoglobals // a constant that Go cannot say

// Check returns everything that is wrong, in a line for each setting.
func (c *Config) Check() error {
	var bad []error
	refuse := func(name, format string, args ...any) {
		bad = append(bad, fmt.Errorf("--%s: "+format, append([]any{name}, args...)...))
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		refuse("addr", "%q is not HOST:PORT", c.Addr)
	}
	if c.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(c.MetricsAddr); err != nil {
			refuse("metrics-addr", "%q is not HOST:PORT", c.MetricsAddr)
		}
	}
	if c.DatabaseURL != "" {
		if err := sqldb.CheckDatabaseURL(c.DatabaseURL); err != nil {
			refuse("database-url", "%v", err)
		}
	}
	for name, u := range map[string]string{"redis-url": c.RedisURL, "redis-cache-url": c.RedisCacheURL} {
		if u == "" {
			continue
		}
		if err := redisdb.CheckRedisURL(u); err != nil {
			refuse(name, "%v", err)
		}
	}
	if c.RedisCacheURL != "" && c.RedisURL == "" {
		refuse("redis-cache-url", "it needs --redis-url too: the caches of an embedded Redis stay in it")
	}
	c.checkLockURLs(refuse)
	c.checkRedisTLS(refuse)
	if !prefix.MatchString(c.RedisPrefix) {
		refuse("redis-prefix", "%q is not 1 to 32 lower-case letters, digits or dashes", c.RedisPrefix)
	}
	for name, n := range map[string]int{"db-max-conns": c.DBMaxConns, "db-max-idle": c.DBMaxIdle, "redis-min-idle": c.RedisMinIdle} {
		if n < 0 || n > 10_000 {
			refuse(name, "%d is not 0 to 10000", n)
		}
	}
	if c.DatabaseURL != "" && c.DBMaxConns > 0 && c.DBMaxConns < minDBConns {
		refuse("db-max-conns", "PostgreSQL needs at least %d: the locks of this process, of the log reader and of a job hold one each", minDBConns)
	}
	if c.RedisPoolSize < 1 || c.RedisPoolSize > 10_000 {
		refuse("redis-pool-size", "%d is not 1 to 10000", c.RedisPoolSize)
	}
	for name, d := range map[string]time.Duration{
		"redis-pool-timeout": c.RedisPoolTimeout, "start-timeout": c.StartTimeout, "stop-timeout": c.StopTimeout, "log-slow": c.LogSlow,
	} {
		if d <= 0 || d > time.Hour {
			refuse(name, "%v is not above 0 and up to an hour", d)
		}
	}
	if c.RedisReadLimit < 0 || c.RedisReadLimit > 100_000_000 {
		refuse("redis-read-limit", "%d is not 0 to 100000000", c.RedisReadLimit)
	}
	if c.LogReader != "auto" && c.LogReader != "off" {
		refuse("log-reader", "%q is not auto or off", c.LogReader)
	}
	if c.L1Bytes < -1 || c.L1Bytes > 1<<40 {
		refuse("l1-bytes", "%d is not -1 to 1099511627776", c.L1Bytes)
	}
	if c.DeletedTextRetention < time.Hour || c.DeletedTextRetention > 10*365*24*time.Hour {
		refuse("deleted-text-retention", "%v is not 1 to 87600 hours", c.DeletedTextRetention)
	}
	c.checkCodes(refuse)
	c.checkOrders(refuse)
	if c.MediaURL != "" {
		if err := blob.CheckURL(c.MediaURL); err != nil {
			refuse("media-url", "%v", err)
		}
	}
	for name, n := range map[string]int{
		"codes-per-hour": c.CodesPerHour, "codes-per-address": c.CodesPerAddress, "logins-per-address": c.LoginsPerAddress, "wrong-codes-per-hour": c.WrongCodesPerHour, "uploads-per-user": c.UploadsPerUser,
		"notes-per-user": c.NotesPerUser, "comments-per-user": c.CommentsPerUser, "likes-per-user": c.LikesPerUser,
		"follows-per-user": c.FollowsPerUser, "shops-per-user": c.ShopsPerUser, "vouchers-per-user": c.VouchersPerUser,
	} {
		if n < 0 || n > 1_000_000 {
			refuse(name, "%d is not 0 to 1000000", n)
		}
	}
	if _, err := clientaddr.ParseProxies(c.TrustedProxies); err != nil {
		refuse("trusted-proxies", "%v", err)
	}
	c.checkServer(refuse)
	for _, r := range c.Run {
		if r != "api" && r != "workers" {
			refuse("run", "%q is neither api nor workers", r)
		}
	}
	for _, means := range c.Without {
		if !slices.Contains(Features(), means) {
			refuse("without", "%q is none of %s", means, strings.Join(Features(), ", "))
		}
	}
	if c.LogFormat != "auto" && c.LogFormat != "json" && c.LogFormat != "text" {
		refuse("log-format", "%q is not auto, json or text", c.LogFormat)
	}
	if _, err := c.Level(); err != nil {
		refuse("log-level", "%q is not debug, info, warn or error", c.LogLevel)
	}
	if c.LogSample < 1 || c.LogSample > 1_000_000 {
		refuse("log-sample", "%d is not 1 to 1000000", c.LogSample)
	}
	return errors.Join(bad...)
}

// checkLockURLs checks the Redis nodes of locks.
func (c *Config) checkLockURLs(refuse func(name, format string, args ...any)) {
	const name = "redis-lock-urls"
	if len(c.RedisLockURLs) == 0 {
		return
	}
	if c.RedisURL == "" {
		refuse(name, "it needs --redis-url too")
	}
	if n := len(c.RedisLockURLs); n%2 == 0 || n > maxLockNodes {
		refuse(name, "the number of nodes must be odd and at most %d, not %d: a majority decides", maxLockNodes, n)
	}
	seen := map[string]bool{}
	for _, u := range c.RedisLockURLs {
		switch err := redisdb.CheckRedisURL(u); {
		case err != nil:
			refuse(name, "%v", err)
		case strings.HasPrefix(u, "redis+"):
			refuse(name, "a node must be a single independent master: use redis://, rediss:// or unix://")
		case seen[u]:
			refuse(name, "a node is listed twice")
		}
		seen[u] = true
	}
}

// minDBConns leaves one connection for requests in addition to three that hold locks.
const minDBConns = 4

// maxLockNodes bounds the nodes of locks: each lock waits for a majority.
const maxLockNodes = 7

// checkRedisTLS checks the files of TLS to Redis.
func (c *Config) checkRedisTLS(refuse func(name, format string, args ...any)) {
	used := redisdb.IsTLS(c.RedisURL) || redisdb.IsTLS(c.RedisCacheURL) || slices.ContainsFunc(c.RedisLockURLs, redisdb.IsTLS)
	for _, f := range []struct{ name, file string }{{"redis-ca", c.RedisCA}, {"redis-cert", c.RedisCert}, {"redis-key", c.RedisKey}} {
		if f.file != "" && !used {
			refuse(f.name, "it needs a rediss:// URL: the connections to this Redis are not encrypted")
			return
		}
	}
	switch {
	case c.RedisCert != "" && c.RedisKey == "":
		refuse("redis-cert", "it needs --redis-key too")
		return
	case c.RedisCert == "" && c.RedisKey != "":
		refuse("redis-key", "it needs --redis-cert too")
		return
	}
	for name, files := range map[string]redisdb.RedisTLS{"redis-ca": {CA: c.RedisCA}, "redis-cert": {Cert: c.RedisCert, Key: c.RedisKey}} {
		if err := files.Check(); err != nil {
			refuse(name, "%v", err)
		}
	}
}

// RedisTLS is the files of connections to a rediss:// Redis.
func (c *Config) RedisTLS() redisdb.RedisTLS {
	return redisdb.RedisTLS{CA: c.RedisCA, Cert: c.RedisCert, Key: c.RedisKey}
}

// checkServer checks the settings of who may ask, and how much.
func (c *Config) checkServer(refuse func(name, format string, args ...any)) {
	for name, n := range map[string]int{
		"rate-anonymous": c.RateAnonymous, "rate-user": c.RateUser, "absent-reads": c.AbsentReads,
		"conns-per-address": c.ConnsPerAddress, "conns-per-user": c.ConnsPerUser, "conns": c.Conns,
	} {
		if n < 0 || n > 1_000_000 {
			refuse(name, "%d is not 0 to 1000000", n)
		}
	}
	for _, origin := range c.CORSOrigins {
		if err := gqlserver.CheckOrigin(origin); err != nil {
			refuse("cors-origins", "%v", err)
		}
	}
	if _, err := c.ServerLimits(); err != nil {
		refuse("limit", "%v", err)
	}
}

// ServerLimits is the limits of requests.
func (c *Config) ServerLimits() (gqlserver.Limits, error) {
	orNone := func(n int) int { return cmp.Or(n, -1) }
	l := gqlserver.Limits{
		AnonymousRate: orNone(c.RateAnonymous), AnonymousBurst: orNone(2 * c.RateAnonymous),
		UserRate: orNone(c.RateUser), UserBurst: orNone(2 * c.RateUser),
		AbsentReads:       orNone(c.AbsentReads),
		SocketsPerAddress: orNone(c.ConnsPerAddress), SocketsPerUser: orNone(c.ConnsPerUser),
	}
	for _, setting := range c.Limits {
		name, value, _ := strings.Cut(setting, "=")
		if err := l.Set(name, value); err != nil {
			return l, err
		}
	}
	return l, l.Check()
}

// checkCodes checks the settings of who brings login codes.
func (c *Config) checkCodes(refuse func(name, format string, args ...any)) {
	if _, err := c.CallingCodes(); err != nil {
		refuse("code-countries", "%v", err)
	}
	hook := c.CodeSender == "webhook"
	if !hook && c.CodeSender != "" && c.CodeSender != "console" {
		refuse("code-sender", "%q is neither console nor webhook", c.CodeSender)
		return // what else is given may be right for what was meant
	}
	for _, s := range []struct {
		name, value string
		check       func(string) error
	}{
		{"code-webhook-url", c.CodeWebhookURL, webhook.CheckURL},
		{"code-webhook-secret", c.CodeWebhookSecret, webhook.CheckSecret},
	} {
		switch {
		case !hook && s.value != "":
			refuse(s.name, "it needs --code-sender webhook too")
		case hook && s.value == "":
			refuse(s.name, "--code-sender webhook needs it")
		case hook:
			if err := s.check(s.value); err != nil {
				refuse(s.name, "%v", err)
			}
		}
	}
}

// CallingCodes returns CodeCountries without plus signs.
func (c *Config) CallingCodes() ([]string, error) {
	var codes []string
	for _, text := range c.CodeCountries {
		if strings.TrimSpace(text) == "" {
			continue
		}
		code, err := e164.ParseCallingCode(text)
		if err != nil {
			return nil, err
		}
		codes = append(codes, code)
	}
	return codes, nil
}

// checkOrders checks the settings of orders.
func (c *Config) checkOrders(refuse func(name, format string, args ...any)) {
	if c.PayWithin < time.Second || c.PayWithin > 30*24*time.Hour {
		refuse("pay-within", "%v is not a second to 720 hours", c.PayWithin)
	}
	if c.OrderWait < 0 || c.OrderWait > 10*time.Second {
		refuse("order-wait", "%v is not 0 to 10 s", c.OrderWait)
	}
	if c.OrderListSize < 1 || c.OrderListSize > 200 {
		refuse("order-list-size", "%d is not 1 to 200", c.OrderListSize)
	}
	if c.OrderListStripes < 1 || c.OrderListStripes > 4096 {
		refuse("order-list-stripes", "%d is not 1 to 4096", c.OrderListStripes)
	}
	if c.FeedPushThreshold < 1 || c.FeedPushThreshold > 100_000_000 {
		refuse("feed-push-threshold", "%d is not 1 to 100000000", c.FeedPushThreshold)
	}
	if c.PaymentWebhookSecret != "" {
		if err := webhook.CheckSecret(c.PaymentWebhookSecret); err != nil {
			refuse("payment-webhook-secret", "%v", err)
		}
		if c.FakePayments {
			refuse("fake-payments", "it cannot be used with --payment-webhook-secret: payments are real or fake")
		}
	}
	if _, err := c.Location(); err != nil {
		refuse("zone", "%q is no time zone that this machine knows", c.Zone)
	}
}

// Location is the zone whose days count.
func (c *Config) Location() (*time.Location, error) {
	if c.Zone == "" {
		return time.Local, nil
	}
	return time.LoadLocation(c.Zone)
}

// Media is where pictures are kept, as [blob.Open] has it.
func (c *Config) Media() (string, error) {
	if c.MediaURL != "" {
		return c.MediaURL, nil
	}
	dir, err := filepath.Abs(filepath.Join(c.DataDir, "media"))
	return (&url.URL{Scheme: "file", Path: dir}).String(), err
}

// Level is the log level.
func (c *Config) Level() (slog.Level, error) {
	var l slog.Level
	err := l.UnmarshalText([]byte(c.LogLevel))
	return l, err
}

// Embedded says whether both stores are in this process.
func (c *Config) Embedded() bool { return c.DatabaseURL == "" && c.RedisURL == "" }

// FakesPayments reports whether payments by providers are confirmed without money: with
// FakePayments, and in embedded mode without a provider.
func (c *Config) FakesPayments() bool {
	return c.FakePayments || c.Embedded() && c.PaymentWebhookSecret == ""
}

// Runs says whether this process does the given part of the work.
func (c *Config) Runs(part string) bool {
	return slices.Contains(c.Run, part)
}

// LocalBytes is what the process's own caches may take: as L1Bytes says, or a
// tenth of the memory that the process may have. That is the limit given to Go
// (GOMEMLIMIT), else that of its control group, else half of the machine. 0 is
// none, also where nobody says.
func (c *Config) LocalBytes() int64 {
	if c.L1Bytes >= 0 {
		return int64(c.L1Bytes)
	}
	if limit := debug.SetMemoryLimit(-1); limit != math.MaxInt64 {
		return limit / 10
	}
	if limit, err := memlimit.FromCgroup(); err == nil && limit > 0 && limit < 1<<50 {
		return int64(limit / 10)
	}
	if machine, err := memlimit.FromSystem(); err == nil {
		return int64(machine / 20)
	}
	return 0
}
