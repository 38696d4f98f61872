package store

import (
	"errors"
	"strings"
)

// Undone reports whether the database undid a transaction for the sake of another
// one (SQLSTATE class 40: a deadlock, a serialization failure). Repeated from its
// beginning, it may succeed.
func Undone(err error) bool { return strings.HasPrefix(SQLState(err), "40") }

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
