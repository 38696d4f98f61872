package web_test

import (
	"bytes"
	"compress/gzip"
	"maps"
	"path"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// These match the scripts that a browser fetches before a page runs. It fetches those of import()
// later, if ever.
var (
	loadedByPage   = regexp.MustCompile(`<(?:script|link rel="modulepreload")[^>]*\b(?:src|href)="/(assets/[^"]+\.js)"`)
	loadedByScript = regexp.MustCompile("\\b(?:from|import)\\s*[\"'`]\\./([^\"'`]+\\.js)[\"'`]")
)

// firstLoad returns the scripts that a page fetches before it runs, by name below dist.
func firstLoad(t *testing.T, page string) map[string]string {
	t.Helper()
	scripts := make(map[string]string)
	var follow func(name string)
	follow = func(name string) {
		if scripts[name] != "" {
			return
		}
		scripts[name] = read(t, "dist/"+name)
		for _, next := range loadedByScript.FindAllStringSubmatch(scripts[name], -1) {
			follow(path.Join(path.Dir(name), next[1]))
		}
	}
	for _, script := range loadedByPage.FindAllStringSubmatch(read(t, "dist/"+page), -1) {
		follow(script[1])
	}
	if len(scripts) == 0 {
		t.Fatalf("%s loads no script", page)
	}
	return scripts
}

// A phone on a slow network loads these scripts before it shows anything.
func TestAppFirstLoadIsSmall(t *testing.T) {
	const budget = 130_000
	sum := 0
	for name, text := range firstLoad(t, "index.html") {
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		t.Logf("%6d  %s", b.Len(), name)
		sum += b.Len()
	}
	if t.Logf("%6d  total", sum); sum > budget {
		t.Errorf("got %d bytes of gzipped scripts, want at most %d: use import() for code that the first page does not need", sum, budget)
	}
}

func TestAppLoadsNoPlaygroundCode(t *testing.T) {
	tools := regexp.MustCompile(`graphiql-container|CodeMirror-line`)
	foreign := func(page string) int {
		n := 0
		for name, text := range firstLoad(t, page) {
			if tools.MatchString(text) {
				t.Logf("%s: %s", page, name)
				n++
			}
		}
		return n
	}
	if foreign("playground.html") == 0 {
		t.Error("got no match in the playground: update the pattern of this test")
	}
	if n := foreign("index.html"); n > 0 {
		t.Errorf("got %d scripts of the playground in the app, want 0", n)
	}
	if _, loaded := firstLoad(t, "index.html")[script(t)[1:]]; loaded {
		t.Error("got the playground's own script in the app")
	}
}

func TestFirstLoadFollowsStaticImports(t *testing.T) {
	got := make(map[string]bool)
	for _, text := range []string{
		`import{a as b}from"./from-1.js";`, `import"./bare-1.js";`, "export{x}from`./export-1.js`;", `import e from './single-1.js'`,
		`const l=()=>import("./lazy-1.js")`, "import(`./lazy-2.js`)", `from"https://cdn.example/x.js"`,
	} {
		for _, m := range loadedByScript.FindAllStringSubmatch(text, -1) {
			got[m[1]] = true
		}
	}
	want := []string{"bare-1.js", "export-1.js", "from-1.js", "single-1.js"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
