package graph_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// Each testdata/NAME.graphql is a document of a client, with variables in NAME.vars.json.
// NAME.golden.json is the response of the demo data on either stack. Responses contain ids:
// shops are numbered in the order of their external ids. Each document is sent twice,
// because the second response comes from caches and the geo index.
func TestGoldenDocuments(t *testing.T) {
	golden(t, "testdata", func(t *testing.T, stack *apptest.Stack) {
		mustRun(t, stack, "import", "../internal/demo/shops.csv")
		for shop, ratings := range map[string]string{
			"lotus-pond-noodles": "stars_5 = 10, rating_score = 4.4", "teacup-and-rain": "stars_5 = 3, rating_score = 4.0769",
			"two-baskets": "stars_4 = 6, stars_3 = 4, rating_score = 3.7",
		} {
			done, err := stack.SQL(t).ExecContext(t.Context(), "UPDATE shops SET "+ratings+" WHERE external_id = 'demo:"+shop+"'")
			if err != nil {
				t.Fatal(err)
			}
			if n, err := done.RowsAffected(); err != nil || n != 1 {
				t.Fatalf("%s: %d shops changed, %v", shop, n, err)
			}
		}
	})
}

// The documents below testdata/seeded query notes and follows in a small seeded region.
func TestGoldenDocumentsOfPeople(t *testing.T) {
	golden(t, "testdata/seeded", func(t *testing.T, stack *apptest.Stack) {
		stack.Seed(t, "--users", "20", "--shops", "4", "--notes", "30", "--follows", "60", "--seed", "1")
	})
}

func mustRun(t *testing.T, stack *apptest.Stack, command ...string) {
	t.Helper()
	if _, errs, code := stack.Command(t, command...); code != 0 {
		t.Fatal(errs)
	}
}

// golden sends the documents of a folder to servers on both stacks with data.
func golden(t *testing.T, folder string, fill func(*testing.T, *apptest.Stack)) {
	t.Helper()
	names := documents(t, folder)
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		fill(t, stack)
		s := stack.Start(t)
		for _, name := range names {
			t.Run(name, func(t *testing.T) {
				query, vars := document(t, filepath.Join(folder, name))
				path := filepath.Join(folder, name+".golden.json")
				if *graph.Update && stack.Name == "embedded" {
					if err := os.WriteFile(path, []byte(answer(t, s, query, vars)), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(path)
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

// documents returns the names of the documents in a folder. A file that belongs to none is
// an error.
func documents(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
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
		if f.IsDir() {
			continue
		}
		if name, kind, _ := strings.Cut(f.Name(), "."); !known[name] || (kind != "graphql" && kind != "vars.json" && kind != "golden.json") {
			t.Errorf("%s/%s belongs to no document", folder, f.Name())
		}
	}
	if len(names) == 0 {
		t.Fatal("there are no documents")
	}
	return names
}

// document reads a document and its variables.
func document(t *testing.T, path string) (query string, vars map[string]any) {
	t.Helper()
	text, err := os.ReadFile(path + ".graphql")
	if err != nil {
		t.Fatal(err)
	}
	switch values, err := os.ReadFile(path + ".vars.json"); {
	case err == nil:
		if err := json.Unmarshal(values, &vars); err != nil {
			t.Fatalf("variables: %v", err)
		}
	case !os.IsNotExist(err):
		t.Fatal(err)
	}
	return string(text), vars
}

// answer returns the response in the form of a golden file.
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
	// Only some JSON encoders escape these.
	text := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(out.String())
	return toMillimetres(text) + "\n"
}

var (
	distance = regexp.MustCompile(`"distance": ([0-9.e+-]+)`)
	cursor   = regexp.MustCompile(`"(?:startC|endC|c)ursor": "([^"]+)"`)
	fraction = regexp.MustCompile(`[0-9]+\.[0-9]+`)
)

// toMillimetres rounds the distances in a response and in its decoded cursors. The last
// digits depend on the processor, because Go may fuse a multiplication with an addition.
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
