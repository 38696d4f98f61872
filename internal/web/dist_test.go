package web_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDistIsFresh compares the hashes that app/scripts/stamp.mjs stored at the last build with
// the current sources and build. It needs no Node.
func TestDistIsFresh(t *testing.T) {
	const stamp = "dist/build.sha256"
	noted, err := os.ReadFile(stamp)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	names = append(names, filesIn(t, "app", false)...)
	names = append(names, filesIn(t, "../../graph/schema", false)...)
	for _, folder := range []string{"app/public", "app/scripts", "app/src", "dist"} {
		names = append(names, filesIn(t, folder, true)...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == stamp })
	slices.Sort(names)

	var got []string
	for _, name := range names {
		sum := sha256.Sum256([]byte(read(t, name)))
		got = append(got, hex.EncodeToString(sum[:])+"  "+name)
	}
	want := strings.Split(strings.TrimSuffix(string(noted), "\n"), "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dist/ is stale; run `npm ci && npm run build` in internal/web/app (-at the build +now):\n%s", diff)
	}
}

// filesIn lists the visible files of a folder, optionally recursively, like stamp.mjs.
func filesIn(t *testing.T, folder string, deep bool) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		name := path.Join(folder, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case !entry.IsDir():
			names = append(names, name)
		case deep:
			names = append(names, filesIn(t, name, true)...)
		}
	}
	return names
}

// assetName matches references to built assets in other files: in a page, in an import, in a list
// of preloads.
var assetName = regexp.MustCompile(`[\w.-]+-[\w-]{8}\.(?:js|css)\b`)

func TestReferencedAssetsExist(t *testing.T) {
	seen := make(map[string]bool)
	var follow func(name string)
	follow = func(name string) {
		for _, next := range assetName.FindAllString(read(t, name), -1) {
			if seen[next] {
				continue
			}
			seen[next] = true
			follow("dist/assets/" + next)
		}
	}
	follow("dist/index.html")
	follow("dist/playground.html")

	if named, built := len(seen), len(filesIn(t, "dist/assets", true)); named != built {
		t.Errorf("got %d referenced assets, want all %d of the build", named, built)
	}
}

// elsewhere matches code that makes a browser load from another host: an address with a scheme or
// a bare // in an attribute that loads, in a style sheet, in an import, or in constructors and
// calls that fetch.
var elsewhere = regexp.MustCompile(`(?i)` +
	`<(?:script|link|img|iframe|source|video|audio|object|embed)\b[^>]*\b(?:src|href|srcset|data)\s*=\s*["']?\s*(?:https?:)?//` +
	`|\burl\(\s*["']?\s*(?:https?:)?//` +
	`|@import\s*["']\s*(?:https?:)?//` +
	"|\\b(?:from|import)\\s*\\(?\\s*[\"'`](?:https?:)?//" +
	"|\\b(?:fetch|importScripts|Worker|EventSource|WebSocket)\\(\\s*[\"'`](?:(?:http|ws)s?:)?//" +
	"|\\.(?:src|href)\\s*=\\s*[\"'`](?:https?:)?//")

func TestDistLoadsNothingFromOtherHosts(t *testing.T) {
	for _, name := range filesIn(t, "dist", true) {
		if path.Ext(name) == ".md" {
			continue // not for browsers
		}
		if found := elsewhere.FindAllString(read(t, name), -1); found != nil {
			t.Errorf("%s loads from another host: %q", name, found)
		}
	}
}

func TestElsewhereMatchesLoadedURLs(t *testing.T) {
	tests := []struct {
		text string
		want bool
	}{
		{`<script type="module" src="https://cdn.example/x.js">`, true},
		{`<link rel=stylesheet href=//cdn.example/x.css>`, true},
		{`<img alt="" src='http://cdn.example/x.png'>`, true},
		{`a{background:url(https://cdn.example/x.png)}`, true},
		{`@font-face{src:url("//cdn.example/x.woff2")}`, true},
		{`@import "https://cdn.example/x.css";`, true},
		{`import{a}from"https://cdn.example/x.js"`, true},
		{"await import(`https://cdn.example/x.js`)", true},
		{`fetch("https://cdn.example/x.json")`, true},
		{`new WebSocket("wss://cdn.example/x")`, true},
		{`s.src="https://cdn.example/x.js"`, true},
		{`<script type="module" src="/assets/x.js">`, false},
		{`a{background:url(data:image/png;base64,//8=)}`, false},
		{`<a href="https://github.com/graphql/graphiql">`, false},
		{`createElementNS("http://www.w3.org/2000/svg","path")`, false},
	}
	for _, tt := range tests {
		if got := elsewhere.MatchString(tt.text); got != tt.want {
			t.Errorf("%s: want %v, got %v", tt.text, tt.want, got)
		}
	}
}

// inline matches content of a page that the content security policy would block.
var inline = regexp.MustCompile(`(?i)<style|<script(?:\s[^>]*)?>[^<]|\son\w+\s*=|\sstyle\s*=|javascript:`)

func TestPagesHaveNoInlineCode(t *testing.T) {
	pages, err := fs.Glob(os.DirFS("dist"), "*.html")
	if err != nil || len(pages) == 0 {
		t.Fatalf("want pages, got %v (%v)", pages, err)
	}
	for _, page := range pages {
		if found := inline.FindAllString(read(t, "dist/"+page), -1); found != nil {
			t.Errorf("%s: got inline code %q, which the policy blocks", page, found)
		}
	}
}

// npm silently omits packages for other platforms from the lock file if the registry does not
// have them. `npm ci` then fails everywhere.
func TestLockFileInstallsAnywhere(t *testing.T) {
	var lock struct {
		Packages map[string]struct {
			Resolved, Integrity  string
			OptionalDependencies map[string]string
		}
	}
	if err := json.Unmarshal([]byte(read(t, "app/package-lock.json")), &lock); err != nil {
		t.Fatal(err)
	}
	if len(lock.Packages) < 2 {
		t.Fatalf("want packages, got %d", len(lock.Packages))
	}
	for name, p := range lock.Packages {
		if p.Resolved != "" {
			t.Errorf("%s: got the URL of a registry; app/.npmrc should prevent that", name)
		}
		if name != "" && p.Integrity == "" {
			t.Errorf("%s has no hash", name)
		}
		for platform := range p.OptionalDependencies {
			if _, ok := lock.Packages["node_modules/"+platform]; !ok {
				t.Errorf("%s: got no entry for %s", name, platform)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func size(t *testing.T, name string) string {
	t.Helper()
	return strconv.Itoa(len(read(t, name)))
}

// ARCHITECTURE.md gives a reason for each direct dependency, as for Go modules.
func TestEveryPackageHasAReason(t *testing.T) {
	reasons := read(t, "../../ARCHITECTURE.md")
	for _, name := range []string{"app/package.json", "e2e/package.json", "../kit/gqlserver/clients/package.json"} {
		var manifest struct {
			Dependencies, DevDependencies map[string]string
		}
		if err := json.Unmarshal([]byte(read(t, name)), &manifest); err != nil {
			t.Fatal(err)
		}
		if len(manifest.Dependencies) == 0 {
			t.Errorf("%s: got no dependencies", name)
		}
		for _, packages := range []map[string]string{manifest.Dependencies, manifest.DevDependencies} {
			for p, version := range packages {
				if !regexp.MustCompile(`(?m)^\|[^|]*(?:^|[ ,|])` + regexp.QuoteMeta(p) + `[ ,|]`).MatchString(reasons) {
					t.Errorf("%s: got no reason for %s in ARCHITECTURE.md", name, p)
				}
				if strings.Trim(version, "0123456789.") != "" {
					t.Errorf("%s: got version %s of %s, want an exact one", name, version, p)
				}
			}
		}
	}
}
