package lockbench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
	"github.com/tandian-dev/tandian/internal/testkit/subprocess"
	"github.com/tandian-dev/tandian/lab/harness"
)

const (
	slowest  = 30 * time.Millisecond // maximum delay of an answer
	patience = 40 * time.Millisecond // maximum patience of a caller
	callers  = 50                    // parallel; a cancelled call continues in the background
	shared   = 64                    // names with waiters; other names are used once
)

// cancelled cancels calls at random moments over a slow link, and counts the locks that remain
// without a holder.
func (b *lockBench) cancelled(ctx context.Context) (rows []harness.Row, err error) {
	dir, err := os.MkdirTemp("", "tdlock")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the link: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	link, err := newSlowLink(b.private.URL, filepath.Join(dir, "s"), slowest)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, link.close()) }()
	// A remaining lock stays for the whole run, so its expiry does not hide it.
	p := lockConfig{urls: []string{link.url()}, patient: true, pool: 3 * callers, Options: lock.Options{TTL: time.Minute, Prefix: b.part()}}
	mine, err := b.orphans(ctx, p, b.Cancelled)
	if err != nil {
		return nil, err
	}
	p.alone, p.Prefix = true, b.part()
	theirs, err := b.orphans(ctx, p, max(b.Cancelled/10, 100))
	if err != nil {
		return nil, err
	}
	return []harness.Row{
		{What: "locks left by calls that were cancelled, after 1 s", Measured: mine.String(), Goal: "0", Met: mine.left == 0},
		{What: "the same, redsync alone", Measured: theirs.String()},
	}, nil
}

// orphans counts the outcomes of cancelled calls.
type orphans struct {
	left, cancelled, granted int
	failed                   int // for another reason
}

func (o orphans) String() string {
	return fmt.Sprintf("%d of %d, %d more were granted and released, %d failed", o.left, o.cancelled, o.granted, o.failed)
}

func (b *lockBench) orphans(ctx context.Context, p lockConfig, times int) (o orphans, err error) {
	w, stop, err := p.open(ctx)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	var calls, cancelled, granted, failed atomic.Int64
	_, err = harness.RunParallel(ctx, callers, callers, func(ctx context.Context) error {
		for cancelled.Load() < int64(times) && ctx.Err() == nil {
			err := impatient(ctx, w, calls.Add(1))
			switch {
			case err == nil:
				granted.Add(1)
			case errors.Is(err, errImpatient):
				cancelled.Add(1)
			default:
				failed.Add(1)
			}
			_ = clock.Sleep(ctx, rand.N(patience))
		}
		return ctx.Err()
	})
	if err != nil {
		return o, err
	}
	o.cancelled, o.granted, o.failed = int(cancelled.Load()), int(granted.Load()), int(failed.Load())
	rdb, err := subprocess.OpenPatient(b.private.URL)
	if err != nil {
		return o, err
	}
	defer func() { err = errors.Join(err, rdb.Close()) }()
	// Wait for the whole time: pending calls may still be granted.
	if err := clock.Sleep(ctx, b.tidying); err != nil {
		return o, err
	}
	o.left, err = locks(ctx, rdb, p.Prefix)
	return o, err
}

var errImpatient = errors.New("the caller gave up")

// impatient makes one call and cancels it soon, by its deadline or otherwise. It releases the lock
// if it was granted in time, and returns errImpatient if not.
func impatient(ctx context.Context, w locking, call int64) error {
	end := time.Now().Add(rand.N(patience))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if call%4 < 2 {
		ctx, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	} else {
		defer time.AfterFunc(time.Until(end), cancel).Stop()
	}
	var h held
	var err error
	if call%2 == 0 {
		h, err = w.try(ctx, fmt.Sprintf("once %d", call))
	} else {
		h, err = w.acquire(ctx, fmt.Sprintf("often %d", rand.IntN(shared)))
	}
	if err != nil {
		if !time.Now().Before(end) { // the deadline of a socket may be a little before that of ctx
			return errImpatient
		}
		return err
	}
	return h.Release(context.WithoutCancel(ctx))
}

// locks counts the locks below a prefix.
func locks(ctx context.Context, rdb redis.UniversalClient, prefix string) (n int, err error) {
	keys := rdb.Scan(ctx, 0, prefix+":*", 1000).Iterator()
	for keys.Next(ctx) {
		n++
	}
	if err := keys.Err(); err != nil {
		return 0, fmt.Errorf("count locks: %w", err)
	}
	return n, nil
}
