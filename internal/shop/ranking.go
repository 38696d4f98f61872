package shop

import (
	"context"
	"errors"

	"github.com/tandian-dev/tandian/internal/kit/page"
)

// RankingKind is the kind of a ranking.
type RankingKind string

// Kinds of rankings.
const (
	Trending    RankingKind = "TRENDING"
	TopRated    RankingKind = "TOP_RATED"
	BestSelling RankingKind = "BEST_SELLING"
)

// Ranking returns a page of a ranking.
func (s *Service) Ranking(ctx context.Context, kind RankingKind, typeID int64, first int, after page.Cursor) (*Page, error) {
	return nil, errors.New("not implemented")
}
