// Package redisdb opens clients of a single Redis, Sentinel, a cluster or the embedded server.
//
// It sets deadlines and pools, and counts and times every round trip. A circuit breaker protects
// callers from a node that does not answer. The package also measures and deletes keys in bulk.
package redisdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/tandian-dev/tandian/internal/kit/connect"
)

// RedisConfig configures [OpenRedis]. The zero value of each number is a good production setting.
type RedisConfig struct {
	// URL is one of
	//
	//	redis://user:password@host:6379/0            one server (rediss:// with TLS, unix:// by socket)
	//	redis+sentinel://host:26379/?master_name=M&addr=host2:26379 (the login of the Sentinels; that of the servers is ?username=&password=)
	//	redis+cluster://host:6379?addr=host2:6379
	URL         string
	Role        string        // label of the metrics, for example "state"
	PoolSize    int           // maximum number of connections per node; default 32
	MinIdle     int           // minimum number of idle connections; default 0
	PoolTimeout time.Duration // maximum wait for a free connection; default 250 ms
	Timeout     time.Duration // maximum wait for a reply; default 200 ms
	// Retries is the number of retries of a command whose reply was lost. Set it only if all
	// commands of the client may be repeated. go-redis retries on a cluster in any case.
	Retries int
	// OnConnect may reject a new connection. If its error has a method Unsent() bool that returns
	// true, the rejection is no failure of Redis and opens no breaker.
	OnConnect func(ctx context.Context, conn *redis.Conn) error
	// Gate rejects commands while Redis takes no writes. May be nil.
	Gate *WriteGate
	// AutoPipeline merges the commands of many callers into pipelines.
	AutoPipeline bool
	TLS          RedisTLS // files for a rediss:// URL
	// Dial replaces the network, for the embedded Redis.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  *slog.Logger // logs when a breaker opens and closes; nil discards
}

// Time limits of one Redis call. go-redis's defaults would ignore a request's deadline and spend
// 1.7 s per command on refused connections.
const (
	dialTimeout = 300 * time.Millisecond
	readTimeout = 200 * time.Millisecond
	stateReload = time.Second // limits the outage after a cluster master fails; go-redis's default is a minute
	noRetry     = -1          // 0 would mean go-redis's default, 3
	singleDial  = 1
	resp3       = 3
)

// OpenRedis creates a client. It does not connect.
//
// If a node replies to none of three consecutive commands and a PING, its commands fail at once
// with [ErrBreakerOpen]. Probes with pauses of 150 ms close the breaker when the node answers. If
// all connections of a pool were refused, its commands fail at once for up to a second longer.
func OpenRedis(cfg RedisConfig, m *RedisMetrics) (redis.UniversalClient, error) {
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	guard := func(node *redis.Client) *breaker {
		return newBreaker(node, cfg.Role, m, cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)))
	}
	switch c := client.(type) {
	case *redis.Client: // also Sentinel's: a probe asks it for the master, like every new connection
		b := guard(c)
		m.watch(cfg.Role, client)
		addGate(c, cfg.Gate)
		c.AddHook(b) // after the metrics, which count rejected commands
		if cfg.AutoPipeline {
			bindAutoPipeline(c, cmp.Or(cfg.Timeout, readTimeout))
		}
	case *redis.ClusterClient:
		m.watch(cfg.Role, client)
		addGate(c, cfg.Gate)
		c.OnNewNode(func(node *redis.Client) {
			node.AddHook(guard(node))
			if cfg.AutoPipeline {
				bindAutoPipeline(node, cmp.Or(cfg.Timeout, readTimeout))
			}
		})
	}
	return client, nil
}

func addGate(client redis.UniversalClient, g *WriteGate) {
	if g != nil {
		client.AddHook(g)
	}
}

// SilenceRedisLog stops go-redis from writing to stderr: the server counts and logs the same
// failures. It changes the library for the whole process, so only main calls it, at the start.
func SilenceRedisLog() { redis.SetLogger(discardLogger{}) }

type discardLogger struct{}

func (discardLogger) Printf(context.Context, string, ...any) {}

func newClient(cfg RedisConfig) (redis.UniversalClient, error) {
	o, topology, err := parseRedisURL(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("parse %s Redis URL: %w", cfg.Role, err)
	}
	o.Protocol = resp3
	o.ClientName = "tandian-" + cfg.Role
	o.DialTimeout, o.DialerRetries = dialTimeout, singleDial
	wait := cmp.Or(cfg.Timeout, readTimeout)
	o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled = wait, wait, true
	o.MaxRetries = cmp.Or(cfg.Retries, noRetry)
	o.OnConnect = cfg.OnConnect
	o.PoolSize = cmp.Or(cfg.PoolSize, 32)
	o.PipelinePoolSize = -1 // one pool, also for pipelines, so that its size and metrics are complete
	o.MinIdleConns = cfg.MinIdle
	o.PoolTimeout = cmp.Or(cfg.PoolTimeout, 250*time.Millisecond)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DisableIdentity = true // the client name identifies it; Redis 7.0 has no CLIENT SETINFO
	if o.Dialer = cfg.Dial; o.Dialer == nil && o.TLSConfig != nil {
		if o.Dialer, err = cfg.TLS.dialer(cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))); err != nil {
			return nil, fmt.Errorf("configure TLS to the %s Redis: %w", cfg.Role, err)
		}
	}
	switch topology {
	case "cluster":
		c := o.Cluster()
		c.ClusterStateReloadInterval = stateReload
		return redis.NewClusterClient(c), nil
	case "sentinel":
		o.OnConnect = exceptSentinels(o.OnConnect)
		return redis.NewFailoverClient(o.Failover()), nil
	}
	return redis.NewClient(o.Simple()), nil
}

// exceptSentinels returns an OnConnect that calls onConnect only for data servers. go-redis also
// calls OnConnect for Sentinels, and treats a rejected one as unavailable. The reply to HELLO, which
// every user may send, has the server's mode.
func exceptSentinels(onConnect func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	if onConnect == nil {
		return nil
	}
	return func(ctx context.Context, conn *redis.Conn) error {
		hello, err := conn.Hello(ctx, resp3, "", "", "").Result()
		if err != nil {
			return fmt.Errorf("read mode of Redis: %w", err)
		}
		if hello["mode"] == "sentinel" {
			return nil
		}
		return onConnect(ctx, conn)
	}
}

// CheckRedisURL returns an error without secrets if raw is not a valid Redis URL.
func CheckRedisURL(raw string) error {
	_, _, err := parseRedisURL(raw)
	return err
}

// parseRedisURL reads addresses, credentials, database number and TLS from a URL. It ignores other
// options.
func parseRedisURL(raw string) (o *redis.UniversalOptions, topology string, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return nil, "", errNoRedisURL
	}
	base, topology, _ := strings.Cut(scheme, "+")
	raw = base + "://" + rest
	if strings.Contains(rest, "#") { // the rest would be ignored
		return nil, "", errors.New("malformed URL; " + connect.EscapeHint)
	}
	switch {
	case topology == "" && (base == "redis" || base == "rediss" || base == "unix"):
		p, err := redis.ParseURL(raw)
		if err != nil {
			return nil, "", redisURLError(raw, redis.ParseURL)
		}
		return &redis.UniversalOptions{
			Addrs: []string{p.Addr}, Username: p.Username, Password: p.Password, DB: p.DB, TLSConfig: p.TLSConfig,
		}, "", nil
	case topology == "sentinel" && (base == "redis" || base == "rediss"):
		p, err := redis.ParseFailoverURL(raw)
		if err != nil {
			return nil, "", redisURLError(raw, redis.ParseFailoverURL)
		}
		if p.MasterName == "" {
			return nil, "", errors.New("a Sentinel URL requires ?master_name=…")
		}
		return &redis.UniversalOptions{
			Addrs: p.SentinelAddrs, MasterName: p.MasterName, Username: p.Username, Password: p.Password, DB: p.DB,
			SentinelUsername: p.SentinelUsername, SentinelPassword: p.SentinelPassword, TLSConfig: p.TLSConfig,
		}, topology, nil
	case topology == "cluster" && (base == "redis" || base == "rediss"):
		p, err := redis.ParseClusterURL(raw)
		if err != nil {
			return nil, "", redisURLError(raw, redis.ParseClusterURL)
		}
		return &redis.UniversalOptions{
			Addrs: p.Addrs, Username: p.Username, Password: p.Password, TLSConfig: p.TLSConfig, IsClusterMode: true,
		}, topology, nil
	}
	return nil, "", errNoRedisURL
}

var errNoRedisURL = errors.New("must begin with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")

// redisURLError returns the error of parse, a function of go-redis, without secrets.
func redisURLError[T any](raw string, parse func(string) (T, error)) error {
	u, err := url.Parse(raw)
	if err != nil || connect.SplitsPassword(u) {
		return errors.New("malformed URL; " + connect.EscapeHint)
	}
	return connect.ParseError(u, parse)
}
