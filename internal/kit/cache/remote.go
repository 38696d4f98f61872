package cache

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// batch bounds the keys of one command and the commands of one pipeline.
const batch = 500

// reply is the reply of Redis for one key: a record, which may be empty, or none, or an error.
type reply struct {
	record     []byte
	there      bool
	err        error
	generation int64 // of the table of a list; 0: none
}

func readGet(cmd *redis.StringCmd) reply {
	record, err := cmd.Bytes()
	if errors.Is(err, redis.Nil) {
		return reply{}
	}
	return reply{record: record, there: err == nil, err: err}
}

func (c *Client) get(ctx context.Context, key string) reply {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	return readGet(c.rdb.Get(ctx, key))
}

// getMany reads the records of up to 500 keys in one round trip. On a single node, or with a
// generation key of the same slot, it sends one MGET. Otherwise it sends a pipeline, which a
// cluster client splits by node.
func (c *Client) getMany(ctx context.Context, keys []string, generation string) []reply {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	replies := make([]reply, len(keys))
	if !c.single && generation == "" {
		pipe := c.rdb.Pipeline()
		cmds := make([]*redis.StringCmd, len(keys))
		for i, key := range keys {
			cmds[i] = pipe.Get(ctx, key)
		}
		_, _ = pipe.Exec(ctx) // each command has its own error
		for i, cmd := range cmds {
			replies[i] = readGet(cmd)
		}
		return replies
	}
	all := keys
	if generation != "" {
		all = slices.Concat(keys, []string{generation})
	}
	records, err := c.rdb.MGet(ctx, all...).Result()
	for i := range replies {
		if err != nil {
			replies[i].err = err
			continue
		}
		if s, ok := records[i].(string); ok {
			replies[i] = reply{record: []byte(s), there: true}
		}
		if generation != "" {
			s, _ := records[len(keys)].(string)
			replies[i].generation, _ = strconv.ParseInt(s, 10, 64) // an invalid number counts as none
		}
	}
	return replies
}

// remove deletes up to 500 keys and their leases in one round trip.
func (c *Client) remove(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	pipe := c.rdb.Pipeline()
	for _, key := range keys {
		pipe.Del(ctx, key, leaseOf(key))
	}
	_, err := pipe.Exec(ctx)
	return err
}
