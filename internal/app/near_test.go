package app_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// hanoi returns a file of real shops, or else of generated shops in the same area.
func hanoi(t *testing.T) string {
	t.Helper()
	if path, ok := testkit.SharedFile(t, "data/osm-hanoi.json"); ok {
		return path
	}
	t.Log("without the Hanoi file, the test uses 60 generated shops")
	var b strings.Builder
	b.WriteString(`{"elements": [`)
	for i := range 60 {
		lat, lng := 21.0338+0.011*math.Sin(float64(i*i)), 105.85+0.011*math.Cos(float64(3*i))
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"type":"node","id":%d,"lat":%.7f,"lon":%.7f,"tags":{"amenity":"cafe","name":"Invented %d"}}`, i+1, lat, lng, i)
	}
	b.WriteString(`]}`)
	return testFile(t, "invented.json", b.String())
}

// osmPlace is a named element of an Overpass file.
type osmPlace struct {
	ID       int64
	Type     string
	Lat, Lon float64
	Center   struct{ Lat, Lon float64 }
	Tags     map[string]string
}

// plainHaversine is the haversine formula with the earth radius of Redis. It repeats the code,
// so that the test does not share a mistake.
func plainHaversine(lat1, lon1, lat2, lon2 float64) float64 {
	rad := math.Pi / 180
	a := math.Pow(math.Sin((lat2-lat1)*rad/2), 2) + math.Cos(lat1*rad)*math.Cos(lat2*rad)*math.Pow(math.Sin((lon2-lon1)*rad/2), 2)
	return 2 * 6372797.560856 * math.Asin(math.Sqrt(a))
}

type shopPage struct {
	Shops struct {
		Edges []struct {
			Cursor   string
			Distance *float64
			Node     struct {
				ID    string
				Name  string
				Score float64
				Type  struct{ ID, Name string }
			}
		}
		PageInfo struct {
			HasNextPage bool
			EndCursor   string
		}
	}
}

const nearQuery = `query Near($near: NearInput!, $first: Int!, $after: Cursor, $filter: ShopFilter, $orderBy: ShopOrder) {
	shops(near: $near, first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
		edges { cursor distance node { id name score type { id name } } }
		pageInfo { hasNextPage endCursor }
	}
}`

// walk reads all pages of a list near a position.
func walk(t *testing.T, s *apptest.Server, near, filter map[string]any, first int) (names []string, distances []float64) {
	t.Helper()
	vars := map[string]any{"near": near, "first": first, "filter": filter}
	for range 1000 {
		var p shopPage
		s.Must(t, nearQuery, vars, &p)
		for _, e := range p.Shops.Edges {
			names, distances = append(names, e.Node.Name), append(distances, *e.Distance)
		}
		if !p.Shops.PageInfo.HasNextPage {
			return names, distances
		}
		vars["after"] = p.Shops.PageInfo.EndCursor
	}
	t.Fatal("the pages do not end")
	return nil, nil
}

// settled waits until queries near a position are answered by the GEO cells.
func settled(t *testing.T, s *apptest.Server, near map[string]any) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, func() bool {
		before := s.Counter(t, "tandian_shop_near_total", "source", "sql")
		s.Must(t, nearQuery, map[string]any{"near": near, "first": 1}, nil)
		s.Must(t, nearQuery, map[string]any{"near": near, "first": 100}, nil)
		return s.Counter(t, "tandian_shop_near_total", "source", "sql") == before
	})
}

func TestRealShopsAreFoundInOrderOfDistance(t *testing.T) {
	t.Parallel()
	file := hanoi(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var osm struct{ Elements []osmPlace }
	if err := json.Unmarshal(text, &osm); err != nil {
		t.Fatal(err)
	}
	const lat, lng, radius = 21.0338, 105.85, 1000
	type place struct {
		name     string
		distance float64
	}
	var want []place
	for _, e := range osm.Elements {
		if e.Lat == 0 {
			e.Lat, e.Lon = e.Center.Lat, e.Center.Lon
		}
		if d := plainHaversine(lat, lng, e.Lat, e.Lon); d <= radius && e.Tags["name"] != "" && e.Tags["amenity"] != "" {
			want = append(want, place{norm.NFC.String(e.Tags["name"]), d})
		}
	}
	slices.SortFunc(want, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	})
	if len(want) < 5 {
		t.Fatalf("got %d shops in the circle, too few for the test", len(want))
	}
	near := map[string]any{"lat": lat, "lng": lng, "radius": radius}
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if out, errs, code := stack.Command(t, "import", file); code != 0 {
			t.Fatalf("import: %d\n%s%s", code, out, errs)
		}
		s := stack.Start(t)
		check := func(source string) {
			t.Helper()
			for _, first := range []int{7, 20, 100} {
				names, distances := walk(t, s, near, nil, first)
				if len(names) != len(want) {
					t.Fatalf("%s, pages of %d: %d shops, want %d", source, first, len(names), len(want))
				}
				got := make([]place, len(names))
				for i := range names {
					got[i] = place{names[i], distances[i]}
					if math.Abs(got[i].distance-want[i].distance) > 1e-6 {
						t.Fatalf("%s: shop %d: got %v, want %v", source, i, got[i], want[i])
					}
					got[i].distance = want[i].distance
				}
				slices.SortStableFunc(got, func(a, b place) int {
					return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
				})
				if d := gocmp.Diff(want, got, gocmp.AllowUnexported(place{})); d != "" {
					t.Fatalf("%s, pages of %d: (-want +got)\n%s", source, first, d)
				}
			}
		}
		check("rows or cells")
		settled(t, s, near)
		sql := s.Counter(t, "tandian_shop_near_total", "source", "sql")
		check("cells")
		if now := s.Counter(t, "tandian_shop_near_total", "source", "sql"); now != sql {
			t.Errorf("got %v reads of rows, want none with built cells", now-sql)
		}
	})
}

// A page that ends with the last shop must not claim another page.
func TestNearPagesEndExactly(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		importCSV(t, stack, 20)
		s := stack.Start(t)
		var p shopPage
		s.Must(t, nearQuery, map[string]any{"near": here, "first": 20}, &p)
		if len(p.Shops.Edges) != 20 || p.Shops.PageInfo.HasNextPage {
			t.Fatalf("%d shops, more: %v; want all 20 and no more", len(p.Shops.Edges), p.Shops.PageInfo.HasNextPage)
		}
		end := p.Shops.PageInfo.EndCursor
		small := map[string]any{"lat": 21.0, "lng": 105.0, "radius": 1}
		for _, near := range []map[string]any{here, small} {
			s.Must(t, nearQuery, map[string]any{"near": near, "first": 20, "after": end}, &p)
			if len(p.Shops.Edges) != 0 || p.Shops.PageInfo.HasNextPage {
				t.Fatalf("got %d shops after the last one", len(p.Shops.Edges))
			}
		}
	})
}

// here is the area of the shops of importCSV.
var here = map[string]any{"lat": 21.0, "lng": 105.0, "radius": 5000}

// importCSV imports n shops along a line to the north, 10 m apart. The first five are at
// one position. The embedded stack must not be running.
func importCSV(t *testing.T, stack *apptest.Stack, n int) {
	t.Helper()
	path := writeCSV(t, n)
	if out, errs, code := stack.Command(t, "import", path); code != 0 {
		t.Fatalf("import: %d\n%s%s", code, out, errs)
	}
}

func writeCSV(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shops.csv")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintln(f, "external_id,type,name,lat,lng,score")
	for i := range n {
		lat := 21.0 + float64(max(i, 4))*0.00009
		_, _ = fmt.Fprintf(f, "line:%d,cafe,Shop %03d,%v,105.0,%.1f\n", i, i, lat, float64(i%5))
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Equal sort keys must not trap a reader on one page.
func TestShopsAtOnePositionArePagedOnce(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		importCSV(t, stack, 30)
		s := stack.Start(t)
		for _, order := range []string{"DISTANCE", "SCORE", "SOLD", "NEWEST"} {
			seen := map[string]int{}
			vars := map[string]any{"near": here, "first": 2, "orderBy": order}
			for range 30 {
				var p shopPage
				s.Must(t, nearQuery, vars, &p)
				for _, e := range p.Shops.Edges {
					seen[e.Node.ID]++
				}
				if !p.Shops.PageInfo.HasNextPage {
					break
				}
				vars["after"] = p.Shops.PageInfo.EndCursor
			}
			if len(seen) != 30 {
				t.Errorf("%s: got %d of 30 shops", order, len(seen))
			}
			for id, n := range seen {
				if n != 1 {
					t.Errorf("%s: got shop %s %d times", order, id, n)
				}
			}
		}
	})
}

func TestRowsAnswerWithoutRedis(t *testing.T) {
	stack := apptest.Real(t)
	importCSV(t, stack, 30)
	s := stack.Start(t)
	settled(t, s, here)
	want, _ := walk(t, s, here, nil, 10)
	if err := testkit.AdminClient(t, s.Components().State).Do(context.Background(), "SHUTDOWN", "NOSAVE").Err(); err == nil {
		t.Fatal("Redis is still running")
	}
	got, _ := walk(t, s, here, nil, 10)
	if d := gocmp.Diff(want, got); d != "" {
		t.Errorf("without Redis (-want +got)\n%s", d)
	}
}
