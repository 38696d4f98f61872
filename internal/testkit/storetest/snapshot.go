package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/redisdb"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// snapshotMembers exceeds the size of any collection of a test.
const snapshotMembers = 10_000

// Snapshot returns the content of a database and a Redis as sorted lines: every row, and the type
// and value of every key. For a real Redis it adds the serialized value and the expiry time. rdb may
// be nil. Use it to test that an operation changes nothing.
func Snapshot(tb testing.TB, db *sql.DB, rdb redis.UniversalClient) []string {
	tb.Helper()
	var lines []string
	for _, table := range tablesOf(tb, db) {
		lines = append(lines, rowsOf(tb, db, table)...)
	}
	if rdb != nil {
		lines = append(lines, keysOf(tb, rdb)...)
	}
	slices.Sort(lines)
	return lines
}

// tablesOf returns the names of the tables of a PostgreSQL or SQLite database.
func tablesOf(tb testing.TB, db *sql.DB) (tables []string) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), "SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
	if err != nil { // SQLite
		rows, err = db.QueryContext(tb.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			tb.Fatal(err)
		}
		tables = append(tables, table)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return tables
}

func rowsOf(tb testing.TB, db *sql.DB, table string) (lines []string) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), "SELECT * FROM "+table) //nolint:gosec // a table name
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		tb.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			tb.Fatal(err)
		}
		for i, v := range values {
			if text, ok := v.([]byte); ok {
				values[i] = string(text)
			}
		}
		lines = append(lines, fmt.Sprintf("%s %v", table, values))
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return lines
}

func keysOf(tb testing.TB, rdb redis.UniversalClient) (lines []string) {
	tb.Helper()
	ctx := tb.Context()
	var keys []redisdb.Key
	if err := (redisdb.KeyScan{}).Each(ctx, rdb, func(k redisdb.Key) { keys = append(keys, k) }); err != nil {
		tb.Fatal(err)
	}
	admin := dumpClient(tb, rdb)
	for _, k := range keys {
		members, err := redisdb.Peek(ctx, rdb, k, snapshotMembers)
		if err != nil {
			tb.Fatal(err)
		}
		slices.SortFunc(members, func(a, b redisdb.Member) int { return strings.Compare(a.Name, b.Name) })
		lines = append(lines, fmt.Sprintf("%s %s %v %s", k.Name, k.Type, members, bytesOf(ctx, admin, k.Name)))
	}
	return lines
}

// dumpClient returns a client that may DUMP keys: on a real server, one for [testkit.AdminUser].
func dumpClient(tb testing.TB, rdb redis.UniversalClient) redis.UniversalClient {
	if one, ok := rdb.(*redis.Client); ok && strings.HasPrefix(one.Options().Addr, "embedded:") {
		return rdb
	}
	return testkit.AdminClient(tb, rdb)
}

// bytesOf returns the serialized value and the expiry time of a key. For the embedded Redis it
// returns "", because it dumps only strings and shifts expiry times by milliseconds.
func bytesOf(ctx context.Context, rdb redis.UniversalClient, key string) string {
	if one, ok := rdb.(*redis.Client); ok && strings.HasPrefix(one.Options().Addr, "embedded:") {
		return ""
	}
	dump, err := rdb.Dump(ctx, key).Result()
	if err != nil {
		return err.Error()
	}
	ends, err := rdb.PExpireTime(ctx, key).Result()
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%x until %d", dump, ends.Milliseconds())
}
