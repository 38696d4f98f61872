// Package config defines the settings of a server: names, defaults and checks.
//
// Every setting is a flag and an environment variable of the same name, such as
// --redis-prefix and TANDIAN_REDIS_PREFIX. The variables of the three store URLs have the
// names that platforms set, such as DATABASE_URL. A flag takes precedence.
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

// Config holds all settings. [Config.Check] validates them.
type Config struct {
	Addr        string // host:port to listen on
	MetricsAddr string // host:port of metrics and probes only; "" is Addr
	DataDir     string // folder of the embedded stores

	DatabaseURL   string   // postgres://…; "" is the embedded SQLite
	RedisURL      string   // see redisdb.RedisConfig; "" is the embedded Redis
	RedisCacheURL string   // caches; "" is RedisURL
	RedisLockURLs []string // independent masters for the locks of orders; empty is RedisURL
	RedisPrefix   string   // first word of every key and channel
	RedisCA       string   // PEM files of rediss:// connections, see redisdb.RedisTLS
	RedisCert     string
	RedisKey      string

	DBMaxConns       int // 0 is 20, or 8 for SQLite
	DBMaxIdle        int // 0 is DBMaxConns
	RedisPoolSize    int
	RedisMinIdle     int
	RedisPoolTimeout time.Duration
	RedisReadLimit   int    // Redis reads per second by the caches of this process; 0 is no limit
	LogReader        string // auto or off; auto reads the Postgres log where possible
	L1Bytes          int    // bytes of the local caches; -1 is a tenth of the memory limit, 0 is none

	CodeSender        string   // console or webhook; "" is console in embedded mode, else none
	CodeWebhookURL    string   // see webhook.CheckURL
	CodeWebhookSecret string   // signs requests to CodeWebhookURL
	CodeCountries     []string // calling codes of phones that get login codes; empty is all
	CodesPerHour      int      // login codes per hour, over all instances; 0 is no limit
	CodesPerAddress   int      // login codes per hour and client address; 0 is no limit
	LoginsPerAddress  int      // login attempts per hour and client address; 0 is no limit
	WrongCodesPerHour int      // wrong login codes per hour, over all instances; 0 is no limit

	PayWithin            time.Duration // time to pay before an order is cancelled
	OrderWait            time.Duration // maximum wait of orderVoucher until the order is stored; 0 returns QUEUED at once
	OrderListSize        int           // newest orders of each user that Redis stores
	OrderListStripes     int           // maximum number of concurrent reads of these lists from the database, over all instances
	PaymentWebhookSecret string        // signs the notices of a payment provider; "" accepts none
	FakePayments         bool          // confirm provider payments without money; see FakesPayments
	Zone                 string        // IANA time zone of calendar days; "" is the machine's

	FeedPushThreshold int // followers from which an author's notes are no longer pushed

	MediaURL       string // store of pictures, see blob.Open; "" is the folder media in DataDir
	UploadsPerUser int    // pictures per hour and user; 0 is no limit
	DemoPictures   bool   // draw pictures for the demo town on the first start

	RatingPriorMean   float64 // of the score of a shop before its first rating, 1 to 5
	RatingPriorWeight float64 // number of ratings that the prior weighs

	DeletedTextRetention time.Duration // after which texts of deleted notes and their comments are cleared

	NotesPerUser    int // new notes per hour and user. For this and the next seven, 0 is no limit; accounts younger than a day get a tenth
	CommentsPerUser int // new comments and replies
	LikesPerUser    int // likes and unlikes
	FollowsPerUser  int // follows and unfollows
	RatingsPerUser  int // new, changed and deleted ratings
	SavesPerUser    int // saves and unsaves of shops and notes
	ShopsPerUser    int // new shops
	VouchersPerUser int // new vouchers, including flash sales

	TrustedProxies  []string // networks and addresses whose X-Forwarded-For is accepted
	CORSOrigins     []string // other origins whose pages may use the API
	RateAnonymous   int      // requests per second and client address; burst 2×; 0 is no limit
	RateUser        int      // requests per second and user; burst 2×; 0 is no limit
	AbsentReads     int      // reads of unknown ids per minute and user or client address; 0 is no limit
	ConnsPerAddress int      // sockets and event streams per client address, and ten times as many connections; 0 is no limit
	ConnsPerUser    int      // sockets and event streams per user; 0 is no limit
	Conns           int      // total connections; 0 is no limit
	Limits          []string // NAME=VALUE of other limits, see gqlserver.Limits.Set

	Run           []string      // parts that this process runs: api, workers
	Without       []string      // disabled optimizations, see Features
	Introspection bool          // let clients read the schema
	StartTimeout  time.Duration // maximum wait for the stores at the start
	StopTimeout   time.Duration // maximum wait for running requests at the stop
	LogFormat     string        // auto, json, text
	LogLevel      string        // debug, info, warn, error
	LogSample     int           // of the fast successful requests of a second after the first 10, one in LogSample is logged; 1 is all
	LogSlow       time.Duration // requests of this duration or more are always logged
}

// Features returns the optimizations that Config.Without can disable: the cache of shops,
// compiled query plans, and shared round trips to Redis.
func Features() []string { return []string{"cache", "plans", "together"} }

// Default returns the settings of a start without flags and environment.
func Default() Config {
	return Config{
		Addr: "127.0.0.1:8080", DataDir: "data",
		RedisPrefix: "td", RedisPoolSize: 32, RedisMinIdle: 2, RedisPoolTimeout: 250 * time.Millisecond,
		RedisReadLimit: 50_000, L1Bytes: -1, LogReader: "auto",
		CodesPerHour: 1000, CodesPerAddress: 200, LoginsPerAddress: 600, WrongCodesPerHour: 1000,
		PayWithin: 15 * time.Minute, OrderWait: 150 * time.Millisecond, OrderListSize: 200, OrderListStripes: 128, FeedPushThreshold: 100_000,
		UploadsPerUser: 200, DemoPictures: true, RatingPriorMean: 3.8, RatingPriorWeight: 10, DeletedTextRetention: 30 * 24 * time.Hour,
		NotesPerUser: 60, CommentsPerUser: 300, LikesPerUser: 1000, FollowsPerUser: 500, RatingsPerUser: 60, SavesPerUser: 1000, ShopsPerUser: 20, VouchersPerUser: 100,
		RateAnonymous: 1000, RateUser: 200, AbsentReads: 50, ConnsPerAddress: 100, ConnsPerUser: 10, Conns: 5000,
		Run: []string{"api", "workers"}, Introspection: true,
		StartTimeout: time.Minute, StopTimeout: 15 * time.Second,
		LogFormat: "auto", LogLevel: "info", LogSample: observe.DefaultLogSample, LogSlow: observe.DefaultLogSlow,
	}
}

// LiftContentLimits removes the hourly limits on content. Load generators need it, because
// they write a lot as few users.
func (c *Config) LiftContentLimits() {
	c.NotesPerUser, c.CommentsPerUser, c.LikesPerUser = 0, 0, 0
	c.RatingsPerUser, c.SavesPerUser = 0, 0
	c.FollowsPerUser, c.ShopsPerUser, c.VouchersPerUser = 0, 0, 0
}

var prefix = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,31}$`) //nolint:gochecknoglobals // constant

// Check validates all settings. Its error has one line for each wrong setting.
func (c *Config) Check() error {
	var bad []error
	refuse := func(name, format string, args ...any) {
		bad = append(bad, fmt.Errorf("--%s: "+format, append([]any{name}, args...)...))
	}
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		refuse("addr", "must be HOST:PORT, not %q", c.Addr)
	}
	if c.MetricsAddr != "" {
		if _, _, err := net.SplitHostPort(c.MetricsAddr); err != nil {
			refuse("metrics-addr", "must be HOST:PORT, not %q", c.MetricsAddr)
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
		refuse("redis-cache-url", "requires --redis-url: an embedded Redis stores its own caches")
	}
	c.checkLockURLs(refuse)
	c.checkRedisTLS(refuse)
	if !prefix.MatchString(c.RedisPrefix) {
		refuse("redis-prefix", "must be 1 to 32 lower-case letters, digits or dashes, not %q", c.RedisPrefix)
	}
	for name, n := range map[string]int{"db-max-conns": c.DBMaxConns, "db-max-idle": c.DBMaxIdle, "redis-min-idle": c.RedisMinIdle} {
		if n < 0 || n > 10_000 {
			refuse(name, "must be 0 to 10000, not %d", n)
		}
	}
	if c.DatabaseURL != "" && c.DBMaxConns > 0 && c.DBMaxConns < minDBConns {
		refuse("db-max-conns", "PostgreSQL needs at least %d: the locks of the process, the log reader and a job use one each", minDBConns)
	}
	if c.RedisPoolSize < 1 || c.RedisPoolSize > 10_000 {
		refuse("redis-pool-size", "must be 1 to 10000, not %d", c.RedisPoolSize)
	}
	for name, d := range map[string]time.Duration{
		"redis-pool-timeout": c.RedisPoolTimeout, "start-timeout": c.StartTimeout, "stop-timeout": c.StopTimeout, "log-slow": c.LogSlow,
	} {
		if d <= 0 || d > time.Hour {
			refuse(name, "must be above 0 and at most an hour, not %v", d)
		}
	}
	if c.RedisReadLimit < 0 || c.RedisReadLimit > 100_000_000 {
		refuse("redis-read-limit", "must be 0 to 100000000, not %d", c.RedisReadLimit)
	}
	if c.LogReader != "auto" && c.LogReader != "off" {
		refuse("log-reader", "unknown mode %q (want one of [auto off])", c.LogReader)
	}
	if c.L1Bytes < -1 || c.L1Bytes > 1<<40 {
		refuse("l1-bytes", "must be -1 to 1099511627776, not %d", c.L1Bytes)
	}
	if c.DeletedTextRetention < time.Hour || c.DeletedTextRetention > 10*365*24*time.Hour {
		refuse("deleted-text-retention", "must be 1 to 87600 hours, not %v", c.DeletedTextRetention)
	}
	if !(c.RatingPriorMean >= 1 && c.RatingPriorMean <= 5) {
		refuse("rating-prior-mean", "must be 1 to 5, not %v", c.RatingPriorMean)
	}
	if !(c.RatingPriorWeight >= 0.1 && c.RatingPriorWeight <= 1e6) {
		refuse("rating-prior-weight", "must be 0.1 to 1000000, not %v", c.RatingPriorWeight)
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
		"notes-per-user": c.NotesPerUser, "comments-per-user": c.CommentsPerUser, "likes-per-user": c.LikesPerUser, "ratings-per-user": c.RatingsPerUser, "saves-per-user": c.SavesPerUser,
		"follows-per-user": c.FollowsPerUser, "shops-per-user": c.ShopsPerUser, "vouchers-per-user": c.VouchersPerUser,
	} {
		if n < 0 || n > 1_000_000 {
			refuse(name, "must be 0 to 1000000, not %d", n)
		}
	}
	if _, err := clientaddr.ParseProxies(c.TrustedProxies); err != nil {
		refuse("trusted-proxies", "%v", err)
	}
	c.checkServer(refuse)
	for _, r := range c.Run {
		if r != "api" && r != "workers" {
			refuse("run", "unknown part %q (want one of [api workers])", r)
		}
	}
	for _, feature := range c.Without {
		if !slices.Contains(Features(), feature) {
			refuse("without", "unknown optimization %q (want one of %v)", feature, Features())
		}
	}
	if c.LogFormat != "auto" && c.LogFormat != "json" && c.LogFormat != "text" {
		refuse("log-format", "unknown format %q (want one of [auto json text])", c.LogFormat)
	}
	if _, err := c.Level(); err != nil {
		refuse("log-level", "unknown level %q (want one of [debug info warn error])", c.LogLevel)
	}
	if c.LogSample < 1 || c.LogSample > 1_000_000 {
		refuse("log-sample", "must be 1 to 1000000, not %d", c.LogSample)
	}
	return errors.Join(bad...)
}

func (c *Config) checkLockURLs(refuse func(name, format string, args ...any)) {
	const name = "redis-lock-urls"
	if len(c.RedisLockURLs) == 0 {
		return
	}
	if c.RedisURL == "" {
		refuse(name, "requires --redis-url")
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

// minDBConns leaves one connection for requests: locks hold up to three.
const minDBConns = 4

// maxLockNodes bounds the lock nodes: each lock waits for a majority.
const maxLockNodes = 7

func (c *Config) checkRedisTLS(refuse func(name, format string, args ...any)) {
	used := redisdb.IsTLS(c.RedisURL) || redisdb.IsTLS(c.RedisCacheURL) || slices.ContainsFunc(c.RedisLockURLs, redisdb.IsTLS)
	for _, f := range []struct{ name, file string }{{"redis-ca", c.RedisCA}, {"redis-cert", c.RedisCert}, {"redis-key", c.RedisKey}} {
		if f.file != "" && !used {
			refuse(f.name, "requires a rediss:// URL")
			return
		}
	}
	switch {
	case c.RedisCert != "" && c.RedisKey == "":
		refuse("redis-cert", "requires --redis-key")
		return
	case c.RedisCert == "" && c.RedisKey != "":
		refuse("redis-key", "requires --redis-cert")
		return
	}
	for name, files := range map[string]redisdb.RedisTLS{"redis-ca": {CA: c.RedisCA}, "redis-cert": {Cert: c.RedisCert, Key: c.RedisKey}} {
		if err := files.Check(); err != nil {
			refuse(name, "%v", err)
		}
	}
}

// RedisTLS returns the TLS files of rediss:// connections.
func (c *Config) RedisTLS() redisdb.RedisTLS {
	return redisdb.RedisTLS{CA: c.RedisCA, Cert: c.RedisCert, Key: c.RedisKey}
}

func (c *Config) checkServer(refuse func(name, format string, args ...any)) {
	for name, n := range map[string]int{
		"rate-anonymous": c.RateAnonymous, "rate-user": c.RateUser, "absent-reads": c.AbsentReads,
		"conns-per-address": c.ConnsPerAddress, "conns-per-user": c.ConnsPerUser, "conns": c.Conns,
	} {
		if n < 0 || n > 1_000_000 {
			refuse(name, "must be 0 to 1000000, not %d", n)
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

// ServerLimits returns the limits of the GraphQL server, or an error if Limits is invalid.
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

func (c *Config) checkCodes(refuse func(name, format string, args ...any)) {
	if _, err := c.CallingCodes(); err != nil {
		refuse("code-countries", "%v", err)
	}
	hook := c.CodeSender == "webhook"
	if !hook && c.CodeSender != "" && c.CodeSender != "console" {
		refuse("code-sender", "unknown sender %q (want one of [console webhook])", c.CodeSender)
		return // the other settings may fit the intended sender
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
			refuse(s.name, "requires --code-sender webhook")
		case hook && s.value == "":
			refuse(s.name, "required by --code-sender webhook")
		case hook:
			if err := s.check(s.value); err != nil {
				refuse(s.name, "%v", err)
			}
		}
	}
}

// CallingCodes returns CodeCountries without plus signs and empty items. An unknown code is an error.
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

func (c *Config) checkOrders(refuse func(name, format string, args ...any)) {
	if c.PayWithin < time.Second || c.PayWithin > 30*24*time.Hour {
		refuse("pay-within", "must be a second to 720 hours, not %v", c.PayWithin)
	}
	if c.OrderWait < 0 || c.OrderWait > 10*time.Second {
		refuse("order-wait", "must be 0 to 10 s, not %v", c.OrderWait)
	}
	if c.OrderListSize < 1 || c.OrderListSize > 200 {
		refuse("order-list-size", "must be 1 to 200, not %d", c.OrderListSize)
	}
	if c.OrderListStripes < 1 || c.OrderListStripes > 4096 {
		refuse("order-list-stripes", "must be 1 to 4096, not %d", c.OrderListStripes)
	}
	if c.FeedPushThreshold < 1 || c.FeedPushThreshold > 100_000_000 {
		refuse("feed-push-threshold", "must be 1 to 100000000, not %d", c.FeedPushThreshold)
	}
	if c.PaymentWebhookSecret != "" {
		if err := webhook.CheckSecret(c.PaymentWebhookSecret); err != nil {
			refuse("payment-webhook-secret", "%v", err)
		}
		if c.FakePayments {
			refuse("fake-payments", "excludes --payment-webhook-secret: payments are real or fake")
		}
	}
	if _, err := c.Location(); err != nil {
		refuse("zone", "unknown time zone %q", c.Zone)
	}
}

// Location returns the time zone of calendar days.
func (c *Config) Location() (*time.Location, error) {
	if c.Zone == "" {
		return time.Local, nil
	}
	return time.LoadLocation(c.Zone)
}

// Media returns the URL of the picture store for [blob.Open].
func (c *Config) Media() (string, error) {
	if c.MediaURL != "" {
		return c.MediaURL, nil
	}
	dir, err := filepath.Abs(filepath.Join(c.DataDir, "media"))
	return (&url.URL{Scheme: "file", Path: dir}).String(), err
}

// Level returns the log level.
func (c *Config) Level() (slog.Level, error) {
	var l slog.Level
	err := l.UnmarshalText([]byte(c.LogLevel))
	return l, err
}

// Embedded reports whether both stores are in this process.
func (c *Config) Embedded() bool { return c.DatabaseURL == "" && c.RedisURL == "" }

// FakesPayments reports whether provider payments are confirmed without money: with
// FakePayments, and in embedded mode without a provider.
func (c *Config) FakesPayments() bool {
	return c.FakePayments || c.Embedded() && c.PaymentWebhookSecret == ""
}

// Runs reports whether this process runs a part, api or workers.
func (c *Config) Runs(part string) bool {
	return slices.Contains(c.Run, part)
}

// LocalBytes returns the memory budget of the local caches: L1Bytes, or a tenth of the
// process limit if it is -1. The limit is that of the Go runtime, else that of the control
// group, else half of the machine's memory. It returns 0 if none of them is known.
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
