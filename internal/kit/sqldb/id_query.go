package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
)

// A IDQuery is a statement that finds rows by their ids and is kept prepared: see [Prepared].
//
// It has a form of its own for one id. The plan of that is the same for every id, so
// Postgres makes it once; of a list, whose length the plan does not know, it takes a plan
// for each run to be cheaper.
type IDQuery struct {
	dialect   string
	one, many string
}

// anyOf is how the statement of a Lookup says which rows it is about.
const anyOf = "= ANY($1)"

// NewIDQuery returns the Lookup of a statement that has "= ANY($1)" in one place, in the
// dialect of the database, as ent calls it. Any other statement is a mistake in the program.
//
// A last line that begins with FOR locks the rows. SQLite, which has one writer, gets the
// statement without it.
func NewIDQuery(in, statement string) IDQuery {
	if strings.Count(statement, anyOf) != 1 {
		panic(fmt.Sprintf("store: a lookup has %q once: %s", anyOf, statement))
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

// Each calls row for each row that it finds, in any order, as [sqlfile.Each] does.
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

// list is ids as an array of Postgres, or of JSON.
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
