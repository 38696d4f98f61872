package app_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const listQuery = `query List($filter: ShopFilter, $orderBy: ShopOrder, $first: Int! = 100, $after: Cursor) {
	shops(filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
		edges { cursor distance node { id name score type { id name } } }
		pageInfo { hasNextPage endCursor }
	}
}`

// A cold page of any size costs three statements. Later it is read from local memory.
func TestShopPageIsReadOnce(t *testing.T) {
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		stack.Seed(t, "--shops", "200")
		stack.Config.Run = []string{"api"} // workers read on their own
		s := stack.Start(t)
		awaitIdle(t, s)
		const page = `{ shops(first: %d) { edges { node { name type { name } } } } }`
		reads := func(first int) (sql, mget, all float64) {
			sqlBefore := s.Counter(t, "tandian_sql_statement_seconds")
			mgetBefore := s.Counter(t, "tandian_redis_commands_total", "command", "mget")
			tripsBefore := s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state")
			s.Must(t, fmt.Sprintf(page, first), nil, nil)
			return s.Counter(t, "tandian_sql_statement_seconds") - sqlBefore,
				s.Counter(t, "tandian_redis_commands_total", "command", "mget") - mgetBefore,
				s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state") - tripsBefore
		}
		if sql, _, _ := reads(100); sql != 3 {
			t.Errorf("cold page of 100: got %v statements, want 3, for the list, shops and types", sql)
		}
		const want = 0 // all from local memory
		for _, first := range []int{1, 20, 100} {
			if sql, mget, trips := reads(first); sql != 0 || mget != want || trips != want {
				t.Errorf("page of %d: got %v statements, %v MGET, %v round trips to Redis; want %v", first, sql, mget, trips, want)
			}
		}
		// Shops by id are cached as well.
		var p shopPage
		s.Must(t, listQuery, map[string]any{"first": 20}, &p)
		ids := make([]string, len(p.Shops.Edges))
		for i, e := range p.Shops.Edges {
			ids[i] = e.Node.ID
		}
		nodes := `query N($ids: [ID!]!) { nodes(ids: $ids) { ... on Shop { name type { name } } } }`
		s.Must(t, nodes, map[string]any{"ids": ids}, nil)
		before := s.Counter(t, "tandian_sql_statement_seconds")
		trips := s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state")
		s.Must(t, nodes, map[string]any{"ids": ids}, nil)
		if sql := s.Counter(t, "tandian_sql_statement_seconds") - before; sql != 0 {
			t.Errorf("20 cached shops by id cost %v statements", sql)
		}
		if n := s.Counter(t, "tandian_redis_round_trip_seconds", "role", "state") - trips; n != want {
			t.Errorf("20 cached shops by id cost %v round trips, want %v", n, want)
		}
	})
}

func TestImportIsVisibleOnRunningServers(t *testing.T) {
	t.Parallel()
	stack := apptest.Real(t)
	importCSV(t, stack, 10)
	a, b := stack.Start(t), stack.Start(t)
	fromRows := map[*apptest.Server]float64{}
	for _, s := range []*apptest.Server{a, b} {
		settled(t, s, here)
		fromRows[s] = s.Counter(t, "tandian_shop_near_total", "source", "sql")
	}
	var p shopPage
	a.Must(t, nearQuery, map[string]any{"near": here, "first": 1}, &p)
	id := p.Shops.Edges[0].Node.ID
	byID := `query S($id: ID!) { shop(id: $id) { name area } }`
	var one struct {
		Shop struct{ Name, Area string }
	}
	b.Must(t, byID, map[string]any{"id": id}, &one)

	// A repeated import changes nothing. Another one adds shops.
	out, _, _ := stack.Command(t, "import", writeCSV(t, 10))
	if !strings.Contains(out, "0 added, 0 changed, 10 unchanged") {
		t.Errorf("the second import printed\n%s", out)
	}
	importCSV(t, stack, 15)
	for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
		sees(t, "shops on server "+name, "15", func() string {
			names, _ := walk(t, s, here, nil, 4)
			return fmt.Sprint(len(names))
		})
		if now := s.Counter(t, "tandian_shop_near_total", "source", "sql"); now > fromRows[s] {
			t.Errorf("server %s read the rows %v times: the cells are stale", name, now-fromRows[s])
		}
	}

	// A renamed shop.
	changed := testFile(t, "shops.csv", "external_id,type,name,lat,lng,area\nline:0,cafe,Renamed,21.00036,105.0,Quay\n")
	if out, errs, code := stack.Command(t, "import", changed); code != 0 || !strings.Contains(out, "0 added, 1 changed") {
		t.Fatalf("import: %d\n%s%s", code, out, errs)
	}
	for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
		sees(t, "the shop on server "+name, "Renamed Quay", func() string {
			s.Must(t, byID, map[string]any{"id": id}, &one)
			return fmt.Sprint(one.Shop.Name, " ", one.Shop.Area)
		})
	}

	// A moved shop is only at its new position.
	moved := testFile(t, "shops.csv", "external_id,type,name,lat,lng,score\nline:0,bar,Renamed,21.5,105.5,4.4\n")
	if _, errs, code := stack.Command(t, "import", moved); code != 0 {
		t.Fatal(errs)
	}
	there := map[string]any{"lat": 21.5, "lng": 105.5, "radius": 100}
	for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
		settled(t, s, there)
		if names, _ := walk(t, s, there, nil, 4); len(names) != 1 || names[0] != "Renamed" {
			t.Errorf("server %s: got %v at the new position", name, names)
		}
		if names, _ := walk(t, s, here, nil, 4); len(names) != 14 || slices.Contains(names, "Renamed") {
			t.Errorf("server %s: got %v at the old position", name, names)
		}
	}
}

func TestSearchFindsPartsOfWordsInAnyCase(t *testing.T) {
	t.Parallel()
	const csv = `external_id,type,name,area,address,lat,lng
s:1,restaurant,海底湖火锅,湖滨,中山路12号,30.1,120.1
s:2,restaurant,老火锅城,湖滨,100% Street,30.1,120.1
s:3,cafe,Café ÉTOILE,Old_Town,Straße 5,30.1,120.1
s:4,cafe,Phở Thìn,Hoàn Kiếm,13 Lò Đúc,30.1,120.1
s:5,bar,ＦＵＬＬ Width Bar,,,30.1,120.1
s:6,bar,100 Street,,,30.1,120.1
`
	names := []string{"海底湖火锅", "老火锅城", "Café ÉTOILE", "Phở Thìn", "ＦＵＬＬ Width Bar", "100 Street"}
	tests := []struct{ search, want string }{
		{"火锅", "s1 s2"},
		{"火", "s1 s2"},
		{"锅火", ""},
		{"湖滨", "s1 s2"},
		{"中山路", "s1"},
		{"étoile", "s3"},
		{"CAFÉ", "s3"},
		{"cafe\u0301", "s3"}, // decomposed
		{"strasse", "s3"},    // case folding: ß is ss
		{"PHỞ THÌN", "s4"},
		{"hoàn", "s4"},
		{"đ", "s3 s4 s5"}, // like d
		{"cafe etoile", "s3"},
		{"pho thin", "s4"},
		{"old-town", "s3"},
		{"full width", "s5"},
		{"100%", "s2"},
		{"d_t", "s3 s5"}, // like dt, also in "width"
		{"d_w", ""},      // an underscore is no letter
		{"street", "s2 s6"},
		{"  Street  ", "s2 s6"},
		{"滨中", ""}, // no match across area and address
		{"' OR 1=1 --", ""},
		{`\`, ""},
		{"q", ""},
		{"", "s1 s2 s3 s4 s5 s6"},
	}
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if _, errs, code := stack.Command(t, "import", testFile(t, "shops.csv", csv)); code != 0 {
			t.Fatal(errs)
		}
		s := stack.Start(t)
		if stack.Name == "embedded" {
			// The demo town is only for an empty database.
			var p shopPage
			if s.Must(t, listQuery, nil, &p); len(p.Shops.Edges) != 6 {
				t.Fatalf("%d shops, want the 6 imported", len(p.Shops.Edges))
			}
		}
		for _, tt := range tests {
			for _, near := range []bool{false, true} {
				query, vars := listQuery, map[string]any{"filter": map[string]any{"search": tt.search}}
				if near {
					query, vars["near"], vars["first"] = nearQuery, map[string]any{"lat": 30.1, "lng": 120.1, "radius": 50000}, 100
				}
				var p shopPage
				s.Must(t, query, vars, &p)
				var got []string
				for _, e := range p.Shops.Edges {
					got = append(got, fmt.Sprintf("s%d", 1+slices.Index(names, e.Node.Name)))
				}
				slices.Sort(got)
				if g := strings.Join(got, " "); g != tt.want {
					t.Errorf("search %q, near %v: %q, want %q", tt.search, near, g, tt.want)
				}
			}
		}
	})
}

func TestInvalidInputIsRejected(t *testing.T) {
	stack := apptest.Embedded(t)
	s := stack.Start(t)
	var types struct{ ShopTypes []struct{ ID string } }
	s.Must(t, `{ shopTypes { id } }`, nil, &types)
	near := `near: {lat: 21, lng: 105`
	tests := []struct{ name, query, code string }{
		{"first 0", `{ shops(first: 0) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"first 101", `{ shops(first: 101) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"first negative", `{ shops(first: -2147483648) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"distance without a position", `{ shops(orderBy: DISTANCE) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"radius 0", `{ shops(` + near + `, radius: 0}) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"radius 50001", `{ shops(` + near + `, radius: 50001}) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"latitude 86", `{ shops(near: {lat: 86, lng: 0}) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"longitude 181", `{ shops(near: {lat: 0, lng: 181}) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"an invalid cursor", `{ shops(after: "x") { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"an empty cursor", `{ shops(after: "") { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"a malformed id", `{ shop(id: "7") { name } }`, "BAD_USER_INPUT"},
		{"the id of another type", `{ shop(id: "` + types.ShopTypes[0].ID + `") { name } }`, "BAD_USER_INPUT"},
		{"a type id of a shop", `{ shops(filter: {typeId: "U2hvcDox"}) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"a node of an unknown type", `{ node(id: "Rm9vOjE") { id } }`, "BAD_USER_INPUT"},
		{"101 nodes", `{ nodes(ids: [` + strings.Repeat(`"U2hvcDox" `, 101) + `]) { id } }`, "BAD_USER_INPUT"},
		{"a long search", `{ shops(filter: {search: "` + strings.Repeat("火", 101) + `"}) { edges { cursor } } }`, "BAD_USER_INPUT"},
		{"an unknown order", `{ shops(orderBy: BEST) { edges { cursor } } }`, "GRAPHQL_VALIDATION_FAILED"},
		{"an unknown field", `{ shops { price } }`, "GRAPHQL_VALIDATION_FAILED"},
		{"invalid GraphQL", `{`, "GRAPHQL_PARSE_FAILED"},
		{"too complex", `{` + strings.Repeat(` a: shops(first: 100) { edges { node { id name address score } } }`, 1) + manyPages(15) + `}`, "COMPLEXITY_LIMIT_EXCEEDED"},
	}
	refused := s.Counter(t, "tandian_door_refused_total")
	defer func() {
		if n := s.Counter(t, "tandian_door_refused_total") - refused; n < 4 {
			t.Errorf("got %v counted rejections, want at least the 4 that never ran", n)
		}
	}()
	for _, tt := range tests {
		a := s.Do(t, tt.query, nil, nil)
		if len(a.Errors) != 1 || a.Errors[0].Extensions.Code != tt.code {
			t.Errorf("%s: %+v, want %s", tt.name, a.Errors, tt.code)
		}
	}
	// Invalid variables.
	for name, near := range map[string]map[string]any{
		"a number in quotes": {"lat": "21", "lng": 105},
		"NaN":                {"lat": "NaN", "lng": 105},
		"a fraction":         {"lat": 21, "lng": 105, "radius": 1.5},
		"beyond 32 bits":     {"lat": 21, "lng": 105, "radius": 3_000_000_000},
		"null":               {"lat": nil, "lng": 105},
	} {
		a := s.Do(t, nearQuery, map[string]any{"near": near, "first": 1}, nil)
		if len(a.Errors) == 0 || (a.Errors[0].Extensions.Code != "BAD_USER_INPUT" && a.Errors[0].Extensions.Code != "GRAPHQL_VALIDATION_FAILED") {
			t.Errorf("%s: %+v", name, a.Errors)
		}
	}
	// Missing objects are null.
	var none struct {
		Shop, Node *struct{ ID string }
		Nodes      []*struct{ ID string }
	}
	s.Must(t, `{ shop(id: "U2hvcDo5OTk5OTk5") { id } node(id: "U2hvcDo5OTk5OTk5") { id } nodes(ids: ["U2hvcDo5OTk5OTk5" "U2hvcDox"]) { id } }`, nil, &none)
	if none.Shop != nil || none.Node != nil || len(none.Nodes) != 2 || none.Nodes[0] != nil || none.Nodes[1] == nil {
		t.Errorf("absent objects: %+v", none)
	}
}

func manyPages(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, " a%d: shops(first: 100) { edges { node { id name } } }", i)
	}
	return b.String()
}

// Every shop that existed from the start is on exactly one page.
func TestPagingWhileShopsAreAdded(t *testing.T) {
	t.Parallel()
	seed := testkit.Seed(t)
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := stack.Start(t)
		old := drafts(rnd, 0, 150)
		upsert(t, s, old)
		added := len(old)
		orders := []string{"near SCORE", "near NEWEST", "near DISTANCE", "SCORE", "SOLD", "NEWEST", "near DISTANCE"}
		for i, order := range orders {
			order, near := strings.CutPrefix(order, "near ")
			query, vars := listQuery, map[string]any{"orderBy": order, "first": 7, "filter": map[string]any{"search": "paged"}}
			if near {
				query, vars["near"] = nearQuery, map[string]any{"lat": 21, "lng": 105, "radius": 20000}
				if i == len(orders)-1 { // over cells that thousands of shops split
					many := drafts(rnd, added, added+1500)
					added += len(many)
					upsert(t, s, many)
					delete(vars, "filter")
				}
			}
			seen := map[string]int{}
			for more := true; more; {
				var writer sync.WaitGroup
				fresh := drafts(rnd, added, added+1)
				added += len(fresh)
				writer.Go(func() { upsert(t, s, fresh) })
				var p shopPage
				s.Must(t, query, vars, &p)
				writer.Wait()
				for _, e := range p.Shops.Edges {
					seen[e.Node.Name]++
				}
				more = p.Shops.PageInfo.HasNextPage
				vars["after"] = p.Shops.PageInfo.EndCursor
			}
			var wrong []string
			for _, d := range old {
				if seen[d.Name] != 1 {
					wrong = append(wrong, fmt.Sprintf("%s ×%d", d.Name, seen[d.Name]))
				}
			}
			if d := gocmp.Diff([]string(nil), wrong); d != "" {
				t.Fatalf("%s: not shown exactly once: %s", order, d)
			}
		}
	})
}
