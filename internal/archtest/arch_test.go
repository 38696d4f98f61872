// Package archtest tests the import rules of the module and other rules of its structure.
// ARCHITECTURE.md gives the reasons.
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

// A place is a package with everything below it.
type place struct {
	prefix string   // path in the module; "." is the program itself
	floor  int      // a place imports lower floors and itself
	only   []string // if not nil, the only places of the module that it imports
}

// places is the map. A package belongs to the place with the longest prefix. An internal
// package without a row, such as internal/shop, is a domain package.
var places = []place{
	{prefix: "ent", floor: 0},          // entities
	{prefix: "internal/kit", floor: 0}, // libraries without domain types

	{prefix: "internal/sale", floor: 0, only: []string{}}, // types that two domain packages share

	{prefix: "internal/config", floor: 1, only: []string{"internal/kit"}},
	{prefix: "internal/web", floor: 1, only: []string{"internal/kit"}},
	{prefix: "graph/scalar", floor: 1, only: []string{"internal/kit"}},

	{prefix: "graph", floor: 2}, // resolvers

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

const domainFloor = 1

// closed lists imports of lower floors that are forbidden, with the reason.
var closed = []struct{ from, to, why string }{
	{"graph", "ent", "only services use entities; resolvers use the types of the services"},
	{"graph", "internal/kit/sqldb", "resolvers call services, not stores"},
	{"graph", "internal/kit/redisdb", "resolvers call services, not stores"},
}

const goRedis = "github.com/redis/go-redis"

// A side is the part of a package that contains an import.
type side string

const (
	code     side = "code"
	inside   side = "test"          // package x, in _test files
	external side = "external test" // package x_test
)

// An edge is one import. Packages of the module are relative paths, others full paths.
type edge struct {
	from string
	side side
	to   string
}

// forbidden returns the reason why an import is forbidden, or "".
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
		return "no package imports the program"
	case from.only != nil && !slices.Contains(from.only, to.prefix):
		return from.prefix + " imports no other package of the module" + but(from.only)
	case to.floor > from.floor:
		return "imports go down, not up"
	case to.floor == from.floor && from.floor == 0:
		return "kit and ent do not import each other; declare a small interface"
	case to.floor == from.floor:
		return "domain packages do not import each other; declare an interface, which internal/app connects"
	}
	return ""
}

// forTests reports whether a place exists for tests of this kind. The running app imports
// every domain package, so only external tests can use it.
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
	case from.floor == domainFloor && from.only == nil, // a domain package
		from.prefix == "internal/kit", from.prefix == "internal/app", from.prefix == "internal/cli", from.prefix == "internal/testkit", from.prefix == "internal/testkit/apptest", from.prefix == "internal/testkit/storetest":
		return ""
	}
	return "only kit, services, internal/app, internal/cli and test tools use it"
}

func but(places []string) string {
	if len(places) == 0 {
		return ""
	}
	return ", except " + strings.Join(places, " and ")
}

// placeOf returns the place of a package of the module; other packages have none.
func placeOf(pkg string) place {
	var found place
	for _, p := range places {
		if len(p.prefix) > len(found.prefix) && within(pkg, p.prefix) {
			found = p
		}
	}
	if rest, ok := strings.CutPrefix(pkg, "internal/"); ok && found.prefix == "" {
		name, _, _ := strings.Cut(rest, "/")
		return place{prefix: "internal/" + name, floor: domainFloor}
	}
	return found
}

// within reports whether a package is prefix or is below it.
func within(pkg, prefix string) bool {
	return pkg == prefix || strings.HasPrefix(pkg, prefix+"/")
}

func TestForbidden(t *testing.T) {
	tests := []struct {
		name string
		edge edge
		ok   bool
	}{
		{"domain to ent", edge{"internal/shop", code, "ent/shop"}, true},
		{"domain to kit", edge{"internal/shop", code, "internal/kit/cache"}, true},
		{"own parts", edge{"internal/shop/osm", code, "internal/shop"}, true},
		{"domain to domain", edge{"internal/shop", code, "internal/voucher"}, false},
		{"domain test to domain", edge{"internal/shop", inside, "internal/voucher"}, false},
		{"external test to domain", edge{"internal/shop", external, "internal/voucher"}, false},
		{"prefix of a name", edge{"internal/shopping", code, "internal/shop"}, false},
		{"domain to graph", edge{"internal/shop", code, "graph/model"}, false},
		{"domain to scalars", edge{"internal/shop", code, "graph/scalar"}, false},
		{"domain to app", edge{"internal/shop", code, "internal/app"}, false},
		{"shared types", edge{"internal/order", code, "internal/sale"}, true},
		{"shared types to domain", edge{"internal/sale", code, "internal/order"}, false},
		{"shared types to ent", edge{"internal/sale", code, "ent"}, false},
		{"ent to shared types", edge{"ent/schema", code, "internal/sale"}, false},
		{"domain to Redis", edge{"internal/flashsale", code, goRedis + "/v9"}, true},
		{"third-party package", edge{"internal/shop", code, "golang.org/x/sync/errgroup"}, true},

		{"ent to ent", edge{"ent", code, "ent/schema"}, true},
		{"ent to kit", edge{"ent/schema", code, "internal/kit/apierror"}, false},
		{"ent to domain", edge{"ent/schema", code, "internal/shop"}, false},
		{"ent to Redis", edge{"ent/schema", code, goRedis + "/v9"}, false},
		{"tools know tools", edge{"internal/kit/lock", code, "internal/kit/clock"}, true},
		{"kit to ent", edge{"internal/kit/outbox", code, "ent"}, false},
		{"kit test to ent", edge{"internal/kit/outbox", inside, "ent"}, false},
		{"tools do not know rooms", edge{"internal/kit/cache", code, "internal/shop"}, false},
		{"kit to graph", edge{"internal/kit/gqlserver", code, "graph"}, false},
		{"tools may use Redis", edge{"internal/kit/lock", code, goRedis + "/v9/maintnotifications"}, true},

		{"the graph knows rooms", edge{"graph", code, "internal/shop"}, true},
		{"the graph knows its parts", edge{"graph", code, "graph/generated"}, true},
		{"the graph knows scalars", edge{"graph/generated", code, "graph/scalar"}, true},
		{"the graph knows tools", edge{"graph", code, "internal/kit/apierror"}, true},
		{"graph to ent", edge{"graph", code, "ent"}, false},
		{"graph to a table", edge{"graph/model", code, "ent/shop"}, false},
		{"graph to SQL", edge{"graph", code, "internal/kit/sqldb"}, false},
		{"graph to redisdb", edge{"graph", code, "internal/kit/redisdb"}, false},
		{"graph to Redis", edge{"graph", code, goRedis + "/v9"}, false},
		{"graph test to Redis", edge{"graph", external, goRedis + "/v9"}, false},
		{"scalars know tools", edge{"graph/scalar", code, "internal/kit/page"}, true},
		{"scalars to domain", edge{"graph/scalar", code, "internal/shop"}, false},
		{"scalars to ent", edge{"graph/scalar", code, "ent"}, false},

		{"config to ent", edge{"internal/config", code, "ent"}, false},
		{"settings know tools", edge{"internal/config", code, "internal/kit/apierror"}, true},
		{"config to Redis", edge{"internal/config", code, goRedis + "/v9"}, false},
		{"web to domain", edge{"internal/web", code, "internal/shop"}, false},

		{"the importer knows services", edge{"internal/importer", code, "internal/shop"}, true},
		{"importer to ent", edge{"internal/importer", code, "ent"}, true},
		{"the importer does not know the seeder", edge{"internal/importer", code, "internal/seeder"}, false},
		{"the seeder knows services", edge{"internal/seeder", code, "internal/shop"}, true},
		{"the seeder knows drawing", edge{"internal/seeder", code, "internal/drawing"}, true},
		{"the seeder does not know the demo", edge{"internal/seeder", code, "internal/demo"}, false},
		{"the demo knows the importer", edge{"internal/demo", code, "internal/importer"}, true},
		{"the demo knows the seeder", edge{"internal/demo", code, "internal/seeder"}, true},
		{"the demo does not know the app", edge{"internal/demo", code, "internal/app"}, false},

		{"app to domain", edge{"internal/app", code, "internal/shop"}, true},
		{"app to graph", edge{"internal/app", code, "graph"}, true},
		{"the app knows the demo", edge{"internal/app", code, "internal/demo"}, true},
		{"app to test tools", edge{"internal/app", code, "internal/testkit"}, false},
		{"app to Redis", edge{"internal/app", code, goRedis + "/v9"}, true},

		{"commands import the app", edge{"internal/cli", code, "internal/app"}, true},
		{"commands import services", edge{"internal/cli", code, "internal/account"}, true},
		{"commands may use Redis", edge{"internal/cli", code, goRedis + "/v9"}, true},
		{"commands do not use test tools", edge{"internal/cli", code, "internal/testkit"}, false},
		{"the app does not import commands", edge{"internal/app", code, "internal/cli"}, false},
		{"a test in the app does not import commands", edge{"internal/app", external, "internal/cli"}, false},
		{"a service does not import commands", edge{"internal/shop", code, "internal/cli"}, false},

		{"the program imports commands", edge{".", code, "internal/cli"}, true},
		{"the program does not import the app", edge{".", code, "internal/app"}, false},
		{"program to config", edge{".", code, "internal/config"}, false},
		{"program test to a running app", edge{".", external, "internal/testkit/apptest"}, true},
		{"no package imports the program", edge{"internal/app", code, "."}, false},

		{"a test may use test tools", edge{"internal/kit/lock", inside, "internal/testkit"}, true},
		{"external test to test tools", edge{"internal/kit/lock", external, "internal/testkit"}, true},
		{"external test to a running app", edge{"internal/feed", external, "internal/testkit/apptest"}, true},
		{"internal test to a running app", edge{"internal/feed", inside, "internal/testkit/apptest"}, false},
		{"code to a running app", edge{"internal/feed", code, "internal/testkit/apptest"}, false},
		{"code to test tools", edge{"internal/feed", code, "internal/testkit"}, false},
		{"test tools know tools", edge{"internal/testkit", code, "internal/kit/sqldb"}, true},
		{"test tools to domain", edge{"internal/testkit", code, "internal/shop"}, false},
		{"test of test tools to domain", edge{"internal/testkit", external, "internal/shop"}, false},
		{"storetest to ent", edge{"internal/testkit/storetest", code, "ent"}, true},
		{"storetest to domain", edge{"internal/testkit/storetest", code, "internal/shop"}, false},
		{"internal test to storetest", edge{"internal/feed", inside, "internal/testkit/storetest"}, true},
		{"code to storetest", edge{"internal/feed", code, "internal/testkit/storetest"}, false},
		{"a running app knows all", edge{"internal/testkit/apptest", code, "internal/app"}, true},
		{"apptest to test tools", edge{"internal/testkit/apptest", code, "internal/testkit"}, true},

		{"kit test to cachetest", edge{"internal/kit/cache", external, "internal/testkit/cachetest"}, true},
		{"kit to cachetest", edge{"internal/kit/cache", code, "internal/testkit/cachetest"}, false},

		{"package without a place", edge{"extras", code, "internal/kit/apierror"}, false},
		{"workshop tools know tools", edge{"internal/tools/entdiff", code, "internal/kit/sqldb"}, true},
		{"tools to domain", edge{"internal/tools/entdiff", code, "internal/shop"}, false},
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
	// A list without this package is incomplete.
	if !slices.Contains(packages, "internal/archtest") || len(packages) < 2 {
		t.Fatalf("go list does not see the module: %q", packages)
	}
	for _, e := range edges {
		if why := forbidden(e); why != "" {
			t.Errorf("%s (%s) imports %s: %s", e.from, e.side, e.to, why)
		}
	}
}

// The server links no code of the lab or of tests, and no library that only these use.
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

// packagesOf lists packages of the root module.
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

// imports lists every import of the packages of the module, except the standard library.
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

// inModule shortens the path of a package of the module.
func inModule(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}
