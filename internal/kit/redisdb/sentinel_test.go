package redisdb

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// OnConnect may accept only masters. If it rejected Sentinels too, the client would never find the
// master.
func TestOnConnectSkipsSentinels(t *testing.T) {
	t.Setenv(testkit.TopologyVariable, "sentinel")
	url, _ := testkit.RedisTopology(t)
	var checked, refused atomic.Int64
	client := openRedis(t, prometheus.NewRegistry(), RedisConfig{
		URL: url, Role: "sale",
		OnConnect: func(ctx context.Context, conn *redis.Conn) error {
			checked.Add(1)
			info, err := conn.Info(ctx, "replication").Result()
			if err != nil {
				return err
			}
			if !strings.Contains(info, "role:master") {
				refused.Add(1)
				return refusal{}
			}
			return nil
		},
	})
	if err := client.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
	if checked.Load() == 0 || refused.Load() > 0 {
		t.Errorf("got %d checked and %d rejected connections, want only the master's", checked.Load(), refused.Load())
	}
}
