package redisdb

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

// neededCommands returns the commands that the server sends, directly and in scripts, with the
// minimum number of arguments. KEY stands for a key, CHANNEL for a channel.
func neededCommands() []string {
	return strings.Split(strings.TrimSpace(`
BITFIELD_RO KEY
DBSIZE
DECR KEY
DECRBY KEY 1
DEL KEY
EVAL x 1 KEY
EVALSHA x 1 KEY
EXISTS KEY
EXPIRE KEY 1
GEOADD KEY 0 0 m
GEOSEARCH KEY FROMLONLAT 0 0 BYRADIUS 1 m
GET KEY
GETRANGE KEY 0 1
HDEL KEY f
HGET KEY f
HINCRBY KEY f 1
HLEN KEY
HMGET KEY f
HSCAN KEY 0
HSET KEY f v
HSETNX KEY f v
INCR KEY
INCRBY KEY 1
INFO
LLEN KEY
LMOVE KEY KEY LEFT RIGHT
LRANGE KEY 0 1
LTRIM KEY 0 1
MEMORY USAGE KEY
MGET KEY
PERSIST KEY
PEXPIRE KEY 1
PFADD KEY m
PFCOUNT KEY
PFMERGE KEY KEY
PING
PTTL KEY
PUBLISH CHANNEL m
RENAME KEY KEY
RENAMENX KEY KEY
SADD KEY m
SCAN 0
SCARD KEY
SCRIPT LOAD x
SET KEY v
SETBIT KEY 0 1
SREM KEY m
SSCAN KEY 0
STRLEN KEY
SUBSCRIBE CHANNEL
TIME
TYPE KEY
UNLINK KEY
UNSUBSCRIBE CHANNEL
XACK KEY g 0-1
XADD KEY * f v
XAUTOCLAIM KEY g c 0 0
XDEL KEY 0-1
XGROUP CREATE KEY g 0
XGROUP DELCONSUMER KEY g c
XINFO CONSUMERS KEY g
XINFO GROUPS KEY
XLEN KEY
XPENDING KEY g
XRANGE KEY - +
XREAD STREAMS KEY 0
XREADGROUP GROUP g c STREAMS KEY 0
XREVRANGE KEY + -
XTRIM KEY MAXLEN 1
ZADD KEY 0 m
ZCARD KEY
ZCOUNT KEY 0 1
ZMSCORE KEY m
ZRANGE KEY 0 1
ZRANK KEY m
ZREM KEY m
ZREMRANGEBYRANK KEY 0 1
ZREVRANGE KEY 0 1
ZSCORE KEY m
`), "\n")
}

// neededClusterCommands returns the additional commands for a node of a cluster.
func neededClusterCommands() []string {
	return []string{"CLUSTER SLOTS", "COMMAND", "SPUBLISH CHANNEL m", "SSUBSCRIBE CHANNEL"}
}

// CheckACL checks whether the client's Redis user may run the server's commands on keys and
// channels with the prefix and a colon. One error lists all missing permissions.
//
// It changes nothing: it queues the commands in a transaction and discards it. Redis checks
// permissions when it queues a command. CheckACL ignores other errors of these commands. It takes
// two round trips, on a cluster two per master.
func CheckACL(ctx context.Context, rdb redis.UniversalClient, prefix string) error {
	if cluster, ok := rdb.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			return checkNodeACL(ctx, node, prefix, append(neededCommands(), neededClusterCommands()...))
		})
	}
	one, ok := rdb.(*redis.Client)
	if !ok {
		return fmt.Errorf("check permissions: unsupported client type %T", rdb)
	}
	return checkNodeACL(ctx, one, prefix, neededCommands())
}

func checkNodeACL(ctx context.Context, node *redis.Client, prefix string, needed []string) error {
	conn := node.Conn() // MULTI and DISCARD need one connection
	defer func() { _ = conn.Close() }()
	// MULTI has its own round trip: if it failed, Redis would run the next commands.
	if err := conn.Process(ctx, redis.NewStatusCmd(ctx, "MULTI")); err != nil {
		return fmt.Errorf("check permissions by MULTI: %w", err)
	}
	pipe := conn.Pipeline()
	var queued []*redis.Cmd
	for _, line := range needed {
		words := strings.Fields(line)
		args := make([]any, len(words))
		for i, word := range words {
			switch word {
			case "KEY":
				args[i] = prefix + ":{rights}"
			case "CHANNEL":
				args[i] = prefix + ":rights"
			default:
				args[i] = word
			}
		}
		queued = append(queued, redis.NewCmd(ctx, args...))
	}
	for _, cmd := range queued {
		_ = pipe.Process(ctx, cmd)
	}
	discarded := redis.NewCmd(ctx, "DISCARD")
	_ = pipe.Process(ctx, discarded)
	_, _ = pipe.Exec(ctx) // each command has its own error
	var refused []string
	var why error
	for i, cmd := range queued {
		if redis.HasErrorPrefix(cmd.Err(), "NOPERM") {
			why = cmd.Err()
			name, _, _ := strings.Cut(needed[i], " KEY")
			name, _, _ = strings.Cut(name, " CHANNEL")
			refused = append(refused, name)
		}
	}
	if why == nil {
		if err := discarded.Err(); err != nil {
			return fmt.Errorf("check permissions: %w", err)
		}
		return nil
	}
	return fmt.Errorf("the user lacks permissions for %s, on keys and channels %s:*; grant the rules of deploy/redis/users.acl: %w",
		strings.Join(refused, ", "), prefix, why)
}
