package ent

import "iter"

// Written by hand, unlike its neighbours.

// idBatch is how many ids AllIDs reads at a time.
const idBatch = 5000

// AllIDs yields the ids of a table in ascending order, whatever their number: read
// returns up to limit of them above after. It ends with the first error.
func AllIDs(read func(after int64, limit int) ([]int64, error)) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		var last int64
		for {
			ids, err := read(last, idBatch)
			if err != nil {
				yield(0, err)
				return
			}
			for _, id := range ids {
				if !yield(id, nil) {
					return
				}
			}
			if len(ids) < idBatch {
				return
			}
			last = ids[len(ids)-1]
		}
	}
}
