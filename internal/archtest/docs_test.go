package archtest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w+`)
	// A path has a slash or a known extension.
	pathName = regexp.MustCompile("`([\\w./-]+/[\\w./-]*|[\\w.-]+\\.(?:go|lua|md|mod|yml|graphqls))`")
	command  = regexp.MustCompile("`[^`\n]*(?:lab bench|go test|make livetest) [^`\n]+`")
)

func TestPagesNameExistingFilesAndTests(t *testing.T) {
	tests := testsByName(t)
	for _, page := range []struct {
		path               string
		minTests, minPaths int // minimums: a page without names would pass
	}{
		{"docs/redis-rules.md", 30, 30},
		{"docs/patterns.md", 60, 30},
		{"internal/kit/cache/DESIGN.md", 10, 5},
		{"internal/kit/lock/DESIGN.md", 15, 5},
		{"internal/flashsale/DESIGN.md", 30, 5},
	} {
		t.Run(page.path, func(t *testing.T) {
			text := pageText(t, page.path)
			if n := len(testName.FindAllString(text, -1)); n < page.minTests {
				t.Errorf("got %d test names, want at least %d", n, page.minTests)
			}
			if n := len(pathName.FindAllString(text, -1)); n < page.minPaths {
				t.Errorf("got %d paths, want at least %d", n, page.minPaths)
			}
			exists := func(path string) bool { // relative to the root or to the page
				_, err := os.Stat(filepath.Join(root, path))
				_, errPage := os.Stat(filepath.Join(root, filepath.Dir(page.path), path))
				return err == nil || errPage == nil
			}
			for _, problem := range nameProblems(text, tests, exists) {
				t.Error(problem)
			}
		})
	}
}

const root = "../.."

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testsByName returns every test of the server and of the lab.
func testsByName(t *testing.T) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	of := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	compared, err := filepath.Glob(filepath.Join(root, "lab/compare/*/*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(files(t, ".go"), compared...) {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range of.FindAllSubmatch(source, -1) {
			tests[string(found[1])] = true
		}
	}
	return tests
}

// nameProblems returns the names of missing tests and files in a text, each once. It accepts
// keys.go, a file of many packages.
func nameProblems(text string, tests map[string]bool, exists func(path string) bool) []string {
	var problems []string
	for _, name := range testName.FindAllString(text, -1) {
		if !tests[name] {
			problems = append(problems, "test not found: "+name)
		}
	}
	for _, path := range pathName.FindAllStringSubmatch(text, -1) {
		if path[1] != "keys.go" && !exists(path[1]) {
			problems = append(problems, "file not found: "+path[1])
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

func TestNameProblems(t *testing.T) {
	tests := map[string]bool{"TestFound": true}
	exists := func(path string) bool { return slices.Contains([]string{"a/b.go", "c.lua", ".x.yml"}, path) }
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"all found", "`a/b.go`, `c.lua` and `.x.yml`, by TestFound", nil},
		{"missing test", "by TestFound and TestLost, and again TestLost.", []string{"test not found: TestLost"}},
		{"missing files", "`a/c.go`, `d.lua`, `e/`", []string{"file not found: a/c.go", "file not found: d.lua", "file not found: e/"}},
		{"file of many packages", "`keys.go`", nil},
		{"no paths", "`store.Sweep`, `--a/b c`, `http.Client`, a/c.go", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, nameProblems(tt.text, tests, exists)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A rule names a test, or says "not yet".
func TestEachRedisRuleHasATest(t *testing.T) {
	rows := 0
	for line := range strings.Lines(pageText(t, "docs/redis-rules.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| rule |") {
			continue
		}
		rows++
		if !testName.MatchString(cells[4]) && !strings.Contains(line, "not yet") && !strings.Contains(line, "nothing yet") {
			t.Errorf("rule without a test: %s", cells[1])
		}
	}
	if rows < 20 {
		t.Errorf("got %d rules, want at least 20", rows)
	}
}

// Each pattern in docs/patterns.md names its files, tests and measurements.
func TestEachPatternHasAFileATestAndAFigure(t *testing.T) {
	text := pageText(t, "docs/patterns.md")
	if n := strings.Count(text, "\n### "); n < 25 {
		t.Errorf("got %d patterns, want at least 25", n)
	}
	if n := strings.Count(text, "\n| "); n < 20 {
		t.Errorf("got %d table rows, want at least 20", n)
	}
	for _, problem := range patternProblems(text) {
		t.Error(problem)
	}
}

// patternProblems returns the sections without a file, a test, or a figure with its command, and
// the differences without a test or a command. A section may say "none yet" instead of a figure.
func patternProblems(text string) []string {
	var problems []string
	for _, section := range strings.Split("\n"+text, "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		title, _, _ := strings.Cut(section, "\n")
		file, rest, _ := strings.Cut(after(section, "**Files**"), "**Tests**")
		tests, figure, _ := strings.Cut(rest, "**Figure**")
		if !pathName.MatchString(file) {
			problems = append(problems, title+": no file")
		}
		if !testName.MatchString(tests) {
			problems = append(problems, title+": no test")
		}
		if !command.MatchString(figure) && !strings.Contains(figure, "none yet") {
			problems = append(problems, title+": no figure with its command")
		}
	}
	for line := range strings.Lines(after(text, "\n| taught |")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) == 6 && strings.HasPrefix(line, "| ") && !testName.MatchString(cells[4]) && !command.MatchString(cells[4]) {
			problems = append(problems, fmt.Sprintf("difference without a test:%s", cells[1]))
		}
	}
	return problems
}

// after returns the text after the first mark, or "".
func after(text, mark string) string {
	_, rest, _ := strings.Cut(text, mark)
	return rest
}

func TestPatternProblems(t *testing.T) {
	whole := "### One\nWords.\n\n**Files** `a/b.go` **Tests** TestAny **Figure** 3, by `go test -bench A ./a`\n"
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"complete", whole, nil},
		{"no figure yet", "### One\n**Files** `a.go` **Tests** TestAny **Figure** none yet", nil},
		{"no marks", "### One\nWords of `a.go` and TestAny.\n", []string{"One: no file", "One: no test", "One: no figure with its command"}},
		{"figure without its command", strings.Replace(whole, ", by `go test -bench A ./a`", "", 1), []string{"One: no figure with its command"}},
		{"second section without a test", whole + strings.Replace(whole, "TestAny", "none", 1), []string{"One: no test"}},
		{"marks after the section", "### One\n## Two\n" + strings.TrimPrefix(whole, "### One\n"), []string{"One: no file", "One: no test", "One: no figure with its command"}},
		{"difference with a test", "\n| taught | here | why | by |\n|---|---|---|---|\n| a | b | c | TestAny |\n", nil},
		{"difference without a test", "\n| taught | here | why | by |\n|---|---|---|---|\n| a | b | c | d |\n", []string{"difference without a test: a "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, patternProblems(tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
