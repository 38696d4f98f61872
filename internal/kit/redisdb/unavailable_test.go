package redisdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

type replyError string

func (r replyError) Error() string { return string(r) }

func (replyError) RedisError() {}

func TestUnavailableReportsTransientErrors(t *testing.T) {
	tests := map[string]struct {
		err  error
		want bool
	}{
		"no error":                     {nil, false},
		"another error":                {errors.New("something"), false},
		"refused":                      {&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		"no such host":                 {&net.DNSError{Err: "no such host", IsNotFound: true}, true},
		"cut in the middle":            {io.ErrUnexpectedEOF, true},
		"the breaker":                  {ErrBreakerOpen, true},
		"a time limit":                 {context.DeadlineExceeded, false},
		"the time limit of a read":     {&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, true},
		"a cancelled caller":           {context.Canceled, false},
		"a Redis that is loading":      {replyError("LOADING Redis is loading the dataset in memory"), true},
		"a replica":                    {replyError("READONLY You can't write against a read only replica."), true},
		"a key of another type":        {replyError("WRONGTYPE Operation against a key"), false},
		"a Redis whose memory is full": {replyError("OOM command not allowed"), true},
		"a Redis whose disk is full":   {replyError("MISCONF Redis is configured to save RDB snapshots"), true},
		"a Redis without replicas":     {replyError("NOREPLICAS Not enough good replicas to write."), true},
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
