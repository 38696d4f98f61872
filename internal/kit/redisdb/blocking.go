package redisdb

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// masterConnLifetime is the lifetime of a connection to a master found by Sentinel. A client in a network
// partition with an old master would otherwise stay connected to it.
const masterConnLifetime = time.Second

// maxBlockingPerNode is the maximum number of blocking commands per cluster node: one for each stream
// of another node, since a failover may move streams to one node.
const maxBlockingPerNode = 64

// NewBlockingClient returns a new client of the same Redis for blocking commands, which would
// otherwise occupy the connections of other commands. It dials at the first command. wait is the
// read timeout including the blocking time; in a pipeline it applies to all commands together. Two
// commands may block in parallel, on a cluster 64 per node; others wait for them. The client has no
// breaker and no metrics: each blocked command would look like a slow Redis. The caller closes it
// before the original.
func NewBlockingClient(rdb redis.UniversalClient, wait time.Duration) (redis.UniversalClient, error) {
	// Options returns final settings: 0 now means none, but NewClient would read it as the default.
	// The first connection still writes to the maintenance notifications.
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
	return nil, fmt.Errorf("a Redis client of type %T cannot be copied", rdb)
}

// sentinelAddr is go-redis's address of a Sentinel client.
const sentinelAddr = "FailoverClient"
