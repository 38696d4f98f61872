// Package salebench measures flash sales end to end: orders admitted and stored per second, the
// delay of a sold-out response, and the cost in round trips. It uses a durable Redis and
// PostgreSQL. For comparison it runs a bare script and a bare INSERT on the same servers in the
// same run. After each sale it checks that the stock was sold exactly once.
package salebench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/ent/migrate"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// A Result is the outcome of a request to buy.
type Result int

// All results.
const (
	Stored  Result = iota + 1 // the order is in the database
	Queued                    // the order is admitted and will be stored
	SoldOut                   // no stock is left
)

// A Sale is one open flash sale. It is safe for concurrent use.
type Sale interface {
	// Order orders a unit for a user. After an error the caller retries.
	Order(ctx context.Context, user int64) (Result, error)
	// Left returns the stock in Redis.
	Left(ctx context.Context) (int, error)
	// Voucher returns the id of the row in flash_sales, and the voucher_id of the orders.
	Voucher() int64
}

// A Shop opens sales.
type Shop interface {
	Open(ctx context.Context, stock int) (Sale, error)
	// Run runs the workers of a server, above all the order writer, until ctx ends.
	Run(ctx context.Context) error
	// Close is called after Run has returned.
	Close() error
}

// Stores are the empty, migrated stores of a [Shop].
type Stores struct {
	DatabaseURL, RedisURL string
	// Trips counts round trips: add it as a hook to every client that serves users.
	Trips redis.Hook
}

// Options configures [Rows]. Start is required.
type Options struct {
	Start    func(ctx context.Context, on Stores) (Shop, error)
	Users    int       // of a sale, one unit each; default 40 000
	Callers  []int     // concurrent callers, one table for each number; default 256 and 1024
	Rounds   int       // sales for each; default 3
	Progress io.Writer // what is being measured; default nowhere

	patience time.Duration // until the last order is stored; default 1 min
}

func (o *Options) complete() {
	o.Users, o.Rounds = cmp.Or(o.Users, 40_000), cmp.Or(o.Rounds, 3)
	o.Progress, o.patience = cmp.Or(o.Progress, io.Discard), cmp.Or(o.patience, time.Minute)
	if len(o.Callers) == 0 {
		o.Callers = []int{256, 1024}
	}
}

// Rows measures sales on servers of its own and writes a table to out. It returns
// [subprocess.ErrNoServer] or [subprocess.ErrNoPostgres] if a server is not installed.
func Rows(ctx context.Context, o Options, out io.Writer) (err error) {
	o.complete()
	pg, err := subprocess.StartPostgres(ctx)
	if err != nil {
		return err
	}
	defer pg.Stop()
	private, err := subprocess.StartRedis(ctx, "--appendonly", "yes", "--appendfsync", "everysec")
	if err != nil {
		return err
	}
	defer private.Stop()
	b := &saleBench{Options: o}
	if b.rdb, err = subprocess.OpenPatient(private.URL); err != nil {
		return err
	}
	defer func() { _ = b.rdb.Close() }()
	if b.db, err = openDatabase(ctx, pg.URL); err != nil {
		return err
	}
	defer func() { _ = b.db.Close() }()
	if b.shop, err = o.Start(ctx, Stores{DatabaseURL: pg.URL, RedisURL: private.URL, Trips: &b.trips}); err != nil {
		return fmt.Errorf("open shop: %w", err)
	}
	defer func() { err = errors.Join(err, b.shop.Close()) }()
	return b.serve(ctx, func(ctx context.Context) error {
		list := []harness.Measurement{{Name: "bare servers", Measure: b.anchors}}
		for _, callers := range o.Callers {
			list = append(list, harness.Measurement{
				Name:    fmt.Sprintf("sales to %d at a time", callers),
				Measure: func(ctx context.Context) ([]harness.Row, error) { return b.sales(ctx, callers) },
			})
		}
		return harness.Table(ctx, "bench sale", list, out, o.Progress)
	})
}

func openDatabase(ctx context.Context, url string) (*sqldb.SQL, error) {
	db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: url})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	files, err := migrate.Files(db.Dialect)
	if err == nil {
		_, err = db.Migrate(ctx, files)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("prepare the database: %w", err), db.Close())
	}
	return db, nil
}

// saleBench is one run.
type saleBench struct {
	Options
	db    *sqldb.SQL
	rdb   redis.UniversalClient
	shop  Shop
	trips trips
	users int64 // used so far

	bare bare // rates of the bare stores
}

// serve runs the workers of the server during a measurement.
func (b *saleBench) serve(ctx context.Context, measure func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- b.shop.Run(ctx)
		stop() // the measurement would wait forever
	}()
	err := measure(ctx)
	stop()
	return errors.Join(err, <-ended)
}
