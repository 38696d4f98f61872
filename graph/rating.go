package graph

import (
	"context"

	"github.com/tandian-dev/tandian/internal/rating"
)

// ratings reads ratings in the order of pairs, nil for those that do not exist. User 0 has none.
func (r *Resolver) ratings(ctx context.Context, pairs []rating.Pair) ([]*rating.Rating, error) {
	found, err := r.services.Ratings.ByPairs(ctx, pairs)
	if err != nil {
		return nil, err
	}
	return convert(pairs, func(p rating.Pair) *rating.Rating { return found[p] }), nil
}
