package faulttest

import (
	"context"
	"database/sql"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	_ "github.com/lib/pq" // Postgres driver
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // SQLite driver

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// readTimeout limits one read of both stores.
const readTimeout = 60 * time.Second

// state is the contents of both stores, read without the servers. Numbers are row ids.
type state struct {
	sales  map[int64]sale // by voucher
	orders map[int64]row  // by number
	// Numbers of unfinished and of parked outbox jobs.
	waiting, parked int
	// redis is nil if Redis is embedded in the server's process.
	redis *redisState
}

// sale is a row of flash_sales.
type sale struct {
	stock, initial     int
	partition, buckets int
	swept              bool
}

// row is a row of orders.
type row struct {
	user, voucher int64
	status        string
	failure       string
}

// live reports whether the order holds a unit.
func (r row) live() bool { return !ended[r.status] }

var ended = map[string]bool{"CANCELLED": true, "REFUNDED": true, "FAILED": true}

// redisState is the sales data in Redis.
type redisState struct {
	sales map[int64]redisSale // by voucher, without swept sales
	// queued is the number of entries in all streams.
	queued int64
}

// redisSale is a sale in Redis.
type redisSale struct {
	whole          bool // meta and stock exist
	initial, stock int
	buyers         map[int64]int64 // user → order
}

// number returns the row id in a global id of the type.
func number(typ, id string) (int64, error) {
	text, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return 0, fmt.Errorf("parse id %.40q: %w", id, err)
	}
	name, digits, _ := strings.Cut(string(text), ":")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || name != typ {
		return 0, fmt.Errorf("invalid id %.40q: want a %s", text, typ)
	}
	return n, nil
}

// globalID returns the global id of a row.
func globalID(typ string, n int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(typ + ":" + strconv.FormatInt(n, 10)))
}

// readState reads both stores, one after the other. Concurrent changes can make the result
// inconsistent.
func readState(ctx context.Context, system System) (s state, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	db, err := openDatabase(system.DatabaseURL())
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if s.sales, err = readSales(ctx, db); err != nil {
		return s, fmt.Errorf("read sales: %w", err)
	}
	if s.orders, err = readOrders(ctx, db); err != nil {
		return s, fmt.Errorf("read orders: %w", err)
	}
	if err = db.QueryRowContext(ctx, statement("outbox")).Scan(&s.waiting, &s.parked); err != nil {
		return s, fmt.Errorf("count outbox jobs: %w", err)
	}
	if address := system.RedisURL(); address != "" {
		if s.redis, err = readRedis(ctx, address, s.sales); err != nil {
			return s, fmt.Errorf("read Redis: %w", err)
		}
	}
	return s, nil
}

func openDatabase(address string) (*sql.DB, error) {
	driver := "postgres"
	if path, ok := strings.CutPrefix(address, "sqlite://"); ok {
		driver, address = "sqlite", "file:"+path+"?mode=ro&_pragma=busy_timeout(5000)"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return db, nil
}

// statement returns an embedded text of the sql directory.
func statement(name string) string {
	text, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err)
	}
	return sqldb.Statement(string(text))
}

func readSales(ctx context.Context, db *sql.DB) (map[int64]sale, error) {
	all := map[int64]sale{}
	err := sqldb.Each(ctx, db, statement("sales"), nil, func(rows *sql.Rows) error {
		var id int64
		var s sale
		var swept int
		err := rows.Scan(&id, &s.stock, &s.initial, &s.partition, &s.buckets, &swept)
		s.swept = swept != 0
		all[id] = s
		return err
	})
	return all, err
}

func readOrders(ctx context.Context, db *sql.DB) (map[int64]row, error) {
	all := map[int64]row{}
	err := sqldb.Each(ctx, db, statement("orders"), nil, func(rows *sql.Rows) error {
		var id int64
		var r row
		err := rows.Scan(&id, &r.user, &r.voucher, &r.status, &r.failure)
		all[id] = r
		return err
	})
	return all, err
}

// redisPrefix is the default key prefix of the server, which runs do not change.
const redisPrefix = "td"

// Keys of sales, from the key table in docs/redis-keys.md.
func partitionKey(partition int, rest string) string {
	return fmt.Sprintf("%s:sale:{p%d}:%s", redisPrefix, partition, rest)
}

func saleKey(partition int, voucher int64, rest string) string {
	return partitionKey(partition, strconv.FormatInt(voucher, 10)+":"+rest)
}

func bucketKey(partition int, voucher int64, bucket int) string {
	return saleKey(partition, voucher, "buyers:"+strconv.Itoa(bucket))
}

// openRedis opens one server, a cluster or a Sentinel master, without code of the server.
func openRedis(address string) (redis.UniversalClient, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	plain := "redis://" + rest
	switch scheme {
	case "redis+cluster":
		opts, err := redis.ParseClusterURL(plain)
		if err != nil {
			return nil, fmt.Errorf("parse cluster address: %w", err)
		}
		opts.ContextTimeoutEnabled, opts.ClusterStateReloadInterval = true, time.Second
		return redis.NewClusterClient(opts), nil
	case "redis+sentinel":
		opts, err := redis.ParseFailoverURL(plain)
		if err != nil {
			return nil, fmt.Errorf("parse Sentinel address: %w", err)
		}
		opts.ContextTimeoutEnabled = true
		return redis.NewFailoverClient(opts), nil
	}
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("parse Redis address: %w", err)
	}
	opts.ContextTimeoutEnabled = true
	return redis.NewClient(opts), nil
}

func readRedis(ctx context.Context, address string, sales map[int64]sale) (s *redisState, err error) {
	rdb, err := openRedis(address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	s = &redisState{sales: make(map[int64]redisSale, len(sales))}
	partitions := map[int]bool{}
	for _, voucher := range slices.Sorted(maps.Keys(sales)) {
		at := sales[voucher]
		if partitions[at.partition] = true; at.swept {
			continue
		}
		if s.sales[voucher], err = readRedisSale(ctx, rdb, voucher, at); err != nil {
			return nil, fmt.Errorf("read sale %d: %w", voucher, err)
		}
	}
	for p := range partitions {
		n, err := rdb.XLen(ctx, partitionKey(p, "orders")).Result()
		if err != nil {
			return nil, fmt.Errorf("read stream of partition %d: %w", p, err)
		}
		s.queued += n
	}
	return s, nil
}

// readRedisSale reads a sale. whole is false if the sale is missing.
func readRedisSale(ctx context.Context, rdb redis.UniversalClient, voucher int64, at sale) (k redisSale, err error) {
	k.buyers = map[int64]int64{}
	pipe := rdb.Pipeline()
	initial := pipe.HGet(ctx, saleKey(at.partition, voucher, "meta"), "initial")
	stock := pipe.Get(ctx, saleKey(at.partition, voucher, "stock"))
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, redis.Nil) {
		return k, err
	}
	var noInitial, noStock error
	k.initial, noInitial = initial.Int()
	k.stock, noStock = stock.Int()
	k.whole = noInitial == nil && noStock == nil
	for bucket := range at.buckets {
		if err := readBuyers(ctx, rdb, bucketKey(at.partition, voucher, bucket), k.buyers); err != nil {
			return k, err
		}
	}
	return k, nil
}

func readBuyers(ctx context.Context, rdb redis.UniversalClient, key string, into map[int64]int64) error {
	for cursor := uint64(0); ; {
		pairs, next, err := rdb.HScan(ctx, key, cursor, "", 1000).Result()
		if err != nil {
			return err
		}
		for pair := range slices.Chunk(pairs, 2) {
			user, errUser := strconv.ParseInt(pair[0], 10, 64)
			order, errOrder := strconv.ParseInt(pair[1], 10, 64)
			if err := errors.Join(errUser, errOrder); err != nil {
				return fmt.Errorf("parse buyer %q: %w", pair, err)
			}
			into[user] = order
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
