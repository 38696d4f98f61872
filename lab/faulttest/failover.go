package faulttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const syncTimeout = 20 * time.Second // until a new replica has all data

// failover starts a replica, cuts it off for a while, kills the master and promotes the
// replica, which lacks the latest writes. Then it redirects all proxies of Redis to the
// replica.
func (w *World) failover(ctx context.Context, behind time.Duration) error {
	w.mu.Lock()
	master, replica := w.nodes[0], w.nodes[1]
	w.mu.Unlock()
	ports, err := freePorts(ctx, 1)
	if err != nil {
		return err
	}
	link, err := openProxy("replication", loopback(ports[0]), master.addr())
	if err != nil {
		return err
	}
	defer link.close()
	if err := w.replicate(ctx, replica, ports[0]); err != nil {
		return errors.Join(err, replica.Kill9())
	}
	if _, err := link.add(hang(replies)); err != nil {
		return errors.Join(err, replica.Kill9())
	}
	_ = clock.Sleep(ctx, behind) // a fault that has begun is completed
	if err := master.Kill9(); err != nil {
		return err
	}
	promote := func(rdb redis.UniversalClient) error { return rdb.Do(ctx, "REPLICAOF", "NO", "ONE").Err() }
	if err := replica.with(promote); err != nil {
		return fmt.Errorf("promote the replica: %w", err)
	}
	w.mu.Lock()
	w.nodes[0], w.nodes[1] = replica, master
	w.mu.Unlock()
	for _, p := range append([]*proxy{w.direct}, w.toRedis...) {
		if err := p.redirect(replica.addr()); err != nil {
			return err
		}
	}
	return nil
}

// replicate starts an empty node and waits until it has the data of the master at a port.
func (w *World) replicate(ctx context.Context, replica *redisNode, port int) error {
	if err := errors.Join(os.RemoveAll(replica.data), os.Mkdir(replica.data, 0o700)); err != nil {
		return fmt.Errorf("empty replica: %w", err)
	}
	replica.resetSizes()
	if err := replica.Start(ctx); err != nil {
		return err
	}
	return replica.with(func(rdb redis.UniversalClient) error {
		if err := rdb.Do(ctx, "REPLICAOF", "127.0.0.1", port).Err(); err != nil {
			return fmt.Errorf("make replica: %w", err)
		}
		for deadline := time.Now().Add(syncTimeout); ; {
			info, err := rdb.Info(ctx).Result()
			// Once in sync, it rewrites its append-only file; a start before that would find
			// it empty.
			if err == nil && strings.Contains(info, "master_link_status:up") &&
				strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") {
				return nil
			}
			if time.Now().After(deadline) || clock.Sleep(ctx, 20*time.Millisecond) != nil {
				return errors.Join(fmt.Errorf("wait for replica: not in sync within %v", syncTimeout), err)
			}
		}
	})
}
