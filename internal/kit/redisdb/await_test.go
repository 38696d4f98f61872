package redisdb

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestAwaitRedisReturnsPermanentErrorsWithAdvice(t *testing.T) {
	address := testkit.Redis(t)
	socket := strings.TrimPrefix(address, "unix://")
	if at := strings.LastIndex(socket, "@"); at >= 0 {
		socket = socket[at+1:]
	}
	socket, _, _ = strings.Cut(socket, "?")
	for _, tt := range []struct{ name, url, want string }{
		{"a wrong password", "unix://tandian:correcthorse@" + socket, "correct the user and the password"},
		{"an unknown user", "unix://bob:correcthorse@" + socket, "correct the user and the password"},
		{"no permission to select a database", address + "?db=1", "users.acl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			client, err := OpenRedis(RedisConfig{URL: tt.url, Role: "state"}, NewRedisMetrics(prometheus.NewRegistry()))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = client.Close() }()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			err = Await(ctx, "the state Redis", client, func(err error) { t.Errorf("got a retry: %v", err) })
			if err == nil || errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "horse") {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
			t.Log(err)
		})
	}
}
