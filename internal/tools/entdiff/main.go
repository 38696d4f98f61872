// Command entdiff writes the missing migrations from the SQL files under ent/migrate to the ent
// schema, one per dialect.
//
//	entdiff -name add_shop_owner     write missing migrations
//	entdiff -check                   fail if a migration is missing
//
// Both need Postgres: TANDIAN_TEST_DATABASE_URL names a server on which the command may create a
// scratch database.
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	atlas "ariga.io/atlas/sql/migrate"
	atlasschema "ariga.io/atlas/sql/schema"
	"ariga.io/atlas/sql/sqltool"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	_ "github.com/lib/pq"  // the driver "postgres"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

func main() {
	name := flag.String("name", "", "name of the migration, in snake_case")
	check := flag.Bool("check", false, "write nothing; fail if a migration is missing")
	root := flag.String("dir", "ent/migrate", "directory with a subdirectory per dialect")
	from := flag.String("schema", "./ent/schema", "package of the ent schema")
	flag.Parse()
	if (*name == "") == !*check {
		fmt.Fprintln(os.Stderr, "usage: entdiff -name NAME or entdiff -check")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	tables, err := tablesOf(*from)
	if err == nil {
		err = errors.Join(
			run(ctx, dialect.Postgres, tables, filepath.Join(*root, "postgres"), *name),
			run(ctx, dialect.SQLite, tables, filepath.Join(*root, "sqlite"), *name),
		)
	}
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, "entdiff:", err)
		os.Exit(1)
	}
}

// tablesOf returns the tables of an ent schema.
func tablesOf(path string) ([]*schema.Table, error) {
	graph, err := entc.LoadGraph(path, &gen.Config{})
	if err != nil {
		return nil, fmt.Errorf("load ent schema: %w", err)
	}
	return graph.Tables()
}

// run writes the missing migration of one dialect into dir. If name is empty, it writes nothing and
// returns an error if one is missing.
func run(ctx context.Context, d string, tables []*schema.Table, dir, name string) (err error) {
	db, drop, err := scratch(ctx, d)
	if err != nil {
		return fmt.Errorf("create %s scratch database: %w", d, err)
	}
	defer func() { err = errors.Join(err, drop()) }()
	into := dir
	if name == "" {
		name = "missing"
		if into, err = os.MkdirTemp("", "entdiff"); err != nil {
			return err
		}
		defer os.RemoveAll(into)
		if err := os.CopyFS(into, os.DirFS(dir)); err != nil {
			return err
		}
	}
	before, err := os.ReadDir(into)
	if err != nil {
		return err
	}
	if err := diff(ctx, entsql.OpenDB(d, db), tables, into, name); err != nil {
		return fmt.Errorf("%s: %w", d, err)
	}
	if into == dir {
		return nil
	}
	after, err := os.ReadDir(into)
	if err != nil {
		return err
	}
	if len(after) != len(before) {
		missing, _ := filepath.Glob(filepath.Join(into, "*_missing.sql"))
		text, _ := os.ReadFile(strings.Join(missing, ""))
		return fmt.Errorf("%s: missing migration: run make migration NAME=…\n%s", d, text)
	}
	return nil
}

func diff(ctx context.Context, drv dialect.Driver, tables []*schema.Table, dir, name string) error {
	goose, err := sqltool.NewGooseDir(dir)
	if err != nil {
		return err
	}
	// NamedDiff requires atlas.sum. goose does not read it, and it would hinder manual edits before
	// the release.
	sum, err := goose.Checksum()
	if err != nil {
		return err
	}
	if err := atlas.WriteSumFile(goose, sum); err != nil {
		return err
	}
	defer os.Remove(filepath.Join(dir, atlas.HashFileName))
	changes, err := schema.NewMigrate(drv,
		schema.WithDir(goose),
		schema.WithMigrationMode(schema.ModeReplay),
		schema.WithFormatter(sqltool.GooseFormatter),
		schema.WithDropColumn(true),
		schema.WithDropIndex(true),
		schema.WithDiffHook(keepExpressionIndexes),
	)
	if err != nil {
		return err
	}
	return changes.NamedDiff(ctx, name, tables...)
}

// keepExpressionIndexes ignores indexes on expressions. They are only in the SQL files, because the
// ent schema cannot describe them.
func keepExpressionIndexes(next schema.Differ) schema.Differ {
	return schema.DiffFunc(func(current, desired *atlasschema.Schema) ([]atlasschema.Change, error) {
		for _, table := range current.Tables {
			table.Indexes = slices.DeleteFunc(table.Indexes, func(i *atlasschema.Index) bool {
				return slices.ContainsFunc(i.Parts, func(p *atlasschema.IndexPart) bool { return p.X != nil })
			})
		}
		return next.Diff(current, desired)
	})
}

// scratch creates an empty database, which drop removes.
func scratch(ctx context.Context, d string) (db *sql.DB, drop func() error, err error) {
	if d == dialect.SQLite {
		db, err = sql.Open("sqlite", "file:entdiff?mode=memory&cache=shared&_fk=1")
		if err != nil {
			return nil, nil, err
		}
		return db, db.Close, nil
	}
	dsn := os.Getenv("TANDIAN_TEST_DATABASE_URL")
	if dsn == "" {
		return nil, nil, errors.New("missing TANDIAN_TEST_DATABASE_URL: use scripts/servers.sh run")
	}
	server, err := sql.Open("postgres", dsn)
	if err != nil {
		return nil, nil, err
	}
	name := fmt.Sprintf("entdiff_%d", os.Getpid())
	if _, err := server.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return nil, nil, errors.Join(err, server.Close())
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, nil, err
	}
	u.Path = "/" + name
	if db, err = sql.Open("postgres", u.String()); err != nil {
		return nil, nil, err
	}
	return db, func() error {
		err := db.Close()
		_, dropErr := server.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name+" WITH (FORCE)")
		return errors.Join(err, dropErr, server.Close())
	}, nil
}
