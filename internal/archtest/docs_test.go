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
	// A path in a text: with a slash, or a file by its extension. "keys.go" alone can be in
	// any package.
	pathName = regexp.MustCompile("`([\\w./-]+/[\\w./-]*|[\\w.-]+\\.(?:go|lua|md|mod|yml|graphqls))`")
	command  = regexp.MustCompile("`[^`\n]*(?:lab bench|go test|make livetest) [^`\n]+`")
)

// Design pages must name existing files and tests.
func TestPagesNameFilesAndTestsThatExist(t *testing.T) {
	tests := testsByName(t)
	for _, page := range []struct {
		path                     string
		fewestTests, fewestPaths int // minimums: a page without names would pass
	}{
		{"docs/redis-rules.md", 30, 30},
		{"docs/patterns.md", 60, 30},
		{"internal/kit/cache/DESIGN.md", 10, 5},
		{"internal/kit/lock/DESIGN.md", 15, 5},
		{"internal/flashsale/DESIGN.md", 30, 5},
	} {
		t.Run(page.path, func(t *testing.T) {
			text := pageText(t, page.path)
			if n := len(testName.FindAllString(text, -1)); n < page.fewestTests {
				t.Errorf("the page names %d tests", n)
			}
			if n := len(pathName.FindAllString(text, -1)); n < page.fewestPaths {
				t.Errorf("the page names %d paths", n)
			}
			there := func(path string) bool { // from the root, or from where the page lies
				_, err := os.Stat(filepath.Join(root, path))
				_, errBeside := os.Stat(filepath.Join(root, filepath.Dir(page.path), path))
				return err == nil || errBeside == nil
			}
			for _, problem := range nameProblems(text, tests, there) {
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

// nameProblems returns the missing names in a text, each once.
func nameProblems(text string, tests map[string]bool, there func(path string) bool) []string {
	var problems []string
	for _, name := range testName.FindAllString(text, -1) {
		if !tests[name] {
			problems = append(problems, "there is no test "+name)
		}
	}
	for _, path := range pathName.FindAllStringSubmatch(text, -1) {
		if path[1] != "keys.go" && !there(path[1]) {
			problems = append(problems, "there is no "+path[1])
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

func TestNameProblems(t *testing.T) {
	tests := map[string]bool{"TestStands": true}
	there := func(path string) bool { return slices.Contains([]string{"a/b.go", "c.lua", ".x.yml"}, path) }
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"all there", "`a/b.go`, `c.lua` and `.x.yml`, by TestStands", nil},
		{"a lost test", "by TestStands and TestFell, and again TestFell.", []string{"there is no test TestFell"}},
		{"lost files", "`a/c.go`, `d.lua`, `e/`", []string{"there is no a/c.go", "there is no d.lua", "there is no e/"}},
		{"every room's", "`keys.go`", nil},
		{"no paths", "`store.Sweep`, `--a/b c`, `http.Client`, a/c.go", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, nameProblems(tt.text, tests, there)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A rule names a test or states that there is none.
func TestEachRedisRuleHasATest(t *testing.T) {
	rows := 0
	for line := range strings.Lines(pageText(t, "docs/redis-rules.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| rule |") {
			continue
		}
		rows++
		if !testName.MatchString(cells[4]) && !strings.Contains(line, "not yet") && !strings.Contains(line, "nothing yet") {
			t.Errorf("no test holds the rule: %s", cells[1])
		}
	}
	if rows < 20 {
		t.Errorf("the page has %d rules", rows)
	}
}

// Each pattern in docs/patterns.md names its files, tests and measurements.
func TestEachPatternHasAFileATestAndAFigure(t *testing.T) {
	text := pageText(t, "docs/patterns.md")
	if n := strings.Count(text, "\n### "); n < 25 {
		t.Errorf("the page has %d patterns", n)
	}
	if n := strings.Count(text, "\n| "); n < 20 {
		t.Errorf("the tables of the page have %d rows", n)
	}
	for _, problem := range patternProblems(text) {
		t.Error(problem)
	}
}

// patternProblems returns the sections without a file, a test, or a figure with its command,
// and the rows of the table of differences without a test. A section without a figure
// contains "none yet".
func patternProblems(text string) []string {
	var problems []string
	for _, section := range strings.Split("\n"+text, "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		title, _, _ := strings.Cut(section, "\n")
		file, rest, _ := strings.Cut(after(section, "**Files**"), "**Tests**")
		held, figure, _ := strings.Cut(rest, "**Figure**")
		if !pathName.MatchString(file) {
			problems = append(problems, title+": no file")
		}
		if !testName.MatchString(held) {
			problems = append(problems, title+": no test")
		}
		if !command.MatchString(figure) && !strings.Contains(figure, "none yet") {
			problems = append(problems, title+": no figure with its command")
		}
	}
	for line := range strings.Lines(after(text, "\n| taught |")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) == 6 && strings.HasPrefix(line, "| ") && !testName.MatchString(cells[4]) && !command.MatchString(cells[4]) {
			problems = append(problems, fmt.Sprintf("nothing decides the difference%s", cells[1]))
		}
	}
	return problems
}

// after returns the text after a mark, or "".
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
		{"a whole one", whole, nil},
		{"one without a figure yet", "### One\n**Files** `a.go` **Tests** TestAny **Figure** none yet", nil},
		{"nothing but words", "### One\nWords of `a.go` and TestAny.\n", []string{"One: no file", "One: no test", "One: no figure with its command"}},
		{"a figure from nowhere", strings.Replace(whole, ", by `go test -bench A ./a`", "", 1), []string{"One: no figure with its command"}},
		{"the second lacks its test", whole + strings.Replace(whole, "TestAny", "none", 1), []string{"One: no test"}},
		{"not what comes after the section", "### One\n## Two\n" + strings.TrimPrefix(whole, "### One\n"), []string{"One: no file", "One: no test", "One: no figure with its command"}},
		{"a difference that a test decides", "\n| taught | here | why | by |\n|---|---|---|---|\n| a | b | c | TestAny |\n", nil},
		{"one that nothing decides", "\n| taught | here | why | by |\n|---|---|---|---|\n| a | b | c | d |\n", []string{"nothing decides the difference a "}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, patternProblems(tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
