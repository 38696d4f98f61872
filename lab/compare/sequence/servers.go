package sequence

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

// patience is longer than in production: a busy machine must not look like a fault.
const patience = 10 * time.Second

// workers is the number of goroutines that make ids while the rate is measured.
const workers = 32

// Servers are the stores of the schemes. Their objects have random names; Close removes them.
type Servers struct {
	rdb    *redis.Client
	db     *sql.DB // nil without a database
	random string
	used   atomic.Int64
	sent   atomic.Int64 // writes to both
}

// Open connects to a Redis and, unless the DSN is empty, to a Postgres database, where it creates a
// schema of its own.
func Open(ctx context.Context, url, dsn string) (*Servers, error) {
	s := &Servers{random: "bench_" + strings.ToLower(rand.Text()[:12])}
	o, err := clients.Redis(url, patience)
	if err != nil {
		return nil, err
	}
	o.PoolSize = workers
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		return s.counted(dial(ctx, network, address))
	}
	s.rdb = redis.NewClient(o)
	if err := s.rdb.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(fmt.Errorf("ping Redis: %w", err), s.Close(ctx))
	}
	if dsn != "" {
		if err := s.openDatabase(ctx, dsn); err != nil {
			return nil, errors.Join(err, s.Close(ctx))
		}
	}
	return s, nil
}

func (s *Servers) openDatabase(ctx context.Context, dsn string) error {
	config, err := clients.Postgres(dsn, s.random, patience)
	if err != nil {
		return err
	}
	connector, err := pq.NewConnectorConfig(config)
	if err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	connector.Dialer(pqDialer{s})
	s.db = sql.OpenDB(connector)
	s.db.SetMaxOpenConns(workers)
	s.db.SetMaxIdleConns(workers)
	if _, err := s.db.ExecContext(ctx, "CREATE SCHEMA "+s.random+";\n"+schemaSQL); err != nil {
		return fmt.Errorf("make the schema: %w", err)
	}
	return nil
}

// Close removes the created objects and disconnects.
func (s *Servers) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	all := []error{clients.Each(ctx, s.rdb, s.random, func(key string) error { return s.rdb.Del(ctx, key).Err() }), s.rdb.Close()}
	if s.db != nil {
		_, err := s.db.ExecContext(ctx, "DROP SCHEMA IF EXISTS "+s.random+" CASCADE")
		all = append(all, err, s.db.Close())
	}
	return errors.Join(all...)
}

// name returns an unused name.
func (s *Servers) name() string { return fmt.Sprintf("%s_%d_", s.random, s.used.Add(1)) }

// snapshot returns a function that reverts later writes to Redis, like a server whose log lacks the
// last moment, or a replica that was behind.
func (s *Servers) snapshot(ctx context.Context, prefix string) (restore func() error, err error) {
	kept := map[string]string{}
	err = clients.Each(ctx, s.rdb, prefix, func(key string) (err error) {
		kept[key], err = s.rdb.Get(ctx, key).Result()
		return err
	})
	return func() error {
		return clients.Each(ctx, s.rdb, prefix, func(key string) error {
			if old, ok := kept[key]; ok {
				return s.rdb.Set(ctx, key, old, 0).Err()
			}
			return s.rdb.Del(ctx, key).Err()
		})
	}, err
}

func (s *Servers) counted(conn net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return countedConn{conn, &s.sent}, nil
}

// A countedConn counts writes: each client here waits for an answer before it writes again.
type countedConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(b)
}

type pqDialer struct{ s *Servers }

func (d pqDialer) Dial(network, address string) (net.Conn, error) {
	return d.s.counted(new(net.Dialer).DialContext(context.Background(), network, address))
}

func (d pqDialer) DialTimeout(network, address string, within time.Duration) (net.Conn, error) {
	return d.s.counted(net.DialTimeout(network, address, within)) //nolint:noctx // pq gives none
}
