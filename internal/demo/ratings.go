package demo

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/rating"
	"github.com/tandian-dev/tandian/internal/save"
	"github.com/tandian-dev/tandian/internal/seeder"
)

const (
	guests     = 72                  // users that only rate and save
	ratingSpan = 42 * 24 * time.Hour // the age of the oldest rating
	goodStars  = 4                   // of a shop that users may save
	saving     = 3                   // one of so many good ratings and likes is a save
)

// guestDrafts returns the guests.
func guestDrafts() (drafts []account.Draft) {
	for d := range seeder.GenerateUsers(guests, 1) {
		drafts = append(drafts, account.Draft{
			ExternalID: fmt.Sprintf("demo:guest-%d", len(drafts)+1), Nickname: d.Nickname, Role: account.Customer, Bio: d.Bio,
		})
	}
	return drafts
}

// ratings stores the ratings of the authors of notes, and those of the file by random other
// users. The customer rates no shop.
func (d *loader) ratings(ctx context.Context) error {
	type pair struct{ user, shop string }
	rnd := rand.New(rand.NewPCG(2, 0))
	authors := map[pair]bool{}
	for _, n := range d.file.Notes {
		authors[pair{n.Author, n.Shop}] = true
		if err := d.rate(rnd, n.Author, n.Shop, n.Stars, d.ago(n.HoursAgo)); err != nil {
			return err
		}
	}
	users := slices.Sorted(maps.Keys(d.users))
	for _, shop := range slices.Sorted(maps.Keys(d.file.Ratings)) {
		others := slices.DeleteFunc(slices.Clone(users), func(name string) bool { return name == customerName || authors[pair{name, shop}] })
		rnd.Shuffle(len(others), func(i, k int) { others[i], others[k] = others[k], others[i] })
		for i, n := range d.file.Ratings[shop] {
			for _, user := range others[:n] {
				if err := d.rate(rnd, user, shop, i+1, d.now.Add(-time.Duration(rnd.Int64N(int64(ratingSpan))))); err != nil {
					return err
				}
			}
			others = others[n:]
		}
	}
	slices.SortStableFunc(d.rated, func(a, b rating.Seed) int { return a.CreatedAt.Compare(b.CreatedAt) })
	var err error
	d.done.Ratings, err = d.services.Ratings.BulkInsert(ctx, d.rated)
	return err
}

// rate adds a rating to those to store.
func (d *loader) rate(rnd *rand.Rand, user, shop string, stars int, at time.Time) error {
	id, err := d.shop(shop)
	if err != nil {
		return err
	}
	r := rating.Seed{Draft: rating.Draft{ShopID: id, Stars: stars}, UserID: d.users[user], CreatedAt: at}
	seeder.DrawAspects(rnd, &r.Draft)
	d.rated = append(d.rated, r)
	return nil
}

// saves lets users save some shops with good ratings of theirs and some notes that they like.
// The customer saves those of the file.
func (d *loader) saves(ctx context.Context) error {
	var shops, notes []save.Seed
	for i, r := range d.rated {
		if r.Stars >= goodStars && i%saving == 0 {
			shops = append(shops, save.Seed{Target: r.ShopID, User: r.UserID, CreatedAt: r.CreatedAt})
		}
	}
	for i, name := range d.file.Saved.Shops {
		id, err := d.shop(name)
		if err != nil {
			return err
		}
		shops = append(shops, save.Seed{Target: id, User: d.users[customerName], CreatedAt: d.ago(12 * (len(d.file.Saved.Shops) - i))})
	}
	for i, n := range d.file.Notes {
		var users []string
		for k, name := range n.Likes {
			if (i+k)%saving == 0 {
				users = append(users, name)
			}
		}
		if slices.Contains(d.file.Saved.Notes, n.Name) {
			users = append(users, customerName)
		}
		for k, name := range users {
			notes = append(notes, save.Seed{Target: d.noteIDs[i], User: d.users[name], CreatedAt: d.ago(n.HoursAgo - k - 1)})
		}
	}
	for _, kind := range []struct {
		saves []save.Seed
		into  seeder.Saves
	}{{shops, d.services.ShopSaves}, {notes, d.services.NoteSaves}} {
		slices.SortStableFunc(kind.saves, func(a, b save.Seed) int { return a.CreatedAt.Compare(b.CreatedAt) })
		n, err := kind.into.BulkInsert(ctx, kind.saves)
		if err != nil {
			return err
		}
		d.done.Saves += n
	}
	return nil
}
