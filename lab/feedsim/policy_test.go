package feedsim

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestAHigherThresholdWritesMoreAndReadsLess(t *testing.T) {
	var policies []Policy
	for threshold := 10.0; threshold < 1e8; threshold *= 1.7 {
		policies = append(policies, Merge(threshold))
	}
	list := Costs(Default(), policies)
	for i, c := range list[1:] {
		if before := list[i]; c.Writes < before.Writes || c.OutboxReads > before.OutboxReads || c.Longest < before.Longest {
			t.Errorf("got %s with %+v, then %s with %+v", policies[i].Name, before, policies[i+1].Name, c)
		}
	}
	if first, last := list[0], list[len(list)-1]; first.Writes >= last.Writes || first.OutboxReads <= last.OutboxReads {
		t.Errorf("got %+v first and %+v last, want more writes and fewer reads", first, last)
	}
}

func TestExtremeThresholdsEqualOtherPolicies(t *testing.T) {
	for _, tt := range []struct{ edge, same Policy }{
		{Merge(0), Pull()},
		{Merge(math.Inf(1)), PushActive()},
		{ClassicHybrid(0), PushActive()},
		{ClassicHybrid(math.Inf(1)), PushAll()},
	} {
		got := Costs(sized(1_000_000), []Policy{tt.edge, tt.same})
		if d := cmp.Diff(got[1], got[0]); d != "" {
			t.Errorf("%s differs from %s:\n%s", tt.edge.Name, tt.same.Name, d)
		}
	}
}

func TestPerPairHasFewestWritesAndReads(t *testing.T) {
	best := Costs(Default(), []Policy{PerPair()})[0]
	policies := Policies()
	for i, c := range Costs(Default(), policies) {
		if c.Writes+c.OutboxReads < (best.Writes+best.OutboxReads)*0.999999 {
			t.Errorf("%s: got %v writes and %v reads a second, fewer than %v and %v per pair", policies[i].Name, c.Writes, c.OutboxReads, best.Writes, best.OutboxReads)
		}
	}
}

// One user in ten reads 20 pages a day, which is two pages a second in total. The others do
// not read.
func TestCostsOfASmallExample(t *testing.T) {
	o := Options{
		Users: 86_400, Exponent: 2, Follows: 10, Largest: 0.25, Posts: 1, PostPower: 1,
		Readers: []Readers{{0.1, 20}, {0.9, 0}}, PushRate: 100,
	}
	all := Costs(o, []Policy{Pull(), PushActive(), PushAll()})
	near(t, "pull, reads a page", all[0].ReadsPerPage, 10, 1e-9)
	near(t, "pull, cost", all[0].Sum, 2*10, 1e-9)
	near(t, "push to all, cost without writes", all[2].Sum-all[2].Writes, 2, 1e-6)
	near(t, "push to all, writes a note, of one note a second", all[2].WritesPerNote, all[2].Writes, 1e-9)
	near(t, "push to active, share of the writes", all[1].Writes/all[2].Writes, 0.1, 1e-9)
	near(t, "push to active, memory", all[1].Memory, 8640*500*20.6, 1e-9)
	near(t, "push to all, memory", all[2].Memory, 86_400*500*20.6, 1e-9)
	near(t, "push to all, longest fan-out", all[2].Longest, o.bands()[0].followers/100, 1e-9)
	o.PostPower = 0 // each note has as many followers as an account, on average
	near(t, "all write the same, writes a note", Costs(o, []Policy{PushAll()})[0].WritesPerNote, 10, 1e-9)
}

// A graph of 20 000 users has a row for each follow. Each note is written to each inbox, and
// each page reads each outbox, one by one.
func TestRandomGraphMatchesModel(t *testing.T) {
	o := sized(20_000)
	g := draw(o, rand.New(rand.NewPCG(testkit.Seed(t), 0)))
	policies := []Policy{Pull(), PushAll(), PushActive(), ClassicHybrid(300), Merge(100), Merge(300), Merge(1000), Merge(3000), PerPair()}
	for i, want := range Costs(o, policies) {
		name, got := policies[i].Name, g.count(policies[i])
		for _, c := range []struct {
			what      string
			got, want float64
		}{
			{"writes a note", got.WritesPerNote, want.WritesPerNote},
			{"writes", got.Writes, want.Writes},
			{"reads a page", got.ReadsPerPage, want.ReadsPerPage},
			{"outbox reads", got.OutboxReads, want.OutboxReads},
			{"memory", got.Memory, want.Memory},
			{"cost", got.Sum, want.Sum},
		} {
			// An account near the threshold may be above it in one graph and below it in
			// another.
			near(t, name+", "+c.what, c.got, c.want, 0.06)
		}
		if want.Longest*o.PushRate > 1000 { // smaller maxima vary too much
			near(t, name+", longest fan-out", got.Longest, want.Longest, 0.1)
		}
	}
}

const graphDays = 4

// graph is a random graph of users with their publications and readers.
type graph struct {
	o         Options
	followers [][]int32 // of each user
	follows   [][]int32 // of each user
	class     []int     // of each user
	posts     []float64 // of each user, a day
}

// draw creates a graph: the user of each rank is followed by each user with the same
// probability.
func draw(o Options, random *rand.Rand) *graph {
	g := &graph{
		o:         o,
		followers: make([][]int32, o.Users), follows: make([][]int32, o.Users), class: make([]int, o.Users), posts: make([]float64, o.Users),
	}
	maxFollowers, left, sum := o.Largest*float64(o.Users), o.Follows*float64(o.Users), 0.0
	weight := func(rank int) float64 { return math.Pow(float64(rank), -1/(o.Exponent-1)) }
	for r := 1; r <= o.Users; r++ {
		sum += weight(r)
	}
	notes := 0.0
	for r := 1; r <= o.Users; r++ {
		mean := min(maxFollowers, left*weight(r)/sum)
		left, sum = left-mean, sum-weight(r)
		author := r - 1
		// The distance from one follower to the next is geometric.
		skip := func() int { return int(math.Log(1-random.Float64()) / math.Log(1-mean/float64(o.Users))) }
		for reader := skip(); reader < o.Users; reader += 1 + skip() {
			g.followers[author] = append(g.followers[author], int32(reader)) //nolint:gosec // 20 000 at most
			g.follows[reader] = append(g.follows[reader], int32(author))     //nolint:gosec // the same
		}
		g.posts[author] = math.Pow(float64(len(g.followers[author])), o.PostPower)
		notes += g.posts[author]
	}
	for author := range g.posts {
		g.posts[author] *= o.Posts * float64(o.Users) / notes
	}
	first := 0
	order := random.Perm(o.Users)
	for i, r := range o.Readers {
		next := first + int(math.Round(r.Share*float64(o.Users)))
		for _, user := range order[first:next] {
			g.class[user] = i
		}
		first = next
	}
	return g
}

// accumulator turns mean frequencies into whole numbers: it adds the remainder of a mean to
// the next one.
type accumulator float64

func (left *accumulator) times(mean float64) int {
	*left += accumulator(mean)
	whole := math.Floor(float64(*left))
	*left -= accumulator(whole)
	return int(whole)
}

func (g *graph) count(p Policy) Cost {
	pushed := make([][]bool, g.o.Users) // by author and class
	for author := range pushed {
		for _, r := range g.o.Readers {
			pushed[author] = append(pushed[author], p.pushes(account{float64(len(g.followers[author])), g.posts[author]}, r))
		}
	}
	notes, writes, longest := 0, 0, 0
	var published accumulator
	inbox := make([]bool, g.o.Users)
	for author, followers := range g.followers {
		reached := 0
		for range published.times(g.posts[author] * graphDays) {
			notes, reached = notes+1, 0
			for _, reader := range followers {
				if pushed[author][g.class[reader]] {
					inbox[reader] = true
					reached++
				}
			}
			writes += reached
		}
		longest = max(longest, reached)
	}
	read := make([]accumulator, len(g.o.Readers))
	pages, inboxReads, outboxReads, inboxes := 0, 0, 0, 0
	for reader, follows := range g.follows {
		if inbox[reader] {
			inboxes++
		}
		for range read[g.class[reader]].times(g.o.Readers[g.class[reader]].Pages) { // of one day
			pages++
			if inbox[reader] {
				inboxReads++
			}
			for _, author := range follows {
				if !pushed[author][g.class[reader]] {
					outboxReads++
				}
			}
		}
	}
	c := Cost{
		WritesPerNote: float64(writes) / float64(notes), Writes: float64(writes) / graphDays / daySeconds,
		ReadsPerPage: float64(inboxReads+outboxReads) / float64(pages), OutboxReads: float64(outboxReads) / daySeconds,
		Memory: float64(inboxes) * inboxSize * entryBytes, Longest: float64(longest) / g.o.PushRate,
	}
	c.Sum = c.Writes + c.OutboxReads + float64(inboxReads)/daySeconds
	return c
}

func TestCountHasSpacesBetweenThousands(t *testing.T) {
	for want, x := range map[string]float64{"0": 0, "999": 999.4, "1 000": 999.6, "12 345": 12345, "1 000 000": 1e6} {
		if got := Count(x); got != want {
			t.Errorf("%v: got %q, want %q", x, got, want)
		}
	}
}
