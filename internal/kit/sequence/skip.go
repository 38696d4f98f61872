package sequence

import (
	"context"
	"fmt"
)

// skipPositions is the number of skipped positions: 64 largest segments, or 1/16 of a cycle.
const skipPositions = 64 * maxSize

// Skip skips positions that the database may have leased in lost commits, because a promoted
// standby has an old row. The processes that leased them may continue to use them. Call it in
// one process after each promotion; another call only wastes positions. It does not cover leases
// between the promotion and the call, nor more than four million lost positions.
//
// Skip first raises the ceiling above that of any lost lease. So if the skipped positions end a
// cycle, the next cycle begins after all of them.
func (s *Sequence) Skip(ctx context.Context) error {
	for _, size := range []int64{minSize, skipPositions} {
		if err := s.discard(ctx, size); err != nil {
			return fmt.Errorf("skip numbers of %s: %w", s.o.Name, err)
		}
	}
	return nil
}

// discard leases positions without using them.
func (s *Sequence) discard(ctx context.Context, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	_, err := s.leaseRow(ctx, size)
	return err
}
