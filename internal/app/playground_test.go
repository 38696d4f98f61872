package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// example is a document of the playground. Its operations run one after another.
type example struct {
	name, text string
	role       string // of the caller; "" is anonymous
	variables  map[string]any
}

// playgroundExamples reads the examples, like the playground.
func playgroundExamples(t *testing.T) []example {
	t.Helper()
	files, err := filepath.Glob("../web/app/src/playground/examples/*.graphql")
	if err != nil || len(files) < 13 {
		t.Fatalf("want an example for each screen, got %v (%v)", files, err)
	}
	var all []example
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		e := example{name: filepath.Base(file), text: string(text)}
		if m := regexp.MustCompile(`(?m)^# Sign in as: (customer|merchant|admin)$`).FindSubmatch(text); m != nil {
			e.role = string(m[1])
		}
		if m := regexp.MustCompile(`(?m)^# Variables: (.*)$`).FindSubmatch(text); m != nil {
			if err := json.Unmarshal([]byte(days(string(m[1]))), &e.variables); err != nil {
				t.Fatalf("%s: %v", e.name, err)
			}
		}
		all = append(all, e)
	}
	return all
}

// days replaces words like TODAY-29 and NOW+7 by the day or the time.
func days(variables string) string {
	return regexp.MustCompile(`"(TODAY|NOW)([+-]\d+)?"`).ReplaceAllStringFunc(variables, func(word string) string {
		word = strings.Trim(word, `"`)
		unit, layout := "NOW", time.RFC3339
		if strings.HasPrefix(word, "TODAY") {
			unit, layout = "TODAY", time.DateOnly
		}
		n, _ := strconv.Atoi(strings.TrimPrefix(word, unit))
		return strconv.Quote(time.Now().UTC().AddDate(0, 0, n).Format(layout))
	})
}

func TestPlaygroundExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("../../graph/schema/*.graphqls")
	if err != nil {
		t.Fatal(err)
	}
	var sources []*ast.Source
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, &ast.Source{Name: file, Input: string(text)})
	}
	schema := gqlparser.MustLoadSchema(sources...)
	for _, e := range playgroundExamples(t) {
		t.Run(e.name, func(t *testing.T) {
			if _, errs := gqlparser.LoadQueryWithRules(schema, e.text, nil); errs != nil {
				t.Error(errs)
			}
			if !regexp.MustCompile(`^# [A-Z][\w ]+: .+\n`).MatchString(e.text) {
				t.Error(`it does not begin with "# Title: what it shows"`)
			}
		})
	}
}

// Every operation succeeds for its role in a new demo town.
func TestPlaygroundExamplesRunInTheDemoTown(t *testing.T) {
	t.Parallel()
	s := apptest.Embedded(t).Start(t)
	people := map[string]string{} // their tokens
	for _, m := range regexp.MustCompile(`(customer|merchant|admin) +phone (\S+) +password (\S+)`).FindAllStringSubmatch(s.Out.String(), -1) {
		people[m[1]], _ = s.LoginWith(t, map[string]any{"phone": m[2], "password": m[3]})
	}
	known := map[string]any{} // ids from answers, for variables
	for _, e := range playgroundExamples(t) {
		for _, m := range regexp.MustCompile(`(?m)^(query|mutation|subscription) (\w+)`).FindAllStringSubmatch(e.text, -1) {
			kind, name := m[1], m[2]
			t.Run(e.name+" "+name, func(t *testing.T) {
				variables := map[string]any{}
				for name, value := range e.variables {
					variables[name] = value
					if value == "" {
						variables[name] = known[name]
					}
				}
				switch name {
				case "LoginByCode":
					variables["code"] = s.Code(t, variables["phone"].(string))
				case "LoginByPassword":
					m := regexp.MustCompile(`customer +phone (\S+) +password (\S+)`).FindStringSubmatch(s.Out.String())
					variables["phone"], variables["password"] = m[1], m[2]
				case "SendLoginCode":
					variables["phone"] = "+99900345679" // LoginByCode gets the code of the other phone
				}
				answer := runExample(t, s.URL, people[e.role], kind, map[string]any{"query": e.text, "operationName": name, "variables": variables})
				if strings.Contains(answer, `"errors"`) || regexp.MustCompile(`"userErrors":\[\{`).MatchString(answer) || regexp.MustCompile(`"(node|note|shop|user|me)":null`).MatchString(answer) {
					t.Errorf("got %s", answer)
				}
				for variable, noun := range map[string]string{"orderId": "order", "noteId": "note"} {
					if m := regexp.MustCompile(`"` + noun + `":\{"id":"(\w+)"`).FindStringSubmatch(answer); m != nil {
						known[variable] = m[1]
					}
				}
			})
		}
	}
}

// runExample runs an operation, anonymously without a token. It returns the answer, or the
// first event of a subscription.
func runExample(t *testing.T, url, token, kind string, request map[string]any) string {
	t.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if kind == "subscription" {
		r.Header.Set("Accept", "text/event-stream")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok || kind != "subscription" {
			if ok {
				return data
			}
			return lines.Text()
		}
	}
	return fmt.Sprintf("an end: %v", lines.Err())
}
