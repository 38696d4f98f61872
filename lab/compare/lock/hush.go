package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Hush keeps go-redis from writing to stderr by itself, for instance that a
// connection was cut. It changes it for the whole process: only a main function
// calls it, first.
func Hush() { redis.SetLogger(hushed{}) }

type hushed struct{}

func (hushed) Printf(context.Context, string, ...any) {}
