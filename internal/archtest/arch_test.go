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

// An area is a package with all packages below it.
type area struct {
	prefix string   // path in the module; "." is the program itself
	layer  int      // an area imports lower layers and itself
	only   []string // if not nil, the only areas of the module that it imports
}

// areas lists all areas except domain packages. A package belongs to the area with the longest
// prefix. An internal package without a row, such as internal/shop, is a domain package.
var areas = []area{
	{prefix: "ent", layer: 0},          // entities
	{prefix: "internal/kit", layer: 0}, // libraries without domain types

	{prefix: "internal/sale", layer: 0, only: []string{}}, // types that two domain packages share

	{prefix: "internal/config", layer: 1, only: []string{"internal/kit"}},
	{prefix: "internal/web", layer: 1, only: []string{"internal/kit"}},
	{prefix: "graph/scalar", layer: 1, only: []string{"internal/kit"}},

	{prefix: "graph", layer: 2}, // resolvers

	{prefix: "internal/drawing", layer: 3},
	{prefix: "internal/importer", layer: 3},
	{prefix: "internal/seeder", layer: 4},
	{prefix: "internal/demo", layer: 5},

	{prefix: "internal/app", layer: 6}, // wires all packages
	{prefix: "internal/cli", layer: 7},
	{prefix: "internal/testkit", layer: 7, only: []string{"internal/kit"}},

	{prefix: "internal/testkit/apptest", layer: 9},
	{prefix: "internal/testkit/storetest", layer: 8, only: []string{"ent", "internal/kit", "internal/testkit"}},
	{prefix: "internal/archtest", layer: 7, only: []string{}},
	{prefix: "internal/tools", layer: 7, only: []string{"ent", "internal/kit"}},
	{prefix: ".", layer: 8, only: []string{"internal/cli"}},
}

const domainLayer = 1

// denied lists imports of lower layers that are forbidden, with the reason.
var denied = []struct{ from, to, why string }{
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

// An edge is one import. Packages of the module have paths relative to it, others full paths.
type edge struct {
	from string
	side side
	to   string
}

// forbidden returns the reason why an import is forbidden, or "".
func forbidden(e edge) string {
	from := areaOf(e.from)
	if within(e.to, goRedis) {
		return forbiddenRedis(from)
	}
	to := areaOf(e.to)
	if to.prefix == "" || to.prefix == from.prefix || forTests(e.side, to.prefix) {
		return ""
	}
	for _, c := range denied {
		if within(e.from, c.from) && within(e.to, c.to) {
			return c.why
		}
	}
	switch {
	case from.prefix == "":
		return "unknown area " + e.from + ": add it to areas"
	case to.prefix == ".":
		return "no package imports the program"
	case from.only != nil && !slices.Contains(from.only, to.prefix):
		return from.prefix + " imports no other package of the module" + except(from.only)
	case to.layer > from.layer:
		return "imports go down, not up"
	case to.layer == from.layer && from.layer == 0:
		return "kit and ent do not import each other; declare a small interface"
	case to.layer == from.layer:
		return "domain packages do not import each other; declare an interface, which internal/app connects"
	}
	return ""
}

// forTests reports whether an area exists for tests on this side. Only external tests can use
// apptest, because it imports every domain package.
func forTests(s side, area string) bool {
	switch area {
	case "internal/testkit", "internal/testkit/storetest":
		return s != code
	case "internal/testkit/apptest":
		return s == external
	}
	return false
}

func forbiddenRedis(from area) string {
	switch {
	case from.layer == domainLayer && from.only == nil, // a domain package
		from.prefix == "internal/kit", from.prefix == "internal/app", from.prefix == "internal/cli", from.prefix == "internal/testkit", from.prefix == "internal/testkit/apptest", from.prefix == "internal/testkit/storetest":
		return ""
	}
	return "only kit, domain packages, internal/app, internal/cli and test tools use Redis"
}

func except(areas []string) string {
	if len(areas) == 0 {
		return ""
	}
	return ", except " + strings.Join(areas, " and ")
}

// areaOf returns the area of a package, or the zero area outside the module.
func areaOf(pkg string) area {
	var found area
	for _, p := range areas {
		if len(p.prefix) > len(found.prefix) && within(pkg, p.prefix) {
			found = p
		}
	}
	if rest, ok := strings.CutPrefix(pkg, "internal/"); ok && found.prefix == "" {
		name, _, _ := strings.Cut(rest, "/")
		return area{prefix: "internal/" + name, layer: domainLayer}
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
		{"subpackage to domain", edge{"internal/shop/osm", code, "internal/shop"}, true},
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
		{"kit to kit", edge{"internal/kit/lock", code, "internal/kit/clock"}, true},
		{"kit to ent", edge{"internal/kit/outbox", code, "ent"}, false},
		{"kit test to ent", edge{"internal/kit/outbox", inside, "ent"}, false},
		{"kit to domain", edge{"internal/kit/cache", code, "internal/shop"}, false},
		{"kit to graph", edge{"internal/kit/gqlserver", code, "graph"}, false},
		{"kit to Redis", edge{"internal/kit/lock", code, goRedis + "/v9/maintnotifications"}, true},

		{"graph to domain", edge{"graph", code, "internal/shop"}, true},
		{"graph to its subpackage", edge{"graph", code, "graph/generated"}, true},
		{"graph to scalars", edge{"graph/generated", code, "graph/scalar"}, true},
		{"graph to kit", edge{"graph", code, "internal/kit/apierror"}, true},
		{"graph to ent", edge{"graph", code, "ent"}, false},
		{"graph to a table", edge{"graph/model", code, "ent/shop"}, false},
		{"graph to SQL", edge{"graph", code, "internal/kit/sqldb"}, false},
		{"graph to redisdb", edge{"graph", code, "internal/kit/redisdb"}, false},
		{"graph to Redis", edge{"graph", code, goRedis + "/v9"}, false},
		{"graph test to Redis", edge{"graph", external, goRedis + "/v9"}, false},
		{"scalars to kit", edge{"graph/scalar", code, "internal/kit/page"}, true},
		{"scalars to domain", edge{"graph/scalar", code, "internal/shop"}, false},
		{"scalars to ent", edge{"graph/scalar", code, "ent"}, false},

		{"config to ent", edge{"internal/config", code, "ent"}, false},
		{"config to kit", edge{"internal/config", code, "internal/kit/apierror"}, true},
		{"config to Redis", edge{"internal/config", code, goRedis + "/v9"}, false},
		{"web to domain", edge{"internal/web", code, "internal/shop"}, false},

		{"importer to domain", edge{"internal/importer", code, "internal/shop"}, true},
		{"importer to ent", edge{"internal/importer", code, "ent"}, true},
		{"importer to seeder", edge{"internal/importer", code, "internal/seeder"}, false},
		{"seeder to domain", edge{"internal/seeder", code, "internal/shop"}, true},
		{"seeder to drawing", edge{"internal/seeder", code, "internal/drawing"}, true},
		{"seeder to demo", edge{"internal/seeder", code, "internal/demo"}, false},
		{"demo to importer", edge{"internal/demo", code, "internal/importer"}, true},
		{"demo to seeder", edge{"internal/demo", code, "internal/seeder"}, true},
		{"demo to app", edge{"internal/demo", code, "internal/app"}, false},

		{"app to domain", edge{"internal/app", code, "internal/shop"}, true},
		{"app to graph", edge{"internal/app", code, "graph"}, true},
		{"app to demo", edge{"internal/app", code, "internal/demo"}, true},
		{"app to test tools", edge{"internal/app", code, "internal/testkit"}, false},
		{"app to Redis", edge{"internal/app", code, goRedis + "/v9"}, true},

		{"commands to app", edge{"internal/cli", code, "internal/app"}, true},
		{"commands to domain", edge{"internal/cli", code, "internal/account"}, true},
		{"commands to Redis", edge{"internal/cli", code, goRedis + "/v9"}, true},
		{"commands to test tools", edge{"internal/cli", code, "internal/testkit"}, false},
		{"app to commands", edge{"internal/app", code, "internal/cli"}, false},
		{"app test to commands", edge{"internal/app", external, "internal/cli"}, false},
		{"domain to commands", edge{"internal/shop", code, "internal/cli"}, false},

		{"program to commands", edge{".", code, "internal/cli"}, true},
		{"program to app", edge{".", code, "internal/app"}, false},
		{"program to config", edge{".", code, "internal/config"}, false},
		{"program test to apptest", edge{".", external, "internal/testkit/apptest"}, true},
		{"app to program", edge{"internal/app", code, "."}, false},

		{"internal test to test tools", edge{"internal/kit/lock", inside, "internal/testkit"}, true},
		{"external test to test tools", edge{"internal/kit/lock", external, "internal/testkit"}, true},
		{"external test to apptest", edge{"internal/feed", external, "internal/testkit/apptest"}, true},
		{"internal test to apptest", edge{"internal/feed", inside, "internal/testkit/apptest"}, false},
		{"code to apptest", edge{"internal/feed", code, "internal/testkit/apptest"}, false},
		{"code to test tools", edge{"internal/feed", code, "internal/testkit"}, false},
		{"test tools to kit", edge{"internal/testkit", code, "internal/kit/sqldb"}, true},
		{"test tools to domain", edge{"internal/testkit", code, "internal/shop"}, false},
		{"test of test tools to domain", edge{"internal/testkit", external, "internal/shop"}, false},
		{"storetest to ent", edge{"internal/testkit/storetest", code, "ent"}, true},
		{"storetest to domain", edge{"internal/testkit/storetest", code, "internal/shop"}, false},
		{"internal test to storetest", edge{"internal/feed", inside, "internal/testkit/storetest"}, true},
		{"code to storetest", edge{"internal/feed", code, "internal/testkit/storetest"}, false},
		{"apptest to app", edge{"internal/testkit/apptest", code, "internal/app"}, true},
		{"apptest to test tools", edge{"internal/testkit/apptest", code, "internal/testkit"}, true},

		{"kit test to cachetest", edge{"internal/kit/cache", external, "internal/testkit/cachetest"}, true},
		{"kit to cachetest", edge{"internal/kit/cache", code, "internal/testkit/cachetest"}, false},

		{"unknown area", edge{"extras", code, "internal/kit/apierror"}, false},
		{"tools to kit", edge{"internal/tools/entdiff", code, "internal/kit/sqldb"}, true},
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
	if !slices.Contains(packages, "internal/archtest") || len(packages) < 2 {
		t.Fatalf("got packages %q, want all of the module", packages)
	}
	for _, e := range edges {
		if why := forbidden(e); why != "" {
			t.Errorf("%s (%s) imports %s: %s", e.from, e.side, e.to, why)
		}
	}
}

func TestServerLinksNoLabOrTestCode(t *testing.T) {
	linked := packagesOf(t, "-deps", ".")
	if !slices.Contains(linked, module+"/internal/app") || len(linked) < 100 {
		t.Fatalf("got packages %q, want all of the server", linked)
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
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	return out
}

// imports lists every import of the packages of the module, except the standard library.
func imports(t *testing.T) (edges []edge, packages []string) {
	t.Helper()
	// -e: continue if a package does not build, which the compiler reports.
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

// inModule returns the path of a package relative to the module.
func inModule(path string) string {
	if path == module {
		return "."
	}
	return strings.TrimPrefix(path, module+"/")
}
