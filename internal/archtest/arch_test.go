// Package archtest holds the import map of the house as a test: who may know
// whom. ARCHITECTURE.md says why.
package archtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const module = "github.com/tandian-dev/tandian"

// A place is a part of the house: a package with everything below it.
type place struct {
	prefix string   // path in the module; "." is the program itself
	floor  int      // a place imports lower floors and itself
	only   []string // when not nil, of our places only these
}

// The map. A package belongs to the place with the longest prefix. What is not
// named here, internal/shop for example, is a room: a place of its own.
var places = []place{
	{prefix: "ent", floor: 0},          // rows
	{prefix: "internal/kit", floor: 0}, // tools that know no noun of ours

	{prefix: "internal/sale", floor: 0, only: []string{}}, // nouns that two rooms share

	{prefix: "internal/config", floor: 1, only: []string{"internal/kit"}},
	{prefix: "internal/web", floor: 1, only: []string{"internal/kit"}},
	{prefix: "graph/scalar", floor: 1, only: []string{"internal/kit"}},

	{prefix: "graph", floor: 2}, // the GraphQL face

	{prefix: "internal/drawing", floor: 3},
	{prefix: "internal/importer", floor: 3},
	{prefix: "internal/seeder", floor: 4},
	{prefix: "internal/demo", floor: 5},

	{prefix: "internal/app", floor: 6}, // wires all packages
	{prefix: "internal/cli", floor: 7},
	{prefix: "internal/testkit", floor: 7, only: []string{"internal/kit"}},

	{prefix: "internal/testkit/apptest", floor: 9},
	{prefix: "internal/testkit/storetest", floor: 8, only: []string{"ent", "internal/kit", "internal/testkit"}},
	{prefix: "internal/archtest", floor: 7, only: []string{}},
	{prefix: "internal/tools", floor: 7, only: []string{"ent", "internal/kit"}},
	{prefix: ".", floor: 8, only: []string{"internal/cli"}},
}

const roomFloor = 1

// Down is not always allowed: these imports are closed, for the reason given.
var closed = []struct{ from, to, why string }{
	{"graph", "ent", "rows stay inside their room; the graph speaks in the rooms' types"},
	{"graph", "internal/kit/sqldb", "the graph asks rooms, not stores"},
}

const goRedis = "github.com/redis/go-redis"

// A side is the part of a package that an import stands in.
type side string

const (
	code     side = "code"
	inside   side = "test"          // package x, in _test files
	external side = "external test" // package x_test
)

// An edge is one import. Ours are paths in the module, others whole paths.
type edge struct {
	from string
	side side
	to   string
}

// forbidden says why an import is not allowed, or "".
func forbidden(e edge) string {
	from := placeOf(e.from)
	if within(e.to, goRedis) {
		return forbiddenRedis(from)
	}
	to := placeOf(e.to)
	if to.prefix == "" || to.prefix == from.prefix || forTests(e.side, to.prefix) {
		return ""
	}
	for _, c := range closed {
		if within(e.from, c.from) && within(e.to, c.to) {
			return c.why
		}
	}
	switch {
	case from.prefix == "":
		return e.from + " is not on the map: give it a place"
	case to.prefix == ".":
		return "nobody imports the program"
	case from.only != nil && !slices.Contains(from.only, to.prefix):
		return from.prefix + " keeps to itself" + but(from.only)
	case to.floor > from.floor:
		return "imports go down, not up"
	case to.floor == from.floor && from.floor == 0:
		return "rows and tools do not know each other; a tool takes a small interface"
	case to.floor == from.floor:
		return "rooms do not know each other; declare an interface and let internal/app join them"
	}
	return ""
}

// forTests reports whether a place is there for tests like this one. The
// running app knows every room, so only a test outside the package can use it.
func forTests(s side, place string) bool {
	switch place {
	case "internal/testkit", "internal/testkit/storetest":
		return s != code
	case "internal/testkit/apptest":
		return s == external
	}
	return false
}

func forbiddenRedis(from place) string {
	switch {
	case from.floor == roomFloor && from.only == nil, // a room
		from.prefix == "internal/kit", from.prefix == "internal/app", from.prefix == "internal/cli", from.prefix == "internal/testkit", from.prefix == "internal/testkit/apptest", from.prefix == "internal/testkit/storetest":
		return ""
	}
	return "only kit, services, internal/app, internal/cli and test tools use it"
}

func but(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return ", but for " + strings.Join(places, " and ")
}

// placeOf finds the place of one of our packages; other packages have none.
func placeOf(pkg string) place {
	var found place
	for _, p := range places {
		if len(p.prefix) > len(found.prefix) && within(pkg, p.prefix) {
			found = p
		}
	}
	if rest, ok := strings.CutPrefix(pkg, "internal/"); ok && found.prefix == "" {
		room, _, _ := strings.Cut(rest, "/")
		return place{prefix: "internal/" + room, floor: roomFloor}
	}
	return found
}

// within reports whether a package is prefix or lies below it.
func within(pkg, prefix string) bool {
	return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
}

func TestForbidden(t *testing.T) {
	tests := []struct {
		name string
		edge edge
		ok   bool
	}{
		{"a room knows the rows", edge{"internal/shop", code, "ent/shop"}, true},
		{"a room knows the tools", edge{"internal/shop", code, "internal/kit/cache"}, true},
		{"a room knows its own parts", edge{"internal/shop/osm", code, "internal/shop"}, true},
		{"a room knows no other room", edge{"internal/shop", code, "internal/voucher"}, false},
		{"a room's test knows no other room", edge{"internal/shop", inside, "internal/voucher"}, false},
		{"an external test knows no other room", edge{"internal/shop", external, "internal/voucher"}, false},
		{"a name's beginning is not a room", edge{"internal/shopping", code, "internal/shop"}, false},
		{"a room does not know the graph", edge{"internal/shop", code, "graph/model"}, false},
		{"a room does not know scalars", edge{"internal/shop", code, "graph/scalar"}, false},
		{"a room does not know the hall", edge{"internal/shop", code, "internal/app"}, false},
		{"a room knows nouns that it shares", edge{"internal/order", code, "internal/sale"}, true},
		{"shared nouns know no room", edge{"internal/sale", code, "internal/order"}, false},
		{"shared nouns know no rows", edge{"internal/sale", code, "ent"}, false},
		{"rows know no shared nouns", edge{"ent/schema", code, "internal/sale"}, false},
		{"a room may use Redis", edge{"internal/flashsale", code, goRedis + "/v9"}, true},
		{"a room may use what others wrote", edge{"internal/shop", code, "golang.org/x/sync/errgroup"}, true},

		{"rows know rows", edge{"ent", code, "ent/schema"}, true},
		{"rows do not know tools", edge{"ent/schema", code, "internal/kit/apierror"}, false},
		{"rows do not know rooms", edge{"ent/schema", code, "internal/shop"}, false},
		{"rows do not know Redis", edge{"ent/schema", code, goRedis + "/v9"}, false},
		{"tools know tools", edge{"internal/kit/lock", code, "internal/kit/clock"}, true},
		{"tools do not know rows", edge{"internal/kit/outbox", code, "ent"}, false},
		{"tools' tests do not know rows", edge{"internal/kit/outbox", inside, "ent"}, false},
		{"tools do not know rooms", edge{"internal/kit/cache", code, "internal/shop"}, false},
		{"tools do not know the graph", edge{"internal/kit/gqlserver", code, "graph"}, false},
		{"tools may use Redis", edge{"internal/kit/lock", code, goRedis + "/v9/maintnotifications"}, true},

		{"the graph knows rooms", edge{"graph", code, "internal/shop"}, true},
		{"the graph knows its parts", edge{"graph", code, "graph/generated"}, true},
		{"the graph knows scalars", edge{"graph/generated", code, "graph/scalar"}, true},
		{"the graph knows tools", edge{"graph", code, "internal/kit/apierror"}, true},
		{"the graph does not know rows", edge{"graph", code, "ent"}, false},
		{"the graph does not know a table", edge{"graph/model", code, "ent/shop"}, false},
		{"the graph does not know stores", edge{"graph", code, "internal/kit/sqldb"}, false},
		{"the graph does not know Redis", edge{"graph", code, goRedis + "/v9"}, false},
		{"the graph's tests do not know Redis", edge{"graph", external, goRedis + "/v9"}, false},
		{"scalars know tools", edge{"graph/scalar", code, "internal/kit/page"}, true},
		{"scalars know no room", edge{"graph/scalar", code, "internal/shop"}, false},
		{"scalars do not know rows", edge{"graph/scalar", code, "ent"}, false},

		{"settings know no rows", edge{"internal/config", code, "ent"}, false},
		{"settings know tools", edge{"internal/config", code, "internal/kit/apierror"}, true},
		{"settings do not know Redis", edge{"internal/config", code, goRedis + "/v9"}, false},
		{"the web app knows no room", edge{"internal/web", code, "internal/shop"}, false},

		{"the importer knows services", edge{"internal/importer", code, "internal/shop"}, true},
		{"the importer knows rows", edge{"internal/importer", code, "ent"}, true},
		{"the importer does not know the seeder", edge{"internal/importer", code, "internal/seeder"}, false},
		{"the seeder knows services", edge{"internal/seeder", code, "internal/shop"}, true},
		{"the seeder knows drawing", edge{"internal/seeder", code, "internal/drawing"}, true},
		{"the seeder does not know the demo", edge{"internal/seeder", code, "internal/demo"}, false},
		{"the demo knows the importer", edge{"internal/demo", code, "internal/importer"}, true},
		{"the demo knows the seeder", edge{"internal/demo", code, "internal/seeder"}, true},
		{"the demo does not know the app", edge{"internal/demo", code, "internal/app"}, false},

		{"the hall knows rooms", edge{"internal/app", code, "internal/shop"}, true},
		{"the hall knows the graph", edge{"internal/app", code, "graph"}, true},
		{"the app knows the demo", edge{"internal/app", code, "internal/demo"}, true},
		{"the hall does not use test tools", edge{"internal/app", code, "internal/testkit"}, false},
		{"the hall may use Redis", edge{"internal/app", code, goRedis + "/v9"}, true},

		{"commands import the app", edge{"internal/cli", code, "internal/app"}, true},
		{"commands import services", edge{"internal/cli", code, "internal/account"}, true},
		{"commands may use Redis", edge{"internal/cli", code, goRedis + "/v9"}, true},
		{"commands do not use test tools", edge{"internal/cli", code, "internal/testkit"}, false},
		{"the app does not import commands", edge{"internal/app", code, "internal/cli"}, false},
		{"a test in the app does not import commands", edge{"internal/app", external, "internal/cli"}, false},
		{"a service does not import commands", edge{"internal/shop", code, "internal/cli"}, false},

		{"the program imports commands", edge{".", code, "internal/cli"}, true},
		{"the program does not import the app", edge{".", code, "internal/app"}, false},
		{"the program knows nothing else", edge{".", code, "internal/config"}, false},
		{"the program's tests start it", edge{".", external, "internal/testkit/apptest"}, true},
		{"nobody imports the program", edge{"internal/app", code, "."}, false},

		{"a test may use test tools", edge{"internal/kit/lock", inside, "internal/testkit"}, true},
		{"an external test may use test tools", edge{"internal/kit/lock", external, "internal/testkit"}, true},
		{"an external test may use a running app", edge{"internal/feed", external, "internal/testkit/apptest"}, true},
		{"a test inside may not use a running app", edge{"internal/feed", inside, "internal/testkit/apptest"}, false},
		{"code may not use a running app", edge{"internal/feed", code, "internal/testkit/apptest"}, false},
		{"code may not use test tools", edge{"internal/feed", code, "internal/testkit"}, false},
		{"test tools know tools", edge{"internal/testkit", code, "internal/kit/sqldb"}, true},
		{"test tools know no room", edge{"internal/testkit", code, "internal/shop"}, false},
		{"test tools' tests know no room", edge{"internal/testkit", external, "internal/shop"}, false},
		{"open stores know rows", edge{"internal/testkit/storetest", code, "ent"}, true},
		{"open stores know no room", edge{"internal/testkit/storetest", code, "internal/shop"}, false},
		{"a test inside may open stores", edge{"internal/feed", inside, "internal/testkit/storetest"}, true},
		{"code may not open stores of tests", edge{"internal/feed", code, "internal/testkit/storetest"}, false},
		{"a running app knows all", edge{"internal/testkit/apptest", code, "internal/app"}, true},
		{"a running app uses test tools", edge{"internal/testkit/apptest", code, "internal/testkit"}, true},

		{"a tool's test may use what several processes share", edge{"internal/kit/cache", external, "internal/testkit/cachetest"}, true},
		{"a tool may not", edge{"internal/kit/cache", code, "internal/testkit/cachetest"}, false},

		{"a package off the map knows nobody", edge{"extras", code, "internal/kit/apierror"}, false},
		{"workshop tools know tools", edge{"internal/tools/entdiff", code, "internal/kit/sqldb"}, true},
		{"workshop tools know no room", edge{"internal/tools/entdiff", code, "internal/shop"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if why := forbidden(tt.edge); (why == "") != tt.ok {
				t.Errorf("%v: got %q, want allowed: %v", tt.edge, why, tt.ok)
			}
		})
	}
}

func TestImportsGoDown(t *testing.T) {
	edges, packages := imports(t)
	// A list without this package is not the list of the whole module.
	if !slices.Contains(packages, "internal/archtest") || len(packages) < 2 {
		t.Fatalf("go list does not see the module: %q", packages)
	}
	for _, e := range edges {
		if why := forbidden(e); why != "" {
			t.Errorf("%s (%s) imports %s: %s", e.from, e.side, e.to, why)
		}
	}
}

// The server links no code of the lab or of tests, and no library that only they use.
func TestServerLinksNoLabOrTestCode(t *testing.T) {
	linked := packagesOf(t, "-deps", ".")
	if !slices.Contains(linked, module+"/internal/app") || len(linked) < 100 {
		t.Fatalf("go list does not see the packages of the server: %q", linked)
	}
	for _, unwanted := range []string{
		module + "/lab", module + "/bench", module + "/internal/testkit", module + "/internal/archtest", module + "/internal/tools",
		"github.com/Shopify/toxiproxy", "github.com/anishathalye/porcupine", "github.com/johannesboyne/gofakes3",
		"go.uber.org/goleak", "testing",
	} {
		for _, pkg := range linked {
			if within(pkg, unwanted) {
				t.Errorf("the server links %s", pkg)
			}
		}
	}
}

// packagesOf lists packages of the root of the module.
func packagesOf(t *testing.T, args ...string) []string {
	t.Helper()
	return strings.Fields(string(goList(t, args...)))
}

// goList runs go list in the root of the module.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	cmd.Dir = "../.."
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, said.Bytes())
	}
	return out
}

// imports lists every import of the module's packages but the standard library.
func imports(t *testing.T) (edges []edge, packages []string) {
	t.Helper()
	// -e: the compiler reports packages that do not build.
	out := goList(t, "-e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p struct {
			ImportPath                         string
			Imports, TestImports, XTestImports []string
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return edges, packages
		} else if err != nil {
			t.Fatalf("read go list: %v", err)
		}
		from := inModule(p.ImportPath)
		packages = append(packages, from)
		for s, list := range map[side][]string{code: p.Imports, inside: p.TestImports, external: p.XTestImports} {
			for _, to := range list {
				if first, _, _ := strings.Cut(to, "/"); to == module || strings.Contains(first, ".") {
					edges = append(edges, edge{from, s, inModule(to)})
				}
			}
		}
	}
}

// inModule shortens the path of one of our packages.
func inModule(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}
