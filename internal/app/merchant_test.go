package app_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

const updateShop = `mutation U($input: UpdateShopInput!) { updateShop(input: $input) { shop { id name address area openHours avgPrice images { url } type { id } location { lat lng } } userErrors { code field } } }`

type shopAnswer struct {
	CreateShop, UpdateShop struct {
		Shop       map[string]any
		UserErrors []apptest.UserError
	}
}

// merchants logs in an administrator and two merchants, one of them by a grant.
func merchants(t *testing.T, stack *apptest.Stack, s *apptest.Server) (admin, owner, other *apptest.Server) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "2", "--shops", "0", "--tokens", path)
	people := tokens(t, path)
	if _, errs, code := stack.Command(t, "grant", "13800001111", "MERCHANT"); code != 0 {
		t.Fatal(errs)
	}
	other, _ = s.Login(t, "13800001111")
	return s.As(people[0].token), s.As(people[1].token), other
}

// found returns the names of the listed shops.
func found(t *testing.T, s *apptest.Server, vars map[string]any) string {
	t.Helper()
	query := listQuery
	if vars["near"] != nil {
		query = nearQuery
		vars["first"] = 100
	}
	var p shopPage
	s.Must(t, query, vars, &p)
	var names []string
	for _, e := range p.Shops.Edges {
		names = append(names, e.Node.Name)
	}
	return strings.Join(names, ", ")
}

// sees waits until shown returns want, at most as long as an invalidation by another server
// may take.
func sees(t *testing.T, what, want string, shown func() string) {
	t.Helper()
	await(t, slack*healthy, time.Millisecond, what, want, shown)
}

// await polls until shown returns want.
func await(t *testing.T, within, pause time.Duration, what, want string, shown func() string) {
	t.Helper()
	got := shown()
	for deadline := time.Now().Add(within); got != want && time.Now().Before(deadline); got = shown() {
		time.Sleep(pause)
	}
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestMerchantShopIsVisibleOnEveryInstance(t *testing.T) {
	stack := apptest.Real(t)
	a, b := stack.Start(t), stack.Start(t)
	_, owner, _ := merchants(t, stack, a)
	here, there := map[string]any{"lat": 10.5, "lng": 20.5, "radius": 500}, map[string]any{"lat": 11.5, "lng": 21.5, "radius": 500}
	typ := func(n int64) string { return scalar.ID{Type: "ShopType", N: n}.String() }
	instances := map[string]*apptest.Server{"a": a, "b": b}
	// Cells and negative entries are warm, and must not hide a new shop.
	next := scalar.ID{Type: "Shop", N: 1}.String()
	for _, s := range instances {
		settled(t, s, here)
		settled(t, s, there)
		s.Must(t, `query S($id: ID!) { shop(id: $id) { name } }`, map[string]any{"id": next}, nil)
	}
	var made shopAnswer
	owner.Must(t, createShop, map[string]any{"input": shopInput(map[string]any{"name": " 荷塘  小面 ", "area": "湖滨"})}, &made)
	id, _ := made.CreateShop.Shop["id"].(string)
	if id != next || made.CreateShop.Shop["name"] != "荷塘 小面" {
		t.Fatalf("got %+v", made.CreateShop)
	}
	type look struct {
		name string
		vars map[string]any
	}
	looks := func(at map[string]any, typeID, search string) []look {
		return []look{
			{"near", map[string]any{"near": at}},
			{"near, by type", map[string]any{"near": at, "filter": map[string]any{"typeId": typeID}}},
			{"by type", map[string]any{"filter": map[string]any{"typeId": typeID}}},
			{"by words", map[string]any{"filter": map[string]any{"search": search}}},
			{"newest", map[string]any{"orderBy": "NEWEST"}},
		}
	}
	shows := func(want string, all []look) {
		t.Helper()
		for name, s := range instances {
			for _, l := range all {
				sees(t, name+", "+l.name, want, func() string { return found(t, s, l.vars) })
			}
			sees(t, name+", by id", want, func() string {
				var one struct{ Shop struct{ Name string } }
				s.Must(t, `query S($id: ID!) { shop(id: $id) { name } }`, map[string]any{"id": id}, &one)
				return one.Shop.Name
			})
		}
	}
	shows("荷塘 小面", looks(here, typ(1), "湖滨"))

	pictures := []string{uploadURL(t, owner, 30), uploadURL(t, owner.OnServer(b), 31)}
	var changed shopAnswer
	owner.OnServer(b).Must(t, updateShop, map[string]any{"input": map[string]any{
		"id": id, "name": "Lotus Pond", "typeId": typ(2), "area": nil, "location": map[string]any{"lat": 11.5, "lng": 21.5},
		"avgPrice": 4200, "openHours": "10:00-22:00", "images": pictures,
	}}, &changed)
	want := map[string]any{
		"id": id, "name": "Lotus Pond", "address": "1 Street", "area": nil, "openHours": "10:00-22:00", "avgPrice": 4200.0,
		"images": []any{map[string]any{"url": pictures[0]}, map[string]any{"url": pictures[1]}},
		"type":   map[string]any{"id": typ(2)}, "location": map[string]any{"lat": 11.5, "lng": 21.5},
	}
	if d := gocmp.Diff(want, changed.UpdateShop.Shop); d != "" || len(changed.UpdateShop.UserErrors) > 0 {
		t.Errorf("%+v (-want +got)\n%s", changed.UpdateShop.UserErrors, d)
	}
	shows("Lotus Pond", looks(there, typ(2), "lotus"))
	old := looks(here, typ(1), "湖滨")
	for name, s := range instances {
		for _, l := range old[:4] {
			sees(t, name+", the old position, "+l.name, "", func() string { return found(t, s, l.vars) })
		}
	}
}

func TestOnlyOwnerAndAdministratorsChangeAShop(t *testing.T) {
	stack := apptest.Real(t)
	s := stack.Start(t)
	admin, owner, other := merchants(t, stack, s)
	customer, _ := s.Login(t, "13800009999")
	var made shopAnswer
	owner.Must(t, createShop, map[string]any{"input": shopInput(nil)}, &made)
	id := made.CreateShop.Shop["id"]
	for _, step := range []struct {
		name string
		who  *apptest.Server
		want string
	}{{"anonymous", s, "UNAUTHENTICATED"}, {"a customer", customer, "FORBIDDEN"}, {"another merchant", other, "FORBIDDEN"}, {"the owner", owner, ""}, {"an administrator", admin, ""}} {
		if c := code(t, step.who.Do(t, updateShop, map[string]any{"input": map[string]any{"id": id, "name": step.name}}, nil)); c != step.want {
			t.Errorf("%s: %q, want %q", step.name, c, step.want)
		}
		if c := code(t, step.who.Do(t, createShop, map[string]any{"input": shopInput(nil)}, nil)); c != step.want && step.who != other {
			t.Errorf("%s creates a shop: got %q, want %q", step.name, c, step.want)
		}
	}
	var one struct{ Shop struct{ Name string } }
	if s.Must(t, `query S($id: ID!) { shop(id: $id) { name } }`, map[string]any{"id": id}, &one); one.Shop.Name != "an administrator" {
		t.Errorf("got shop name %q", one.Shop.Name)
	}
	var mine struct {
		Me struct {
			Shops struct {
				Edges []struct{ Node struct{ ID string } }
			}
		}
	}
	owner.Must(t, `{ me { shops { edges { node { id } } } } }`, nil, &mine)
	if len(mine.Me.Shops.Edges) != 2 || mine.Me.Shops.Edges[1].Node.ID != id {
		t.Errorf("the owner's shops: %+v", mine.Me.Shops)
	}
}

func TestAllErrorsOfAShopAreReported(t *testing.T) {
	stack := apptest.Real(t)
	s := stack.Start(t)
	_, owner, _ := merchants(t, stack, s)
	var got shopAnswer
	owner.Must(t, createShop, map[string]any{"input": shopInput(map[string]any{
		"name": " ", "typeId": scalar.ID{Type: "ShopType", N: 999}.String(), "location": map[string]any{"lat": 89, "lng": 0}, "avgPrice": -1,
		"images": []string{"https://example.com/x.png"}, "address": strings.Repeat("x", 256),
	})}, &got)
	fields := map[string]string{}
	for _, e := range got.CreateShop.UserErrors {
		fields[strings.Join(e.Field, ".")] = e.Code
	}
	want := map[string]string{
		"input.name": "INVALID_INPUT", "input.typeId": "INVALID_INPUT", "input.location": "INVALID_INPUT", "input.avgPrice": "INVALID_INPUT",
		"input.images": "IMAGE_REJECTED", "input.address": "INVALID_INPUT",
	}
	if d := gocmp.Diff(want, fields); d != "" || got.CreateShop.Shop != nil {
		t.Errorf("(-want +got)\n%s", d)
	}
	owner.Must(t, updateShop, map[string]any{"input": map[string]any{"id": scalar.ID{Type: "Shop", N: 999}.String(), "name": "x"}}, &got)
	if e := got.UpdateShop.UserErrors; len(e) != 1 || e[0].Code != "NOT_FOUND" {
		t.Errorf("an unknown shop: %+v", e)
	}
	for name, input := range map[string]map[string]any{
		"the id of a user":          {"id": scalar.ID{Type: "User", N: 1}.String()},
		"the id of a user for type": {"id": scalar.ID{Type: "Shop", N: 1}.String(), "typeId": scalar.ID{Type: "User", N: 1}.String()},
	} {
		if c := code(t, owner.Do(t, updateShop, map[string]any{"input": input}, nil)); c != "BAD_USER_INPUT" {
			t.Errorf("%s: %q", name, c)
		}
	}
}
