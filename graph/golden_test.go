package graph_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

var update = flag.Bool("update", false, "rewrite the golden files, from the embedded stores")

// Each testdata/NAME.graphql is what a client would send, with the variables of
// NAME.vars.json if there are any; NAME.golden.json is the answer, from the
// demo town, on either stack. The answers hold ids: shops are numbered in the
// order of their external ids. Each document is sent twice, because the second
// answer comes from caches and GEO cells.
func TestGoldenDocuments(t *testing.T) {
	names := documents(t)
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if stack.Name == "real" { // the embedded stack plants the town by itself
			if _, errs, code := stack.Command(t, "import", "../internal/town/demo.csv"); code != 0 {
				t.Fatal(errs)
			}
		}
		s := stack.Start(t)
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				query, vars := document(t, name)
				golden := filepath.Join("testdata", name+".golden.json")
				if *update && stack.Name == "embedded" {
					if err := os.WriteFile(golden, []byte(answer(t, s, query, vars)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatalf("%v; go test ./graph -update writes it", err)
				}
				for _, time := range []string{"first", "second"} {
					if d := cmp.Diff(string(want), answer(t, s, query, vars)); d != "" {
						t.Errorf("the %s time (-want +got)\n%s", time, d)
					}
				}
			})
		}
	})
}

// documents are the names in testdata. A file that belongs to none is an error.
func documents(t *testing.T) (names []string) {
	t.Helper()
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, f := range files {
		if name, ok := strings.CutSuffix(f.Name(), ".graphql"); ok {
			names, known[name] = append(names, name), true
		}
	}
	for _, f := range files {
		if name, kind, _ := strings.Cut(f.Name(), "."); !known[name] || (kind != "graphql" && kind != "vars.json" && kind != "golden.json") {
			t.Errorf("testdata/%s belongs to no document", f.Name())
		}
	}
	if len(names) == 0 {
		t.Fatal("there are no documents")
	}
	return names
}

// document reads what a client sends.
func document(t *testing.T, name string) (query string, vars map[string]any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".graphql"))
	if err != nil {
		t.Fatal(err)
	}
	switch values, err := os.ReadFile(filepath.Join("testdata", name+".vars.json")); {
	case err == nil:
		if err := json.Unmarshal(values, &vars); err != nil {
			t.Fatalf("variables: %v", err)
		}
	case !os.IsNotExist(err):
		t.Fatal(err)
	}
	return string(text), vars
}

// answer is what the server says, as a golden file has it.
func answer(t *testing.T, s *apptest.Server, query string, vars map[string]any) string {
	t.Helper()
	a := s.Do(t, query, vars, nil)
	if len(a.Errors) > 0 {
		t.Fatalf("%+v", a.Errors)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, a.Data, "", "  "); err != nil {
		t.Fatal(err)
	}
	// Some writers of JSON escape these and others do not.
	text := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(out.String())
	return toMillimetres(text) + "\n"
}

var (
	distance = regexp.MustCompile(`"distance": ([0-9.e+-]+)`)
	cursor   = regexp.MustCompile(`"(?:startC|endC|c)ursor": "([^"]+)"`)
	fraction = regexp.MustCompile(`[0-9]+\.[0-9]+`)
)

// toMillimetres rounds the distances in an answer and in its cursors, which it
// shows decoded: their last digits depend on the processor, because Go may fuse
// a multiplication with an addition.
func toMillimetres(text string) string {
	round := func(s string) string {
		return fraction.ReplaceAllStringFunc(s, func(s string) string {
			f, _ := strconv.ParseFloat(s, 64)
			return strconv.FormatFloat(f, 'f', 3, 64)
		})
	}
	text = distance.ReplaceAllStringFunc(text, round)
	return cursor.ReplaceAllStringFunc(text, func(s string) string {
		name, quoted, _ := strings.Cut(s, ": ")
		key, err := base64.RawURLEncoding.DecodeString(strings.Trim(quoted, `"`))
		if err != nil {
			return s
		}
		return name + ": " + strconv.Quote(round(string(key)))
	})
}
