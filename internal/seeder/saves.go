package seeder

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"

	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/save"
)

// MaxSaves is the maximum number of saves of a seed. Generating them needs about six bytes
// of memory each.
const MaxSaves = 10_000_000

const (
	flatSaving = 0.6 // some users save a few times as many shops as others
	saveBatch  = 5000
)

// A Save is a shop that a user saved in a seed. User and shop are indexes in [GenerateUsers]
// and [GenerateShops].
type Save struct{ User, Shop int }

// GenerateSaves yields n distinct saves of shops by users. Some shops have many saves, most
// have few. The same seed and numbers of users and shops yield the same saves; a smaller n
// yields a prefix. It yields at most [MaxSaves] and at most as many as are possible.
func GenerateSaves(n, users, shops int, seed uint64) iter.Seq[Save] {
	return func(yield func(Save) bool) {
		p := pairs{rnd: rand.New(rand.NewPCG(seed, ^uint64(3))), flatFirst: flatSaving, flatSecond: flatVisited, seconds: shops, limit: shops, taken: make([][]int32, users)}
		for range min(n, MaxSaves, users*shops) {
			rank, shop := p.next()
			if !yield(Save{userOfRank(rank, users), shop}) {
				return
			}
		}
	}
}

// seedSaves stores the saves of a plan.
func seedSaves(ctx context.Context, into Saves, plan Plan, users, shops []int64, out io.Writer) error {
	bar := progress.New(out, "saves", plan.Saves)
	defer bar.Close()
	at := moments(plan.Saves)
	done, added := 0, 0
	for chunk := range chunks(GenerateSaves(plan.Saves, plan.Users, plan.Shops, plan.Seed), saveBatch) {
		seeds := make([]save.Seed, len(chunk))
		for i, s := range chunk {
			seeds[i] = save.Seed{Target: shops[s.Shop], User: users[s.User], CreatedAt: at(done+i, 0)}
		}
		more, err := into.BulkInsert(ctx, seeds)
		if err != nil {
			return fmt.Errorf("seed saves %d to %d of %d: %w", done, done+len(chunk), plan.Saves, err)
		}
		done, added = done+len(chunk), added+more
		bar.Set(done)
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d saves added, %d unchanged\n", added, done-added); err != nil {
		return fmt.Errorf("print the totals of saves: %w", err)
	}
	return nil
}
