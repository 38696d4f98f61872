package ratingtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

// The centre of the town. Its shops are within about 8 km.
const townLat, townLng = 30.2, 120.1

// sales is the number of paid orders before the load.
const sales = 40

// town creates shops that each filter selects or not.
type town struct {
	api     *api
	world   *faulttest.World
	choices *rand.Rand

	types []string // global ids
	shops []string // global ids; the first one gets most ratings
}

func (t *town) build(ctx context.Context) error {
	merchant := t.world.People()[1]
	var seen struct{ ShopTypes []struct{ ID string } }
	if err := t.api.call(ctx, 0, merchant, "types", nil, &seen); err != nil {
		return err
	}
	for _, s := range seen.ShopTypes[:3] {
		t.types = append(t.types, s.ID)
	}
	var vouchers []string
	for i := range shops {
		made, err := t.api.change(ctx, i%servers, merchant, "createshop", vars{"input": t.shop(i)})
		if err != nil {
			return err
		}
		t.shops = append(t.shops, made.Shop.ID)
		offer := vars{"shopId": made.Shop.ID, "title": "Lunch", "payValue": 900, "faceValue": 1000}
		if i%3 == 0 {
			made, err := t.api.change(ctx, i%servers, merchant, "createvoucher", vars{"input": offer})
			if err != nil {
				return err
			}
			vouchers = append(vouchers, made.Voucher.ID)
		}
		if i%5 == 0 {
			offer["stock"], offer["beginsAt"], offer["endsAt"] = 100, clockText(-time.Minute), clockText(time.Hour)
			if i%10 == 0 { // it ends soon
				offer["endsAt"] = clockText(20 * time.Second)
			}
			if _, err := t.api.change(ctx, i%servers, merchant, "createsale", vars{"input": offer}); err != nil {
				return err
			}
		}
	}
	return t.sell(ctx, vouchers)
}

func clockText(from time.Duration) string { return time.Now().Add(from).UTC().Format(time.RFC3339) }

// shop returns the input of a shop.
func (t *town) shop(i int) vars {
	s := vars{
		"name": fmt.Sprintf("Shop %d", i), "typeId": t.types[i%len(t.types)], "address": fmt.Sprintf("%d Long Street", i),
		"location": vars{"lat": townLat + t.choices.Float64()*0.12 - 0.06, "lng": townLng + t.choices.Float64()*0.12 - 0.06},
		"timeZone": []string{"Asia/Shanghai", "Europe/Berlin", "America/New_York"}[t.choices.IntN(3)],
	}
	if t.choices.IntN(5) > 0 {
		s["avgPrice"] = 500 * (1 + t.choices.IntN(40))
	}
	if t.choices.IntN(4) > 0 {
		opens, long := t.choices.IntN(24), 1+t.choices.IntN(20)
		s["openHours"] = fmt.Sprintf("Mo-Su %02d:%02d-%02d:00", opens, 15*t.choices.IntN(4), (opens+long)%24)
	}
	return s
}

// sell pays orders of vouchers.
func (t *town) sell(ctx context.Context, vouchers []string) error {
	people := t.world.People()[2:]
	for i := range sales {
		buyer := people[i%len(people)]
		made, err := t.api.change(ctx, i%servers, buyer, "order", vars{"id": vouchers[t.choices.IntN(len(vouchers))]})
		if err != nil {
			return err
		}
		for tries := 0; ; tries++ { // the order may be queued
			if _, err = t.api.change(ctx, i%servers, buyer, "pay", vars{"id": made.Order.ID}); err == nil || tries == 20 {
				break
			}
			if err := clock.Sleep(ctx, agreeInterval); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}
