// Package redisdb opens Redis clients: a single server, Sentinel, a cluster, or the
// embedded server.
//
// It sets deadlines and pools, counts and times every round trip, opens a circuit
// breaker for each node that does not answer, and measures and deletes keys in bulk.
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

// RedisConfig says which Redis to use and how. The zero value of each number
// is a good setting.
type RedisConfig struct {
	// URL is one of
	//
	//	redis://user:password@host:6379/0            one server (rediss:// with TLS, unix:// by socket)
	//	redis+sentinel://host:26379/?master_name=M&addr=host2:26379 (the login of the Sentinels; that of the servers is ?username=&password=)
	//	redis+cluster://host:6379?addr=host2:6379
	URL         string
	Role        string        // "state", "cache" or "sale": a label of the metrics
	PoolSize    int           // connections at most, on each node; default 32
	MinIdle     int           // connections kept open; 0 for none
	PoolTimeout time.Duration // longest wait for a free connection; default 250 ms
	Timeout     time.Duration // longest wait for an answer; default 200 ms. Operators' tools have more patience
	// Retries is how often a command is sent again whose answer was lost: only for a
	// client all of whose commands may be repeated. A cluster does so by itself.
	Retries int
	// OnConnect may refuse a new connection, by an error whose method Unsent() bool
	// says that nothing was sent: that is no failure of Redis, and opens no breaker.
	OnConnect func(ctx context.Context, conn *redis.Conn) error
	// Gate, if any, keeps the client from a Redis that does not take writes.
	Gate *WriteGate
	// AutoPipeline sends the commands of many callers in one pipeline: see autopipeline.go.
	AutoPipeline bool
	TLS          RedisTLS // files of connections to a rediss:// URL
	// Dial replaces the network: the embedded Redis answers in the process.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	Log  *slog.Logger // hears when a node is cut off and when it answers again; nil for nobody
}

// Time limits of one Redis call. The library's own would ignore a request's
// deadline and let a refused connection cost 1.7 s a command.
const (
	dialTimeout = 300 * time.Millisecond
	readTimeout = 200 * time.Millisecond
	stateReload = time.Second // a dead cluster master costs this, not a minute
	noRetry     = -1          // 0 would mean the library's three
	onlyOneTry  = 1
	resp3       = 3
)

// OpenRedis prepares a client. It does not connect yet.
//
// When three commands in a row and then a PING got no answer from a node, its
// commands fail at once with [ErrBreakerOpen], until it answers a PING again: it is
// asked every 150 ms. A pool in which every connection had been refused needs up
// to a second more, in which commands fail at once too.
func OpenRedis(cfg RedisConfig, m *RedisMetrics) (redis.UniversalClient, error) {
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	guard := func(node *redis.Client) *breaker {
		return newBreaker(node, cfg.Role, m, cmp.Or(cfg.Log, slog.New(slog.DiscardHandler)))
	}
	switch c := client.(type) {
	case *redis.Client: // Sentinel's too: the probe asks it for the master, as every new connection does
		b := guard(c)
		m.watch(cfg.Role, client)
		addGate(c, cfg.Gate)
		c.AddHook(b) // behind the metrics, which count what it refuses
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

// SilenceRedisLog keeps go-redis from writing to stderr by itself: each of its failures is
// also an error that we return, log with its request and count. It changes the
// library for the whole process; only main calls it, before anything else.
func SilenceRedisLog() { redis.SetLogger(hushed{}) }

type hushed struct{}

func (hushed) Printf(context.Context, string, ...any) {}

func newClient(cfg RedisConfig) (redis.UniversalClient, error) {
	o, topology, err := parseRedisURL(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("%s Redis URL: %w", cfg.Role, err)
	}
	o.Protocol = resp3
	o.ClientName = "tandian-" + cfg.Role
	o.DialTimeout, o.DialerRetries = dialTimeout, onlyOneTry
	wait := cmp.Or(cfg.Timeout, readTimeout)
	o.ReadTimeout, o.WriteTimeout, o.ContextTimeoutEnabled = wait, wait, true
	o.MaxRetries = cmp.Or(cfg.Retries, noRetry)
	o.OnConnect = cfg.OnConnect
	o.PoolSize = cmp.Or(cfg.PoolSize, 32)
	o.PipelinePoolSize = -1 // pipelines in the same pool: its size and its metrics are then the whole truth
	o.MinIdleConns = cfg.MinIdle
	o.PoolTimeout = cmp.Or(cfg.PoolTimeout, 250*time.Millisecond)
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	o.DisableIdentity = true // its name says who it is; Redis 7.0 has no CLIENT SETINFO
	if o.Dialer = cfg.Dial; o.Dialer == nil && o.TLSConfig != nil {
		if o.Dialer, err = cfg.TLS.dialer(cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))); err != nil {
			return nil, fmt.Errorf("TLS to the %s Redis: %w", cfg.Role, err)
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

// exceptSentinels asks only about servers that hold data. go-redis asks about its
// connections to Sentinels too, and takes one that is refused for one that is away. What a
// server is it says in answer to HELLO, which every user may send.
func exceptSentinels(onConnect func(context.Context, *redis.Conn) error) func(context.Context, *redis.Conn) error {
	if onConnect == nil {
		return nil
	}
	return func(ctx context.Context, conn *redis.Conn) error {
		hello, err := conn.Hello(ctx, resp3, "", "", "").Result()
		if err != nil {
			return fmt.Errorf("ask Redis what it is: %w", err)
		}
		if hello["mode"] == "sentinel" {
			return nil
		}
		return onConnect(ctx, conn)
	}
}

// CheckRedisURL says what is wrong with a URL, without its secrets.
func CheckRedisURL(raw string) error {
	_, _, err := parseRedisURL(raw)
	return err
}

// parseRedisURL reads addresses, credentials, database number and TLS; the
// other options of the URL are not ours to take.
func parseRedisURL(raw string) (o *redis.UniversalOptions, topology string, err error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return nil, "", errNoRedisURL
	}
	base, topology, _ := strings.Cut(scheme, "+")
	raw = base + "://" + rest
	if strings.Contains(rest, "#") { // what follows would be ignored
		return nil, "", errors.New("it cannot be read; " + connect.EscapeHint)
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
			return nil, "", errors.New("a Sentinel needs ?master_name=…")
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

var errNoRedisURL = errors.New("it begins with redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://")

// redisURLError says what go-redis does not accept in a URL; parse is its function.
func redisURLError[T any](raw string, parse func(string) (T, error)) error {
	u, err := url.Parse(raw)
	if err != nil || connect.SplitsPassword(u) {
		return errors.New("it cannot be read; " + connect.EscapeHint)
	}
	return connect.ParseError(u, parse)
}
