package seeder

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"

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

	maxRedraws = 8 // of a duplicate, before the next user is taken
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
		b := followGenerator{rnd: rand.New(rand.NewPCG(seed, ^uint64(1))), followees: make([][]int32, users)}
		for range min(n, MaxFollows, possibleFollows(users)) {
			if !yield(b.next()) {
				return
			}
		}
	}
}

// A followGenerator yields the follows of a seed. At least one more follow must be
// possible.
type followGenerator struct {
	rnd       *rand.Rand
	followees [][]int32 // by follower; sorted
}

func (b *followGenerator) next() Follow {
	users := len(b.followees)
	follower := b.draw(flatFollowing)
	for len(b.followees[follower]) >= min(follow.MaxFollowees, users-1) {
		follower = (follower + 1) % users
	}
	list := b.followees[follower]
	followee := b.draw(flatFollowed)
	for tries := 1; ; tries++ {
		at, there := slices.BinarySearch(list, int32(followee))
		switch {
		case !there && followee != follower:
			b.followees[follower] = slices.Insert(list, at, int32(followee))
			return Follow{follower, followee}
		case tries < maxRedraws:
			followee = b.draw(flatFollowed)
		default: // the user follows nearly all popular users
			followee = (followee + 1) % users
		}
	}
}

func (b *followGenerator) draw(flat float64) int {
	n := len(b.followees)
	return userOfRank(rank(b.rnd, n, flat), n)
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
