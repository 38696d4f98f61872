package paging

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// cursor is the position of a reader. The zero value requests the first page.
type cursor struct {
	score  float64 // of the last shown entry; 0 if none was shown
	offset int64   // entries to skip
}

// way is a way to page through a feed.
type way struct {
	name  string
	score func(n note) float64
	page  func(ctx context.Context, c redis.Cmdable, key string, at cursor) *redis.ZSliceCmd
	after func(at cursor, page []redis.Z) cursor // cursor after a full page
}

func (w way) entry(n note) redis.Z { return redis.Z{Score: w.score(n), Member: n.member()} }

func ways() []way {
	return []way{
		{"offset", bySeq, fromOffset, func(at cursor, _ []redis.Z) cursor { return cursor{offset: at.offset + perPage} }},
		{"(max, offset)", byTime, fromScoreOn, pageOffset},
		{"(max, offset), added up", byTime, fromScoreOn, totalOffset},
		{"score = snowflake as float64", byID, belowScore, lastScore},
		{"score = number of publishing", bySeq, belowScore, lastScore},
	}
}

func bySeq(n note) float64  { return float64(n.seq) }
func byTime(n note) float64 { return float64(n.ms) }

// byID loses the low 8 bits: current ids are above 2^60, and a float64 has 53 bits.
func byID(n note) float64 { return float64(n.id) }

// fromOffset counts from the newest entry.
func fromOffset(ctx context.Context, c redis.Cmdable, key string, at cursor) *redis.ZSliceCmd {
	return c.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{Key: key, Start: at.offset, Stop: at.offset + perPage - 1, Rev: true})
}

// fromScoreOn is ZREVRANGEBYSCORE key max -inf LIMIT offset count.
func fromScoreOn(ctx context.Context, c redis.Cmdable, key string, at cursor) *redis.ZSliceCmd {
	return down(ctx, c, key, "", at)
}

// belowScore is ZREVRANGEBYSCORE key (max -inf LIMIT 0 count.
func belowScore(ctx context.Context, c redis.Cmdable, key string, at cursor) *redis.ZSliceCmd {
	return down(ctx, c, key, "(", at)
}

// down reads from a score, or below it, towards the oldest entry. The command is ZRANGE with
// REV and BYSCORE, which replaces ZREVRANGEBYSCORE since Redis 6.2.
func down(ctx context.Context, c redis.Cmdable, key, behind string, at cursor) *redis.ZSliceCmd {
	top := "+inf"
	if at.score > 0 {
		top = behind + decimal(at.score)
	}
	return c.ZRangeArgsWithScores(ctx, redis.ZRangeArgs{
		Key: key, ByScore: true, Rev: true, Start: top, Stop: "-inf", Offset: at.offset, Count: perPage,
	})
}

func decimal(score float64) string { return strconv.FormatFloat(score, 'f', -1, 64) }

func lastScore(_ cursor, page []redis.Z) cursor { return cursor{score: page[len(page)-1].Score} }

// pageOffset skips as many entries as the page has of its lowest score. If a score has more
// entries than two pages, the third page equals the second.
func pageOffset(_ cursor, page []redis.Z) cursor {
	next := lastScore(cursor{}, page)
	for _, z := range page {
		if z.Score == next.score {
			next.offset++
		}
	}
	return next
}

// totalOffset also skips the entries of earlier pages.
func totalOffset(at cursor, page []redis.Z) cursor {
	next := pageOffset(at, page)
	if next.score == at.score {
		next.offset += at.offset
	}
	return next
}
