package redisdb

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/embedredis"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestRedisURLs(t *testing.T) {
	type target struct {
		Topology, Master, User, Password, SentinelPassword string
		Addrs                                              []string
		DB                                                 int
		TLS                                                bool
	}
	tests := []struct {
		url  string
		want target
	}{
		{"redis://host", target{Addrs: []string{"host:6379"}}},
		{"redis://host:1/2", target{Addrs: []string{"host:1"}, DB: 2}},
		{"redis://ann:p%2Fw@host:1", target{Addrs: []string{"host:1"}, User: "ann", Password: "p/w"}},
		{"rediss://:pw@[::1]:1", target{Addrs: []string{"[::1]:1"}, Password: "pw", TLS: true}},
		{"unix:///run/a%20b/redis.sock?db=3", target{Addrs: []string{"/run/a b/redis.sock"}, DB: 3}},
		{"redis+sentinel://:s@a:1/4?master_name=m&addr=b:2&username=ann&password=pw", target{
			Topology: "sentinel", Master: "m", User: "ann", Password: "pw", SentinelPassword: "s", Addrs: []string{"a:1", "b:2"}, DB: 4,
		}},
		{"rediss+sentinel://a?master_name=m", target{Topology: "sentinel", Master: "m", Addrs: []string{"a:6379"}, TLS: true}},
		{"redis+cluster://ann:pw@a:1?addr=b:2&addr=c:3", target{
			Topology: "cluster", User: "ann", Password: "pw", Addrs: []string{"a:1", "b:2", "c:3"},
		}},
		{"rediss+cluster://a", target{Topology: "cluster", Addrs: []string{"a:6379"}, TLS: true}},
	}
	for _, tt := range tests {
		t.Run(tt.url, func(t *testing.T) {
			o, topology, err := parseRedisURL(tt.url)
			if err != nil {
				t.Fatal(err)
			}
			got := target{topology, o.MasterName, o.Username, o.Password, o.SentinelPassword, o.Addrs, o.DB, o.TLSConfig != nil}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			client, err := newClient(RedisConfig{URL: tt.url, Role: "state", Dial: refuse})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			if _, cluster := client.(*redis.ClusterClient); cluster != (topology == "cluster") {
				t.Errorf("got client type %T", client)
			}
		})
	}
}

func TestRedisURLErrorsContainNoPassword(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"empty", "", "must begin with redis://"},
		{"no scheme", "ann:hunter2@host", "must begin with redis://"},
		{"another scheme", "http://ann:hunter2@host", "must begin with redis://"},
		{"another topology", "redis+ring://ann:hunter2@host", "must begin with redis://"},
		{"a cluster by socket", "unix+cluster://ann:hunter2@/sock", "must begin with redis://"},
		{"an invalid port", "redis://ann:hunter2@host:port", "malformed URL"},
		{"an invalid database", "redis://ann:hunter2@host/one", "invalid database number"},
		{"a database equal to the password", "redis://ann:hunter2@host/hunter2", "invalid database number"},
		{"an unknown option", "redis://ann:hunter2@host?colour=red", "unexpected option"},
		{"an invalid number", "redis://ann:hunter2@host?pool_size=hunter2", "pool_size"},
		{"Sentinel without a master", "redis+sentinel://ann:hunter2@host", "master_name"},
		{"a Sentinel's option", "redis+sentinel://host?master_name=m&password=hunter2&colour=red", "unexpected option"},
		{"a Sentinel with its own password", "redis+sentinel://host?master_name=m&addr=ann:hunter2@host:1", "malformed URL"},
		{"a cluster's option", "redis+cluster://ann:hunter2@host?colour=red", "unexpected option"},
		{"a password with a space", "redis://ann:hun ter2@host", "malformed URL"},
		{"a password with a percent sign", "redis://ann:hunter2%@host", "malformed URL"},
		{"a password with a slash", "redis://ann:1/hunter2@host", "malformed URL"},
		{"a password with a question mark", "redis://ann:1?hunter2@host", "malformed URL"},
		{"a password with an at sign and a slash", "redis://ann:p@1/hunter2@host", "malformed URL"},
		{"a cluster's password with a slash", "redis+cluster://ann:1?hunter2@host", "malformed URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, open := OpenRedis(RedisConfig{URL: tt.url, Role: "cache"}, NewRedisMetrics(prometheus.NewRegistry()))
			for _, err := range []error{CheckRedisURL(tt.url), open} {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("got %v, want an error with %q", err, tt.want)
				} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "ter2") {
					t.Errorf("the error contains the password: %v", err)
				}
			}
		})
	}
}

// hangs returns a Dial to a server that accepts connections and never answers.
func hangs(t *testing.T) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		t.Cleanup(func() { _ = theirs.Close() })
		return ours, nil
	}
}

// unreachable is a Dial to an address that does not answer at all.
func unreachable(ctx context.Context, _, _ string) (net.Conn, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

var errRefused = errors.New("connection refused")

func refuse(context.Context, string, string) (net.Conn, error) { return nil, errRefused }

// The clock of synctest makes these times exact, however busy the machine is.
func TestUnansweredCommandsEndAtTheirTimeLimit(t *testing.T) {
	tests := []struct {
		name    string
		dial    func(context.Context, string, string) (net.Conn, error) // nil: hangs
		timeout time.Duration                                           // deadline of the call, or 0
		want    time.Duration
	}{
		{name: "hang", want: readTimeout},
		{name: "hang with a short deadline", timeout: 50 * time.Millisecond, want: 50 * time.Millisecond},
		{name: "hang with a long deadline", timeout: time.Minute, want: readTimeout},
		{name: "unreachable", dial: unreachable, want: dialTimeout},
		{name: "unreachable with a short deadline", dial: unreachable, timeout: 50 * time.Millisecond, want: 50 * time.Millisecond},
		{name: "refuse", dial: refuse, want: 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial := tt.dial
				if dial == nil {
					dial = hangs(t)
				}
				client := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: "redis://host", Role: "state", Dial: dial})
				defer time.Sleep(time.Minute) // the pool's own dials end meanwhile
				defer func() { _ = client.Close() }()
				for _, call := range []string{"cold", "again"} {
					ctx := t.Context()
					if tt.timeout > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, tt.timeout)
						defer cancel()
					}
					begin := time.Now()
					err := client.Get(ctx, "k").Err()
					if took := time.Since(begin); err == nil || took != tt.want {
						t.Errorf("%s: got %v after %v, want an error after %v", call, err, took, tt.want)
					}
				}
			})
		})
	}
}

func TestSilentConnectionsEndAtTheReadTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := embedded(t)
		var lossy bool
		client := openRedis(t, prometheus.NewRegistry(), RedisConfig{
			URL: "redis://host", Role: "state",
			Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
				conn, err := server.Dial(ctx, network, addr)
				return lossyConn{conn, &lossy}, err
			},
		})
		if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		lossy = true
		begin := time.Now()
		err := client.Get(t.Context(), "k").Err()
		if took := time.Since(begin); err == nil || took != readTimeout {
			t.Errorf("got %v after %v, want an error after %v", err, took, readTimeout)
		}
	})
}

// A lossyConn loses requests while lossy is true.
type lossyConn struct {
	net.Conn
	lossy *bool
}

func (c lossyConn) Write(p []byte) (int, error) {
	if *c.lossy {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// This test uses the network. The fastest call counts, because other processes may delay this one.
func TestNetworkErrorsAreFast(t *testing.T) {
	tests := []struct {
		name  string
		hung  bool
		limit time.Duration
	}{
		{"hang", true, 250 * time.Millisecond},
		{"refuse", false, 100 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			if tt.hung {
				t.Cleanup(func() { _ = listener.Close() }) // the kernel accepts the connections
			} else if err := listener.Close(); err != nil {
				t.Fatal(err)
			}
			best := time.Hour
			for range 5 { // new clients with closed breakers
				client := openRedis(t, prometheus.NewRegistry(), RedisConfig{URL: "redis://" + listener.Addr().String(), Role: "state"})
				begin := time.Now()
				if client.Get(t.Context(), "k").Err() == nil {
					t.Fatal("got a reply")
				}
				best = min(best, time.Since(begin))
			}
			if best > tt.limit {
				t.Errorf("fastest of 5 calls: got %v, want at most %v", best, tt.limit)
			}
		})
	}
}

func embedded(t *testing.T) *embedredis.Server {
	t.Helper()
	server, err := embedredis.Start(embedredis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func openRedis(t *testing.T, reg prometheus.Registerer, cfg RedisConfig) redis.UniversalClient {
	t.Helper()
	client, err := OpenRedis(cfg, NewRedisMetrics(reg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return client
}

func TestRedisMetricsCountByRole(t *testing.T) {
	type counts struct{ Commands, RoundTrips, Errors float64 }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name string
		do   func(ctx context.Context, c redis.UniversalClient) error
		dead bool // the server has ended
		want counts
	}{
		{name: "a command", want: counts{Commands: 1, RoundTrips: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			return c.Incr(ctx, "n").Err()
		}},
		{name: "a pipeline is one round trip", want: counts{Commands: 3, RoundTrips: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.Incr(ctx, "n")
				p.Incr(ctx, "n")
				return nil
			})
			return err
		}},
		{name: "a transaction is one round trip", want: counts{Commands: 2, RoundTrips: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.Incr(ctx, "n")
				return nil
			})
			return err
		}},
		{name: "a missing key is no failure", want: counts{RoundTrips: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			if err := c.Get(ctx, "none").Err(); !errors.Is(err, redis.Nil) {
				return errors.Join(errors.New("GET found something"), err)
			}
			return nil
		}},
		{name: "an error reply is no failure", want: counts{Commands: 1, RoundTrips: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			if c.Incr(ctx, "text").Err() == nil {
				return errors.New("INCR took a text")
			}
			return nil
		}},
		{name: "an error reply in a pipeline is no failure", want: counts{Commands: 2, RoundTrips: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "text")
				p.Incr(ctx, "n")
				return nil
			})
			if err == nil {
				return errors.New("INCR took a text")
			}
			return nil
		}},
		{name: "a cancelled caller is no failure", want: counts{Commands: 1, RoundTrips: 1}, do: func(_ context.Context, c redis.UniversalClient) error {
			if err := c.Incr(ended, "n").Err(); !errors.Is(err, context.Canceled) {
				return errors.Join(errors.New("INCR was not cancelled"), err)
			}
			return nil
		}},
		{name: "a stopped server is a failure", dead: true, want: counts{Commands: 1, RoundTrips: 1, Errors: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			if c.Incr(ctx, "n").Err() == nil {
				return errors.New("INCR was answered")
			}
			return nil
		}},
		{name: "a pipeline to a stopped server is one failure", dead: true, want: counts{Commands: 2, RoundTrips: 1, Errors: 1}, do: func(ctx context.Context, c redis.UniversalClient) error {
			_, err := c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.Incr(ctx, "n")
				return nil
			})
			if err == nil {
				return errors.New("INCR was answered")
			}
			return nil
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg := prometheus.NewRegistry()
			metrics, server := NewRedisMetrics(reg), embedded(t)
			var clients []redis.UniversalClient
			for _, role := range []string{"state", "cache"} {
				dial := server.Dial
				if tt.dead {
					dial = refuse
				}
				client, err := OpenRedis(RedisConfig{URL: "redis://host", Role: role, PoolSize: 1, MinIdle: 1, Dial: dial}, metrics)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = client.Close() })
				clients = append(clients, client)
			}
			count := func(role string) counts {
				return counts{
					Commands:   max(0, testkit.MetricSum(t, reg, "tandian_redis_commands_total", map[string]string{"role": role, "command": "incr"})),
					RoundTrips: testkit.MetricSum(t, reg, "tandian_redis_round_trip_seconds", map[string]string{"role": role}),
					Errors:     testkit.MetricSum(t, reg, "tandian_redis_errors_total", map[string]string{"role": role}),
				}
			}
			// Opening the connection takes round trips too.
			if err := clients[1].Set(t.Context(), "text", "x", 0).Err(); (err != nil) != tt.dead {
				t.Fatal(err)
			}
			if _, err := clients[1].Pipelined(t.Context(), func(p redis.Pipeliner) error {
				p.Ping(t.Context())
				return nil
			}); (err != nil) != tt.dead {
				t.Fatal(err)
			}
			before, other := count("cache"), count("state")
			if err := tt.do(t.Context(), clients[1]); err != nil {
				t.Fatal(err)
			}
			after := count("cache")
			got := counts{after.Commands - before.Commands, after.RoundTrips - before.RoundTrips, after.Errors - before.Errors}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
			if d := cmp.Diff(other, count("state")); d != "" {
				t.Errorf("metrics of the other role (-want +got)\n%s", d)
			}
		})
	}
}

func TestRedisMetricsStartAtZero(t *testing.T) {
	reg := prometheus.NewRegistry()
	openRedis(t, reg, RedisConfig{URL: "redis://host", Role: "state", Dial: refuse})
	for _, name := range []string{"round_trip_seconds", "errors_total", "breaker_open", "breaker_opened_total", "breaker_refused_total", "pool_waits", "pool_wait_seconds", "pool_timeouts"} {
		if got := testkit.MetricSum(t, reg, "tandian_redis_"+name, map[string]string{"role": "state"}); got != 0 {
			t.Errorf("%s: got %v at the start (-1: missing), want 0", name, got)
		}
	}
	for _, name := range []string{"pool_connections", "pool_idle_connections"} { // the pool is filling them
		if got := testkit.MetricSum(t, reg, "tandian_redis_"+name, map[string]string{"role": "state"}); got < 0 {
			t.Errorf("%s is missing", name)
		}
	}
}

// This test is outside synctest: see closeAndWait.
func TestPoolTimeoutLimitsWaits(t *testing.T) {
	reg := prometheus.NewRegistry()
	const limit = 5 * time.Millisecond
	client := openRedis(t, reg, RedisConfig{
		URL: "redis://host", Role: "state", PoolSize: 1, MinIdle: 1, PoolTimeout: limit, Dial: embedded(t).Dial,
	})
	held := client.(*redis.Client).Conn()
	testkit.Eventually(t, 10*time.Second, func() bool { return held.Ping(t.Context()).Err() == nil }) // the pool may be dialing
	best := time.Hour
	for range 5 {
		begin := time.Now()
		if err := client.Ping(t.Context()).Err(); !errors.Is(err, redis.ErrPoolTimeout) {
			t.Fatalf("got %v, want %v", err, redis.ErrPoolTimeout)
		}
		best = min(best, time.Since(begin))
	}
	if best < limit || best > 20*limit {
		t.Errorf("fastest of 5 calls: got %v, want %v", best, limit)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("after the connection was returned: %v", err)
	}
	if got := testkit.MetricSum(t, reg, "tandian_redis_pool_timeouts", nil); got < 5 {
		t.Errorf("got %v timeouts, want 5", got)
	}
}
