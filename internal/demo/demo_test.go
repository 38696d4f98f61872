package demo

import (
	"cmp"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/importer"
	"github.com/tandian-dev/tandian/internal/kit/openinghours"
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
		if d.AvgPrice == nil || d.Score != 0 || d.TimeZone != "Asia/Shanghai" { // scores come from ratings
			t.Errorf("%s: price %v, score %v, zone %q", d.ExternalID, d.AvgPrice, d.Score, d.TimeZone)
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

func TestShopsHaveHoursAndContacts(t *testing.T) {
	var known, breaks, nights, weekends, websites int
	phones := map[string]bool{}
	monday := time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, d := range Shops() {
		if d.Phone != "" {
			if phones[d.Phone] || !regexp.MustCompile(`^\+999 \d{4} \d{4}$`).MatchString(d.Phone) {
				t.Errorf("%s: phone %q, seen before: %v", d.ExternalID, d.Phone, phones[d.Phone])
			}
			phones[d.Phone] = true
		}
		if d.Website != "" {
			websites++
			if u, err := url.Parse(d.Website); err != nil || u.Host != "example.com" && !strings.HasSuffix(u.Host, ".example") {
				t.Errorf("%s: website %q", d.ExternalID, d.Website)
			}
		}
		if d.OpenHours == "" {
			continue
		}
		h, err := openinghours.Parse(d.OpenHours)
		if err != nil {
			t.Errorf("%s: hours %q: %v", d.ExternalID, d.OpenHours, err)
			continue
		}
		known++
		open := h.Day(monday.AddDate(0, 0, 4)) // on a Friday
		if len(open) > 1 {
			breaks++
		}
		if len(open) > 0 && open[len(open)-1].Closes > 24*60 {
			nights++
		}
		if len(h.Day(monday)) == 0 {
			weekends++
		}
	}
	all := len(Shops())
	if known < all*85/100 || known > all-3 || breaks < 5 || nights < 8 || weekends < 8 {
		t.Errorf("%d of %d shops have hours, %d with a break, %d after midnight, %d not on Mondays", known, all, breaks, nights, weekends)
	}
	if len(phones) < all*8/10 || len(phones) == all || websites < all/3 || websites > all*2/3 {
		t.Errorf("%d of %d shops have a phone, %d a website", len(phones), all, websites)
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
