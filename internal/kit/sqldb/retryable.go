package sqldb

import (
	"errors"
	"strings"
)

// Retryable reports whether a transaction that failed may succeed when it runs again from its
// beginning: the database ended it because of another one (SQLSTATE class 40: a deadlock, a
// serialization failure), or a prepared statement was outdated (see [Prepared]).
func Retryable(err error) bool { return strings.HasPrefix(SQLState(err), "40") || outdated(err) }

// SQLState is the code of an error by which Postgres answered, "" of any other.
func SQLState(err error) string {
	e, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err)
	if !ok {
		return ""
	}
	return e.SQLState()
}
