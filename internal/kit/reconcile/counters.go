package reconcile

import "context"

// Counters compares counters in pages of a size. The function read returns up to most of
// them behind an id, in the order of ids, counted in the statement that reads them; look
// says whose one is and, in words, how it differs, "" if it does not; mend sets one to
// what the rows say, under a lock, after it has counted them again.
func Counters[C any](ctx context.Context, r *Run, size int,
	read func(ctx context.Context, after int64, most int) ([]C, error), look func(C) (id int64, differs string), mend func(ctx context.Context, id int64) error,
) error {
	for after, n := int64(0), size; n == size; {
		page, err := read(ctx, after, size)
		if err != nil {
			return err
		}
		if n = len(page); n == 0 {
			return nil
		}
		after, _ = look(page[n-1])
		if err := r.Compare(ctx, n); err != nil {
			return err
		}
		for _, c := range page {
			id, differs := look(c)
			if differs == "" {
				continue
			}
			r.Report(differs)
			if r.DryRun {
				continue
			}
			if err := mend(ctx, id); err != nil {
				return err
			}
			r.CountRepaired(1)
		}
	}
	return nil
}
