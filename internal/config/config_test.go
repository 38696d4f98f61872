package config_test

import (
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// variables returns the environment variable of each flag.
func variables(c *config.Config) map[string]string {
	names := map[string]string{}
	c.Flags().VisitAll(func(f *pflag.Flag) { names[f.Name] = config.Variable(f.Name) })
	return names
}

// parse reads settings as the program does, from this environment alone.
func parse(t *testing.T, env map[string]string, args ...string) (config.Config, error) {
	t.Helper()
	c := config.Default()
	for _, v := range variables(&c) {
		t.Setenv(v, "") // restores it after the test
		_ = os.Unsetenv(v)
	}
	for k, v := range env {
		t.Setenv(k, v)
	}
	err := run(t, &c, io.Discard, args...)
	return c, err
}

// run runs a command whose flags are the settings.
func run(t *testing.T, c *config.Config, out io.Writer, args ...string) error {
	t.Helper()
	cmd := &cobra.Command{
		Use:               "tandian",
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cmdline.ReadEnvironment(cmd.Flags()) },
		RunE:              func(*cobra.Command, []string) error { return nil },
	}
	cmd.SetOut(out)
	cmd.SetErr(out)
	cmd.PersistentFlags().AddFlagSet(c.Flags())
	cmdline.Prepare(cmd, cmd)
	cmd.SetArgs(append([]string{}, args...))
	return cmd.ExecuteContext(t.Context())
}

func TestDefaultsAreValidAndEmbedded(t *testing.T) {
	c := config.Default()
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if !c.Embedded() || !c.Runs("api") || !c.Runs("workers") || c.Runs("cook") {
		t.Errorf("embedded %v, runs %v", c.Embedded(), c.Run)
	}
	got, err := parse(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(c, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("without flags and environment (-default +got)\n%s", d)
	}
}

func TestSettingsAreFlagsAndVariables(t *testing.T) {
	c := config.Default()
	names := variables(&c)
	for flag, got := range names {
		want := "TANDIAN_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
		switch flag {
		case "database-url", "redis-url", "redis-cache-url": // platforms name these
			want = strings.TrimPrefix(want, "TANDIAN_")
		}
		if got != want {
			t.Errorf("--%s is the variable %s, want %s", flag, got, want)
		}
	}
	if fields := reflect.TypeFor[config.Config]().NumField(); len(names) != fields {
		t.Errorf("%d flags for %d fields", len(names), fields)
	}
}

func TestFlagsOverrideTheEnvironment(t *testing.T) {
	ca1, ca2 := testkit.NewCA(t), testkit.NewCA(t)
	cert1, key1 := ca1.Sign("one", time.Hour)
	cert2, key2 := ca2.Sign("two", time.Hour)
	values := map[string]struct{ env, flag string }{
		"addr":               {":1", ":2"},
		"metrics-addr":       {"127.0.0.1:11", "127.0.0.1:12"},
		"data-dir":           {"d1", "d2"},
		"database-url":       {"postgres://h1/d", "postgres://h2/d"},
		"redis-url":          {"rediss://h1", "rediss://h2"},
		"redis-cache-url":    {"redis://c1", "redis://c2"},
		"redis-lock-urls":    {"redis://l1", "redis://l2,rediss://l3,unix:///l4"},
		"redis-ca":           {ca1.File, ca2.File},
		"redis-cert":         {cert1, cert2},
		"redis-key":          {key1, key2},
		"redis-prefix":       {"p1", "p2"},
		"db-max-conns":       {"11", "12"},
		"db-max-idle":        {"1", "2"},
		"redis-pool-size":    {"21", "22"},
		"redis-min-idle":     {"3", "4"},
		"redis-pool-timeout": {"1s", "2s"},
		"redis-read-limit":   {"111", "112"},
		"l1-bytes":           {"121", "122"},
		"log-reader":         {"auto", "off"},

		"code-sender":          {"webhook", "webhook"},
		"code-webhook-url":     {"https://h1/send", "https://h2/send"},
		"code-webhook-secret":  {"secret of sixteen 1", "secret of sixteen 2"},
		"code-countries":       {"86", "+86, 44"},
		"codes-per-hour":       {"51", "52"},
		"codes-per-address":    {"31", "32"},
		"logins-per-address":   {"41", "42"},
		"wrong-codes-per-hour": {"161", "162"},
		"trusted-proxies":      {"10.0.0.1,10.1.0.0/16", "10.0.0.2,10.2.0.0/16"},

		"pay-within":             {"13m", "14m"},
		"order-wait":             {"0s", "20ms"},
		"order-list-size":        {"131", "132"},
		"order-list-stripes":     {"141", "142"},
		"payment-webhook-secret": {"secret of payment 1", "secret of payment 2"},
		"fake-payments":          {"false", "false"}, // it excludes the secret: TestFakePaymentsAreOptional
		"zone":                   {"Asia/Shanghai", "UTC"},

		"media-url":        {"file:///m1", "s3://m2"},
		"uploads-per-user": {"151", "152"},
		"demo-pictures":    {"false", "true"},

		"deleted-text-retention": {"101h", "102h"},
		"notes-per-user":         {"161", "162"},
		"comments-per-user":      {"171", "172"},
		"likes-per-user":         {"181", "182"},
		"follows-per-user":       {"191", "192"},
		"ratings-per-user":       {"193", "194"},
		"saves-per-user":         {"195", "196"},
		"rating-prior-mean":      {"3.5", "4"},
		"rating-prior-weight":    {"5", "6.5"},
		"shops-per-user":         {"201", "202"},
		"vouchers-per-user":      {"211", "212"},

		"feed-push-threshold": {"1001", "1002"},

		"cors-origins":      {"https://a.example,https://b.example", "https://c.example"},
		"rate-anonymous":    {"51", "52"},
		"rate-user":         {"61", "62"},
		"absent-reads":      {"101", "102"},
		"conns-per-address": {"71", "72"},
		"conns-per-user":    {"81", "82"},
		"conns":             {"91", "92"},
		"limit":             {"depth=5,body=2MB", "depth=6"},

		"run":           {"api", "workers"},
		"without":       {"plans,cache", "together"},
		"introspection": {"false", "true"},
		"start-timeout": {"3s", "4s"},
		"stop-timeout":  {"5s", "6s"},
		"log-format":    {"json", "text"},
		"log-level":     {"debug", "error"},
		"log-sample":    {"221", "222"},
		"log-slow":      {"6s", "7s"},
	}
	fromEnv := config.Config{
		Addr: ":1", MetricsAddr: "127.0.0.1:11", DataDir: "d1", DatabaseURL: "postgres://h1/d", RedisURL: "rediss://h1", RedisCacheURL: "redis://c1", RedisLockURLs: []string{"redis://l1"},
		RedisPrefix: "p1", RedisCA: ca1.File, RedisCert: cert1, RedisKey: key1, DBMaxConns: 11, DBMaxIdle: 1, RedisPoolSize: 21, RedisMinIdle: 3, RedisPoolTimeout: time.Second,
		RedisReadLimit: 111, L1Bytes: 121, LogReader: "auto",
		CodeSender: "webhook", CodeWebhookURL: "https://h1/send", CodeWebhookSecret: "secret of sixteen 1",
		PayWithin: 13 * time.Minute, OrderListSize: 131, OrderListStripes: 141, PaymentWebhookSecret: "secret of payment 1", Zone: "Asia/Shanghai", FeedPushThreshold: 1001,
		CodeCountries: []string{"86"}, CodesPerHour: 51, CodesPerAddress: 31, LoginsPerAddress: 41, WrongCodesPerHour: 161, TrustedProxies: []string{"10.0.0.1", "10.1.0.0/16"},
		CORSOrigins: []string{"https://a.example", "https://b.example"}, Limits: []string{"depth=5", "body=2MB"},
		MediaURL: "file:///m1", UploadsPerUser: 151, DeletedTextRetention: 101 * time.Hour,
		NotesPerUser: 161, CommentsPerUser: 171, LikesPerUser: 181, FollowsPerUser: 191, RatingsPerUser: 193, SavesPerUser: 195, RatingPriorMean: 3.5, RatingPriorWeight: 5, ShopsPerUser: 201, VouchersPerUser: 211,
		RateAnonymous: 51, RateUser: 61, AbsentReads: 101, ConnsPerAddress: 71, ConnsPerUser: 81, Conns: 91,
		Run: []string{"api"}, Without: []string{"plans", "cache"}, Introspection: false, StartTimeout: 3 * time.Second, StopTimeout: 5 * time.Second,
		LogFormat: "json", LogLevel: "debug", LogSample: 221, LogSlow: 6 * time.Second,
	}
	fromFlags := config.Config{
		Addr: ":2", MetricsAddr: "127.0.0.1:12", DataDir: "d2", DatabaseURL: "postgres://h2/d", RedisURL: "rediss://h2", RedisCacheURL: "redis://c2", RedisLockURLs: []string{"redis://l2", "rediss://l3", "unix:///l4"},
		RedisPrefix: "p2", RedisCA: ca2.File, RedisCert: cert2, RedisKey: key2, DBMaxConns: 12, DBMaxIdle: 2, RedisPoolSize: 22, RedisMinIdle: 4, RedisPoolTimeout: 2 * time.Second,
		RedisReadLimit: 112, L1Bytes: 122, LogReader: "off",
		CodeSender: "webhook", CodeWebhookURL: "https://h2/send", CodeWebhookSecret: "secret of sixteen 2",
		PayWithin: 14 * time.Minute, OrderWait: 20 * time.Millisecond, OrderListSize: 132, OrderListStripes: 142,
		PaymentWebhookSecret: "secret of payment 2", Zone: "UTC",
		CodeCountries: []string{"+86", " 44"}, CodesPerHour: 52, CodesPerAddress: 32, LoginsPerAddress: 42, WrongCodesPerHour: 162, TrustedProxies: []string{"10.0.0.2", "10.2.0.0/16"},
		CORSOrigins: []string{"https://c.example"}, Limits: []string{"depth=6"},
		FeedPushThreshold: 1002, MediaURL: "s3://m2", UploadsPerUser: 152, DemoPictures: true, DeletedTextRetention: 102 * time.Hour,
		NotesPerUser: 162, CommentsPerUser: 172, LikesPerUser: 182, FollowsPerUser: 192, RatingsPerUser: 194, SavesPerUser: 196, RatingPriorMean: 4, RatingPriorWeight: 6.5, ShopsPerUser: 202, VouchersPerUser: 212,
		RateAnonymous: 52, RateUser: 62, AbsentReads: 102, ConnsPerAddress: 72, ConnsPerUser: 82, Conns: 92,
		Run: []string{"workers"}, Without: []string{"together"}, Introspection: true, StartTimeout: 4 * time.Second, StopTimeout: 6 * time.Second,
		LogFormat: "text", LogLevel: "error", LogSample: 222, LogSlow: 7 * time.Second,
	}
	env, flags := map[string]string{}, []string{}
	c := config.Default()
	for flag, variable := range variables(&c) {
		v, ok := values[flag]
		if !ok {
			t.Errorf("no values for --%s", flag)
		}
		env[variable] = v.env
		flags = append(flags, "--"+flag+"="+v.flag)
	}
	for _, tt := range []struct {
		name  string
		env   map[string]string
		flags []string
		want  config.Config
	}{
		{"environment alone", env, nil, fromEnv},
		{"flags alone", nil, flags, fromFlags},
		{"both", env, flags, fromFlags},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := parse(t, tt.env, tt.flags...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if err := got.Check(); err != nil || got.Embedded() {
				t.Errorf("check: %v, embedded: %v", err, got.Embedded())
			}
		})
	}
}

// Empty variables come from files such as docker-compose.yml, where they are often the
// default.
func TestEmptyVariablesClearTextsAndBooleans(t *testing.T) {
	got, err := parse(t, map[string]string{
		"TANDIAN_ZONE": "", "TANDIAN_REDIS_PREFIX": "", "TANDIAN_INTROSPECTION": "",
		"TANDIAN_CONNS": "", "TANDIAN_PAY_WITHIN": "", "TANDIAN_RUN": "", "REDIS_URL": "",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.RedisPrefix, want.Introspection = "", false
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestListsAreRepeatedOrCommaSeparated(t *testing.T) {
	got, err := parse(t, map[string]string{"TANDIAN_LIMIT": "depth=1"}, "--limit", "depth=5,body=2MB", "--run=api", "--limit=aliases=off", "--run", "workers")
	if err != nil {
		t.Fatal(err)
	}
	want := config.Default()
	want.Limits = []string{"depth=5", "body=2MB", "aliases=off"}
	if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestHelpShowsNoSecretOfTheEnvironment(t *testing.T) {
	c := config.Default()
	t.Setenv("TANDIAN_CODE_WEBHOOK_SECRET", "hunter2-hunter2-hunter2")
	t.Setenv("TANDIAN_CODE_WEBHOOK_URL", "https://host/?key=hunter2")
	t.Setenv("TANDIAN_PAYMENT_WEBHOOK_SECRET", "hunter2-hunter2-hunter2")
	t.Setenv("DATABASE_URL", "postgres://ann:hunter2@host/db")
	var out strings.Builder
	if err := run(t, &c, &out, "--help"); err != nil {
		t.Fatal(err)
	}
	if help := out.String(); !strings.Contains(help, "--code-webhook-secret") || strings.Contains(help, "hunter2") {
		t.Errorf("help:\n%s", help)
	}
}

func TestInvalidValuesAreNamed(t *testing.T) {
	tests := []struct {
		name string
		env  map[string]string
		args []string
		want string
	}{
		{"a number in a flag", nil, []string{"--redis-pool-size=many"}, "redis-pool-size"},
		{"a number in the environment", map[string]string{"TANDIAN_DB_MAX_CONNS": "many"}, nil, "TANDIAN_DB_MAX_CONNS"},
		{"a limit in the environment", map[string]string{"TANDIAN_CODES_PER_ADDRESS": "many"}, nil, "TANDIAN_CODES_PER_ADDRESS"},
		{"a time without a unit", nil, []string{"--stop-timeout=15"}, "stop-timeout"},
		{"a time in the environment", map[string]string{"TANDIAN_START_TIMEOUT": "soon"}, nil, "TANDIAN_START_TIMEOUT"},
		{"a boolean", nil, []string{"--introspection=perhaps"}, "introspection"},
		{"unknown flag", nil, []string{"--colour=red"}, "colour"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(t, tt.env, tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want one line with %q", err, tt.want)
			}
		})
	}
}

func TestEachInvalidValueIsOneLine(t *testing.T) {
	// hook returns a setter of a valid webhook, changed by then.
	hook := func(then func(*config.Config)) func(*config.Config) {
		return func(c *config.Config) {
			c.CodeSender, c.CodeWebhookURL, c.CodeWebhookSecret = "webhook", "https://host/?key=hunter2", "hunter2-hunter2-hunter2"
			then(c)
		}
	}
	tests := []struct {
		name string
		set  func(*config.Config)
		want string // prefix of the line
	}{
		{"address without a port", func(c *config.Config) { c.Addr = "8080" }, `--addr: must be HOST:PORT, not "8080"`},
		{"metrics without a port", func(c *config.Config) { c.MetricsAddr = "9090" }, `--metrics-addr: must be HOST:PORT, not "9090"`},
		{"address over two lines", func(c *config.Config) { c.Addr = "a\nb" }, `--addr: must be HOST:PORT, not "a\nb"`},
		{"another database", func(c *config.Config) { c.DatabaseURL = "mysql://ann:hunter2@host/db" }, "--database-url: must begin with postgres://"},
		{"several hosts without a primary", func(c *config.Config) { c.DatabaseURL = "postgres://ann:hunter2@a,b/db" }, "--database-url: several hosts need target_session_attrs=read-write"},
		{"several hosts with ports each", func(c *config.Config) {
			c.DatabaseURL = "postgres://ann:hunter2@a:1,b:2/db?target_session_attrs=read-write"
		}, "--database-url: ports of several hosts must follow all hosts"},
		{"a database URL that cannot be read", func(c *config.Config) { c.DatabaseURL = "postgres://ann:hunter2%@host" }, "--database-url: "},
		{"no Redis", func(c *config.Config) { c.RedisURL = "http://ann:hunter2@host" }, "--redis-url: must begin with redis://"},
		{"a Redis URL that cannot be read", func(c *config.Config) { c.RedisURL = "redis://ann:hunter2@host:port" }, "--redis-url: malformed URL"},
		{"a Redis password that is not escaped", func(c *config.Config) { c.RedisURL = "redis://ann:1/hunter2@host" }, "--redis-url: malformed URL"},
		{"invalid Redis database", func(c *config.Config) { c.RedisURL = "redis://ann:hunter2@host/one" }, "--redis-url: redis: invalid database number"},
		{"an even number of lock nodes", func(c *config.Config) {
			c.RedisURL, c.RedisLockURLs = "redis://host", []string{"redis://a", "redis://b"}
		}, "--redis-lock-urls: the number of nodes must be odd"},
		{"a lock node twice", func(c *config.Config) {
			c.RedisURL, c.RedisLockURLs = "redis://host", []string{"redis://a", "redis://b", "redis://a"}
		}, "--redis-lock-urls: a node is listed twice"},
		{"a cluster as a lock node", func(c *config.Config) { c.RedisURL, c.RedisLockURLs = "redis://host", []string{"redis+cluster://a"} }, "--redis-lock-urls: a node must be a single independent master"},
		{"lock nodes with an embedded Redis", func(c *config.Config) { c.RedisLockURLs = []string{"redis://a"} }, "--redis-lock-urls: requires --redis-url"},
		{"no Redis for caches", func(c *config.Config) { c.RedisURL, c.RedisCacheURL = "redis://host", "x" }, "--redis-cache-url: must begin with redis://"},
		{"a CA that cannot be read", func(c *config.Config) { c.RedisURL, c.RedisCA = "rediss://host", "none" }, "--redis-ca: read the CA: open none: "},
		{"a CA of a Redis without TLS", func(c *config.Config) { c.RedisURL, c.RedisCA = "redis://host", "none" }, "--redis-ca: requires a rediss:// URL"},
		{"a certificate without its key", func(c *config.Config) { c.RedisURL, c.RedisCert = "rediss://host", "none" }, "--redis-cert: requires --redis-key"},
		{"a key without its certificate", func(c *config.Config) {
			c.RedisCacheURL, c.RedisURL, c.RedisKey = "rediss+cluster://host", "redis://host", "none"
		}, "--redis-key: requires --redis-cert"},
		{"a certificate that cannot be read", func(c *config.Config) { c.RedisURL, c.RedisCert, c.RedisKey = "rediss://host", "none", "none" }, "--redis-cert: read the client certificate: open none: "},
		{"caches apart from an embedded Redis", func(c *config.Config) { c.RedisCacheURL = "redis://ann:hunter2@host" }, "--redis-cache-url: requires --redis-url"},
		{"no prefix", func(c *config.Config) { c.RedisPrefix = "" }, `--redis-prefix: must be 1 to 32 lower-case letters, digits or dashes, not ""`},
		{"a prefix with a hash tag", func(c *config.Config) { c.RedisPrefix = "a{b}" }, `--redis-prefix: must be 1 to 32 lower-case letters, digits or dashes, not "a{b}"`},
		{"a prefix with a colon", func(c *config.Config) { c.RedisPrefix = "a:b" }, `--redis-prefix: must be 1 to 32 lower-case letters, digits or dashes, not "a:b"`},
		{"a prefix with a line end", func(c *config.Config) { c.RedisPrefix = "td\n" }, `--redis-prefix: must be 1 to 32 lower-case letters, digits or dashes, not "td\n"`},
		{"a prefix of 33 letters", func(c *config.Config) { c.RedisPrefix = strings.Repeat("a", 33) }, "--redis-prefix: "},
		{"negative connections", func(c *config.Config) { c.DBMaxConns = -1 }, "--db-max-conns: must be 0 to 10000, not -1"},
		{"too few connections for locks", func(c *config.Config) { c.DatabaseURL, c.DBMaxConns = "postgres://h/d", 3 }, "--db-max-conns: PostgreSQL needs at least 4"},
		{"too many connections", func(c *config.Config) { c.DBMaxConns = 10_001 }, "--db-max-conns: must be 0 to 10000, not 10001"},
		{"negative idle connections", func(c *config.Config) { c.DBMaxIdle = -1 }, "--db-max-idle: must be 0 to 10000, not -1"},
		{"no connection to Redis", func(c *config.Config) { c.RedisPoolSize = 0 }, "--redis-pool-size: must be 1 to 10000, not 0"},
		{"negative idle Redis connections", func(c *config.Config) { c.RedisMinIdle = -1 }, "--redis-min-idle: must be 0 to 10000, not -1"},
		{"no time for a connection", func(c *config.Config) { c.RedisPoolTimeout = 0 }, "--redis-pool-timeout: must be above 0 and at most an hour, not 0s"},
		{"no time to start", func(c *config.Config) { c.StartTimeout = -time.Second }, "--start-timeout: must be above 0 and at most an hour, not -1s"},
		{"more than an hour to stop", func(c *config.Config) { c.StopTimeout = time.Hour + 1 }, "--stop-timeout: must be above 0 and at most an hour, not 1h0m0.000000001s"},
		{"another sender of codes", hook(func(c *config.Config) { c.CodeSender = "pigeon" }), `--code-sender: unknown sender "pigeon" (want one of [console webhook])`},
		{"a webhook without a URL", hook(func(c *config.Config) { c.CodeWebhookURL = "" }), "--code-webhook-url: required by --code-sender webhook"},
		{"a webhook without a secret", hook(func(c *config.Config) { c.CodeWebhookSecret = "" }), "--code-webhook-secret: required by --code-sender webhook"},
		{"a webhook by http", hook(func(c *config.Config) { c.CodeWebhookURL = "http://host/?key=hunter2" }), "--code-webhook-url: the URL must begin with https://"},
		{"a webhook with a password", hook(func(c *config.Config) { c.CodeWebhookURL = "https://ann:hunter2@host" }), "--code-webhook-url: the URL must not contain a user"},
		{"a webhook that cannot be read", hook(func(c *config.Config) { c.CodeWebhookURL = "https://host:hunter2/" }), "--code-webhook-url: the URL is invalid"},
		{"no time to pay", func(c *config.Config) { c.PayWithin = 0 }, "--pay-within: must be a second to 720 hours, not 0s"},
		{"an endless wait for an order", func(c *config.Config) { c.OrderWait = time.Minute }, "--order-wait: must be 0 to 10 s, not 1m0s"},
		{"a threshold that pushes nothing", func(c *config.Config) { c.FeedPushThreshold = 0 }, "--feed-push-threshold: must be 1 to 100000000, not 0"},
		{"a list of orders that is too long", func(c *config.Config) { c.OrderListSize = 201 }, "--order-list-size: must be 1 to 200, not 201"},
		{"no stripe", func(c *config.Config) { c.OrderListStripes = 0 }, "--order-list-stripes: must be 1 to 4096, not 0"},
		{"a short secret of payments", func(c *config.Config) { c.PaymentWebhookSecret = "hunter2" }, "--payment-webhook-secret: the secret must have at least 16 bytes"},
		{"real and fake payments", func(c *config.Config) { c.PaymentWebhookSecret, c.FakePayments = "0123456789abcdef", true }, "--fake-payments: excludes --payment-webhook-secret"},
		{"unknown zone", func(c *config.Config) { c.Zone = "Mars/Base" }, `--zone: unknown time zone "Mars/Base"`},
		{"a secret of 15 bytes", hook(func(c *config.Config) { c.CodeWebhookSecret = "hunter2-hunter2" }), "--code-webhook-secret: the secret must have at least 16 bytes"},
		{"an unused webhook", func(c *config.Config) { c.CodeWebhookURL = "https://ann:hunter2@host" }, "--code-webhook-url: requires --code-sender webhook"},
		{"an unused secret", func(c *config.Config) { c.CodeSender, c.CodeWebhookSecret = "console", "hunter2" }, "--code-webhook-secret: requires --code-sender webhook"},
		{"a country by name", func(c *config.Config) { c.CodeCountries = []string{"86", "CN"} }, `--code-countries: unknown calling code "CN" (want one such as 86)`},
		{"a country that does not exist", func(c *config.Config) { c.CodeCountries = []string{"+999"} }, `--code-countries: unknown calling code "+999" (want one such as 86)`},
		{"negative total codes", func(c *config.Config) { c.CodesPerHour = -1 }, "--codes-per-hour: must be 0 to 1000000, not -1"},
		{"negative codes", func(c *config.Config) { c.CodesPerAddress = -1 }, "--codes-per-address: must be 0 to 1000000, not -1"},
		{"too many codes", func(c *config.Config) { c.CodesPerAddress = 1_000_001 }, "--codes-per-address: must be 0 to 1000000, not 1000001"},
		{"negative logins", func(c *config.Config) { c.LoginsPerAddress = -1 }, "--logins-per-address: must be 0 to 1000000, not -1"},
		{"negative wrong codes", func(c *config.Config) { c.WrongCodesPerHour = -1 }, "--wrong-codes-per-hour: must be 0 to 1000000, not -1"},
		{"too many logins", func(c *config.Config) { c.LoginsPerAddress = 1_000_001 }, "--logins-per-address: must be 0 to 1000000, not 1000001"},
		{"negative notes", func(c *config.Config) { c.NotesPerUser = -1 }, "--notes-per-user: must be 0 to 1000000, not -1"},
		{"too many vouchers", func(c *config.Config) { c.VouchersPerUser = 1_000_001 }, "--vouchers-per-user: must be 0 to 1000000, not 1000001"},
		{"no retention of texts", func(c *config.Config) { c.DeletedTextRetention = 0 }, "--deleted-text-retention: must be 1 to 87600 hours, not 0s"},
		{"a proxy by name", func(c *config.Config) { c.TrustedProxies = []string{"10.0.0.0/8", "proxy\n"} }, `--trusted-proxies: "proxy\n": neither a network`},
		{"every client a proxy", func(c *config.Config) { c.TrustedProxies = []string{"0.0.0.0/0"} }, `--trusted-proxies: "0.0.0.0/0": network must not contain all addresses`},
		{"every origin", func(c *config.Config) { c.CORSOrigins = []string{"*"} }, `--cors-origins: invalid origin "*": must be like`},
		{"an origin with a path", func(c *config.Config) { c.CORSOrigins = []string{"https://a.example/"} }, `--cors-origins: invalid origin "https://a.example/": must be like`},
		{"negative rate", func(c *config.Config) { c.RateAnonymous = -1 }, "--rate-anonymous: must be 0 to 1000000, not -1"},
		{"negative rate of users", func(c *config.Config) { c.RateUser = -1 }, "--rate-user: must be 0 to 1000000, not -1"},
		{"negative absent reads", func(c *config.Config) { c.AbsentReads = -1 }, "--absent-reads: must be 0 to 1000000, not -1"},
		{"negative connections of an address", func(c *config.Config) { c.ConnsPerAddress = -1 }, "--conns-per-address: must be 0 to 1000000, not -1"},
		{"negative connections of a user", func(c *config.Config) { c.ConnsPerUser = -1 }, "--conns-per-user: must be 0 to 1000000, not -1"},
		{"negative total connections", func(c *config.Config) { c.Conns = -1 }, "--conns: must be 0 to 1000000, not -1"},
		{"unknown limit", func(c *config.Config) { c.Limits = []string{"width=3"} }, `--limit: unknown limit "width" (want one of body, `},
		{"a limit of nothing", func(c *config.Config) { c.Limits = []string{"depth"} }, `--limit: invalid limit depth: "" is not a positive number`},
		{"a body that a caller's memory is too small for", func(c *config.Config) { c.Limits = []string{"body=5MB"} }, "--limit: invalid limit memory: a caller's quarter of 67108864 bytes is below the memory of the longest body, 20971520 bytes"},
		{"an answer that a caller's memory is too small for", func(c *config.Config) { c.Limits = []string{"memory=32MB"} }, "--limit: invalid limit memory: a caller's quarter of 33554432 bytes is below the memory of the longest answer, 10485760 bytes"},
		{"unknown part", func(c *config.Config) { c.Run = []string{"api", "cook"} }, `--run: unknown part "cook" (want one of [api workers])`},
		{"another log format", func(c *config.Config) { c.LogFormat = "xml" }, `--log-format: unknown format "xml" (want one of [auto json text])`},
		{"another log level", func(c *config.Config) { c.LogLevel = "loud" }, `--log-level: unknown level "loud" (want one of [debug info warn error])`},
		{"no sample", func(c *config.Config) { c.LogSample = 0 }, "--log-sample: must be 1 to 1000000, not 0"},
		{"too small a sample", func(c *config.Config) { c.LogSample = 1_000_001 }, "--log-sample: must be 1 to 1000000, not 1000001"},
		{"every request is slow", func(c *config.Config) { c.LogSlow = 0 }, "--log-slow: must be above 0 and at most an hour, not 0s"},
		{"no request is slow", func(c *config.Config) { c.LogSlow = time.Hour + 1 }, "--log-slow: must be above 0 and at most an hour, not 1h0m0.000000001s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Default()
			tt.set(&c)
			err := c.Check()
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want one line that begins with %q", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the line shows the password: %v", err)
			}
		})
	}
}

func TestAllInvalidValuesAreNamed(t *testing.T) {
	c := config.Default()
	c.Addr, c.RedisPrefix, c.LogLevel = "", "", ""
	err := c.Check()
	if err == nil {
		t.Fatal("got no error")
	}
	var flags []string
	for line := range strings.Lines(err.Error()) {
		flag, _, _ := strings.Cut(line, ":")
		flags = append(flags, flag)
	}
	if d := cmp.Diff([]string{"--addr", "--redis-prefix", "--log-level"}, flags); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestSettingsAtTheirBoundsAreValid(t *testing.T) {
	tests := []struct {
		name string
		set  func(*config.Config)
	}{
		{"every interface", func(c *config.Config) { c.Addr = ":0" }},
		{"postgresql as a scheme", func(c *config.Config) { c.DatabaseURL = "postgresql:///db?host=/run" }},
		{"two Redis", func(c *config.Config) { c.RedisURL, c.RedisCacheURL = "unix:///run/redis.sock", "redis+cluster://host" }},
		{"a prefix of 32", func(c *config.Config) { c.RedisPrefix = "0" + strings.Repeat("-", 31) }},
		{"most connections", func(c *config.Config) { c.DBMaxConns, c.RedisPoolSize = 10_000, 10_000 }},
		{"codes on the terminal", func(c *config.Config) { c.CodeSender = "console" }},
		{"codes to this machine, a secret of 16", func(c *config.Config) {
			c.CodeSender, c.CodeWebhookURL, c.CodeWebhookSecret = "webhook", "http://localhost:9000", "0123456789abcdef"
		}},
		{"no limits", func(c *config.Config) { c.CodesPerAddress, c.LoginsPerAddress = 0, 0 }},
		{"highest limits", func(c *config.Config) { c.CodesPerAddress, c.LoginsPerAddress = 1_000_000, 1_000_000 }},
		{"a network and an address", func(c *config.Config) { c.TrustedProxies = []string{"fd00::/8", "192.0.2.1"} }},
		{"an hour", func(c *config.Config) { c.StartTimeout, c.StopTimeout = time.Hour, 1 }},
		{"every request is logged", func(c *config.Config) { c.LogSample, c.LogSlow = 1, 1 }},
		{"few requests are logged", func(c *config.Config) { c.LogSample, c.LogSlow = 1_000_000, time.Hour }},
		{"levels in any case", func(c *config.Config) { c.LogLevel = "WARN" }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := config.Default()
			if tt.set(&c); c.Check() != nil {
				t.Error(c.Check())
			}
		})
	}
}

func TestServerLimitsFollowSettings(t *testing.T) {
	c := config.Default()
	c.RateAnonymous, c.RateUser, c.ConnsPerAddress, c.ConnsPerUser, c.AbsentReads = 7, 0, 8, 0, 9
	c.Limits = []string{"depth=20", "body=2MB", "message=32KB", "body-time=1m", "aliases=off", "ping=off"}
	got, err := c.ServerLimits()
	if err != nil {
		t.Fatal(err)
	}
	want := gqlserver.Limits{
		AnonymousRate: 7, AnonymousBurst: 14, UserRate: -1, UserBurst: -1, AbsentReads: 9, SocketsPerAddress: 8, SocketsPerUser: -1,
		Depth: 20, Body: 2 << 20, Message: 32 << 10, BodyTime: time.Minute, Aliases: -1, Ping: -1,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
}

func TestCallingCodesAllowPlusAndSpaces(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{{"86,44", []string{"86", "44"}}, {" +86 , +1 ", []string{"86", "1"}}, {"", nil}, {"86,", []string{"86"}}} {
		text, want := tt.text, tt.want
		c, err := parse(t, nil, "--code-countries", text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.CallingCodes()
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", text, err, diff)
		}
		if err := c.Check(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestFakePaymentsAreOptional(t *testing.T) {
	onPostgres := "--database-url=postgres://host/db"
	for _, tt := range []struct {
		name  string
		env   map[string]string
		flags []string
		want  bool
	}{
		{"embedded", nil, nil, true},
		{"embedded with a provider", nil, []string{"--payment-webhook-secret=0123456789abcdef"}, false},
		{"real stores", nil, []string{onPostgres}, false},
		{"real stores, by flag", nil, []string{onPostgres, "--fake-payments"}, true},
		{"real stores, by environment", map[string]string{"TANDIAN_FAKE_PAYMENTS": "true"}, []string{onPostgres}, true},
	} {
		got, err := parse(t, tt.env, tt.flags...)
		if err != nil || got.FakesPayments() != tt.want {
			t.Errorf("%s: %v, %v; want %v", tt.name, got.FakesPayments(), err, tt.want)
		}
	}
}
