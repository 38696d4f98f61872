package lock

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// Hush silences the log of go-redis. It changes the whole process: call it first in a main
// function.
func Hush() { redis.SetLogger(hushed{}) }

type hushed struct{}

func (hushed) Printf(context.Context, string, ...any) {}
