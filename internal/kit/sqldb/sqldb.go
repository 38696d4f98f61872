// Package sqldb opens the SQL database: Postgres, or SQLite in embedded mode.
//
// It sets timeouts, pools and transaction modes, counts and times every statement, applies the
// versioned migrations and reads SQL statements from files.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/lib/pq"
	"modernc.org/sqlite"

	"github.com/tandian-dev/tandian/internal/kit/connect"
)

// SQLConfig configures [OpenSQL]. The zero value of each number is a good production setting.
type SQLConfig struct {
	// URL is postgres://…; "" opens SQLite in DataDir. With several hosts, each new connection
	// goes to the primary:
	//
	//	postgres://user:password@host1,host2/database?port=5432,5433&target_session_attrs=read-write
	URL      string
	DataDir  string        // directory of the SQLite file; must exist
	MaxConns int           // maximum number of connections; default 20, SQLite 8
	MaxIdle  int           // maximum number of idle connections; default MaxConns, because a busy pool with fewer reconnects all the time
	IdleTime time.Duration // duration until an idle connection is closed; default 5 min
}

// SQL is an open database.
type SQL struct {
	*sql.DB
	Dialect string // dialect.Postgres or dialect.SQLite
	Name    string // human-readable location, without secrets
	path    string // of the SQLite file

	config pq.Config // of Postgres; contains the password
}

// OpenSQL creates a connection pool. It does not connect: see [SQL.Ping].
func OpenSQL(cfg SQLConfig) (*SQL, error) {
	var db *SQL
	var err error
	maxConns := 20
	if cfg.URL == "" {
		maxConns = 8
		db, err = openSQLite(filepath.Join(cfg.DataDir, "tandian.db"))
	} else {
		db, err = openPostgres(cfg.URL)
	}
	if err != nil {
		return nil, err
	}
	if cfg.MaxConns > 0 {
		maxConns = cfg.MaxConns
	}
	maxIdle := cfg.MaxIdle
	if maxIdle == 0 {
		maxIdle = maxConns
	}
	if cfg.IdleTime == 0 {
		cfg.IdleTime = 5 * time.Minute
	}
	db.SetMaxOpenConns(maxConns)
	db.SetMaxIdleConns(maxIdle)
	db.SetConnMaxIdleTime(cfg.IdleTime)
	return db, nil
}

// ownerOnly restricts the files of a SQLite database to their owner. It creates the database file
// if it is missing; SQLite copies its mode to the other files. Tests replace chmod.
func ownerOnly(path string, chmod func(string, os.FileMode) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // set by the operator
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("create SQLite file: %w", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm() == 0o600 {
			continue // chmod fails for other users, even without a change
		}
		if err == nil {
			err = chmod(path+suffix, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("restrict SQLite file to its owner (it must belong to the user that runs the server): %w", err)
		}
	}
	return nil
}

// openSQLite opens a file. Transactions take the write lock when they begin. Otherwise a
// transaction that writes after a read would fail with SQLITE_BUSY if another one wrote in between.
func openSQLite(path string) (*SQL, error) {
	if err := ownerOnly(path, os.Chmod); err != nil {
		return nil, err
	}
	// Times are stored as text that sorts chronologically. The driver's default format would add the
	// monotonic clock.
	options := "_fk=1&_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=10000&_txlock=immediate" +
		"&_time_format=sqlite&_timezone=UTC&_pragma=cache_size(-32000)"
	connector, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options)
	if err != nil {
		return nil, fmt.Errorf("open SQLite file %s: %w", path, err)
	}
	return &SQL{DB: sql.OpenDB(newPreparingConnector(connector, true)), Dialect: dialect.SQLite, Name: "SQLite " + path, path: path}, nil
}

// CheckDatabaseURL returns an error without secrets if raw is not a valid Postgres URL.
func CheckDatabaseURL(raw string) error {
	_, _, err := parseDatabaseURL(raw)
	return err
}

// parseDatabaseURL parses a Postgres URL. The error contains no secret.
func parseDatabaseURL(raw string) (*url.URL, pq.Config, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return nil, pq.Config{}, errors.New("must begin with postgres:// and look like postgres://user@host/database")
	}
	hosts := rest[strings.LastIndex(rest, "@")+1:]
	hosts, _, _ = strings.Cut(hosts, "/")
	hosts, _, _ = strings.Cut(hosts, "?")
	if strings.Contains(hosts, ",") && strings.Contains(hosts, ":") {
		return nil, pq.Config{}, errors.New("ports of several hosts must follow all hosts: postgres://host1,host2/database?port=5432,5433")
	}
	u, err := url.Parse(raw)
	if err != nil || connect.SplitsPassword(u) {
		return nil, pq.Config{}, errors.New("must look like postgres://user@host/database; " + connect.EscapeHint)
	}
	// Without target_session_attrs, pq connects to the first host that answers, maybe a standby.
	if several := strings.Contains(u.Host+u.Query().Get("host"), ","); several && u.Query().Get("target_session_attrs") != "read-write" {
		return nil, pq.Config{}, errors.New("several hosts need target_session_attrs=read-write")
	}
	cfg, err := pq.NewConfig(raw)
	if err != nil {
		return nil, pq.Config{}, connect.ParseError(u, pq.NewConfig)
	}
	return u, cfg, nil
}

func openPostgres(rawURL string) (*SQL, error) {
	u, cfg, err := parseDatabaseURL(rawURL)
	if err != nil {
		return nil, fmt.Errorf("database URL: %w", err)
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = 5 * time.Second
	}
	if cfg.ApplicationName == "" {
		cfg.ApplicationName = "tandian"
	}
	if !u.Query().Has("binary_parameters") {
		cfg.BinaryParameters = true // an unprepared statement takes one round trip instead of two
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, errors.New("database URL: invalid parameter")
	}
	return &SQL{
		DB:      sql.OpenDB(newPreparingConnector(connector, false)),
		Dialect: dialect.Postgres,
		Name:    "Postgres " + u.Host + u.Path,

		config: cfg,
	}, nil
}

// Await waits until the database answers or ctx ends, and reports the errors that it retries. If
// waiting cannot help, it returns at once, often with advice in the error. A pooler that does not
// preserve Postgres sessions is such an error.
func (s *SQL) Await(ctx context.Context, report func(error)) error {
	ping := s.PingContext
	if s.Dialect == dialect.Postgres {
		ping = s.connect
	}
	return connect.Await(ctx, s.Name, ping, sqlRemedy, report)
}
