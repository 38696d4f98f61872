package flashsale

import (
	"context"
	"sync"
	"time"
)

const (
	bypassTTL     = 10 * time.Millisecond  // age up to which a result is reused
	bypassTimeout = 250 * time.Millisecond // of one query
)

// bypassCheck reports whether Redis lacks orders that were stored past it. A process that is
// cut off from Redis stores them, and Redis may then report "sold out" to their owners. It is
// safe for concurrent use, and concurrent callers share a query.
type bypassCheck struct {
	query func(ctx context.Context) (bool, error) // reports jobs of topicReserve; the transactions of such orders insert them

	mu      sync.Mutex
	checked time.Time
	found   bool
}

// pending reports whether there are such orders. On an error it also returns the previous
// result.
func (c *bypassCheck) pending(ctx context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.checked) < bypassTTL {
		return c.found, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bypassTimeout)
	defer cancel()
	found, err := c.query(ctx)
	c.checked = time.Now()
	if err == nil {
		c.found = found
	}
	return c.found, err
}
