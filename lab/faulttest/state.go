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

	_ "github.com/lib/pq" // Postgres
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // SQLite

	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// readPatience bounds one reading of both stores.
const readPatience = 60 * time.Second

// A state is what both stores hold, as they are read past the servers. Numbers are
// those of the rows.
type state struct {
	sales  map[int64]sale // by voucher
	orders map[int64]row  // by number
	// jobs of the outbox that wait, and that were given up.
	waiting, parked int
	// redis is nil if Redis lived in the server's process.
	redis *redisState
}

// sale is a row of flash_sales.
type sale struct {
	stock, initial     int
	partition, buckets int
	swept              bool
}

// row is one of orders.
type row struct {
	user, voucher int64
	status        string
	failure       string
}

// live says that the order has its piece.
func (r row) live() bool { return !over[r.status] }

var over = map[string]bool{"CANCELLED": true, "REFUNDED": true, "FAILED": true}

// redisState is what Redis has of the sales.
type redisState struct {
	sales map[int64]kept // by voucher, of those that were not swept
	// queued counts entries of all streams.
	queued int64
}

// kept is a sale in Redis.
type kept struct {
	whole          bool // meta and stock are there
	initial, stock int
	buyers         map[int64]int64 // user → order
}

// number is the row's number in a global id of the type.
func number(typ, id string) (int64, error) {
	text, err := base64.RawURLEncoding.DecodeString(id)
	if err != nil {
		return 0, fmt.Errorf("id %.40q: %w", id, err)
	}
	name, digits, _ := strings.Cut(string(text), ":")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || name != typ {
		return 0, fmt.Errorf("%.40q is no id of a %s", text, typ)
	}
	return n, nil
}

// globalID is the id that clients know a row by.
func globalID(typ string, n int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte(typ + ":" + strconv.FormatInt(n, 10)))
}

// readState reads both stores of a place. They are read one after the other: what
// moves meanwhile may look torn.
func readState(ctx context.Context, place Place) (s state, err error) {
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	db, err := openDatabase(place.DatabaseURL())
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if s.sales, err = readSales(ctx, db); err != nil {
		return s, fmt.Errorf("read the sales: %w", err)
	}
	if s.orders, err = readOrders(ctx, db); err != nil {
		return s, fmt.Errorf("read the orders: %w", err)
	}
	if err = db.QueryRowContext(ctx, statement("outbox")).Scan(&s.waiting, &s.parked); err != nil {
		return s, fmt.Errorf("count the jobs of the outbox: %w", err)
	}
	if address := place.RedisURL(); address != "" {
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
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// statement is a text under sql; it is embedded, so it is there.
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

// redisPrefix is the default of the server's setting: runs leave it as it is.
const redisPrefix = "td"

// The keys of sales, as the table of keys in ARCHITECTURE.md has them.
func partitionKey(partition int, rest string) string {
	return fmt.Sprintf("%s:sale:{p%d}:%s", redisPrefix, partition, rest)
}

func saleKey(partition int, voucher int64, rest string) string {
	return partitionKey(partition, strconv.FormatInt(voucher, 10)+":"+rest)
}

func bucketKey(partition int, voucher int64, bucket int) string {
	return saleKey(partition, voucher, "buyers:"+strconv.Itoa(bucket))
}

// openRedis opens what an address says, one server, a cluster or what sentinels watch,
// with nothing of the server's own.
func openRedis(address string) (redis.UniversalClient, error) {
	scheme, rest, _ := strings.Cut(address, "://")
	plain := "redis://" + rest
	switch scheme {
	case "redis+cluster":
		opts, err := redis.ParseClusterURL(plain)
		if err != nil {
			return nil, fmt.Errorf("the address of the cluster: %w", err)
		}
		opts.ContextTimeoutEnabled, opts.ClusterStateReloadInterval = true, time.Second
		return redis.NewClusterClient(opts), nil
	case "redis+sentinel":
		opts, err := redis.ParseFailoverURL(plain)
		if err != nil {
			return nil, fmt.Errorf("the address of the sentinels: %w", err)
		}
		opts.ContextTimeoutEnabled = true
		return redis.NewFailoverClient(opts), nil
	}
	opts, err := redis.ParseURL(address)
	if err != nil {
		return nil, fmt.Errorf("the address of Redis: %w", err)
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
	s = &redisState{sales: make(map[int64]kept, len(sales))}
	partitions := map[int]bool{}
	for _, voucher := range slices.Sorted(maps.Keys(sales)) {
		at := sales[voucher]
		if partitions[at.partition] = true; at.swept {
			continue
		}
		if s.sales[voucher], err = readKept(ctx, rdb, voucher, at); err != nil {
			return nil, fmt.Errorf("sale %d: %w", voucher, err)
		}
	}
	for p := range partitions {
		n, err := rdb.XLen(ctx, partitionKey(p, "orders")).Result()
		if err != nil {
			return nil, fmt.Errorf("the stream of partition %d: %w", p, err)
		}
		s.queued += n
	}
	return s, nil
}

// readKept reads a sale. One that is not there is not whole.
func readKept(ctx context.Context, rdb redis.UniversalClient, voucher int64, at sale) (k kept, err error) {
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
				return fmt.Errorf("a buyer is %q: %w", pair, err)
			}
			into[user] = order
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}
