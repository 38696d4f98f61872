package redisdb

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// masterConnLifetime is the lifetime of a connection to a master found by Sentinel. Otherwise a
// client in a network partition with an old master would stay connected to it.
const masterConnLifetime = time.Second

// maxBlockingPerNode limits the parallel blocking commands per cluster node. A failover may move the
// streams of several readers to one node.
const maxBlockingPerNode = 64

// NewBlockingClient returns a new client of the same Redis for blocking commands, which would
// otherwise occupy the connections of other commands. It dials at the first command. Two commands
// may block in parallel, on a cluster 64 per node. Others wait for a connection, limited by
// [RedisConfig.PoolTimeout]. The caller closes the client before the original.
//
// wait limits the replies of a pipeline, including the blocking time. A blocking command outside a
// pipeline may take 10 s longer than its own blocking time, as in go-redis. The client has no
// breaker and no metrics: a blocked command would look like a slow Redis.
func NewBlockingClient(rdb redis.UniversalClient, wait time.Duration) (redis.UniversalClient, error) {
	// In the result of Options, 0 means none, but NewClient would use the default. Connections of
	// the original write to its MaintNotificationsConfig, so the copy needs its own.
	switch c := rdb.(type) {
	case *redis.Client:
		o := *c.Options()
		o.MaxRetries, o.PipelinePoolSize, o.PoolSize, o.MinIdleConns = noRetry, -1, 2, 0
		o.ReadTimeout, o.ContextTimeoutEnabled, o.DisableIdentity = wait, true, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		if o.Addr == sentinelAddr {
			o.ConnMaxLifetime = masterConnLifetime
		}
		return redis.NewClient(&o), nil
	case *redis.ClusterClient:
		o := *c.Options()
		o.MaxRetries, o.PipelinePoolSize, o.PoolSize, o.MinIdleConns = noRetry, -1, maxBlockingPerNode, 0
		o.ReadTimeout, o.ContextTimeoutEnabled, o.DisableIdentity = wait, true, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&o), nil
	}
	return nil, fmt.Errorf("copy Redis client: unsupported type %T", rdb)
}

// sentinelAddr is go-redis's address of a Sentinel client.
const sentinelAddr = "FailoverClient"
