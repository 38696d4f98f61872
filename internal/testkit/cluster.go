package testkit

import (
	"context"
	"errors"
	"fmt"
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

// startClusterNode starts an empty node on two free ports. If another test takes one of
// them first, it tries others.
func startClusterNode(ctx context.Context, program string, options ...string) (n clusterNode, stop func(), err error) {
	for range 5 {
		ports, err := freePorts(ctx, 2)
		if err != nil {
			return n, nil, err
		}
		n = clusterNode{ports[0], ports[1]}
		_, stop, err = startRedis(ctx, program, append([]string{
			"--bind", "127.0.0.1", "--port", n.port, "--cluster-enabled", "yes", "--cluster-port", n.bus,
		}, options...)...)
		if err == nil || !strings.Contains(err.Error(), "bind: Address already in use") {
			return n, stop, err
		}
	}
	return n, nil, errors.New("start a cluster node: all ports were taken")
}

// FreePort returns a loopback port that was free a moment ago. It is below the ephemeral
// range, so an outgoing connection cannot take it.
func FreePort(tb testing.TB) string {
	tb.Helper()
	ports, err := freePorts(tb.Context(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	return ports[0]
}

// freePorts is [FreePort] for n different ports.
func freePorts(ctx context.Context, n int) (ports []string, err error) {
	for tries := 0; len(ports) < n; tries++ {
		port := strconv.Itoa(20_000 + rand.IntN(12_000)) //nolint:gosec // no secret
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			defer func() { _ = l.Close() }() // held until all are found: none is found twice
			ports = append(ports, port)
		} else if tries > 1000 {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
	}
	return ports, nil
}
