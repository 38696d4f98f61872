package clock

import (
	"context"
	"time"
)

// SplitDeadline returns two contexts. request ends with ctx or after requestTimeout. detached
// ends only after detachedTimeout, for work that must follow a successful commit. cancel ends
// both.
func SplitDeadline(ctx context.Context, requestTimeout, detachedTimeout time.Duration) (request, detached context.Context, cancel func()) {
	detached, cancelDetached := context.WithTimeout(context.WithoutCancel(ctx), detachedTimeout)
	request, cancelRequest := context.WithTimeout(ctx, requestTimeout)
	return request, detached, func() { cancelRequest(); cancelDetached() }
}
