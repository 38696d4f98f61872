package importer

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/openinghours"
)

// The extract of OpenStreetMap is not part of this repository. Without it, the test reads
// the fixture.
func TestReadRealExtract(t *testing.T) {
	type counts struct {
		Records, Shops, Nameless int
		Phones, Websites, Hours  int
		Omitted, UnknownHours    int
		Types                    map[string]int
	}
	path := filepath.Join(cmp.Or(os.Getenv("TANDIAN_SHARED"), filepath.Join("..", "..", "..", "shared")), "data", "osm-hanoi.json")
	want := counts{826, 560, 266, 82, 40, 91, 0, 0, map[string]int{"restaurant": 270, "cafe": 187, "bar": 66, "fast_food": 37}}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("TANDIAN_REQUIRE_SHARED") == "1" {
			t.Fatal(err)
		}
		t.Logf("%v: reading the fixture instead", err)
		path = filepath.Join("testdata", "overpass.json")
		want = counts{27, 14, 3, 2, 2, 2, 1, 1, map[string]int{
			"restaurant": 1, "cafe": 3, "bakery": 2, "bar": 1, "karaoke": 1, "hair": 1, "fitness": 1, "hotel": 1,
			"market": 1, "kids": 1, "cinema": 1,
		}}
	}
	file, err := Read(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	report, parsed := &file.Report, 0
	got := counts{
		Records: report.Records, Shops: len(file.Drafts), Nameless: report.Nameless.Count,
		Omitted: report.BadValue.Count, UnknownHours: report.UnknownHours.Count, Types: map[string]int{},
	}
	for _, d := range file.Drafts {
		checkDraft(t, d)
		got.Types[d.Type]++
		if d.Phone != "" {
			got.Phones++
		}
		if d.Website != "" {
			got.Websites++
		}
		if d.OpenHours != "" {
			got.Hours++
			if _, err := openinghours.Parse(d.OpenHours); err == nil {
				parsed++
			}
		}
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got.UnknownHours != got.Hours-parsed || got.Hours > 50 && parsed*100 < got.Hours*95 {
		t.Errorf("understood %d of %d opening hours, reported %d", parsed, got.Hours, got.UnknownHours)
	}
}
