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

// names of all tables that are read.
func (r *Reader) names() []string {
	var names []string
	for _, t := range r.o.Tables {
		names = append(names, t.Name)
	}
	if r.o.Outbox != "" {
		names = append(names, r.o.Outbox)
	}
	return names
}

// learnTables finds the key column of each table. It returns a refusal if one
// cannot be read by its key.
func (r *Reader) learnTables(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	rows, err := r.db.QueryContext(ctx, tablesSQL, r.schema, pq.Array(r.names()))
	if err != nil {
		return fmt.Errorf("ask about the tables: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name, key, identity string
		var there bool
		if err := rows.Scan(&name, &there, &key, &identity); err != nil {
			return fmt.Errorf("ask about the tables: %w", err)
		}
		switch {
		case !there:
			return unsupportedError(fmt.Sprintf("there is no table %s.%s", r.schema, name))
		case key == "":
			return unsupportedError(fmt.Sprintf("the primary key of table %s is not one column", name))
		case identity != "d" && identity != "f":
			return unsupportedError(fmt.Sprintf("the replica identity of table %s is not its primary key", name))
		}
		r.keys[name] = key
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("ask about the tables: %w", err)
	}
	return nil
}

// publish makes the publication what it should be. When it has not published all
// that we want to hear, the slot is dropped before it is changed: what the slot
// remembers lacks something, and a new one makes up for it.
func (r *Reader) publish(ctx context.Context) error {
	there, complete, exact, err := r.published(ctx)
	if err != nil || (complete && exact) {
		return err
	}
	if !complete {
		if _, err := r.drop(ctx, -1); err != nil {
			return err
		}
		at, err := r.look(ctx)
		if err != nil {
			return err
		}
		if at.there {
			return errors.New("the replication slot has to be dropped, and somebody reads it")
		}
	}
	text := createSQL
	if there {
		text = alterSQL
	}
	var quoted []string
	for _, name := range slices.Sorted(slices.Values(r.names())) {
		quoted = append(quoted, pq.QuoteIdentifier(r.schema)+"."+pq.QuoteIdentifier(name))
	}
	text = strings.NewReplacer("{publication}", pq.QuoteIdentifier(r.publication), "{tables}", strings.Join(quoted, ", ")).Replace(text)
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	if _, err := r.db.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("make the publication %s, for which the role must own the tables and may create in the database: %w", r.publication, err)
	}
	return nil
}

func (r *Reader) published(ctx context.Context) (there, complete, exact bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	err = r.db.QueryRowContext(ctx, publicationSQL, r.publication, r.schema, pq.Array(r.names())).Scan(&there, &complete, &exact)
	if err != nil {
		err = fmt.Errorf("ask about the publication: %w", err)
	}
	return there, complete, exact, err
}

// asRefusal says whether err means that an operator has to give a right first.
func asRefusal(err error) (string, bool) {
	if why, ok := errors.AsType[unsupportedError](err); ok {
		return why.Error(), true
	}
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	if ok && pgErr.Code == string(pqerror.ProtocolViolation) {
		return "the connection for replication is refused, as by poolers that do not know replication: " + err.Error(), true
	}
	denied := ok && pgErr.Code == string(pqerror.InsufficientPrivilege)
	if denied || pq.As(err, pqerror.InsufficientPrivilege) != nil {
		return err.Error(), true
	}
	return "", false
}
