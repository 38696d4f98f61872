package redisdb

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/redis/go-redis/v9"
)

// Unavailable reports whether err means that Redis cannot be reached or cannot serve requests now,
// so that a retry may succeed. The command may have run.
func Unavailable(err error) bool {
	for _, transient := range []error{ErrBreakerOpen, redis.ErrPoolTimeout, redis.ErrPoolExhausted, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, transient) {
			return true
		}
	}
	for _, word := range []string{"LOADING", "READONLY", "MISCONF", "NOREPLICAS", "OOM", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN"} {
		if redis.HasErrorPrefix(err, word) {
			return true
		}
	}
	_, network := errors.AsType[net.Error](err)
	return network && !errors.Is(err, context.DeadlineExceeded) // a caller's deadline is a net.Error too
}
