package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Hush stops go-redis from writing to stderr, for example that a connection was cut. It changes the
// whole process: call it first in a main function.
func Hush() { redis.SetLogger(hushed{}) }

type hushed struct{}

func (hushed) Printf(context.Context, string, ...any) {}
