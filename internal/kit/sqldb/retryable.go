package sqldb

import (
	"errors"
	"strings"
)

// Retryable reports whether a failed transaction may succeed when it runs again from its beginning:
// after a deadlock or a serialization failure (SQLSTATE class 40), or after an outdated prepared
// statement (see [Prepared]).
func Retryable(err error) bool { return strings.HasPrefix(SQLState(err), "40") || outdated(err) }

// SQLState returns the SQLSTATE of an error reply of Postgres, or "" for other errors.
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
