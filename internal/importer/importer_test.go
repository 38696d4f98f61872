package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/shop"
)

// fakeShops records the stored shops.
type fakeShops struct {
	calls  [][]shop.Draft
	failAt int                      // the call that fails, from 1; 0 is none
	stored map[string]shop.Identity // result of Known
	waits  time.Duration            // half the duration of a call; only in synctest
}

var errStore = errors.New("the store is unavailable")

func (s *fakeShops) Upsert(_ context.Context, drafts []shop.Draft, progress func(int)) (shop.SaveCounts, error) {
	s.calls = append(s.calls, slices.Clone(drafts))
	if len(s.calls) == s.failAt {
		return shop.SaveCounts{}, errStore
	}
	time.Sleep(s.waits)
	progress(len(drafts) / 2)
	time.Sleep(s.waits)
	progress(len(drafts))
	return shop.SaveCounts{Added: len(drafts)}, nil
}

func (s *fakeShops) Identities(_ context.Context, externalIDs []string) (map[string]shop.Identity, error) {
	found := map[string]shop.Identity{}
	for _, id := range externalIDs {
		if known, ok := s.stored[id]; ok {
			found[id] = known
		}
	}
	return found, nil
}

// writeFile writes a file into a temporary directory.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImportPrintsReportAndTotals(t *testing.T) {
	a := writeFile(t, "a.csv", "external_id,type,name,lat,lng\nown:1,cafe,One,1,1\nown:2,cafe,,1,1\nown:3,cafe,Three,1,1\n")
	b := writeFile(t, "b.csv", "external_id,type,name,lat,lng\nown:3,bar,Three Bar,2,2\nown:4,cafe,Four,0,0\nown:5,cafe,Five,5,5\n")
	synctest.Test(t, func(t *testing.T) {
		store := &fakeShops{waits: time.Second}
		var out strings.Builder
		if err := Import(t.Context(), store, Options{}, []string{a, b}, &out); err != nil {
			t.Fatal(err)
		}
		want := a + `: CSV, 3 records, 2 shops
  1 without a name
    line 3 (cafe)
` + b + `: CSV, 3 records, 2 shops
  1 with bad coordinates
    line 3 Four: 0, 0 stands for an unknown position
shops: 3 of 3 in 2.0 s, 2/s
3 added, 0 changed, 0 unchanged; 1 without a name, 1 with bad coordinates, 1 given again (the last one counts)
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		var got []string
		for _, d := range store.calls[0] {
			got = append(got, d.ExternalID+" "+d.Name)
		}
		if diff := cmp.Diff([]string{"own:1 One", "own:3 Three Bar", "own:5 Five"}, got); diff != "" {
			t.Errorf("stored (-want +got)\n%s", diff)
		}
		if len(store.calls) != 1 {
			t.Errorf("got %d transactions, want 1", len(store.calls))
		}
	})
}

func TestImportStoresAllOrNothing(t *testing.T) {
	good := writeFile(t, "good.csv", "external_id,type,name,lat,lng\nown:1,cafe,One,1,1\n")
	useless := writeFile(t, "useless.csv", "external_id,type,name,lat,lng\nown:1,cafe,,1,1\n")
	broken := writeFile(t, "broken.json", `{"elements": [{"type": "node",`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name  string
		ctx   context.Context
		paths []string
		fail  int
		want  string // in the error; "" is none
		calls int
	}{
		{"a broken file after a good one", t.Context(), []string{good, broken}, 0, "the file ends in the middle", 0},
		{"a missing file", t.Context(), []string{good, good + "x"}, 0, "no such file", 0},
		{"no file", t.Context(), nil, 0, "no file given", 0},
		{"a good file and one without records", t.Context(), []string{good, writeFile(t, "none.json", `{"elements": []}`)}, 0, "no records in this file (Overpass JSON); is the download complete? (nothing was stored)", 0},
		{"only column names", t.Context(), []string{writeFile(t, "none.csv", "external_id,type,name,lat,lng\n")}, 0, "no records in this file (CSV)", 0},
		{"no id at all", t.Context(), []string{good, writeFile(t, "idless.csv", "external_id,type,name,lat,lng\n,cafe,One,1,1\n,cafe,Two,1,1\n")}, 0, "no record has an id", 0},
		{"an ended context", ended, []string{good}, 0, "context canceled", 0},
		{"a store that fails", t.Context(), []string{good}, 1, "import 1 shops: the store is unavailable", 1},
		{"no usable shop", t.Context(), []string{useless}, 0, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			store := &fakeShops{failAt: tt.fail}
			var out strings.Builder
			err := Import(tt.ctx, store, Options{}, tt.paths, &out)
			if tt.want == "" {
				if err != nil || !strings.Contains(out.String(), "0 added, 0 changed, 0 unchanged; 1 without a name") {
					t.Errorf("got %v, output %q", err, out.String())
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if len(store.calls) != tt.calls {
				t.Errorf("got %d calls of the store, want %d", len(store.calls), tt.calls)
			}
		})
	}
}

// failingWriter rejects every write.
type failingWriter struct{}

var errWrite = errors.New("broken pipe")

func (failingWriter) Write([]byte) (int, error) { return 0, errWrite }

func TestFailedReportPreventsImport(t *testing.T) {
	good := writeFile(t, "good.csv", "external_id,type,name,lat,lng\nown:1,cafe,One,1,1\n")
	store := &fakeShops{}
	if err := Import(t.Context(), store, Options{}, []string{good}, failingWriter{}); !errors.Is(err, errWrite) {
		t.Errorf("got %v, want %v", err, errWrite)
	}
	if len(store.calls) != 0 {
		t.Error("the shops are stored")
	}
}

// twoDataSets returns two files of cafes whose ids are row numbers.
func twoDataSets(t *testing.T, form string) (north, south string) {
	t.Helper()
	file := func(name string, lat float64) string {
		var b strings.Builder
		for i := range 3 {
			if form == "csv" {
				fmt.Fprintf(&b, "%d,cafe,%s %d,%v,105.8%d\n", i, name, i, lat, i)
			} else {
				fmt.Fprintf(&b, `%s{"id": %d, "geometry": {"type": "Point", "coordinates": [105.8%d, %v]}, "properties": {"amenity": "cafe", "name": "%s %d"}}`,
					map[bool]string{true: ","}[i > 0], i, i, lat, name, i)
			}
		}
		if form == "csv" {
			return writeFile(t, "town.csv", "external_id,type,name,lat,lng\n"+b.String())
		}
		return writeFile(t, "town.geojson", `{"features": [`+b.String()+"]}")
	}
	return file("North", 21), file("South", 10)
}

func TestLocalIDsNeedSource(t *testing.T) {
	known := func(prefix, name string, lat float64) map[string]shop.Identity {
		stored := map[string]shop.Identity{}
		for i := range 3 {
			stored[prefix+strconv.Itoa(i)] = shop.Identity{Name: name + " " + strconv.Itoa(i), At: geo.Point{Lat: lat, Lng: 105.8 + float64(i)/100}}
		}
		return stored
	}
	moved := known("", "North", 21)
	moved["2"] = shop.Identity{Name: "Elsewhere", At: geo.Point{Lat: 48, Lng: 2}}
	const needsSource = `are unique only in one data set`
	tests := []struct {
		name, form, source, files string
		stored                    map[string]shop.Identity
		want                      string // ids that are stored, with the ids they had; or the error
	}{
		{"no source", "csv", "", "north", nil, needsSource},
		{"no source for a feature", "geojson", "", "north", nil, needsSource},
		{"two files without a source", "csv", "", "north south", nil, needsSource},
		{"a source", "csv", "north", "north", nil, "north:0 north:1 north:2"},
		{"a source for features", "geojson", "north", "north", nil, "north:0 north:1 north:2"},
		{"one source for two data sets", "csv", "all", "north south", nil, `all:0 is "South 0" here and "North 0" in a previous file`},
		{"one file twice", "csv", "north", "north north", nil, "north:0 north:1 north:2"},
		{"again", "csv", "north", "north", known("north:", "North", 21), "north:0 north:1 north:2"},
		{"new names", "csv", "north", "north", known("north:", "Old", 21), "north:0 north:1 north:2"},
		{"new places", "csv", "north", "north", known("north:", "North", 21.1), "north:0 north:1 north:2"},
		{"source of another data set", "csv", "north", "south", known("north:", "North", 21), `3 of 3 ids of the source "north" belong to other places than before`},
		{"stored before sources, again without one", "csv", "", "north", known("", "North", 21), "0 1 2"},
		{"features stored before sources", "geojson", "", "north", known("geojson:", "North", 21), "geojson:0 geojson:1 geojson:2"},
		{"stored before sources, another data set", "csv", "", "south", known("", "North", 21), needsSource},
		{"stored before sources, one other place", "csv", "", "north", moved, needsSource + `, and another data set may use them too: 2 is "North 2" and was "Elsewhere"`},
		{"stored before sources, now with one", "csv", "north", "north", known("", "North", 21), "north:0<0 north:1<1 north:2<2"},
		{"features stored before sources, now with one", "geojson", "north", "north", known("geojson:", "North", 21), "north:0<geojson:0 north:1<geojson:1 north:2<geojson:2"},
		{"stored before sources, one other place, now with one", "csv", "north", "north", moved, "north:0<0 north:1<1 north:2"},
		{"a source, and another data set stored before sources", "csv", "south", "south", known("", "North", 21), "south:0 south:1 south:2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			north, south := twoDataSets(t, tt.form)
			var paths []string
			for name := range strings.FieldsSeq(tt.files) {
				paths = append(paths, map[string]string{"north": north, "south": south}[name])
			}
			store := &fakeShops{stored: tt.stored}
			err := Import(t.Context(), store, Options{Source: tt.source}, paths, io.Discard)
			if err != nil {
				if !strings.Contains(err.Error(), tt.want) || !strings.HasSuffix(err.Error(), " (nothing was stored)") || len(store.calls) != 0 {
					t.Errorf("%d calls, %v; want %q", len(store.calls), err, tt.want)
				}
				return
			}
			var got []string
			for _, d := range store.calls[0] {
				id := d.ExternalID
				if d.FormerID != "" {
					id += "<" + d.FormerID
				}
				got = append(got, id)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestGlobalIDsNeedNoSource(t *testing.T) {
	tests := []struct {
		id     string
		global bool
	}{
		{"node/42", true},
		{"way/5", true},
		{"relation/7", true},
		{"own:42", true},
		{"x:1", true},
		{"osm:node/1", true},
		{"https://example.com/shops/1", true},
		{"urn:uuid:0", true},
		{"Q12345", true},
		{"wikidata:Q42", true},
		{"6BA7B810-9dad-11d1-80b4-00c04fd430c8", true},
		{"{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", true},
		{"0", false},
		{"42", false},
		{"007", false},
		{"-1", false},
		{"1.0", false},
		{"node/-1", false},
		{"node/", false},
		{"shops.1", false},
		{"shop-17", false},
		{"12:30", false},
		{":1", false},
		{"own:", false},
		{"Q1", false},
		{"row 1: cafe", false},
		{"第1家", false},
	}
	for _, tt := range tests {
		if got := isGlobal(tt.id); got != tt.global {
			t.Errorf("%q: %v, want %v", tt.id, got, tt.global)
		}
		file, err := read(t, "a.csv", "external_id,type,name,lat,lng\n"+tt.id+",cafe,Cup,1,2\n")
		if err != nil || len(file.Drafts) != 1 {
			t.Errorf("%q: %v, %v", tt.id, file, err)
			continue
		}
		store := &fakeShops{}
		path := writeFile(t, "a.csv", "external_id,type,name,lat,lng\n"+tt.id+",cafe,Cup,1,2\n")
		if err := Import(t.Context(), store, Options{}, []string{path}, io.Discard); (err == nil) != tt.global {
			t.Errorf("%q without a source: %v", tt.id, err)
		}
		store = &fakeShops{}
		if err := Import(t.Context(), store, Options{Source: "town"}, []string{path}, io.Discard); err != nil {
			t.Errorf("%q with a source: %v", tt.id, err)
			continue
		}
		if got := store.calls[0][0].ExternalID; (got == tt.id) != tt.global || !tt.global && got != "town:"+tt.id {
			t.Errorf("%q with a source is %q", tt.id, got)
		}
	}
}

func TestCheckSource(t *testing.T) {
	for _, name := range []string{"hanoi", "a", "city-2024.v_2", strings.Repeat("a", 40)} {
		if err := checkSource(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "Hanoi", "2024", "a b", "a:b", "a/b", "-a", "hà", strings.Repeat("a", 41), "osm", "geojson", "demo", "seed", "https"} {
		if err := checkSource(name); err == nil || !strings.Contains(err.Error(), "invalid source") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestHelpListsColumnsAndTypes(t *testing.T) {
	help := Help()
	for _, name := range []string{"external_id", "type", "name", "lat", "lng", "area", "address", "avg_price", "score", "open_hours", "hours", "phone", "website", "time_zone"} {
		if !regexp.MustCompile(`(?m)^  ` + name + `( |$)`).MatchString(help) {
			t.Errorf("the help misses column %s", name)
		}
		if !knownColumn(name) {
			t.Errorf("column %s is unknown", name)
		}
	}
	if n := len(csvColumns()); n != 14 {
		t.Errorf("got %d columns, want 14", n)
	}
	for _, kind := range shop.Catalogue() {
		if !regexp.MustCompile(`\b` + kind.Key + `\b`).MatchString(help) {
			t.Errorf("the help misses type %s", kind.Key)
		}
	}
}
