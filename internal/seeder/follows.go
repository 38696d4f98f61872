package seeder

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"

	"github.com/tandian-dev/tandian/internal/follow"
	"github.com/tandian-dev/tandian/internal/kit/progress"
)

// MaxFollows is the maximum number of follows of a seed. Generating them needs about six
// bytes of memory each.
const MaxFollows = 50_000_000

const (
	// flatFollowed gives the numbers of followers an exponent of 2.2.
	flatFollowed = 1 - 1/1.2
	// flatFollowing lets some users follow a few times as many as others.
	flatFollowing = 0.6
)

// A Follow is a follow between two users of a seed, by their indexes in [GenerateUsers].
type Follow struct{ Follower, Followee int }

// possibleFollows returns the maximum number of follows among users.
func possibleFollows(users int) int { return users * max(0, min(follow.MaxFollowees, users-1)) }

// GenerateFollows yields n distinct follows among users. No user follows themself or more
// than [follow.MaxFollowees] others. The numbers of followers follow a power law. The
// same seed and number of users yield the same follows; a smaller n yields a prefix. It
// yields at most [MaxFollows] and at most as many as are possible.
func GenerateFollows(n, users int, seed uint64) iter.Seq[Follow] {
	return func(yield func(Follow) bool) {
		p := followPairs(users, seed)
		for range min(n, MaxFollows, possibleFollows(users)) {
			follower, followee := p.next()
			if !yield(Follow{userOfRank(follower, users), userOfRank(followee, users)}) {
				return
			}
		}
	}
}

// followPairs draws the ranks of followers and followees.
func followPairs(users int, seed uint64) pairs {
	return pairs{
		rnd: rand.New(rand.NewPCG(seed, ^uint64(1))), flatFirst: flatFollowing, flatSecond: flatFollowed,
		seconds: users, limit: min(follow.MaxFollowees, users-1), unequal: true, taken: make([][]int32, users),
	}
}

// seedFollows stores the follows of a plan.
func seedFollows(ctx context.Context, into Follows, plan Plan, users []int64, out io.Writer) error {
	bar := progress.New(out, "follows", plan.Follows)
	defer bar.Close()
	done, added := 0, 0
	for chunk := range chunks(GenerateFollows(plan.Follows, plan.Users, plan.Seed), seedChunk) {
		drafts := make([]follow.Draft, len(chunk))
		for i, b := range chunk {
			drafts[i] = follow.Draft{Follower: users[b.Follower], Followee: users[b.Followee]}
		}
		more, err := into.BulkInsert(ctx, drafts)
		if err != nil {
			return fmt.Errorf("seed follows %d to %d of %d: %w", done, done+len(chunk), plan.Follows, err)
		}
		done, added = done+len(chunk), added+more
		bar.Set(done)
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d follows added, %d unchanged\n", added, done-added); err != nil {
		return fmt.Errorf("print the totals of follows: %w", err)
	}
	return nil
}
