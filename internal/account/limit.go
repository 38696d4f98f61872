package account

import (
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

const (
	passwordTries     = 5 // per phone and network or known device
	passwordTriesLife = 15 * time.Minute
	phoneTries        = 60 // per phone, from all networks
	phoneTriesLife    = time.Hour
	passwordSets      = 10 // password changes per user and hour: each costs a hash

	siteBits   = 48 // prefix of an IPv6 site, the usual allocation of one customer
	siteFactor = 10 // hourly budget of an IPv6 site, in budgets of a /64
)

var (
	//go:embed lua/count.lua
	countLua string
	//go:embed lua/uncount.lua
	uncountLua string
	//go:embed lua/password_right.lua
	passwordRightLua string
)

// A client is the origin of a request, for the limits on guesses.
type client struct {
	network string // see Origin.Network; "" if unknown
	device  device // a known device of the phone; zero if unknown
}

// name returns the client's field in the hash of a code.
func (c client) name() string {
	if c.device.id != 0 {
		return "d:" + decimal(c.device.id)
	}
	return "n:" + digest("address", c.site())
}

// site returns the network for which guesses at one phone are counted: an IPv4 address or
// an IPv6 site. It returns "unknown" for an unknown network.
func (c client) site() string {
	if c.network == "" {
		return "unknown"
	}
	return siteOf(c.network)
}

// siteOf returns the /48 of an IPv6 network, and any other network unchanged.
func siteOf(network string) string {
	p, err := netip.ParsePrefix(network)
	if err != nil || p.Addr().Is4() || p.Bits() <= siteBits {
		return network
	}
	return netip.PrefixFrom(p.Addr(), siteBits).Masked().String()
}

// limits counts actions in the state Redis, in counters that all processes share.
// Without Redis, limited actions fail.
type limits struct {
	rdb                   redis.Cmdable
	count, uncount, right *redis.Script
}

func newLimits(rdb redis.Cmdable) *limits {
	return &limits{rdb, redis.NewScript(countLua), redis.NewScript(uncountLua), redis.NewScript(passwordRightLua)}
}

// A limit is a counter with its maximum. Its life begins with the first count.
type limit struct {
	key  string
	max  int
	life time.Duration
}

// hourly returns the hourly limits of a client network and, for IPv6, a looser one for its site. It
// returns none if perHour is 0 or the network is unknown.
func hourly(key func(network, narrow string) string, network string, perHour int) []limit {
	if network == "" || perHour == 0 {
		return nil
	}
	site := siteOf(network)
	if site == network {
		return []limit{{key(network, ""), perHour, time.Hour}}
	}
	return []limit{{key(site, network), perHour, time.Hour}, {key(site, ""), siteFactor * perHour, time.Hour}}
}

// take increments all counters, unless one of them is full. Then it returns the time to
// wait. The keys must share a slot.
func (l *limits) take(ctx context.Context, all ...limit) (wait time.Duration, err error) {
	return l.add(ctx, 1, all)
}

// full returns the time to wait if a counter is full. It does not count.
func (l *limits) full(ctx context.Context, all ...limit) (wait time.Duration, err error) {
	return l.add(ctx, 0, all)
}

func (l *limits) add(ctx context.Context, n int, all []limit) (wait time.Duration, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	args := []any{n}
	for _, one := range all {
		args = append(args, one.max, one.life.Milliseconds())
	}
	return waitOf(runScript(ctx, l.rdb, l.count, keysOf(all), args...))
}

// refund reverses take, for an action that did not happen. It ignores errors: they only
// leave the user with fewer attempts.
func (l *limits) refund(ctx context.Context, all ...limit) {
	if len(all) > 0 {
		_ = runScript(context.WithoutCancel(ctx), l.rdb, l.uncount, keysOf(all)).Err()
	}
}

// forgive clears the first counter and decrements the others, after a right password. It
// ignores errors, like refund.
func (l *limits) forgive(ctx context.Context, all ...limit) {
	_ = runScript(ctx, l.rdb, l.right, keysOf(all)).Err()
}

func keysOf(all []limit) []string {
	keys := make([]string, len(all))
	for i, one := range all {
		keys[i] = one.key
	}
	return keys
}

// waitOf returns the wait that a script returns in milliseconds; 0 is none.
func waitOf(cmd *redis.Cmd) (time.Duration, error) {
	ms, err := cmd.Int64()
	if err != nil {
		return 0, withoutRedis(err)
	}
	return time.Duration(ms) * time.Millisecond, nil
}

func tooOften(wait time.Duration, message string) error {
	return apierror.New(apierror.RateLimited, "%s", message).WithRetryAfter(wait)
}

func withoutRedis(err error) error {
	return apierror.New(apierror.Unavailable, "This is unavailable at the moment. Try again.").WithCause(fmt.Errorf("run limit script: %w", err))
}

func runScript(ctx context.Context, rdb redis.Cmdable, s *redis.Script, keys []string, args ...any) *redis.Cmd {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return s.Run(ctx, rdb, keys, args...)
}
