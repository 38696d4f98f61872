package sqldb

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/lib/pq"
	"github.com/lib/pq/pqerror"
)

func TestUnavailableReportsTransientErrors(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"nothing":                    {nil, false},
		"something":                  {errors.New("something"), false},
		"refused":                    {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		"no such host":               {&net.DNSError{Err: "no such host", IsNotFound: true}, true},
		"cut in the middle":          {io.ErrUnexpectedEOF, true},
		"a bad connection":           {sqldriver.ErrBadConn, true},
		"a time limit":               {context.DeadlineExceeded, false},
		"the time limit of a read":   {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		"a caller who left":          {context.Canceled, false},
		"Postgres shuts down":        {&pq.Error{Code: pqerror.Code("57P01")}, true},
		"Postgres starts":            {&pq.Error{Code: pqerror.Code("57P03")}, true},
		"too many connections":       {&pq.Error{Code: pqerror.Code("53300")}, true},
		"a statement that took long": {&pq.Error{Code: pqerror.Code("57014")}, true},
		"a duplicate":                {&pq.Error{Code: pqerror.Code("23505")}, false},
		"a deadlock":                 {&pq.Error{Code: pqerror.Code("40P01")}, false},
	}
	for name, tt := range tests {
		if got := Unavailable(tt.err); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		if got := Unavailable(fmt.Errorf("read a shop: %w", tt.err)); tt.err != nil && got != tt.want {
			t.Errorf("%s, wrapped: %v", name, got)
		}
	}
}
