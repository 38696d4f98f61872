package lock

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed" // the schema
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/lab/compare/clients"
)

//go:embed sql/schema.sql
var schemaSQL string

// commandTimeout is longer than in production: a busy machine must not look like
// a fault.
const commandTimeout = 10 * time.Second

// Servers are the stores of the locks and the orders. Their objects have random names; Close
// removes them.
type Servers struct {
	urls   []string        // of Redis
	nodes  []*redis.Client // to inject expiry and failures
	config *pq.Config      // nil without a database
	db     *sql.DB
	random string
	used   atomic.Int64
}

// Open connects to one or three Redis servers and, unless the DSN is empty, to a Postgres database,
// where it creates a schema of its own.
func Open(ctx context.Context, urls []string, dsn string) (*Servers, error) {
	s := &Servers{urls: urls, random: "bench_" + strings.ToLower(rand.Text()[:12])}
	for _, url := range urls {
		rdb, err := client(url, new(wire), nil)
		if err == nil {
			s.nodes = append(s.nodes, rdb)
			err = rdb.Ping(ctx).Err()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("ping Redis: %w", err), s.Close(ctx))
		}
	}
	if dsn != "" {
		if err := s.openDatabase(ctx, dsn); err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
	}
	return s, nil
}

func (s *Servers) openDatabase(ctx context.Context, dsn string) error {
	config, err := clients.Postgres(dsn, s.random, commandTimeout)
	if err != nil {
		return err
	}
	s.config = &config
	if s.db, err = s.database(new(wire), s.random); err != nil {
		return err
	}
	if _, err := s.db.ExecContext(ctx, "CREATE SCHEMA "+s.random+";\n"+schemaSQL); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	return nil
}

// Close removes the created objects and disconnects.
func (s *Servers) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), commandTimeout)
	defer cancel()
	var all []error
	for _, rdb := range s.nodes {
		all = append(all, empty(ctx, rdb, s.random), rdb.Close())
	}
	if s.db != nil {
		_, err := s.db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+s.random+" CASCADE")
		all = append(all, err, s.db.Close())
	}
	return errors.Join(all...)
}

// suits reports whether the servers have all that a variant needs.
func (s *Servers) suits(v Variant) bool {
	return len(s.nodes) >= v.Nodes && (s.db != nil || !v.SQL)
}

// ledger returns the store of the orders.
func (s *Servers) ledger() Ledger {
	if s.db == nil {
		return newMemory()
	}
	return sqlLedger{s.db}
}

// space returns an unused prefix.
func (s *Servers) space() string {
	return fmt.Sprintf("%s:%d:", s.random, s.used.Add(1))
}

// client opens a Redis client on a wire.
func client(url string, w *wire, v *valve) (*redis.Client, error) {
	o, err := clients.Redis(url, commandTimeout)
	if err != nil {
		return nil, err
	}
	o.DialerRetries = 1
	w.dialer = redis.NewDialer(o)
	o.Dialer = w.DialContext
	rdb := redis.NewClient(o)
	if v != nil {
		rdb.AddHook(v)
	}
	return rdb, nil
}

// database opens a pool on a wire; its sessions have a name in pg_stat_activity.
func (s *Servers) database(w *wire, name string) (*sql.DB, error) {
	config := s.config.Clone()
	config.ApplicationName = name
	connector, err := pq.NewConnectorConfig(config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	w.dialer = new(net.Dialer).DialContext
	connector.Dialer(w)
	db := sql.OpenDB(connector)
	db.SetMaxIdleConns(8)
	return db, nil
}

// empty removes the keys that begin with a prefix, like a failover to a replica that has not
// received them.
func empty(ctx context.Context, rdb *redis.Client, prefix string) error {
	return clients.Each(ctx, rdb, prefix, func(key string) error { return rdb.Del(ctx, key).Err() })
}

// lapse shortens the TTL of the keys under a prefix.
func lapse(ctx context.Context, rdb *redis.Client, prefix string, d time.Duration) error {
	return clients.Each(ctx, rdb, prefix, func(key string) error {
		life, err := rdb.PTTL(ctx, key).Result()
		switch {
		case err != nil || life < 0: // without expiry, or absent
			return err
		case life <= d:
			return rdb.Del(ctx, key).Err()
		}
		return rdb.PExpire(ctx, key, life-d).Err()
	})
}
