package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// TopologyVariable names the environment variable that selects the Redis topology of tests. The
// value "cluster" is three masters with a replica each, "sentinel" a master, two replicas and three
// Sentinels. `make test-cluster` sets it.
const TopologyVariable = "TANDIAN_TEST_REDIS"

// topologies holds the idle topologies of this process. Starting one takes seconds, so tests reuse
// them.
var topologies struct { //nolint:gochecknoglobals // shared by all tests of a process
	mu    sync.Mutex
	idle  []topology
	alive []func() // stop functions; keep the servers' inputs open
}

func keepAlive(stop func()) {
	topologies.mu.Lock()
	defer topologies.mu.Unlock()
	topologies.alive = append(topologies.alive, stop)
}

type topology struct {
	url   string
	nodes []string // the masters among them are emptied
}

// RedisTopology returns the URL, for redisdb.OpenRedis, of an empty Redis of the topology in
// [TopologyVariable]. No other test uses it meanwhile. ok is false if the variable is empty. The
// servers end with the process.
func RedisTopology(tb testing.TB) (url string, ok bool) {
	tb.Helper()
	kind := os.Getenv(TopologyVariable)
	if kind == "" {
		return "", false
	}
	program := redisProgram(tb)
	topologies.mu.Lock()
	var t topology
	if n := len(topologies.idle); n > 0 {
		t, topologies.idle = topologies.idle[n-1], topologies.idle[:n-1]
	}
	topologies.mu.Unlock()
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var err error
	if t.url == "" {
		t, err = startTopology(ctx, kind, program)
	} else {
		err = t.empty(ctx)
	}
	if err != nil {
		tb.Fatalf("start Redis %s: %v", kind, err)
	}
	tb.Cleanup(func() {
		topologies.mu.Lock()
		defer topologies.mu.Unlock()
		topologies.idle = append(topologies.idle, t)
	})
	return t.url, true
}

func startTopology(ctx context.Context, kind, program string) (t topology, err error) {
	switch kind {
	case "cluster":
		return startCluster(ctx, program)
	case "sentinel":
		return startSentinel(ctx, program)
	}
	return t, fmt.Errorf("unknown %s %q (want one of [cluster sentinel])", TopologyVariable, kind)
}

func startCluster(ctx context.Context, program string) (t topology, err error) {
	const masters, slots = 3, 16384
	var all []clusterNode
	var ids []string
	for i := range 2 * masters {
		n, stop, err := startClusterNode(ctx, program, "--cluster-node-timeout", "5000", "--repl-diskless-sync-delay", "0")
		if err != nil {
			return t, err
		}
		keepAlive(stop)
		t.nodes = append(t.nodes, n.addr())
		err = withAdmin(n.addr(), func(rdb *redis.Client) error {
			for _, other := range all {
				if err := rdb.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.port, other.bus).Err(); err != nil {
					return err
				}
			}
			id, err := rdb.Do(ctx, "CLUSTER", "MYID").Text()
			ids = append(ids, id)
			if err != nil || i >= masters {
				return err
			}
			return rdb.ClusterAddSlotsRange(ctx, i*slots/masters, (i+1)*slots/masters-1).Err()
		})
		if err != nil {
			return t, err
		}
		all = append(all, n)
	}
	for i, n := range all[masters:] {
		if err := retry(ctx, func() error {
			return withAdmin(n.addr(), func(rdb *redis.Client) error { return rdb.Do(ctx, "CLUSTER", "REPLICATE", ids[i]).Err() })
		}); err != nil {
			return t, err
		}
	}
	t.url = "redis+cluster://" + t.nodes[0] + "?addr=" + strings.Join(t.nodes[1:], "&addr=")
	return t, retry(ctx, func() error {
		for _, addr := range t.nodes {
			if err := withAdmin(addr, func(rdb *redis.Client) error {
				info, err := rdb.ClusterInfo(ctx).Result()
				if err == nil && (!strings.Contains(info, "cluster_state:ok") || !strings.Contains(info, "cluster_size:3") || !strings.Contains(info, "cluster_known_nodes:6")) {
					err = errors.New("cluster is not formed yet")
				}
				return errors.Join(err, checkLink(ctx, rdb))
			}); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkLink returns an error while a replica is not connected to its master.
func checkLink(ctx context.Context, rdb *redis.Client) error {
	info, err := rdb.Info(ctx, "replication").Result()
	if err == nil && strings.Contains(info, "role:slave") && !strings.Contains(info, "master_link_status:up") {
		err = errors.New("replica is not connected to its master yet")
	}
	return err
}

func startSentinel(ctx context.Context, program string) (t topology, err error) {
	const replicas, sentinels = 2, 3
	ports, err := freePorts(ctx, 1+replicas+sentinels)
	if err != nil {
		return t, err
	}
	for i, port := range ports[:1+replicas] {
		options := []string{"--bind", "127.0.0.1", "--port", port, "--repl-diskless-sync-delay", "0"}
		if i > 0 {
			options = append(options, "--replicaof", "127.0.0.1 "+ports[0])
		}
		_, stop, err := startRedis(ctx, program, options...)
		if err != nil {
			return t, err
		}
		keepAlive(stop)
		t.nodes = append(t.nodes, "127.0.0.1:"+port)
	}
	for _, addr := range t.nodes {
		if err := retry(ctx, func() error { return withAdmin(addr, func(rdb *redis.Client) error { return checkLink(ctx, rdb) }) }); err != nil {
			return t, err
		}
	}
	var addrs []string
	for _, port := range ports[1+replicas:] {
		if err := launchSentinel(program, port, ports[0]); err != nil {
			return t, err
		}
		addrs = append(addrs, "127.0.0.1:"+port)
	}
	t.url = "redis+sentinel://" + addrs[0] + "/?master_name=tandian&addr=" + strings.Join(addrs[1:], "&addr=")
	return t, retry(ctx, func() error {
		for _, addr := range addrs {
			s := redis.NewSentinelClient(&redis.Options{Addr: addr})
			m, err := s.Master(ctx, "tandian").Result()
			_ = s.Close()
			if err == nil && (m["num-other-sentinels"] != strconv.Itoa(sentinels-1) || m["num-slaves"] != strconv.Itoa(replicas)) {
				err = errors.New("sentinels have not found each other yet")
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// launchSentinel starts a Sentinel that ends with this process. A Sentinel rewrites its
// configuration file, so each has its own.
func launchSentinel(program, port, master string) error {
	dir, err := os.MkdirTemp(shortTemp(), "td")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "sentinel.conf")
	text := "bind 127.0.0.1\nport " + port + "\ndir " + dir + "\nsentinel monitor tandian 127.0.0.1 " + master + " 2\nsentinel down-after-milliseconds tandian 5000\n" +
		"sentinel auth-user tandian " + AdminUser + "\nsentinel auth-pass tandian any\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	stop, err := startGuard(exec.Command("sh", "-c", guard, "guard", dir, program, file, "--sentinel")) //nolint:noctx,gosec // it ends with its input
	if err != nil {
		return err
	}
	keepAlive(stop)
	return nil
}

// withAdmin runs do with a client of a server for [AdminUser].
func withAdmin(addr string, do func(rdb *redis.Client) error) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr, Username: AdminUser, Password: "any"})
	defer func() { _ = rdb.Close() }()
	return do(rdb)
}

// retry calls try until it succeeds or ctx ends.
func retry(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (t topology) empty(ctx context.Context) error {
	for _, addr := range t.nodes {
		if err := withAdmin(addr, func(rdb *redis.Client) error {
			info, err := rdb.Info(ctx, "replication").Result()
			if err != nil || !strings.Contains(info, "role:master") {
				return err
			}
			return rdb.FlushAll(ctx).Err() //nolint:forbidigo // a server of the tests alone
		}); err != nil {
			return err
		}
	}
	return nil
}
