package reconcile

import "context"

// Counters compares counters in pages of the given size. The function read returns up to
// limit counters after an id, in the order of ids. The same statement counts their rows.
// check returns the id of a counter, and the difference, or "" if there is none. repair
// counts the rows again under a lock and sets the counter.
func Counters[C any](ctx context.Context, r *Run, size int,
	read func(ctx context.Context, after int64, limit int) ([]C, error), check func(C) (id int64, differs string), repair func(ctx context.Context, id int64) error,
) error {
	for after, n := int64(0), size; n == size; {
		page, err := read(ctx, after, size)
		if err != nil {
			return err
		}
		if n = len(page); n == 0 {
			return nil
		}
		after, _ = check(page[n-1])
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
		for _, c := range page {
			id, differs := check(c)
			if differs == "" {
				continue
			}
			r.Report(differs)
			if r.DryRun {
				continue
			}
			if err := repair(ctx, id); err != nil {
				return err
			}
			r.CountRepaired(1)
		}
	}
	return nil
}
