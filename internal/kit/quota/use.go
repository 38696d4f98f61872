package quota

import (
	"context"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// LimitReached is the code of a refused write.
const LimitReached apierror.Code = "LIMIT_REACHED"

// Use is one counted write. A nil Use has no limit. It is not safe for concurrent use.
type Use struct {
	limit *Limit
	user  int64

	done     chan struct{} // closed when counted and wait are set
	counted  bool
	refused  bool
	wait     time.Duration // until the counter expires
	released bool
}

// run counts the write and then closes done.
func (u *Use) run(ctx context.Context) {
	defer close(u.done)
	l := u.limit
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	n, err := u.count(ctx)
	switch {
	case err != nil:
		l.set.failures.Record(ctx, doingTake, err)
		return
	case n == 0:
		u.refused = true
	case n > int64(l.young()) && l.isYoung(ctx, u.user):
		u.refused = true
		u.takeBack(ctx)
	default:
		u.counted = true
	}
	if u.refused {
		l.set.refused.WithLabelValues(l.kind).Inc()
	}
}

// count returns the position of the write in its hour, or 0 above the limit.
func (u *Use) count(ctx context.Context) (n int64, err error) {
	l := u.limit
	answer, err := l.set.take.Run(ctx, l.set.cfg.Redis, []string{l.key(u.user)}, l.perHour, Window.Milliseconds()).Int64Slice()
	if err != nil {
		return 0, fmt.Errorf("count %s of user %d: %w", l.kind, u.user, err)
	}
	if len(answer) != 2 {
		return 0, fmt.Errorf("count %s of user %d: got %d numbers, want 2", l.kind, u.user, len(answer))
	}
	u.wait = time.Duration(answer[1]) * time.Millisecond
	return answer[0], nil
}

func (u *Use) takeBack(ctx context.Context) {
	l := u.limit
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := l.set.release.Run(ctx, l.set.cfg.Redis, []string{l.key(u.user)}).Err(); err != nil {
		l.set.failures.Record(ctx, doingRelease, err)
	}
}

// Wait returns nil if the write may be stored. Otherwise it returns an [apierror.UserErrors]
// with [LimitReached] and the time until the next write. It may be called again.
func (u *Use) Wait() error {
	if u == nil {
		return nil
	}
	<-u.done
	if !u.refused {
		return nil
	}
	return apierror.UserErrors{{
		Code: LimitReached, Message: fmt.Sprintf("You have reached the hourly limit for %s. Try again in %s.", u.limit.kind, minutes(u.wait)), RetryAfter: u.wait,
	}}
}

// minutes rounds a wait up to whole minutes.
func minutes(wait time.Duration) string {
	if n := int((wait + time.Minute - 1) / time.Minute); n > 1 {
		return fmt.Sprintf("%d minutes", n)
	}
	return "a minute"
}

// Release uncounts the write, because it was not stored. Only the first call has an effect, and
// none for a refused write. It ignores the cancellation of ctx.
func (u *Use) Release(ctx context.Context) {
	if u == nil || u.released {
		return
	}
	<-u.done
	u.released = true
	if u.counted {
		u.takeBack(ctx)
	}
}
