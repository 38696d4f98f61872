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

// The check of a connection is about the server that holds data. One that only a master
// passes must not make the Sentinels look as if they were away, or who sells by Redis never
// finds it.
func TestThroughSentinelOnlyServersWithDataAreChecked(t *testing.T) {
	t.Setenv(testkit.TopologyVariable, "sentinel")
	url, _ := testkit.RedisOfMany(t)
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
		t.Errorf("%d connections were checked, %d refused; want the master's alone", checked.Load(), refused.Load())
	}
}
