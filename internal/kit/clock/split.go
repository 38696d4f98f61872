package clock

import (
	"context"
	"time"
)

// SplitDeadline returns one context for what may be given up with a request, and one for what may
// not: a commit that succeeds unheard would be told by nobody. Each has its limit. cancel
// ends both.
func SplitDeadline(ctx context.Context, requestTimeout, detachedTimeout time.Duration) (request, detached context.Context, cancel func()) {
	detached, cancelDetached := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
	request, cancelRequest := context.WithTimeout(ctx, requestTimeout)
	return request, detached, func() { cancelRequest(); cancelDetached() }
}
