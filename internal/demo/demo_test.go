package demo

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/importer"
	"github.com/tandian-dev/tandian/internal/shop"
)

// metres is a position relative to the centre of the demo town.
type metres struct{ east, north float64 }

func metresOf(d shop.Draft) metres {
	const degree = 111_195 // metres of a degree of latitude on a sphere of 6 371 km
	return metres{
		east:  (d.Lng - 120.1510) * degree * math.Cos(30.2448*math.Pi/180),
		north: (d.Lat - 30.2448) * degree,
	}
}

func distance(a, b metres) float64 { return math.Hypot(a.east-b.east, a.north-b.north) }

func TestShopsFormWalkableTown(t *testing.T) {
	drafts := Shops()
	types, areas := map[string]int{}, map[string]int{}
	names, ids := map[string]bool{}, map[string]bool{}
	slug := regexp.MustCompile(`^demo:[a-z]+(-[a-z]+)*$`)
	for i, d := range drafts {
		checkDraft(t, d)
		types[d.Type]++
		areas[d.Area]++
		if names[d.Name] || ids[d.ExternalID] {
			t.Errorf("%s %s: name or id not unique", d.ExternalID, d.Name)
		}
		names[d.Name], ids[d.ExternalID] = true, true
		if !slug.MatchString(d.ExternalID) {
			t.Errorf("%s is not demo:NAME", d.ExternalID)
		}
		if d.AvgPrice == nil || d.Score < 3.2 || d.Score > 4.9 || !hours.MatchString(d.OpenHours) {
			t.Errorf("%s: price %v, score %v, open %q", d.ExternalID, d.AvgPrice, d.Score, d.OpenHours)
		}
		if away := distance(metresOf(d), metres{}); away > 900 {
			t.Errorf("%s is %.0f m from the centre", d.ExternalID, away)
		}
		for _, other := range drafts[:i] {
			if apart := distance(metresOf(d), metresOf(other)); apart < 5 {
				t.Errorf("%s and %s are %.1f m apart", d.ExternalID, other.ExternalID, apart)
			}
		}
	}
	if n := len(drafts); n < 72 || n > 90 {
		t.Errorf("got %d shops, want 72 to 90", n)
	}
	if len(types) != len(shop.Catalogue()) || len(areas) < 3 || len(areas) > 4 {
		t.Errorf("types %v, areas %v", types, areas)
	}
}

// Numbers must ascend along their street, and all shops of a street must be in one area.
func TestAddressesFollowStreets(t *testing.T) {
	type address struct {
		number int
		at     metres
		area   string
	}
	streets := map[string][]address{}
	pattern := regexp.MustCompile(`^(\d+) ([A-Z][A-Za-z ]+) (\p{Han}+)(\d+)号$`)
	for _, d := range Shops() {
		m := pattern.FindStringSubmatch(d.Address)
		if m == nil || m[1] != m[4] {
			t.Errorf("%s: address %q", d.ExternalID, d.Address)
			continue
		}
		number, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		street := m[2] + " " + m[3]
		streets[street] = append(streets[street], address{number, metresOf(d), d.Area})
	}
	if len(streets) < 8 || len(streets) > 12 {
		t.Errorf("got %d streets, want 8 to 12", len(streets))
	}
	for street, addresses := range streets {
		slices.SortFunc(addresses, func(a, b address) int { return cmp.Compare(a.number, b.number) })
		first, last := addresses[0].at, addresses[len(addresses)-1].at
		length := distance(first, last)
		along := func(h address) float64 {
			return ((h.at.east-first.east)*(last.east-first.east) + (h.at.north-first.north)*(last.north-first.north)) / length
		}
		for i, h := range addresses[1:] {
			before := addresses[i]
			perNumber := (along(h) - along(before)) / float64(h.number-before.number)
			if perNumber < 2 || perNumber > 14 {
				t.Errorf("%s: %.1f m per number between %d and %d", street, perNumber, before.number, h.number)
			}
			if h.area != before.area {
				t.Errorf("%s is in %s and %s", street, before.area, h.area)
			}
		}
	}
}

func TestShopsFileHasNoProblems(t *testing.T) {
	file, err := importer.Decode(t.Context(), "shops.csv", "", strings.NewReader(shopsCSV), int64(len(shopsCSV)))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(file.String(), "\n"); lines != 1 {
		t.Errorf("got the report:\n%s", file)
	}
}
