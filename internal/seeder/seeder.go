package seeder

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/progress"
	"github.com/tandian-dev/tandian/internal/shop"
)

// MaxShops bounds how many shops a region can have.
const MaxShops = 10_000_000

const (
	seedChunk = 10_000 // drafts per transaction

	maxPerCell = 50_000 // shops in one geohash-4 cell: half of what a GEO key may hold
	cellLng    = 360.0 / 1024
	cellLat    = 180.0 / 1024

	regionLat, regionLng   = 30.2448, 120.1510 // the centre of the demo town
	regionHigh, regionWide = 7.0, 8.0          // degrees

	// towns is how many towns share a region. Town r of them, from 1, draws
	// about tail·r^-(1+tail) of the shops: towns of a country are distributed
	// like that (Zipf's law), with a somewhat heavier head here, so that a
	// small seed is a dense town already.
	towns = 4096
	tail  = 0.9
)

// A Plan says what a seed makes.
type Plan struct {
	Users, Shops int
	Notes        int // by the users, about the shops
	Follows      int // among the users
	CheckIns     int // users who check in on some of the days before today
	Visits       int // to the site and its shops, on the days before today
	Today        civil.Date
	Pictures     bool   // whether shops, types, users and notes have any
	Seed         uint64 // decides what is made: the same one makes the same
	Tokens       string // the file to write a session for each user into; "" for none
}

// Check returns what is wrong with a plan.
func (p Plan) Check() error {
	for _, part := range []struct {
		what    string
		n, most int
	}{{"users", p.Users, MaxUsers}, {"shops", p.Shops, MaxShops}, {"notes", p.Notes, MaxNotes}, {"follows", p.Follows, MaxFollows}, {"check-ins", p.CheckIns, MaxUsers}, {"visits", p.Visits, MaxVisits}} {
		if part.n < 0 || part.n > part.most {
			return fmt.Errorf("seed %d %s: the number must lie between 0 and %d", part.n, part.what, part.most)
		}
	}
	switch {
	case p.Tokens != "" && p.Users == 0:
		return errors.New("tokens are for users; how many?")
	case p.Notes > 0 && p.Users == 0:
		return errors.New("notes are written by users; how many?")
	case p.Notes > 0 && p.Shops == 0:
		return errors.New("notes are about shops; how many?")
	case p.CheckIns > p.Users:
		return fmt.Errorf("seed check-ins of %d users: there are %d", p.CheckIns, p.Users)
	case p.Visits > 0 && p.Shops == 0:
		return errors.New("visits are to shops; how many?")
	case p.Follows > 0 && p.Users < 2:
		return errors.New("nobody follows himself: follows are for 2 users or more")
	case p.Follows > possibleFollows(p.Users):
		return fmt.Errorf("seed %d follows: %d users can have %d", p.Follows, p.Users, possibleFollows(p.Users))
	}
	return nil
}

// Seed stores the first users and shops of a seed, in transactions of 10 000, then
// who of the users follow each other, and what they write about the shops and like of
// it, and writes the progress and tallies to out. Shops that are new belong to the
// merchant among the users, if there is one. Follows come before notes: so what people
// write is new to those who follow them.
//
// What is stored already of the same seed stays, and its shops are updated: a seed can
// be repeated after an error, and grown by larger numbers. Follows, and the authors,
// shops and likes of new notes, are drawn among the users and shops of the plan: with
// more of these, some are others, which are added to those that are there. It refuses a
// plan that [Plan.Check] does.
func Seed(ctx context.Context, rooms Services, plan Plan, out io.Writer) error {
	if err := plan.Check(); err != nil {
		return err
	}
	var drawn *drawing.Album
	if plan.Pictures {
		drawn = drawing.NewAlbum(rooms.Pictures)
	}
	if err := drawn.AddIcons(ctx, rooms.Icons); err != nil {
		return err
	}
	var users []int64
	var merchant int64
	if plan.Users > 0 {
		var err error
		if users, err = seedPeople(ctx, rooms.Accounts, plan, drawn, out); err != nil {
			return err
		}
	}
	if len(users) > seedMerchant {
		merchant = users[seedMerchant]
	}
	shops, err := seedShops(ctx, rooms.Shops, plan, merchant, drawn, out)
	if err != nil {
		return err
	}
	if plan.Follows > 0 {
		if err := seedFollows(ctx, rooms.Follows, plan, users, out); err != nil {
			return err
		}
	}
	if plan.Notes > 0 {
		if err := seedNotes(ctx, rooms, plan, users, shops, drawn, out); err != nil {
			return err
		}
	}
	if plan.CheckIns > 0 {
		if err := seedCheckIns(ctx, rooms.CheckIns, plan, users, out); err != nil {
			return err
		}
	}
	if plan.Visits > 0 {
		return seedVisits(ctx, rooms.Visits, plan, users, shops, out)
	}
	return nil
}

// seedShops stores the shops of a plan. It returns their ids, in their order, if the
// plan has notes or visits.
func seedShops(ctx context.Context, into Shops, plan Plan, owner int64, drawn *drawing.Album, out io.Writer) (ids []int64, err error) {
	bar := progress.New(out, "shops", plan.Shops)
	defer bar.Close()
	var tally shop.SaveCounts
	for chunk := range chunks(GenerateShops(plan.Shops, plan.Seed), seedChunk) {
		done := tally.Total()
		motifs := make([]drawing.Motif, len(chunk))
		for i := range chunk {
			chunk[i].OwnerID, motifs[i] = owner, drawing.ShopMotif(chunk[i].Type, done+i)
		}
		if err := drawn.Fill(ctx, motifs...); err != nil {
			return nil, err
		}
		for i := range chunk {
			chunk[i].Images = drawn.List(motifs[i])
		}
		t, err := into.Upsert(ctx, chunk, func(more int) { bar.Set(done + more) })
		if err == nil && plan.Notes+plan.Visits > 0 {
			ids, err = appendIDs(ctx, into, ids, chunk)
		}
		if err != nil {
			return nil, fmt.Errorf("seed shops %d to %d of %d: %w", done, done+len(chunk), plan.Shops, err)
		}
		tally = tally.Add(t)
		bar.Set(tally.Total())
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d added, %d changed, %d unchanged\n", tally.Added, tally.Changed, tally.Unchanged); err != nil {
		return nil, fmt.Errorf("seed: print the tally: %w", err)
	}
	return ids, nil
}

// appendIDs appends the ids of shops that were stored.
func appendIDs(ctx context.Context, from Shops, ids []int64, stored []shop.Draft) ([]int64, error) {
	names := make([]string, len(stored))
	for i, d := range stored {
		names[i] = d.ExternalID
	}
	found, err := from.IDsOf(ctx, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if found[name] == 0 {
			return nil, fmt.Errorf("shop %s vanished", name)
		}
		ids = append(ids, found[name])
	}
	return ids, nil
}

// GenerateShops yields n synthetic shops around the demo town, clustered in towns
// whose sizes follow a power law. The same seed always gives the same shops,
// and a smaller n the first of those of a larger one: growing a region only
// adds shops. At most 50 000 of them lie in one geohash-4 cell (0.3515625° of
// longitude by 0.17578125° of latitude). External ids are seed:SEED:INDEX.
// More than [MaxShops] shops are not yielded.
func GenerateShops(n int, seed uint64) iter.Seq[shop.Draft] {
	return func(yield func(shop.Draft) bool) {
		r := newRegion(seed)
		for i := range min(n, MaxShops) {
			if !yield(r.next(i)) {
				return
			}
		}
	}
}

type cell struct{ x, y int }

// A region is a walk over the shops of a seed.
type region struct {
	seed   uint64
	source *rand.PCG
	rnd    *rand.Rand // of the shop in hand
	filled map[cell]int
	towns  [towns + 1]seedTown // by rank; made when first drawn
	draws  []*kindWords        // each as often as its weight
}

func newRegion(seed uint64) *region {
	source := rand.NewPCG(seed, 0)
	r := &region{
		seed: seed, source: source, rnd: rand.New(source),
		filled: make(map[cell]int),
	}
	for i := range seedKinds {
		for range seedKinds[i].weight {
			r.draws = append(r.draws, &seedKinds[i])
		}
	}
	return r
}

// next makes shop i. It depends on the shops before it only through cells
// that are full.
func (r *region) next(i int) shop.Draft {
	r.source.Seed(r.seed, uint64(i)+towns+1)
	t, lat, lng := r.place()
	k := pick(r.rnd, r.draws)
	return shop.Draft{
		ExternalID: fmt.Sprintf("seed:%d:%d", r.seed, i),
		Type:       k.key,
		Name:       r.name(k),
		Area:       t.name + " " + t.quarter(lat, lng),
		Address:    r.address(),
		Lat:        lat,
		Lng:        lng,
		AvgPrice:   r.price(k),
		Score:      r.score(),
		OpenHours:  pick(r.rnd, k.hours),
	}
}

// place finds a town and a spot in it whose cell has room.
func (r *region) place() (at *seedTown, lat, lng float64) {
	for {
		rank := math.Pow(1-r.rnd.Float64(), -1/tail) // Pareto, from 1
		if rank >= towns+1 {
			continue
		}
		at = &r.towns[int(rank)]
		if at.name == "" {
			*at = townOf(r.seed, int(rank))
		}
		lat = micro(at.lat + r.rnd.NormFloat64()*at.spread)
		lng = micro(at.lng + r.rnd.NormFloat64()*at.spread/math.Cos(at.lat*math.Pi/180))
		c := cell{int(math.Floor((lng + 180) / cellLng)), int(math.Floor((lat + 90) / cellLat))}
		if r.filled[c] < maxPerCell {
			r.filled[c]++
			return at, lat, lng
		}
	}
}

// micro rounds to a millionth of a degree, about a hand's breadth.
func micro(degrees float64) float64 { return math.Round(degrees*1e6) / 1e6 }

// A seedTown is one town of a region.
type seedTown struct {
	name     string
	lat, lng float64
	spread   float64 // standard deviation of its shops' latitudes, degrees
}

// townOf makes the town of a rank; rank 1 is the largest and lies in the
// centre of the region.
func townOf(seed uint64, rank int) seedTown {
	rnd := rand.New(rand.NewPCG(seed, uint64(rank)))
	t := seedTown{
		name:   pick(rnd, townFirst) + pick(rnd, townLast),
		lat:    regionLat,
		lng:    regionLng,
		spread: 0.035 * math.Pow(float64(rank), -0.2),
	}
	if rank > 1 {
		t.lat += (rnd.Float64() - 0.5) * regionHigh
		t.lng += (rnd.Float64() - 0.5) * regionWide
	}
	return t
}

// quarter names the part of the town in which a spot lies.
func (t *seedTown) quarter(lat, lng float64) string {
	north, east := lat-t.lat, (lng-t.lng)*math.Cos(t.lat*math.Pi/180)
	switch {
	case math.Hypot(north, east) < t.spread*0.7:
		return "Old Town 老城"
	case math.Abs(north) > math.Abs(east) && north > 0:
		return "North 城北"
	case math.Abs(north) > math.Abs(east):
		return "South 城南"
	case east > 0:
		return "East 城东"
	default:
		return "West 城西"
	}
}

// name draws a Chinese name, an English one, or both.
func (r *region) name(k *kindWords) string {
	first, noun := pick(r.rnd, shopFirst), pick(r.rnd, k.nouns)
	chinese, english := first.chinese+noun.chinese, first.english+" "+noun.english
	switch p := r.rnd.IntN(100); {
	case p < 40:
		return chinese
	case p < 75:
		return english
	default:
		return chinese + " " + english
	}
}

func (r *region) address() string {
	street := pick(r.rnd, seedStreets)
	number := 1 + r.rnd.IntN(240)
	if r.rnd.IntN(2) == 0 {
		return fmt.Sprintf("%s%d号", street.chinese, number)
	}
	return fmt.Sprintf("%d %s", number, street.english)
}

// price draws a log-normal price in whole units around what is usual for the
// kind; one in twelve is unknown.
func (r *region) price(k *kindWords) *int {
	if r.rnd.IntN(12) == 0 {
		return nil
	}
	p := 100 * int(math.Round(k.price*math.Exp(r.rnd.NormFloat64()*0.4)))
	return &p
}

// score draws a score with one decimal; one in twenty has none yet.
func (r *region) score() float64 {
	if r.rnd.IntN(20) == 0 {
		return 0
	}
	s := min(max(4.1+r.rnd.NormFloat64()*0.45, 2.4), 5)
	return math.Round(s*10) / 10
}

func pick[T any](rnd *rand.Rand, of []T) T { return of[rnd.IntN(len(of))] }
