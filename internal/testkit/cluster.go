package testkit

import (
	"context"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisCluster starts three redis-servers for this test alone, joined to a
// cluster of three masters that share the slots, and returns its address as
// store.OpenRedis takes it (redis+cluster://…). See [Redis].
func RedisCluster(tb testing.TB) string {
	tb.Helper()
	const nodes, slots = 3, 16384
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var all []clusterNode
	var addrs []string
	for range nodes {
		n := clusterNode{freePort(tb), freePort(tb)}
		Redis(tb, "--bind", "127.0.0.1", "--port", n.port, "--cluster-enabled", "yes", "--cluster-port", n.bus)
		all, addrs = append(all, n), append(addrs, n.addr())
	}
	for i, n := range all {
		rdb := redis.NewClient(&redis.Options{Addr: n.addr(), Username: AdminUser, Password: "any"})
		tb.Cleanup(func() { _ = rdb.Close() })
		if err := rdb.ClusterAddSlotsRange(ctx, i*slots/nodes, (i+1)*slots/nodes-1).Err(); err != nil {
			tb.Fatalf("give slots to a cluster node: %v", err)
		}
		for _, other := range all[:i] {
			if err := rdb.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.port, other.bus).Err(); err != nil {
				tb.Fatalf("join the cluster nodes: %v", err)
			}
		}
	}
	for _, addr := range addrs {
		rdb := redis.NewClient(&redis.Options{Addr: addr, Username: AdminUser, Password: "any"})
		Eventually(tb, 20*time.Second, func() bool {
			info := rdb.ClusterInfo(ctx).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_size:3")
		})
		_ = rdb.Close()
	}
	return "redis+cluster://" + addrs[0] + "?addr=" + strings.Join(addrs[1:], "&addr=")
}

// A clusterNode is where a node of a cluster listens.
type clusterNode struct{ port, bus string }

func (n clusterNode) addr() string { return net.JoinHostPort("127.0.0.1", n.port) }

// freePort returns a free loopback port below the ephemeral range, so an outgoing
// connection cannot take it.
func freePort(tb testing.TB) string {
	tb.Helper()
	for tries := 0; ; tries++ {
		port := strconv.Itoa(20_000 + rand.IntN(12_000)) //nolint:gosec // no secret
		l, err := (&net.ListenConfig{}).Listen(tb.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			_ = l.Close()
			return port
		}
		if tries > 1000 {
			tb.Fatalf("find a free port: %v", err)
		}
	}
}
