package clock

import (
	"context"
	"time"
)

// SplitDeadline returns one context for what may be given up with a request, and one for what may
// not: a commit that succeeds unheard would be told by nobody. Each has its limit. cancel
// ends both.
func SplitDeadline(ctx context.Context, givenUp, kept time.Duration) (request, whole context.Context, cancel func()) {
	whole, cancelWhole := context.WithTimeout(context.WithoutCancel(ctx), kept)
	request, cancelRequest := context.WithTimeout(ctx, givenUp)
	return request, whole, func() { cancelRequest(); cancelWhole() }
}
