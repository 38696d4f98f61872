package ent

import "database/sql"

// Written by hand, unlike its neighbours.

// Scanner returns a function that reads the rows of one statement into entities. The
// statement selects any columns of the entity, in any order: they are found by name.
func Scanner[E any, P interface {
	*E
	scanValues(columns []string) ([]any, error)
	assignValues(columns []string, values []any) error
}]() func(*sql.Rows) (*E, error) {
	var columns []string
	var values []any // reused for each row: assignValues copies them
	return func(rows *sql.Rows) (_ *E, err error) {
		row := P(new(E))
		if values == nil {
			if columns, err = rows.Columns(); err != nil {
				return nil, err
			}
			if values, err = row.scanValues(columns); err != nil {
				return nil, err
			}
		}
		if err := rows.Scan(values...); err != nil {
			return nil, err
		}
		return row, row.assignValues(columns, values)
	}
}
