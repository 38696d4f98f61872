package config

import (
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

// Flags returns every setting as a flag that is bound to c. The values of c are the
// defaults. [cmdline.ReadEnvironment] reads the environment variables of the flags.
func (c *Config) Flags() *pflag.FlagSet {
	s := &settings{FlagSet: pflag.NewFlagSet("settings", pflag.ContinueOnError)}
	s.SortFlags = false
	c.storeFlags(s)
	c.listenFlags(s)
	c.loginFlags(s)
	c.orderFlags(s)
	c.contentFlags(s)
	c.quotaFlags(s)
	c.limitFlags(s)
	c.processFlags(s)
	return s.FlagSet
}

// Variable returns the environment variable of a setting.
func Variable(setting string) string {
	variable := strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
	switch setting {
	case "database-url", "redis-url", "redis-cache-url":
		return variable
	}
	return "TANDIAN_" + variable
}

// settings adds flags to a group of the help.
type settings struct {
	*pflag.FlagSet
	group string
}

func (s *settings) text(to *string, name, usage string) {
	s.StringVar(to, name, *to, usage)
	s.annotate(name)
}

func (s *settings) number(to *int, name, usage string) {
	s.IntVar(to, name, *to, usage)
	s.annotate(name)
}

func (s *settings) float(to *float64, name, usage string) {
	s.Float64Var(to, name, *to, usage)
	s.annotate(name)
}

func (s *settings) duration(to *time.Duration, name, usage string) {
	s.DurationVar(to, name, *to, usage)
	s.annotate(name)
}

func (s *settings) toggle(to *bool, name, usage string) {
	s.BoolVar(to, name, *to, usage)
	s.annotate(name)
}

func (s *settings) list(to *[]string, name, usage string) {
	s.Var(&list{to: to}, name, usage)
	s.annotate(name)
}

func (s *settings) annotate(name string) {
	cmdline.Annotate(s.Lookup(name), s.group, Variable(name))
}

// list is a flag of words separated by commas. The first use replaces the default, and
// later ones append.
type list struct {
	to  *[]string
	set bool
}

func (l *list) String() string { return strings.Join(*l.to, ",") }

func (l *list) Type() string { return "list" }

func (l *list) Set(words string) error {
	if !l.set {
		*l.to, l.set = nil, true
	}
	*l.to = append(*l.to, strings.Split(words, ",")...)
	return nil
}

func (c *Config) storeFlags(s *settings) {
	s.group = "Stores"
	s.text(&c.DataDir, "data-dir", "store the embedded database and pictures in `FOLDER`")
	s.text(&c.DatabaseURL, "database-url", "connect to PostgreSQL at `URL` (postgres://…); embedded SQLite if empty")
	s.text(&c.RedisURL, "redis-url", "connect to Redis at `URL` (redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://); embedded Redis if empty")
	s.text(&c.RedisCacheURL, "redis-cache-url", "store caches in another Redis at `URL`; --redis-url if empty")
	s.list(&c.RedisLockURLs, "redis-lock-urls", "take order locks on a majority of the independent Redis masters at `URLS`, separated by commas; --redis-url if empty")
	s.text(&c.RedisCA, "redis-ca", "trust rediss:// servers by the PEM certificates in `FILE`; the system's if empty")
	s.text(&c.RedisCert, "redis-cert", "present the PEM certificate in `FILE` to rediss:// servers; each connection rereads it")
	s.text(&c.RedisKey, "redis-key", "use the PEM key in `FILE` with --redis-cert")
	s.text(&c.RedisPrefix, "redis-prefix", "start every Redis key and channel with `PREFIX`")
	s.number(&c.DBMaxConns, "db-max-conns", "open at most `NUMBER` database connections; 0 is 20 for PostgreSQL and 8 for SQLite")
	s.number(&c.DBMaxIdle, "db-max-idle", "keep at most `NUMBER` idle database connections; 0 is --db-max-conns")
	s.number(&c.RedisPoolSize, "redis-pool-size", "open at most `NUMBER` Redis connections for each node and role")
	s.number(&c.RedisMinIdle, "redis-min-idle", "keep at least `NUMBER` idle Redis connections for each node and role")
	s.duration(&c.RedisPoolTimeout, "redis-pool-timeout", "wait at most `DURATION` for a free Redis connection")
	s.number(&c.RedisReadLimit, "redis-read-limit", "let caches read Redis at most `NUMBER` times a second; above that, optional fields fail with UNAVAILABLE; 0 is no limit")
	s.number(&c.L1Bytes, "l1-bytes", "use at most `BYTES` for the caches of this process; -1 is a tenth of the memory limit, or a twentieth of the machine's memory without one; 0 is none")
	s.text(&c.LogReader, "log-reader", "detect changes by other programs in the PostgreSQL log: `MODE` auto (if the database and the role allow it) or off")
}

func (c *Config) listenFlags(s *settings) {
	s.group = "Listening and clients"
	s.text(&c.Addr, "addr", "listen on `HOST:PORT`; :8080 is every interface")
	s.text(&c.MetricsAddr, "metrics-addr", "serve /metrics and the probes on `HOST:PORT`, and /metrics only there; --addr if empty")
	s.list(&c.TrustedProxies, "trusted-proxies", "accept X-Forwarded-For from `PROXIES`: networks or addresses, separated by commas")
	s.list(&c.CORSOrigins, "cors-origins", "let pages of other `ORIGINS` use the API, such as https://app.example.com")
	s.toggle(&c.Introspection, "introspection", "let clients read the schema, and serve the playground")
}

func (c *Config) loginFlags(s *settings) {
	s.group = "Login"
	s.text(&c.CodeSender, "code-sender", "deliver login codes through `SENDER`: console (this terminal) or webhook; if empty, console if both stores are embedded, else none")
	s.text(&c.CodeWebhookURL, "code-webhook-url", "post login codes to `URL` (https://…; http:// for this machine only)")
	s.text(&c.CodeWebhookSecret, "code-webhook-secret", "sign requests to --code-webhook-url with `SECRET`, at least 16 bytes; prefer the environment variable: other users of the machine can read flags")
	s.list(&c.CodeCountries, "code-countries", "send login codes only to phones with these calling `CODES`, such as 86,44; all if empty")
	s.number(&c.CodesPerHour, "codes-per-hour", "send at most `NUMBER` login codes an hour, across all instances; 0 is no limit")
	s.number(&c.CodesPerAddress, "codes-per-address", "send at most `NUMBER` login codes an hour for each client address; 0 is no limit")
	s.number(&c.LoginsPerAddress, "logins-per-address", "allow `NUMBER` login attempts an hour from each client address; 0 is no limit")
	s.number(&c.WrongCodesPerHour, "wrong-codes-per-hour", "allow `NUMBER` wrong login codes an hour, across all instances; above that, only known devices can log in with a code; 0 is no limit")
}

func (c *Config) orderFlags(s *settings) {
	s.group = "Orders and payment"
	s.duration(&c.PayWithin, "pay-within", "cancel orders that are not paid within `DURATION`")
	s.duration(&c.OrderWait, "order-wait", "let orderVoucher wait at most `DURATION` until the order is stored, before it returns QUEUED; 0 does not wait")
	s.number(&c.OrderListSize, "order-list-size", "store the newest `NUMBER` orders of each user in Redis")
	s.number(&c.OrderListStripes, "order-list-stripes", "read at most `NUMBER` order lists from the database at a time, over all instances")
	s.text(&c.PaymentWebhookSecret, "payment-webhook-secret", "accept payment notices at /webhooks/payment that are signed with `SECRET`, at least 16 bytes; if empty, the path is 404; prefer the environment variable")
	s.toggle(&c.FakePayments, "fake-payments", "confirm payments by ALIPAY and WECHAT at once, without money; by default, on if both stores are embedded and --payment-webhook-secret is empty")
}

func (c *Config) contentFlags(s *settings) {
	s.group = "Feed and notes"
	s.number(&c.FeedPushThreshold, "feed-push-threshold", "push the notes of authors with fewer than `NUMBER` followers; feeds merge the notes of other authors when they are read")
	s.duration(&c.DeletedTextRetention, "deleted-text-retention", "erase the text of deleted notes and their comments after `DURATION`")

	s.group = "Ratings"
	s.float(&c.RatingPriorMean, "rating-prior-mean", "assume a mean of `STARS` for shops with few ratings, 1 to 5; after a change, run tandian reconcile")
	s.float(&c.RatingPriorWeight, "rating-prior-weight", "let that mean weigh as much as `NUMBER` ratings; after a change, run tandian reconcile")

	s.group = "Pictures"
	s.text(&c.MediaURL, "media-url", "store pictures at `URL`, the same for all instances; the folder media in --data-dir if empty:\n"+
		"file:///FOLDER, or\ns3://BUCKET/PREFIX?endpoint=https://HOST&region=NAME\nwith keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	s.toggle(&c.DemoPictures, "demo-pictures", "draw pictures for the demo town on the first start")
}

func (c *Config) quotaFlags(s *settings) {
	const young = "; a tenth of that for accounts younger than a day; 0 is no limit"
	s.group = "User quotas"
	s.number(&c.UploadsPerUser, "uploads-per-user", "accept `NUMBER` pictures an hour from each user; 0 is no limit")
	s.number(&c.NotesPerUser, "notes-per-user", "accept `NUMBER` notes an hour from each user"+young)
	s.number(&c.CommentsPerUser, "comments-per-user", "accept `NUMBER` comments and replies an hour from each user"+young)
	s.number(&c.LikesPerUser, "likes-per-user", "accept `NUMBER` like changes an hour from each user"+young)
	s.number(&c.FollowsPerUser, "follows-per-user", "accept `NUMBER` follow changes an hour from each user"+young)
	s.number(&c.RatingsPerUser, "ratings-per-user", "accept `NUMBER` new, changed and deleted ratings an hour from each user"+young)
	s.number(&c.SavesPerUser, "saves-per-user", "accept `NUMBER` saves and unsaves of shops and notes an hour from each user"+young)
	s.number(&c.ShopsPerUser, "shops-per-user", "accept `NUMBER` new shops an hour from each user"+young)
	s.number(&c.VouchersPerUser, "vouchers-per-user", "accept `NUMBER` new vouchers an hour from each user, including flash sales"+young)
}

func (c *Config) limitFlags(s *settings) {
	s.group = "Limits"
	s.number(&c.RateAnonymous, "rate-anonymous", "accept `NUMBER` requests a second without a session from each client address; twice that in a burst; 0 is no limit")
	s.number(&c.RateUser, "rate-user", "accept `NUMBER` requests a second from each signed-in user; twice that in a burst; 0 is no limit")
	s.number(&c.AbsentReads, "absent-reads", "allow `NUMBER` reads of unknown ids a minute for each user or client address; 0 is no limit")
	s.number(&c.ConnsPerAddress, "conns-per-address", "accept `NUMBER` WebSockets and event streams from each client address, and ten times as many connections; 0 is no limit")
	s.number(&c.ConnsPerUser, "conns-per-user", "accept `NUMBER` WebSockets and event streams from each user; a new one closes the oldest; 0 is no limit")
	s.number(&c.Conns, "conns", "accept `NUMBER` connections; 0 is no limit")
	s.list(&c.Limits, "limit", "set another request limit by `NAME=VALUE`, such as depth=20; docs/reference/limits.md lists them")
}

func (c *Config) processFlags(s *settings) {
	s.group = "Logs and processes"
	s.list(&c.Run, "run", "run these `PARTS` in this process: api, workers")
	s.text(&c.Zone, "zone", "count days in the time zone `NAME`, such as Asia/Shanghai; the machine's if empty")
	s.duration(&c.StartTimeout, "start-timeout", "at the start, wait at most `DURATION` for the stores")
	s.duration(&c.StopTimeout, "stop-timeout", "at the stop, wait at most `DURATION` for running requests")
	s.list(&c.Without, "without", "disable `OPTIMIZATIONS`, to compare or to troubleshoot: cache (of shops), plans (compiled queries), together (shared round trips to Redis)")
	s.text(&c.LogFormat, "log-format", "write logs in `FORMAT`: auto (text on a terminal, else json), json or text")
	s.text(&c.LogLevel, "log-level", "write logs of at least `LEVEL`: debug, info, warn or error")
	s.number(&c.LogSample, "log-sample", "of the fast requests without errors, log the first 10 of each second and one in `NUMBER` of the others; 1 logs all")
	s.duration(&c.LogSlow, "log-slow", "log every request that takes at least `DURATION`, and every one that fails")
}
