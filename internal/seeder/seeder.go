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

// MaxShops is the maximum number of shops of a seed.
const MaxShops = 10_000_000

const (
	seedChunk = 10_000 // drafts per transaction

	maxPerCell = 50_000 // shops in one geohash-4 cell; half of the limit of a GEO key
	cellLng    = 360.0 / 1024
	cellLat    = 180.0 / 1024

	regionLat, regionLng   = 30.2448, 120.1510 // the centre of the demo town
	regionHigh, regionWide = 7.0, 8.0          // degrees

	// towns is the number of towns. Town r, from 1, has about tail·r^-(1+tail) of the
	// shops, like the towns of a country (Zipf's law). The largest towns have larger
	// shares here, so that a small seed is a dense town.
	towns = 4096
	tail  = 0.9
)

// A Plan describes a seed.
type Plan struct {
	Users, Shops int
	Notes        int // by the users about the shops
	Follows      int // among the users
	Ratings      int // of the shops by the users
	Saves        int // of the shops by the users
	CheckIns     int // users with check-ins on some of the 30 days before Today
	Visits       int // to the site and its shops, in the 30 days before Today
	Today        civil.Date
	Pictures     bool   // of shops, shop types, users and notes
	Seed         uint64 // the same seed makes the same data
	Tokens       string // file for a session of each user; "" for none
}

// Check returns an error if the plan is invalid.
func (p Plan) Check() error {
	for _, part := range []struct {
		what     string
		n, limit int
	}{{"users", p.Users, MaxUsers}, {"shops", p.Shops, MaxShops}, {"notes", p.Notes, MaxNotes}, {"follows", p.Follows, MaxFollows}, {"ratings", p.Ratings, MaxRatings}, {"saves", p.Saves, MaxSaves}, {"check-ins", p.CheckIns, MaxUsers}, {"visits", p.Visits, MaxVisits}} {
		if part.n < 0 || part.n > part.limit {
			return fmt.Errorf("seed %d %s: the number must be 0 to %d", part.n, part.what, part.limit)
		}
	}
	switch {
	case p.Tokens != "" && p.Users == 0:
		return errors.New("tokens need users: set the number of users")
	case p.Notes > 0 && p.Users == 0:
		return errors.New("notes need users: set the number of users")
	case p.Notes > 0 && p.Shops == 0:
		return errors.New("notes need shops: set the number of shops")
	case p.Ratings+p.Saves > 0 && p.Users == 0:
		return errors.New("ratings and saves need users: set the number of users")
	case p.Ratings > possibleRatings(p.Users, p.Shops):
		return fmt.Errorf("seed %d ratings: %d users can rate %d shops %d times", p.Ratings, p.Users, p.Shops, possibleRatings(p.Users, p.Shops))
	case p.Saves > p.Users*p.Shops:
		return fmt.Errorf("seed %d saves: %d users can save %d shops %d times", p.Saves, p.Users, p.Shops, p.Users*p.Shops)
	case p.CheckIns > p.Users:
		return fmt.Errorf("seed check-ins of %d users: only %d users are seeded", p.CheckIns, p.Users)
	case p.Visits > 0 && p.Shops == 0:
		return errors.New("visits need shops: set the number of shops")
	case p.Follows > 0 && p.Users < 2:
		return errors.New("follows need at least 2 users")
	case p.Follows > possibleFollows(p.Users):
		return fmt.Errorf("seed %d follows: %d users can have %d", p.Follows, p.Users, possibleFollows(p.Users))
	}
	return nil
}

// Seed stores the data of a plan: users and shops in transactions of 10 000, then
// follows, notes with likes, ratings, saves, check-ins and visits. It writes progress and
// totals to out.
// New shops belong to the merchant among the users, if any. Follows precede notes, so
// that the notes are new to followers.
//
// Seed can be repeated after an error, or with larger numbers: stored data of the same
// seed stays, and its shops are updated. Follows, ratings, saves, and the authors, shops and
// likes of notes, depend on the numbers of users and shops. So larger numbers also add them
// between stored users, shops and notes. It returns the error of [Plan.Check]
// for an invalid plan.
func Seed(ctx context.Context, services Services, plan Plan, out io.Writer) error {
	if err := plan.Check(); err != nil {
		return err
	}
	var album *drawing.Album
	if plan.Pictures {
		album = drawing.NewAlbum(services.Pictures)
	}
	if err := album.AddIcons(ctx, services.Icons); err != nil {
		return err
	}
	var users []int64
	var merchant int64
	if plan.Users > 0 {
		var err error
		if users, err = seedUsers(ctx, services.Accounts, plan, album, out); err != nil {
			return err
		}
	}
	if len(users) > seedMerchant {
		merchant = users[seedMerchant]
	}
	shops, err := seedShops(ctx, services.Shops, plan, merchant, album, out)
	if err != nil {
		return err
	}
	for _, part := range []struct {
		n    int
		seed func() error
	}{
		{plan.Follows, func() error { return seedFollows(ctx, services.Follows, plan, users, out) }},
		{plan.Notes, func() error { return seedNotes(ctx, services, plan, users, shops.ids, album, out) }},
		{plan.Ratings, func() error { return seedRatings(ctx, services.Ratings, plan, users, shops, out) }},
		{plan.Saves, func() error { return seedSaves(ctx, services.ShopSaves, plan, users, shops.ids, out) }},
		{plan.CheckIns, func() error { return seedCheckIns(ctx, services.CheckIns, plan, users, out) }},
		{plan.Visits, func() error { return seedVisits(ctx, services.Visits, plan, users, shops.ids, out) }},
	} {
		if part.n == 0 {
			continue
		}
		if err := part.seed(); err != nil {
			return err
		}
	}
	return nil
}

// seededShops are the stored shops of a plan, in their order.
type seededShops struct {
	ids    []int64
	scores []float32 // 0 is none
}

// seedShops stores the shops of a plan. It returns them if other parts of the plan need them.
func seedShops(ctx context.Context, into Shops, plan Plan, owner int64, album *drawing.Album, out io.Writer) (stored seededShops, err error) {
	needed := plan.Notes+plan.Ratings+plan.Saves+plan.Visits > 0
	bar := progress.New(out, "shops", plan.Shops)
	defer bar.Close()
	var total shop.SaveCounts
	for chunk := range chunks(GenerateShops(plan.Shops, plan.Seed), seedChunk) {
		done := total.Total()
		motifs := make([]drawing.Motif, len(chunk))
		for i := range chunk {
			chunk[i].OwnerID, motifs[i] = owner, drawing.ShopMotif(chunk[i].Type, done+i)
		}
		if err := album.Fill(ctx, motifs...); err != nil {
			return stored, err
		}
		for i := range chunk {
			chunk[i].Images = album.List(motifs[i])
		}
		t, err := into.Upsert(ctx, chunk, func(more int) { bar.Set(done + more) })
		if err == nil && needed {
			err = stored.add(ctx, into, chunk)
		}
		if err != nil {
			return stored, fmt.Errorf("seed shops %d to %d of %d: %w", done, done+len(chunk), plan.Shops, err)
		}
		total = total.Add(t)
		bar.Set(total.Total())
	}
	bar.Close()
	if _, err := fmt.Fprintf(out, "%d added, %d changed, %d unchanged\n", total.Added, total.Changed, total.Unchanged); err != nil {
		return stored, fmt.Errorf("print the totals of shops: %w", err)
	}
	return stored, nil
}

// add appends stored shops.
func (s *seededShops) add(ctx context.Context, from Shops, drafts []shop.Draft) error {
	names := make([]string, len(drafts))
	for i, d := range drafts {
		names[i] = d.ExternalID
	}
	found, err := from.IDsByExternalID(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		if found[name] == 0 {
			return fmt.Errorf("stored shop %s not found", name)
		}
		s.ids, s.scores = append(s.ids, found[name]), append(s.scores, float32(drafts[i].Score))
	}
	return nil
}

// GenerateShops yields n synthetic shops around the demo town, in towns whose sizes
// follow a power law. The same seed yields the same shops; a smaller n yields a prefix. A
// geohash-4 cell (0.3515625° of longitude by 0.17578125° of latitude) has at most 50 000
// shops. External ids are seed:SEED:INDEX. It yields at most [MaxShops].
func GenerateShops(n int, seed uint64) iter.Seq[shop.Draft] {
	return func(yield func(shop.Draft) bool) {
		r := newShopGenerator(seed)
		for i := range min(n, MaxShops) {
			if !yield(r.next(i)) {
				return
			}
		}
	}
}

type cell struct{ x, y int }

// A shopGenerator yields the shops of a seed.
type shopGenerator struct {
	seed   uint64
	source *rand.PCG
	rnd    *rand.Rand // of the current shop
	filled map[cell]int
	towns  [towns + 1]town // by rank; created on first use
	draws  []*typeWords    // each type as often as its weight
}

func newShopGenerator(seed uint64) *shopGenerator {
	source := rand.NewPCG(seed, 0)
	r := &shopGenerator{
		seed: seed, source: source, rnd: rand.New(source),
		filled: make(map[cell]int),
	}
	for i := range seedTypes {
		for range seedTypes[i].weight {
			r.draws = append(r.draws, &seedTypes[i])
		}
	}
	return r
}

// next returns shop i. It depends on previous shops only through full cells.
func (r *shopGenerator) next(i int) shop.Draft {
	r.source.Seed(r.seed, uint64(i)+towns+1)
	t, lat, lng := r.position()
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

// position draws a town and a position in it whose cell is not full.
func (r *shopGenerator) position() (at *town, lat, lng float64) {
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

// micro rounds to a millionth of a degree, about 0.1 m.
func micro(degrees float64) float64 { return math.Round(degrees*1e6) / 1e6 }

// A town is one town of a seed.
type town struct {
	name     string
	lat, lng float64
	spread   float64 // standard deviation of its shops' latitudes, degrees
}

// townOf returns the town of a rank. Rank 1 is the largest and in the centre.
func townOf(seed uint64, rank int) town {
	rnd := rand.New(rand.NewPCG(seed, uint64(rank)))
	t := town{
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

// quarter names the part of the town at a position.
func (t *town) quarter(lat, lng float64) string {
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
func (r *shopGenerator) name(k *typeWords) string {
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

func (r *shopGenerator) address() string {
	street := pick(r.rnd, seedStreets)
	number := 1 + r.rnd.IntN(240)
	if r.rnd.IntN(2) == 0 {
		return fmt.Sprintf("%s%d号", street.chinese, number)
	}
	return fmt.Sprintf("%d %s", number, street.english)
}

// price draws a log-normal price in whole units around the usual one of the type. One in
// twelve is unknown.
func (r *shopGenerator) price(k *typeWords) *int {
	if r.rnd.IntN(12) == 0 {
		return nil
	}
	p := 100 * int(math.Round(k.price*math.Exp(r.rnd.NormFloat64()*0.4)))
	return &p
}

// score draws a score with one decimal. One in twenty is 0, unrated.
func (r *shopGenerator) score() float64 {
	if r.rnd.IntN(20) == 0 {
		return 0
	}
	s := min(max(4.1+r.rnd.NormFloat64()*0.45, 2.4), 5)
	return math.Round(s*10) / 10
}

// pick draws an element of a list, which must not be empty.
func pick[T any](rnd *rand.Rand, of []T) T { return of[rnd.IntN(len(of))] }
