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

// MaxFollows bounds how many follows a seed can have. They are kept in memory while they
// are drawn, with about six bytes for each.
const MaxFollows = 50_000_000

const (
	// flatFollowed has how many follow somebody distributed with an exponent of 2.2.
	flatFollowed = 1 - 1/1.2
	// flatFollowing is for how many somebody follows: some follow a few times as many as
	// others do.
	flatFollowing = 0.6

	redraws = 8 // of one who is followed already, before the next one is taken
)

// A Follow is that a user of a seed follows another, both by their place among [GenerateUsers].
type Follow struct{ Follower, Followee int }

// possibleFollows is how many follows there can be among users.
func possibleFollows(users int) int { return users * max(0, min(follow.MaxFollowees, users-1)) }

// GenerateFollows yields n follows among users, each once: nobody follows himself, nor more than
// [follow.MaxFollowees] others. How many follow somebody is distributed by a power law.
// The same seed and number of users always give the same ones, and a smaller n the first
// of those of a larger one. More than [MaxFollows], or than there can be, are not yielded.
func GenerateFollows(n, users int, seed uint64) iter.Seq[Follow] {
	return func(yield func(Follow) bool) {
		b := bonds{rnd: rand.New(rand.NewPCG(seed, ^uint64(1))), followees: make([][]int32, users)}
		for range min(n, MaxFollows, possibleFollows(users)) {
			if !yield(b.next()) {
				return
			}
		}
	}
}

// bonds is a walk over the follows of a seed. There must be room for what is drawn next.
type bonds struct {
	rnd       *rand.Rand
	followees [][]int32 // sorted, by follower
}

func (b *bonds) next() Follow {
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
		case tries < redraws:
			followee = b.draw(flatFollowed)
		default: // who follows nearly all of those that many follow
			followee = (followee + 1) % users
		}
	}
}

func (b *bonds) draw(flat float64) int {
	n := len(b.followees)
	return ranked(rank(b.rnd, n, flat), n)
}

// seedFollows stores the follows of a plan among users.
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
		return fmt.Errorf("seed: print the tally: %w", err)
	}
	return nil
}
