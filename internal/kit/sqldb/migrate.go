package sqldb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"entgo.io/ent/dialect"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// A process tries to take the migration lock once a second for five minutes, while another process
// migrates.
const (
	migrationLockPeriod = 1 // seconds
	migrationLockTries  = 300
)

// A Migration is one versioned step.
type Migration struct {
	Version int64
	Name    string
	Applied time.Time // zero if pending
}

// Migrate applies the pending migrations of files in order, each in its own transaction, and
// returns them. On Postgres, any number of processes may call it at once: it holds an advisory
// lock.
func (s *SQL) Migrate(ctx context.Context, files fs.FS) ([]Migration, error) {
	p, err := s.provider(files)
	if err != nil {
		return nil, err
	}
	results, err := p.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate %s: %w%s", s.Name, err, migrationRemedy(err))
	}
	applied := make([]Migration, len(results))
	for i, r := range results {
		applied[i] = Migration{Version: r.Source.Version, Name: r.Source.Path, Applied: time.Now()}
	}
	return applied, nil
}

// Migrations returns the migrations of files with their state. It writes nothing, not even the
// table of applied migrations.
func (s *SQL) Migrations(ctx context.Context, files fs.FS) ([]Migration, error) {
	p, err := s.provider(files)
	if err != nil {
		return nil, err
	}
	begun, err := s.hasMigrations(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migrations of %s: %w", s.Name, err)
	}
	if !begun {
		var list []Migration
		for _, source := range p.ListSources() {
			list = append(list, Migration{Version: source.Version, Name: source.Path})
		}
		return list, nil
	}
	status, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read migrations of %s: %w", s.Name, err)
	}
	list := make([]Migration, len(status))
	for i, m := range status {
		list[i] = Migration{Version: m.Source.Version, Name: m.Source.Path, Applied: m.AppliedAt}
	}
	return list, nil
}

// hasMigrations reports whether any migration was applied.
func (s *SQL) hasMigrations(ctx context.Context) (found bool, err error) {
	query := "SELECT to_regclass(format('%I.%I', current_schema(), $1::text)) IS NOT NULL"
	if s.Dialect == dialect.SQLite {
		if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
			return false, nil // opening it would create the file
		}
		query = "SELECT count(*) > 0 FROM sqlite_master WHERE name = $1"
	}
	err = s.QueryRowContext(ctx, query, goose.DefaultTablename).Scan(&found)
	return found, err
}

func (s *SQL) provider(files fs.FS) (*goose.Provider, error) {
	d := goose.DialectPostgres
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if s.Dialect == dialect.SQLite {
		d = goose.DialectSQLite3
	} else {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(migrationLockPeriod, migrationLockTries))
		if err != nil {
			return nil, fmt.Errorf("create migration lock: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	p, err := goose.NewProvider(d, s.DB, files, options...)
	if errors.Is(err, goose.ErrNoMigrations) {
		return nil, fmt.Errorf("read migrations for %s: %w", s.Dialect, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}
