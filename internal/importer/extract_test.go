package importer

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// The extract of OpenStreetMap is not part of this repository. Without it, the test reads
// the fixture.
func TestReadRealExtract(t *testing.T) {
	type counts struct {
		Records, Shops, Nameless int
		Types                    map[string]int
	}
	path := filepath.Join(cmp.Or(os.Getenv("TANDIAN_SHARED"), filepath.Join("..", "..", "..", "shared")), "data", "osm-hanoi.json")
	want := counts{826, 560, 266, map[string]int{"restaurant": 270, "cafe": 187, "bar": 66, "fast_food": 37}}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("TANDIAN_REQUIRE_SHARED") == "1" {
			t.Fatal(err)
		}
		t.Logf("%v: reading the fixture instead", err)
		path = filepath.Join("testdata", "overpass.json")
		want = counts{27, 14, 3, map[string]int{
			"restaurant": 1, "cafe": 3, "bakery": 2, "bar": 1, "karaoke": 1, "hair": 1, "fitness": 1, "hotel": 1,
			"market": 1, "kids": 1, "cinema": 1,
		}}
	}
	file, err := Read(t.Context(), path, "")
	if err != nil {
		t.Fatal(err)
	}
	got := counts{file.Report.Records, len(file.Drafts), file.Report.Nameless.Count, map[string]int{}}
	for _, d := range file.Drafts {
		checkDraft(t, d)
		got.Types[d.Type]++
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
