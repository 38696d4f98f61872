package sqldb

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"io"
	"net"
	"slices"
)

// Unavailable reports whether err means that the database cannot be reached or cannot serve
// requests now. A retry may succeed, but the failed statement may have run.
func Unavailable(err error) bool {
	for _, target := range []error{sqldriver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, target) {
			return true
		}
	}
	if state := SQLState(err); state != "" {
		// Connection exceptions, insufficient resources, operator intervention or a server time
		// limit.
		return slices.Contains([]string{"08", "53", "57"}, state[:min(2, len(state))])
	}
	_, network := errors.AsType[net.Error](err)
	return network && !errors.Is(err, context.DeadlineExceeded) // a caller's deadline is a net.Error too
}
