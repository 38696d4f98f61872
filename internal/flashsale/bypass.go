package flashsale

import (
	"context"
	"sync"
	"time"
)

const (
	bypassTTL     = 10 * time.Millisecond  // that a look at the database counts
	bypassTimeout = 250 * time.Millisecond // of a look
)

// bypassCheck says whether pieces were sold past Redis of which it did not hear yet: by a
// process that is cut off from it, while this one is not. Then Redis may say of a holder's
// sale that all are sold. It is safe for concurrent use; those who ask at one moment share
// a look.
type bypassCheck struct {
	query func(ctx context.Context) (bool, error) // at the jobs of topicReserve, rows of the orders' own transactions

	mu      sync.Mutex
	checked time.Time
	found   bool
}

// pending reports whether there are any. Of an error it returns what was known before.
func (d *bypassCheck) pending(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.checked) < bypassTTL {
		return d.found, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), bypassTimeout)
	defer cancel()
	found, err := d.query(ctx)
	d.checked = time.Now()
	if err == nil {
		d.found = found
	}
	return d.found, err
}
