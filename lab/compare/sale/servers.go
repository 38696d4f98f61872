package sale

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lib/pq"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/kit/sequence"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/lab/compare/clients"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// text returns a statement without its header.
func text(name string) string {
	b, err := sqlFiles.ReadFile("sql/" + name + ".sql")
	if err != nil {
		panic(err) // it is embedded: the tests see that it is there
	}
	return sqldb.Statement(string(b))
}

const (
	patience = 20 * time.Second // a busy machine must not look like a fault
	sessions = 64               // maximum of the database: one for each caller
)

// Servers are the stores of sales: a Redis and a PostgreSQL for this measurement alone.
type Servers struct {
	redisURL, dsn string

	rdb     *redis.Client
	db      *sql.DB
	rows    *ent.Client // on db
	numbers *sequence.Sequence
	shop    int64
	prefix  string
	used    atomic.Int64

	redisTrips, sqlTrips atomic.Int64 // writes to the servers: each client here waits for an answer before it writes again
}

// Open connects to servers with an empty database, and creates the server's tables there.
func Open(ctx context.Context, redisURL, dsn string) (*Servers, error) {
	s := &Servers{redisURL: redisURL, dsn: dsn, prefix: "bench" + strings.ToLower(rand.Text()[:12])}
	var err error
	if s.rdb, err = s.openRedis(); err != nil {
		return nil, err
	}
	if err := s.openDatabase(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.openShop(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open a shop: %w", err), s.Close())
	}
	if s.numbers, err = sequence.New(s.db, sequence.Options{Dialect: "postgres", Name: "orders"}); err != nil {
		return nil, errors.Join(fmt.Errorf("open order numbers: %w", err), s.Close())
	}
	return s, nil
}

func (s *Servers) openRedis() (*redis.Client, error) {
	o, err := clients.Redis(s.redisURL, patience)
	if err != nil {
		return nil, err
	}
	o.PoolSize = sessions + 8
	dial := redis.NewDialer(o)
	o.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		return counted(dial(ctx, network, address))(&s.redisTrips)
	}
	return redis.NewClient(o), nil
}

func (s *Servers) openDatabase(ctx context.Context) error {
	var err error
	if s.db, err = connect(s.dsn, "public", "bench", &s.sqlTrips); err != nil {
		return err
	}
	files, err := migrate.Files("postgres")
	if err != nil {
		return fmt.Errorf("read the migrations: %w", err)
	}
	db := &sqldb.SQL{DB: s.db, Dialect: "postgres"}
	if _, err := db.Migrate(ctx, files); err != nil {
		return fmt.Errorf("make the tables: %w", err)
	}
	if _, err := s.db.ExecContext(ctx, text("schema")); err != nil {
		return fmt.Errorf("extend the tables: %w", err)
	}
	s.rows = ent.NewClient(ent.Driver(db.Driver(sqldb.NewSQLMetrics(prometheus.NewRegistry(), nil))))
	return nil
}

// connect opens a pool with a session name and a search path.
func connect(dsn, schema, name string, trips *atomic.Int64) (*sql.DB, error) {
	config, err := clients.Postgres(dsn, schema, patience)
	if err != nil {
		return nil, err
	}
	config.ApplicationName = name
	connector, err := pq.NewConnectorConfig(config)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	connector.Dialer(pqDialer{trips})
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(sessions)
	db.SetMaxIdleConns(sessions)
	return db, nil
}

func (s *Servers) openShop(ctx context.Context) error {
	kind, err := s.rows.ShopType.Create().SetName("Food").SetKey("FOOD").SetSort(1).Save(ctx)
	if err != nil {
		return err
	}
	shop, err := s.rows.Shop.Create().SetTypeID(kind.ID).SetName("Noon").SetLat(1).SetLng(1).SetGeo(1).SetSearch("noon").Save(ctx)
	if err != nil {
		return err
	}
	s.shop = shop.ID
	return nil
}

// Close disconnects.
func (s *Servers) Close() error {
	if s.numbers != nil {
		s.numbers.Wait()
	}
	err := s.rdb.Close()
	if s.db != nil {
		err = errors.Join(err, s.db.Close())
	}
	return err
}

// A placer returns the location of a sale in Redis.
type placer interface {
	Place(voucherID int64, stock int) (partition, buckets int)
}

// open creates the rows of a sale, and opens it.
func (s *Servers) open(ctx context.Context, a Admitter, stock int, many bool) (Sale, error) {
	made := Sale{Shop: s.shop, Stock: stock, Many: many}
	var err error
	if p, ok := a.(placer); ok {
		made.Voucher, err = s.row(ctx, stock, p.Place)
	} else {
		made.Voucher, err = s.row(ctx, stock, nowhere)
	}
	if err != nil {
		return Sale{}, err
	}
	if err := a.Open(ctx, made); err != nil {
		return Sale{}, fmt.Errorf("open a sale: %w", err)
	}
	return made, nil
}

// nowhere is the placement of a sale that is not in Redis.
func nowhere(int64, int) (partition, buckets int) { return 0, 1 }

// row creates an open sale in the server's tables.
func (s *Servers) row(ctx context.Context, stock int, place func(int64, int) (partition, buckets int)) (voucher int64, err error) {
	v, err := s.rows.Voucher.Create().SetShopID(s.shop).SetKind("FLASH").SetTitle("Noon").SetPayValue(100).SetFaceValue(500).SetOnePerUser(true).Save(ctx)
	if err != nil {
		return 0, fmt.Errorf("make a voucher: %w", err)
	}
	now := time.Now()
	partition, buckets := place(v.ID, stock)
	err = s.rows.FlashSale.Create().SetID(v.ID).SetVoucherID(v.ID).SetStock(stock).SetInitialStock(stock).SetPartition(partition).SetBuckets(buckets).
		SetBeginsAt(now.Add(-time.Minute).UnixMilli()).SetEndsAt(now.Add(time.Hour).UnixMilli()).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("make a sale: %w", err)
	}
	return v.ID, nil
}

// clean removes all sales and orders, also from Redis.
func (s *Servers) clean(ctx context.Context) error {
	if _, err := s.db.ExecContext(ctx, text("clean")); err != nil {
		return fmt.Errorf("remove sales and orders: %w", err)
	}
	var found []string
	unlink := func(least int) error {
		if len(found) == 0 || len(found) < least {
			return nil
		}
		err := s.rdb.Unlink(ctx, found...).Err()
		found = found[:0]
		return err
	}
	err := clients.Each(ctx, s.rdb, s.prefix, func(key string) error {
		found = append(found, key)
		return unlink(500)
	})
	if err = errors.Join(err, unlink(0)); err != nil {
		return fmt.Errorf("remove sales from Redis: %w", err)
	}
	return nil
}

// space returns an unused key prefix.
func (s *Servers) space() string { return fmt.Sprintf("%s-%d", s.prefix, s.used.Add(1)) }

// number returns a new order number.
func (s *Servers) number(ctx context.Context) (int64, error) { return s.numbers.Next(ctx, 0) }

func counted(conn net.Conn, err error) func(*atomic.Int64) (net.Conn, error) {
	return func(n *atomic.Int64) (net.Conn, error) {
		if err != nil {
			return nil, err
		}
		return countedConn{conn, n}, nil
	}
}

type countedConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c countedConn) Write(b []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(b)
}

type pqDialer struct{ sent *atomic.Int64 }

func (d pqDialer) Dial(network, address string) (net.Conn, error) {
	return counted(new(net.Dialer).DialContext(context.Background(), network, address))(d.sent)
}

func (d pqDialer) DialTimeout(network, address string, within time.Duration) (net.Conn, error) {
	return counted(net.DialTimeout(network, address, within))(d.sent) //nolint:noctx // pq gives none
}

func now() int64 { return time.Now().UnixMilli() }
