package account

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/ent"
	entuser "github.com/tandian-dev/tandian/ent/user"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

func countsOf(r *ent.User) Counts {
	return Counts{FollowerCount: r.FollowerCount, FolloweeCount: r.FolloweeCount, NoteCount: r.NoteCount}
}

// AddCounts adds to what is counted of users, by id, negative numbers too, and zeroes,
// which only lock. Their rows, taken in the order of ids, stay locked until tx ends. It
// returns what each has then; users that do not exist are missing. Whose followees
// are counted anew has another follow version too. After the commit the tickets go to
// [Service.Announce].
func (s *Service) AddCounts(ctx context.Context, tx *ent.Tx, more map[int64]Counts) (now map[int64]Counts, tickets []outbox.Ticket, err error) {
	ids := slices.Sorted(maps.Keys(more))
	if len(ids) == 0 {
		return nil, nil, nil
	}
	lock := tx.User.Query().Where(entuser.IDIn(ids...)).Order(entuser.ByID()) // in one order, lest two of them wait for each other
	lock.Modify(store.ForUpdate)
	rows, err := lock.All(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("lock %d users: %w", len(ids), err)
	}
	now = make(map[int64]Counts, len(rows))
	same := map[Counts][]int64{}
	for _, r := range rows {
		add, has := more[r.ID], countsOf(r)
		now[r.ID] = Counts{has.FollowerCount + add.FollowerCount, has.FolloweeCount + add.FolloweeCount, has.NoteCount + add.NoteCount}
		if add != (Counts{}) {
			same[add] = append(same[add], r.ID)
		}
	}
	var changed []int64
	for add, some := range same {
		update := tx.User.Update().Where(entuser.IDIn(some...)).AddVersion(1).
			AddFollowerCount(add.FollowerCount).AddFolloweeCount(add.FolloweeCount).AddNoteCount(add.NoteCount)
		if add.FolloweeCount != 0 {
			update.AddFollowVersion(1)
		}
		if err := update.Exec(ctx); err != nil {
			return nil, nil, fmt.Errorf("update %d users: %w", len(some), err)
		}
		changed = append(changed, some...)
	}
	slices.Sort(changed)
	tickets, err = outbox.AddBatch(ctx, s.outbox, tx, usersChanged, changed...)
	return now, tickets, err
}
