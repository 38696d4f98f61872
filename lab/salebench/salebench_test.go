package salebench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
)

func TestMain(m *testing.M) {
	redisdb.SilenceRedisLog()
	goleak.VerifyTestMain(m)
}

// A slow shop decides each order in the database, correctly except for the fault of each of its
// sales.
type slowShop struct {
	db     *sqldb.SQL
	rdb    redis.UniversalClient
	wrong  []string
	works  chan struct{} // closed when Run was called
	orders atomic.Int64
}

func (s *slowShop) Run(ctx context.Context) error {
	close(s.works)
	<-ctx.Done()
	return nil
}

func (s *slowShop) Close() error { return errors.Join(s.rdb.Close(), s.db.Close()) }

func (s *slowShop) Open(ctx context.Context, stock int) (Sale, error) {
	<-s.works
	wrong := s.wrong[0]
	s.wrong = s.wrong[1:]
	id := int64(len(s.wrong) + 1)
	if err := s.rdb.Set(ctx, "{slow}:stock", stock, 0).Err(); err != nil {
		return nil, err
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	// The voucher and the shop do not matter here.
	if _, err := tx.ExecContext(ctx, "SET LOCAL session_replication_role = replica"); err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO flash_sales (id, voucher_id, stock, initial_stock, begins_at, ends_at, partition, buckets)
		VALUES ($1, $1, $2, $2, 0, 1, 0, 1)`, id, stock); err != nil {
		return nil, err
	}
	return &slowSale{slowShop: s, id: id, wrong: wrong}, tx.Commit()
}

type slowSale struct {
	*slowShop
	id    int64
	wrong string
	once  atomic.Bool
	first atomic.Int64 // the first buyer
}

func (s *slowSale) Voucher() int64 { return s.id }

func (s *slowSale) Left(ctx context.Context) (int, error) {
	return s.rdb.Get(ctx, "{slow}:stock").Int()
}

func (s *slowSale) Order(ctx context.Context, user int64) (Result, error) {
	if s.wrong == "fails once" && s.once.CompareAndSwap(false, true) {
		return 0, errors.New("come again")
	}
	left, err := s.rdb.Eval(ctx, `if redis.call('GET', KEYS[1]) == '0' then return -1 end return redis.call('DECR', KEYS[1])`, []string{"{slow}:stock"}).Int()
	if err != nil || left < 0 {
		return SoldOut, err
	}
	if s.wrong == "two round trips" {
		if err := s.rdb.Ping(ctx).Err(); err != nil {
			return 0, err
		}
	}
	s.first.CompareAndSwap(0, user)
	if left == 0 { // the last piece
		switch s.wrong {
		case "loses an order":
			return Queued, nil
		case "sells to one user twice":
			user = s.first.Load()
		case "forgets the stock":
			return Stored, s.insert(ctx, user)
		case "refuses a repeated buyer":
			return SoldOut, nil
		}
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE flash_sales SET stock = stock - 1 WHERE id = $1", s.id); err != nil {
		return 0, err
	}
	return Stored, s.insert(ctx, user)
}

func (s *slowSale) insert(ctx context.Context, user int64) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO orders (id, user_id, voucher_id, shop_id, status, one_per_user, flash, pay_value, created_at, pay_before)
		VALUES ($1, $2, $3, 1, 'UNPAID', false, true, 1, 1, 1)`, s.orders.Add(1), user, s.id)
	return err
}

// TestTableReportsWrongSales runs all rows on a small scale, each wrong sale with another number of
// callers. It does not judge the rate: the machine of a test is busy.
func TestTableReportsWrongSales(t *testing.T) {
	if os.Getenv("TANDIAN_REQUIRE_SERVERS") != "1" {
		t.Skip("needs PostgreSQL and Redis: run `make test`")
	}
	t.Setenv("PATH", filepath.Dir(os.Getenv("TANDIAN_TEST_REDIS_SERVER"))+string(os.PathListSeparator)+os.Getenv("PATH"))
	const fine, once = "2 of 2 all yes", "≤ 1 yes"
	tests := []struct {
		wrong        string
		check, trips string // what these rows end with
	}{
		{"", fine, once},
		{"fails once", fine, once},
		{"two round trips", fine, "≤ 1 NO"},
		{"loses an order", "40 units 40 were sold to 39 live orders of 39, of 39 users, 39 are gone from the database, and 0 left in Redis all NO", once},
		{"sells to one user twice", "40 units 40 were sold to 40 live orders of 40, of 39 users, 40 are gone from the database, and 0 left in Redis all NO", once},
		{"forgets the stock", "40 units 40 were sold to 40 live orders of 40, of 40 users, 39 are gone from the database, and 0 left in Redis all NO", once},
		{"refuses a repeated buyer", "40 units 39 were sold to 39 live orders of 39, of 39 users, 39 are gone from the database, and 0 left in Redis all NO", once},
	}
	o := Options{Users: 40, Rounds: 1, Progress: t.Output(), patience: time.Second}
	var wrong []string
	for i, tt := range tests {
		wrong, o.Callers = append(wrong, tt.wrong), append(o.Callers, 10+i)
	}
	o.Start = slow(wrong)
	var out strings.Builder
	if err := Rows(t.Context(), o, &out); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", out.String())
	for i, tt := range tests {
		t.Run(tt.wrong, func(t *testing.T) {
			for what, want := range map[string]string{"sales in which units sold": tt.check, "round trips to Redis for an order": tt.trips} {
				row := regexp.MustCompile(fmt.Sprintf(`(?m)^%s.*, %d at a time .*$`, what, o.Callers[i])).FindString(out.String())
				if got := strings.Join(strings.Fields(row), " "); !strings.HasSuffix(got, " "+want) {
					t.Errorf("%q, want it to end with %q", got, want)
				}
			}
		})
	}
}

func slow(wrong []string) func(context.Context, Stores) (Shop, error) {
	return func(_ context.Context, on Stores) (Shop, error) {
		rdb, err := subprocess.OpenPatient(on.RedisURL)
		if err != nil {
			return nil, err
		}
		rdb.AddHook(on.Trips)
		db, err := sqldb.OpenSQL(sqldb.SQLConfig{URL: on.DatabaseURL})
		return &slowShop{db: db, rdb: rdb, wrong: wrong, works: make(chan struct{})}, err
	}
}

func TestEndOfAShopEndsTheMeasurement(t *testing.T) {
	broken := errors.New("broken")
	b := saleBench{shop: brokenShop{broken}}
	err := b.serve(t.Context(), func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

type brokenShop struct{ err error }

func (s brokenShop) Run(context.Context) error               { return s.err }
func (s brokenShop) Close() error                            { return nil }
func (s brokenShop) Open(context.Context, int) (Sale, error) { return nil, s.err }
