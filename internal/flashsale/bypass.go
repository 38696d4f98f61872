package flashsale

import (
	"context"
	"sync"
	"time"
)

const (
	detourFresh    = 10 * time.Millisecond  // that a look at the database counts
	detourPatience = 250 * time.Millisecond // of a look
)

// bypassCheck says whether pieces were sold past Redis of which it did not hear yet: by a
// process that is cut off from it, while this one is not. Then Redis may say of a holder's
// sale that all are sold. It is safe for concurrent use; those who ask at one moment share
// a look.
type bypassCheck struct {
	look func(ctx context.Context) (bool, error) // at the jobs of topicReserve, rows of the orders' own transactions

	mu  sync.Mutex
	at  time.Time
	any bool
}

// underWay reports whether there are any. Of an error it returns what was known before.
func (d *bypassCheck) underWay(ctx context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.at) < detourFresh {
		return d.any, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), detourPatience)
	defer cancel()
	found, err := d.look(ctx)
	d.at = time.Now()
	if err == nil {
		d.any = found
	}
	return d.any, err
}
