// Package clients opens the servers that comparisons measure.
package clients

import (
	"context"
	"errors"
	"time"

	"github.com/lib/pq"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Redis returns the options of a client with the given time-out and without retries. The error does
// not contain the URL, which may have a password.
func Redis(url string, patience time.Duration) (*redis.Options, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, errors.New("invalid Redis URL: want redis://, rediss:// or unix:// of one server")
	}
	o.Protocol = 3
	o.ContextTimeoutEnabled = true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = patience, patience, patience, patience
	o.MaxRetries = -1
	o.PoolSize = 64 // no caller waits for a connection
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return o, nil
}

// Postgres returns the configuration of sessions in a schema, which need not exist yet. The error
// does not contain the DSN, which may have a password.
func Postgres(dsn, schema string, patience time.Duration) (pq.Config, error) {
	config, err := pq.NewConfig(dsn)
	if err != nil {
		return pq.Config{}, errors.New("invalid database URL")
	}
	if config.Runtime == nil {
		config.Runtime = make(map[string]string)
	}
	config.Runtime["search_path"] = schema
	config.ConnectTimeout = patience
	return config, nil
}

// Each calls a function for each key of a server with a prefix.
func Each(ctx context.Context, rdb *redis.Client, prefix string, do func(key string) error) error {
	it := rdb.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	for it.Next(ctx) {
		if err := do(it.Val()); err != nil {
			return err
		}
	}
	return it.Err()
}
