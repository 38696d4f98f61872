package redisdb

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// masterAgain is how long a connection that Sentinel named the server of is used:
// who is cut off from the others together with an old master would hear it for as
// long as it lives.
const masterAgain = time.Second

// blockingAtOnce is how many commands may block on one node of a cluster: it takes one
// for each stream that another node may have, and a failover brings those together.
const blockingAtOnce = 64

// NewBlockingClient returns a new client of the same Redis for commands that block there,
// which would keep connections from those that do not. It dials at the first
// command. The longest wait for an answer, the blocking included, is given; in a
// pipeline it holds for all commands together. Two commands may block at once, on a
// cluster 64 on each node; others wait for them. It has neither the breaker nor the
// metrics of the original: each of its waits would look like a slow Redis. The
// caller closes it, before the original.
func NewBlockingClient(rdb redis.UniversalClient, wait time.Duration) (redis.UniversalClient, error) {
	// The library has made the settings final once: 0 is its word for none now, and
	// would be read as its default. What it still writes to, at the first connection,
	// are those of the maintenance notifications.
	switch c := rdb.(type) {
	case *redis.Client:
		o := *c.Options()
		o.MaxRetries, o.PipelinePoolSize, o.PoolSize, o.MinIdleConns = noRetry, -1, 2, 0
		o.ReadTimeout, o.ContextTimeoutEnabled, o.DisableIdentity = wait, true, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		if o.Addr == sentinelAddr {
			o.ConnMaxLifetime = masterAgain
		}
		return redis.NewClient(&o), nil
	case *redis.ClusterClient:
		o := *c.Options()
		o.MaxRetries, o.PipelinePoolSize, o.PoolSize, o.MinIdleConns = noRetry, -1, blockingAtOnce, 0
		o.ReadTimeout, o.ContextTimeoutEnabled, o.DisableIdentity = wait, true, true
		o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
		return redis.NewClusterClient(&o), nil
	}
	return nil, fmt.Errorf("a Redis client of type %T cannot be copied", rdb)
}

// sentinelAddr is what go-redis calls the address of a client that asks Sentinel.
const sentinelAddr = "FailoverClient"
