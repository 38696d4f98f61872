package door

import (
	"context"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
)

// Ids that name nothing are what no cache holds: each is a question for the
// stores (the field calls it cache penetration), and there are any number of them.
// A client that follows what it was shown meets few. Whether a read ends in
// nothing is known only afterwards, so a resolver asks before it reads, and says
// afterwards what was absent:
//
//	if wait, ok := door.MayRead(ctx); !ok {
//		door.CountRefusal(ctx, wait)
//		return nil, rateLimited(wait)
//	}
//	v, err := read(ctx, id)
//	if errors.Is(err, errNotFound) {
//		door.CountAbsent(ctx, 1)
//	}

// AllowRead says whether the caller of the operation that ctx belongs to may read
// by an id that it names, and if not, how long until it may. It may not while as
// many of its reads as [Limits].AbsentReads ended in nothing within a minute. Reads
// that run at once may go beyond that together; the surplus, up to as many again, is
// waited for too. A caller is a user, or else a client network. Where there is no
// operation, everything may be read.
func AllowRead(ctx context.Context) (wait time.Duration, ok bool) {
	c := callerOf(ctx)
	if c.server == nil {
		return 0, true
	}
	wait, ok = c.server.absent.Left(c.key)
	if !ok {
		broadcast.MarkPersonal(ctx) // another caller may
	}
	return wait, ok
}

// RecordRefusal counts, in tandian_door_refused_total, that the caller of the operation that
// ctx belongs to was told that it may not.
func RecordRefusal(ctx context.Context, wait time.Duration) {
	if c := callerOf(ctx); c.server != nil {
		c.server.metrics.refuse(tooMany(wait))
	}
}

// RecordNotFound says that n reads of the caller of the operation that ctx belongs to
// ended in nothing.
func RecordNotFound(ctx context.Context, n int) {
	if c := callerOf(ctx); c.server != nil {
		c.server.absent.Spend(c.key, n)
	}
}
