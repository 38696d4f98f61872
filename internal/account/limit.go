package account

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/fault"
)

const (
	passwordTries     = 5 // guesses at one phone's password
	passwordTriesLife = 15 * time.Minute
	passwordSets      = 10 // times an hour that somebody may set a password: each costs a hash
)

var (
	//go:embed lua/count.lua
	countLua string
	//go:embed lua/uncount.lua
	uncountLua string
)

// limits count what may be done only so often. The counters live in the state
// Redis alone: all instances share them, and without it nothing that is limited
// can be done.
type limits struct {
	rdb            redis.UniversalClient
	count, uncount *redis.Script
}

func newLimits(rdb redis.UniversalClient) *limits {
	return &limits{rdb, redis.NewScript(countLua), redis.NewScript(uncountLua)}
}

// take counts one more under a key, whose life begins with the first one. It
// returns how long to wait if that is one too many.
func (l *limits) take(ctx context.Context, key string, most int, life time.Duration) (wait time.Duration, err error) {
	return waitOf(runScript(ctx, l.rdb, l.count, []string{key}, most, life.Milliseconds()))
}

// takeByAddress counts one more for a client address in an hour. An address that
// is not known, and a most of 0, have no limit.
func (l *limits) takeByAddress(ctx context.Context, key func(address string) string, address string, most int) (wait time.Duration, err error) {
	if address == "" || most == 0 {
		return 0, nil
	}
	return l.take(ctx, key(address), most, time.Hour)
}

// giveBack takes one off a counter, of a try that was none in the end. A failure
// leaves the user with fewer tries: no harm.
func (l *limits) giveBack(ctx context.Context, key string) {
	_ = runScript(context.WithoutCancel(ctx), l.rdb, l.uncount, []string{key}).Err()
}

// clear forgets a counter. A failure leaves the user with fewer tries: no harm.
func (l *limits) clear(ctx context.Context, key string) {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	_ = l.rdb.Unlink(ctx, key).Err()
}

// waitOf reads the milliseconds that a script answers: 0 for none.
func waitOf(cmd *redis.Cmd) (time.Duration, error) {
	ms, err := cmd.Int64()
	if err != nil {
		return 0, withoutRedis(err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// tooOften is the fault of who has to wait.
func tooOften(wait time.Duration, message string) error {
	return fault.New(fault.RateLimited, "%s", message).In(wait)
}

func withoutRedis(err error) error {
	return fault.New(fault.Unavailable, "This cannot be done at the moment. Try again.").Because(fmt.Errorf("ask Redis for codes and limits: %w", err))
}

// runScript runs a script with the deadline of one round trip.
func runScript(ctx context.Context, rdb redis.UniversalClient, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return s.Run(ctx, rdb, keys, args...)
}
