package store

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Unavailable reports whether an error says that a store cannot be reached, or is not ready to
// answer anybody: it may be in a moment, and nothing is wrong with what was asked.
// Whether what was asked was done is not known.
func Unavailable(err error) bool {
	for _, of := range []error{
		ErrBreakerOpen, redis.ErrPoolTimeout, redis.ErrPoolExhausted,
		sqldriver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	if state := SQLState(err); state != "" {
		// Connection exceptions, resources (too many connections), an operator's
		// intervention or the server's own time limit.
		return slices.Contains([]string{"08", "53", "57"}, state[:min(2, len(state))])
	}
	for _, word := range []string{"LOADING", "READONLY", "MISCONF", "NOREPLICAS", "OOM", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"} {
		if redis.HasErrorPrefix(err, word) {
			return true
		}
	}
	_, wire := errors.AsType[net.Error](err)
	return wire && !errors.Is(err, context.DeadlineExceeded) // which is one, but the caller's own
}
