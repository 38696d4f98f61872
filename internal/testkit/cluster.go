package testkit

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisCluster is like [Redis], but starts a cluster of three masters. It returns the URL for
// redisdb.OpenRedis (redis+cluster://…).
func RedisCluster(tb testing.TB) string {
	tb.Helper()
	const nodes, slots = 3, 16384
	program := redisProgram(tb)
	ctx, cancel := context.WithTimeout(tb.Context(), patience)
	defer cancel()
	var all []clusterNode
	var addrs []string
	for range nodes {
		n, stop, err := startClusterNode(ctx, program)
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(stop)
		all, addrs = append(all, n), append(addrs, n.addr())
	}
	for i, n := range all {
		rdb := redis.NewClient(&redis.Options{Addr: n.addr(), Username: AdminUser, Password: "any"})
		tb.Cleanup(func() { _ = rdb.Close() })
		if err := rdb.ClusterAddSlotsRange(ctx, i*slots/nodes, (i+1)*slots/nodes-1).Err(); err != nil {
			tb.Fatalf("assign slots to cluster node: %v", err)
		}
		for _, other := range all[:i] {
			if err := rdb.Do(ctx, "CLUSTER", "MEET", "127.0.0.1", other.port, other.bus).Err(); err != nil {
				tb.Fatalf("join cluster nodes: %v", err)
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

// A clusterNode holds the ports of a cluster node.
type clusterNode struct{ port, bus string }

func (n clusterNode) addr() string { return net.JoinHostPort("127.0.0.1", n.port) }

// startClusterNode starts an empty node on two free ports. If another process takes one first, it
// tries other ports.
func startClusterNode(ctx context.Context, program string, options ...string) (n clusterNode, stop func(), err error) {
	for range 5 {
		var ports []string
		if ports, err = freePorts(ctx, 2); err != nil {
			return n, nil, err
		}
		n = clusterNode{ports[0], ports[1]}
		_, stop, err = startRedis(ctx, program, append([]string{
			"--bind", "127.0.0.1", "--port", n.port, "--cluster-enabled", "yes", "--cluster-port", n.bus,
		}, options...)...)
		if err == nil {
			return n, stop, nil
		}
		if !strings.Contains(err.Error(), "bind: Address already in use") {
			break
		}
	}
	return n, nil, fmt.Errorf("start cluster node: %w", err)
}
