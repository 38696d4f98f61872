package seeder

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/shop"
)

// geohash4 returns the geohash of four characters as a number of 20 bits, longitude
// first.
func geohash4(lat, lng float64) (hash uint32) {
	west, east, south, north := -180.0, 180.0, -90.0, 90.0
	for bit := range 20 {
		hash <<= 1
		if bit%2 == 0 {
			if mid := (west + east) / 2; lng >= mid {
				hash, west = hash|1, mid
			} else {
				east = mid
			}
		} else if mid := (south + north) / 2; lat >= mid {
			hash, south = hash|1, mid
		} else {
			north = mid
		}
	}
	return hash
}

func TestShopsPerCellAreLimited(t *testing.T) {
	const n = 1_000_000
	cells := map[uint32]int{}
	for d := range GenerateShops(n, 1) {
		cells[geohash4(d.Lat, d.Lng)]++
	}
	total, highest := 0, 0
	for _, count := range cells {
		total += count
		highest = max(highest, count)
	}
	if total != n {
		t.Errorf("got %d shops, want %d", total, n)
	}
	if highest > 50_000 {
		t.Errorf("got %d shops in one cell, want at most 50000", highest)
	}
	if highest < 50_000 {
		t.Errorf("got at most %d shops in a cell, want a full cell", highest)
	}
}

func TestShopsAreDeterministic(t *testing.T) {
	long := slices.Collect(GenerateShops(3000, 42))
	if diff := cmp.Diff(long, slices.Collect(GenerateShops(3000, 42))); diff != "" {
		t.Errorf("the same seed differs:\n%s", diff)
	}
	if diff := cmp.Diff(long[:1000], slices.Collect(GenerateShops(1000, 42))); diff != "" {
		t.Errorf("a smaller number yields no prefix:\n%s", diff)
	}
	other := slices.Collect(GenerateShops(3000, 43))
	same := 0
	for i := range other {
		if other[i].Name == long[i].Name && other[i].Lat == long[i].Lat {
			same++
		}
	}
	if same > 0 {
		t.Errorf("%d shops of another seed are equal", same)
	}
}

func TestShopDistribution(t *testing.T) {
	const n = 20_000
	types, names, cells, words := map[string]int{}, map[string]int{}, map[uint32]int{}, map[string]int{}
	ids := map[string]bool{}
	for d := range GenerateShops(n, 7) {
		checkDraft(t, d)
		if !hours.MatchString(d.OpenHours) || d.Area == "" || d.Address == "" {
			t.Errorf("%s: area %q, address %q, hours %q", d.ExternalID, d.Area, d.Address, d.OpenHours)
		}
		types[d.Type]++
		names[d.Name]++
		ids[d.ExternalID] = true
		cells[geohash4(d.Lat, d.Lng)]++
		for _, word := range []string{"火锅", "面馆", "咖啡", "coffee", "noodle", "hot pot"} {
			if strings.Contains(strings.ToLower(d.Name), word) {
				words[word]++
			}
		}
	}
	if len(ids) != n || !ids["seed:7:0"] || !ids["seed:7:19999"] {
		t.Errorf("%d external ids", len(ids))
	}
	weights := 0
	for _, k := range seedTypes {
		weights += k.weight
	}
	for _, k := range seedTypes {
		if want := n * k.weight / weights; types[k.key] < want*8/10 || types[k.key] > want*12/10 {
			t.Errorf("%d shops of type %s, want about %d", types[k.key], k.key, want)
		}
	}
	if len(names) < 3000 {
		t.Errorf("only %d different names", len(names))
	}
	if len(words) != 6 || slices.Min(slices.Collect(maps.Values(words))) < n/200 {
		t.Errorf("words to search for: %v", words)
	}
	// Power law: one large town and a long tail of small ones.
	if highest := slices.Max(slices.Collect(maps.Values(cells))); highest < n/6 || len(cells) < 50 {
		t.Errorf("%d cells, at most %d shops in one", len(cells), highest)
	}
}

// fakeShops records the stored shops.
type fakeShops struct {
	calls   [][]shop.Draft
	failAt  int // the call that fails, from 1; 0 is none
	idsFail bool
	waits   time.Duration // half the duration of a call; only in synctest
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

// IDsByExternalID numbers shops from 1001, in the order of their calls.
func (s *fakeShops) IDsByExternalID(_ context.Context, externalIDs []string) (map[string]int64, error) {
	if s.idsFail {
		return nil, errStore
	}
	all, ids := map[string]int64{}, map[string]int64{}
	for i, d := range slices.Concat(s.calls...) {
		all[d.ExternalID] = int64(1001 + i)
	}
	for _, name := range externalIDs {
		if id := all[name]; id != 0 {
			ids[name] = id
		}
	}
	return ids, nil
}

func TestSeedStoresInChunks(t *testing.T) {
	tests := []struct {
		name string
		n    int
		want []int // shops per call
	}{
		{"none", 0, nil},
		{"one", 1, []int{1}},
		{"exactly one chunk", 10_000, []int{10_000}},
		{"a rest", 20_001, []int{10_000, 10_000, 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sink := &fakeShops{}
			if err := Seed(t.Context(), Services{Shops: sink}, Plan{Shops: tt.n, Seed: 3}, io.Discard); err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, call := range sink.calls {
				got = append(got, len(call))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("chunks (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(slices.Collect(GenerateShops(tt.n, 3)), slices.Concat(sink.calls...)); diff != "" {
				t.Errorf("shops (-want +got)\n%s", diff)
			}
		})
	}
}

func TestSeedShowsProgressOverAllChunks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &fakeShops{waits: 3 * time.Second}
		var out strings.Builder
		if err := Seed(t.Context(), Services{Shops: sink}, Plan{Shops: 20_000, Seed: 3}, &out); err != nil {
			t.Fatal(err)
		}
		want := `shops: 5000 of 20000 (25 %)
shops: 10000 of 20000 (50 %)
shops: 15000 of 20000 (75 %)
shops: 20000 of 20000 in 12.0 s, 1667/s
20000 added, 0 changed, 0 unchanged
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestSeedErrorNamesChunk(t *testing.T) {
	sink := &fakeShops{failAt: 2}
	var out strings.Builder
	err := Seed(t.Context(), Services{Shops: sink}, Plan{Shops: 30_000, Seed: 3}, &out)
	if !errors.Is(err, errStore) || !strings.Contains(err.Error(), "seed shops 10000 to 20000 of 30000") {
		t.Errorf("error %v", err)
	}
	if len(sink.calls) != 2 {
		t.Errorf("%d calls after the failure of the second", len(sink.calls))
	}
	if !strings.HasPrefix(out.String(), "shops: 10000 of 30000 in ") || strings.Contains(out.String(), "added") {
		t.Errorf("output %q", out.String())
	}
}

func TestSeedRejectsInvalidPlans(t *testing.T) {
	for name, plan := range map[string]Plan{
		"negative shops":          {Shops: -1},
		"too many shops":          {Shops: MaxShops + 1},
		"negative users":          {Users: -1},
		"too many users":          {Users: MaxUsers + 1},
		"tokens without users":    {Tokens: "x"},
		"negative notes":          {Users: 5, Shops: 5, Notes: -1},
		"too many notes":          {Users: 5, Shops: 5, Notes: MaxNotes + 1},
		"notes without users":     {Shops: 5, Notes: 1},
		"notes without shops":     {Users: 5, Notes: 1},
		"negative follows":        {Users: 5, Follows: -1},
		"too many follows":        {Users: MaxUsers, Follows: MaxFollows + 1},
		"follows of one user":     {Users: 1, Follows: 1},
		"follows without users":   {Follows: 1},
		"more follows than pairs": {Users: 5, Follows: 21},
		"too many followees":      {Users: 5002, Follows: 5002*5000 + 1},
		"negative ratings":        {Users: 5, Shops: 5, Ratings: -1},
		"too many ratings":        {Users: 10_000, Shops: 10_000, Ratings: MaxRatings + 1},
		"ratings without users":   {Shops: 5, Ratings: 1},
		"ratings without shops":   {Users: 5, Ratings: 1},
		"more ratings than pairs": {Users: 5, Shops: 3, Ratings: 4*3 + 1}, // the merchant does not rate
		"too many saves":          {Users: 10_000, Shops: 10_000, Saves: MaxSaves + 1},
		"saves without users":     {Shops: 5, Saves: 1},
		"saves without shops":     {Users: 5, Saves: 1},
		"more saves than pairs":   {Users: 5, Shops: 3, Saves: 5*3 + 1},
	} {
		sink := &fakeShops{}
		if err := Seed(t.Context(), Services{Shops: sink}, plan, io.Discard); err == nil || len(sink.calls) > 0 {
			t.Errorf("%s: %v, %d calls", name, err, len(sink.calls))
		}
	}
	for name, plan := range map[string]Plan{
		"nothing":            {},
		"maximum of follows": {Users: 5002, Follows: 5002 * 5000},
		"every pair":         {Users: 5, Follows: 20},
		"one of each":        {Users: 1, Shops: 1, Notes: 1, Ratings: 1, Saves: 1},
		"every rating":       {Users: 5, Shops: 3, Ratings: 4 * 3},
		"every save":         {Users: 5, Shops: 3, Saves: 5 * 3},
	} {
		if err := plan.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
