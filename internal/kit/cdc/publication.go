package cdc

import (
	"context"
	_ "embed" // statements
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

var (
	//go:embed sql/tables.sql
	tablesSQL string
	//go:embed sql/publication.sql
	publicationSQL string
	//go:embed sql/publication_create.sql
	createSQL string
	//go:embed sql/publication_alter.sql
	alterSQL string
)

// tableNames returns the names of all tables that are read.
func (r *Reader) tableNames() []string {
	var names []string
	for _, t := range r.o.Tables {
		names = append(names, t.Name)
	}
	if r.o.Outbox != "" {
		names = append(names, r.o.Outbox)
	}
	return names
}

// loadKeys finds the key column of each table. It returns an [unsupportedError] if a
// table has none.
func (r *Reader) loadKeys(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := r.db.QueryContext(ctx, tablesSQL, r.schema, pq.Array(r.tableNames()))
	if err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, key, identity string
		var exists bool
		if err := rows.Scan(&name, &exists, &key, &identity); err != nil {
			return fmt.Errorf("read tables: %w", err)
		}
		switch {
		case !exists:
			return unsupportedError(fmt.Sprintf("table %s.%s does not exist", r.schema, name))
		case key == "":
			return unsupportedError(fmt.Sprintf("primary key of table %s is not one column", name))
		case identity != "d" && identity != "f":
			return unsupportedError(fmt.Sprintf("replica identity of table %s is not its primary key", name))
		}
		r.keys[name] = key
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read tables: %w", err)
	}
	return nil
}

// ensurePublication creates or updates the publication. If some changes are missing in
// the publication, it drops the slot first. The log of the slot is incomplete, and a new
// slot makes the reader report a gap.
func (r *Reader) ensurePublication(ctx context.Context) error {
	exists, complete, exact, err := r.readPublication(ctx)
	if err != nil || (complete && exact) {
		return err
	}
	if !complete {
		if _, err := r.drop(ctx, -1); err != nil {
			return err
		}
		at, err := r.readSlot(ctx)
		if err != nil {
			return err
		}
		if at.exists {
			return errors.New("drop replication slot: it is in use")
		}
	}
	text := createSQL
	if exists {
		text = alterSQL
	}
	var quoted []string
	for _, name := range slices.Sorted(slices.Values(r.tableNames())) {
		quoted = append(quoted, pq.QuoteIdentifier(r.schema)+"."+pq.QuoteIdentifier(name))
	}
	text = strings.NewReplacer("{publication}", pq.QuoteIdentifier(r.publication), "{tables}", strings.Join(quoted, ", ")).Replace(text)
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := r.db.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("create publication %s (needs ownership of the tables and CREATE on the database): %w", r.publication, err)
	}
	return nil
}

func (r *Reader) readPublication(ctx context.Context) (exists, complete, exact bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = r.db.QueryRowContext(ctx, publicationSQL, r.publication, r.schema, pq.Array(r.tableNames())).Scan(&exists, &complete, &exact)
	if err != nil {
		err = fmt.Errorf("read publication: %w", err)
	}
	return exists, complete, exact, err
}

// asUnsupported reports whether err needs an operator, for example a missing right, and
// returns the reason.
func asUnsupported(err error) (string, bool) {
	if reason, ok := errors.AsType[unsupportedError](err); ok {
		return reason.Error(), true
	}
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if ok && pgErr.Code == string(pqerror.ProtocolViolation) {
		return "replication connection refused, for example by a pooler: " + err.Error(), true
	}
	denied := ok && pgErr.Code == string(pqerror.InsufficientPrivilege)
	if denied || pq.As(err, pqerror.InsufficientPrivilege) != nil {
		return err.Error(), true
	}
	return "", false
}
