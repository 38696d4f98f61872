// Package sqldb opens the SQL database: Postgres, or SQLite in embedded mode.
//
// It sets deadlines, pools and transaction modes, counts and times every statement,
// applies the versioned migrations and reads SQL statements from files.
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

// SQLConfig says which database to open. The zero value of each number is a
// good setting.
type SQLConfig struct {
	// URL is postgres://…; "" opens SQLite in DataDir. Of several servers, of which one is
	// the primary, each new connection finds out which:
	//
	//	postgres://user:password@host1,host2/database?port=5432,5433&target_session_attrs=read-write
	URL      string
	DataDir  string        // folder of the SQLite file; must exist
	MaxConns int           // connections at most; default 20, SQLite 8
	MaxIdle  int           // idle connections at most; default MaxConns: fewer, and a busy pool makes and ends them all the time
	IdleTime time.Duration // an idle connection is closed after; default 5 min
}

// SQL is an open database.
type SQL struct {
	*sql.DB
	Dialect string // dialect.Postgres or dialect.SQLite
	Name    string // for people: where the data lies, without secrets
	path    string // of the SQLite file

	config pq.Config // of Postgres; it has the password
}

// OpenSQL prepares a pool of connections. It does not connect yet: see [SQL.Ping].
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

// ownerOnly makes the files of a SQLite database readable by their owner alone, and makes
// the database's file if it is missing: SQLite gives the others its mode. chmod is
// [os.Chmod].
func ownerOnly(path string, chmod func(string, os.FileMode) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the operator names it
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("make SQLite file: %w", err)
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err == nil && info.Mode().Perm() == 0o600 {
			continue // only the owner of a file can change its mode, also to the same one
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

// openSQLite opens a file whose transactions take the write lock when they
// begin: a transaction that reads first and then writes would otherwise fail
// with SQLITE_BUSY as soon as another one wrote in between.
func openSQLite(path string) (*SQL, error) {
	if err := ownerOnly(path, os.Chmod); err != nil {
		return nil, err
	}
	// Times are written as text that compares in time order; the driver's own
	// format would add the monotonic clock.
	options := "_fk=1&_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=10000&_txlock=immediate" +
		"&_time_format=sqlite&_timezone=UTC&_pragma=cache_size(-32000)"
	connector, err := sqlite.NewConnector("file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options)
	if err != nil {
		return nil, fmt.Errorf("open SQLite file %s: %w", path, err)
	}
	return &SQL{DB: sql.OpenDB(newPreparingConnector(connector)), Dialect: dialect.SQLite, Name: "SQLite " + path, path: path}, nil
}

// CheckDatabaseURL says what is wrong with a URL of Postgres, without its secrets.
func CheckDatabaseURL(raw string) error {
	_, _, err := parseDatabaseURL(raw)
	return err
}

// parseDatabaseURL reads a URL of Postgres. The error shows no secret.
func parseDatabaseURL(raw string) (*url.URL, pq.Config, error) {
	scheme, rest, _ := strings.Cut(raw, "://")
	if scheme != "postgres" && scheme != "postgresql" {
		return nil, pq.Config{}, errors.New("it must begin with postgres:// and must look like postgres://user@host/database")
	}
	hosts := rest[strings.LastIndex(rest, "@")+1:]
	hosts, _, _ = strings.Cut(hosts, "/")
	hosts, _, _ = strings.Cut(hosts, "?")
	if strings.Contains(hosts, ",") && strings.Contains(hosts, ":") {
		return nil, pq.Config{}, errors.New("ports of several hosts are written behind them all: postgres://host1,host2/database?port=5432,5433")
	}
	u, err := url.Parse(raw)
	if err != nil || connect.SplitsPassword(u) {
		return nil, pq.Config{}, errors.New("it must look like postgres://user@host/database; " + connect.EscapeHint)
	}
	// Without it the first that answers is taken, which may be a standby, or one that was
	// the primary and is back.
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
		cfg.BinaryParameters = true // a statement that is not prepared takes one round trip, and not two
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, errors.New("database URL: it has a parameter that cannot be read")
	}
	return &SQL{
		DB:      sql.OpenDB(newPreparingConnector(connector)),
		Dialect: dialect.Postgres,
		Name:    "Postgres " + u.Host + u.Path,

		config: cfg,
	}, nil
}

// Await waits until the database answers or ctx ends, and tells report why it
// waits. It returns at once if waiting cannot help: the error names the remedy. On
// Postgres, it returns an error if a pooler does not keep sessions.
func (s *SQL) Await(ctx context.Context, report func(error)) error {
	ping := s.PingContext
	if s.Dialect == dialect.Postgres {
		ping = s.connect
	}
	return connect.Await(ctx, s.Name, ping, sqlRemedy, report)
}
