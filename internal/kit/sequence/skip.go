package sequence

import (
	"context"
	"fmt"
)

// skipped is how many positions [Sequence.Skip] leaves out: as many as 64 of the largest
// segments have. A sixteenth of a cycle.
const skipped = 64 * maxSize

// Skip leaves out positions that were perhaps leased by commits that the database has
// lost: a standby took over that was behind, and has the row as it was. Whoever leased
// them may go on with them. It is for one process, after each promotion; repeating it only
// wastes positions. What was leased between the promotion and the call is not covered, nor
// more than four million lost positions.
//
// The ceiling is raised first, above that of any lost lease, so that a cycle that ends in
// what is left out begins behind all of them.
func (s *Sequence) Skip(ctx context.Context) error {
	for _, size := range []int64{minSize, skipped} {
		if err := s.leave(ctx, size); err != nil {
			return fmt.Errorf("skip numbers of %s: %w", s.o.Name, err)
		}
	}
	return nil
}

// leave leases positions that nobody uses.
func (s *Sequence) leave(ctx context.Context, size int64) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	_, err := s.ask(ctx, size)
	return err
}
