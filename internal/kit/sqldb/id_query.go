package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
)

// An IDQuery is a prepared statement that reads rows by id: see [Prepared].
//
// It has a separate form for one id, whose plan Postgres caches. For a list of unknown length,
// Postgres may plan each run again.
type IDQuery struct {
	dialect   string
	one, many string
}

// anyOf marks the id condition of a statement.
const anyOf = "= ANY($1)"

// NewIDQuery returns the query of a statement for a dialect of ent. It panics unless the statement
// contains "= ANY($1)" exactly once.
//
// A last line that begins with FOR locks the rows. NewIDQuery removes it for SQLite, which has one
// writer.
func NewIDQuery(in, statement string) IDQuery {
	if strings.Count(statement, anyOf) != 1 {
		panic(fmt.Sprintf("sqldb: id query must contain %q once: %s", anyOf, statement))
	}
	list := anyOf
	if in == dialect.SQLite {
		list = "IN (SELECT value FROM json_each($1))"
		if i := strings.LastIndex(statement, "\nFOR "); i >= 0 {
			statement = statement[:i]
		}
	}
	return IDQuery{dialect: in, one: strings.Replace(statement, anyOf, "= $1", 1), many: strings.Replace(statement, anyOf, list, 1)}
}

// Each calls row for each row found, in any order. It returns errors like the function [Each].
func (l IDQuery) Each(ctx context.Context, db Querier, ids []int64, row func(*sql.Rows) error) error {
	if len(ids) == 0 {
		return nil
	}
	statement, arg := l.one, any(ids[0])
	if len(ids) > 1 {
		statement, arg = l.many, l.list(ids)
	}
	return Each(Prepared(ctx), db, statement, []any{arg}, row)
}

// list encodes ids as a Postgres array, or as JSON for SQLite.
func (l IDQuery) list(ids []int64) string {
	begin, end := byte('{'), byte('}')
	if l.dialect == dialect.SQLite {
		begin, end = '[', ']'
	}
	text := make([]byte, 0, 12*len(ids))
	for i, id := range ids {
		if text = append(text, ','); i == 0 {
			text[0] = begin
		}
		text = strconv.AppendInt(text, id, 10)
	}
	return string(append(text, end))
}
