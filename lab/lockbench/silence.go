package lockbench

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

// silence counts the commands to the private Redis during a second in which one client holds a lock
// and another waits for it.
func (b *lockBench) silence(ctx context.Context) ([]harness.Row, error) {
	p := lockConfig{urls: []string{b.private.URL}, patient: true, Options: lock.Options{Prefix: b.part()}}
	mine, pings, err := b.commandsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	p.alone = true
	theirs, _, err := b.commandsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	return []harness.Row{
		{
			What:     "commands that Redis executed in 1 s of waiting, except PINGs",
			Measured: fmt.Sprintf("%d (%d PINGs)", mine, pings), Goal: "0", Met: mine == 0,
		},
		{What: "the same, redsync alone", Measured: strconv.FormatInt(theirs, 10)},
	}, nil
}

// commandsOf counts the commands of a second of waiting. The PINGs come from a subscribed client, every three
// seconds.
func (b *lockBench) commandsOf(ctx context.Context, p lockConfig) (commands, pings int64, err error) {
	holder, stop, err := p.open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	waiter, stopWaiter, err := p.open(ctx)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, stopWaiter()) }()
	h, err := holder.acquire(ctx, "quiet")
	if err != nil {
		return 0, 0, err
	}
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		h, err := waiter.acquire(waiting, "quiet")
		if err == nil {
			err = errors.Join(errors.New("two holders of the lock"), h.Release(ctx))
		} else if waiting.Err() != nil {
			err = nil
		}
		ended <- err
	}()
	commands, pings, err = b.second(ctx)
	cancel()
	return commands, pings, errors.Join(err, <-ended, h.Release(ctx))
}

// second counts commands for one second, after all waiters have started.
func (b *lockBench) second(ctx context.Context) (commands, pings int64, err error) {
	rdb, err := subprocess.OpenRedis(b.private.URL)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = rdb.Close() }()
	if err := clock.Sleep(ctx, settling); err != nil {
		return 0, 0, err
	}
	before, err := b.calls(ctx, rdb)
	if err == nil {
		err = clock.Sleep(ctx, time.Second)
	}
	if err != nil {
		return 0, 0, err
	}
	after, err := b.calls(ctx, rdb)
	for name, n := range after {
		n -= before[name]
		switch name {
		case "info": // by which they are counted
		case "ping":
			pings += n
		default:
			commands += n
		}
	}
	return commands, pings, err
}

const settling = 300 * time.Millisecond

var callsOf = regexp.MustCompile(`(?m)^cmdstat_([^:]+):calls=(\d+)`)

// calls counts the executed commands of a Redis so far, by name, including those of scripts.
func (b *lockBench) calls(ctx context.Context, rdb redis.UniversalClient) (map[string]int64, error) {
	info, err := rdb.Info(ctx, "commandstats").Result()
	if err != nil {
		return nil, fmt.Errorf("read the command counters of Redis: %w", err)
	}
	calls := make(map[string]int64)
	for _, found := range callsOf.FindAllStringSubmatch(info, -1) {
		if calls[found[1]], err = strconv.ParseInt(found[2], 10, 64); err != nil {
			return nil, fmt.Errorf("parse the command counters of Redis: %w", err)
		}
	}
	return calls, nil
}
