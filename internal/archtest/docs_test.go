package archtest

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

const root = "../.."

// Bytes that a page may have. A page without a row has no limit of its own.
var pageLimits = map[string]int{
	"README.md": 10_000, "ARCHITECTURE.md": 15_000, "CONTRIBUTING.md": 10_000, "docs/guide/*.md": 12_000, "docs/reference/*.md": 12_000, "docs/operate/*.md": 12_288,
}

const allPages = 250_000 // bytes of all Markdown

func TestPagesAreShort(t *testing.T) {
	total := 0
	for _, page := range pages(t) {
		size := len(pageText(t, page))
		total += size
		for pattern, limit := range pageLimits {
			if ok, _ := path.Match(pattern, page); ok && size > limit {
				t.Errorf("%s has %d bytes, want at most %d", page, size, limit)
			}
		}
	}
	if total > allPages {
		t.Errorf("all pages have %d bytes, want at most %d", total, allPages)
	}
}

// Pages must name existing files and tests, and link to existing pages and headings.
func TestPagesNameExistingThings(t *testing.T) {
	tests, named := testsByName(t), 0
	benchmarks := slices.Collect(maps.Keys(declared(t, `Benchmark\w+`)))
	var bases []string // of all files
	for _, name := range tracked(t, "*") {
		bases = append(bases, path.Base(name))
	}
	for _, page := range pages(t) {
		there := func(name string) bool { // from the root, from the directory of the page, or anywhere
			_, err := os.Stat(filepath.Join(root, name))
			_, errPage := os.Stat(filepath.Join(root, path.Dir(page), name))
			return err == nil || errPage == nil || slices.Contains(bases, name)
		}
		named += len(testName.FindAllString(pageText(t, page), -1))
		for _, bench := range regexp.MustCompile(`-bench (\w+)`).FindAllStringSubmatch(pageText(t, page), -1) {
			if !slices.ContainsFunc(benchmarks, func(name string) bool { return strings.Contains(name, bench[1]) }) {
				t.Errorf("%s: there is no benchmark %s", page, bench[1])
			}
		}
		for _, problem := range nameProblems(pageText(t, page), tests, there) {
			t.Errorf("%s: %s", page, problem)
		}
		headings := func(target string) ([]string, error) {
			text, err := os.ReadFile(filepath.Join(root, path.Join(path.Dir(page), target)))
			return headingsOf(string(text)), err
		}
		for _, problem := range linkProblems(pageText(t, page), headings) {
			t.Errorf("%s: %s", page, problem)
		}
	}
	if named < 400 {
		t.Errorf("all pages name %d tests", named)
	}
}

// Pages name targets of the Makefile that exist.
func TestPagesNameExistingTargets(t *testing.T) {
	makefile, named := pageText(t, "Makefile"), 0
	for _, page := range pages(t) {
		for _, found := range regexp.MustCompile("`make ([a-z][^`]*)`").FindAllStringSubmatch(pageText(t, page), -1) {
			for target := range strings.FieldsSeq(found[1]) {
				if strings.ToUpper(target[:1]) == target[:1] {
					break // a variable
				}
				named++
				if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).MatchString(makefile) {
					t.Errorf("%s: there is no target %s", page, target)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d targets", named)
	}
}

// Each technique of the guide names its code, its tests and its figure.
func TestGuideTechniquesNameCodeTestAndFigure(t *testing.T) {
	techniques := 0
	for _, page := range pages(t) {
		if !strings.HasPrefix(page, "docs/guide/") || page == "docs/guide/README.md" {
			continue
		}
		text := pageText(t, page)
		techniques += strings.Count(text, "\n### ")
		source := func(file string) string { return pageText(t, path.Join("docs/guide", file)) }
		for _, problem := range techniqueProblems(text, source) {
			t.Errorf("%s: %s", page, problem)
		}
		for _, section := range []string{"\n## Strategies compared\n", "\n## Where Tandian differs\n"} {
			if !strings.Contains(text, section) {
				t.Errorf("%s: no section %q", page, strings.TrimSpace(section))
			}
		}
	}
	if techniques < 60 {
		t.Errorf("the guide has %d techniques", techniques)
	}
}

// pages returns all Markdown files of the tree.
func pages(t *testing.T) []string {
	t.Helper()
	names := tracked(t, "*.md")
	if len(names) < 10 {
		t.Fatalf("%d pages", len(names))
	}
	return names
}

// tracked returns the files of the tree that match a pattern, without ignored ones.
func tracked(t *testing.T, pattern string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", pattern)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err != nil // deleted, and still in the index
	})
}

func pageText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// testsByName returns every test of the server and of the lab.
func testsByName(t *testing.T) map[string]bool {
	t.Helper()
	return declared(t, `(?:Test|Fuzz)\w+`)
}

// declared returns the functions of the server and of the lab whose name matches.
func declared(t *testing.T, name string) map[string]bool {
	t.Helper()
	tests := map[string]bool{}
	of := regexp.MustCompile(`(?m)^func (` + name + `)\(`)
	compared, err := filepath.Glob(filepath.Join(root, "lab/compare/*/*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(files(t, ".go"), compared...) {
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range of.FindAllSubmatch(source, -1) {
			tests[string(found[1])] = true
		}
	}
	return tests
}

var (
	testName = regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`)
	// A path in a text: with a slash and an extension, or a file by its extension. "keys.go"
	// alone can be in any package.
	pathName = regexp.MustCompile("`((?:[\\w.-]+/)+[\\w.-]+\\.\\w+|(?:internal|graph|ent|lab|deploy|docs|scripts)/[\\w./-]*|[\\w.-]+\\.(?:go|lua|md|mod|graphqls))`")
	command  = regexp.MustCompile("`[^`\n]*(?:lab (?:bench|fault|live|soak|cluster|mutants)|go test|make \\w+) ?[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fence    = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
)

// nameProblems returns the missing names in a text, each once.
func nameProblems(text string, tests map[string]bool, there func(path string) bool) []string {
	var problems []string
	for _, name := range testName.FindAllString(text, -1) {
		if !tests[name] {
			problems = append(problems, "there is no test "+name)
		}
	}
	for _, name := range pathName.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		if !there(name[1]) {
			problems = append(problems, "there is no "+name[1])
		}
	}
	slices.Sort(problems)
	return slices.Compact(problems)
}

// linkProblems returns the relative links of a text that lead nowhere. headings returns
// the anchors of a file; "" is the page itself.
func linkProblems(text string, headings func(target string) ([]string, error)) []string {
	var problems []string
	for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		to, err := url.Parse(found[1])
		if err != nil || to.Scheme != "" {
			continue
		}
		anchors := headingsOf(text)
		if to.Path != "" {
			if anchors, err = headings(to.Path); err != nil && !strings.Contains(err.Error(), "is a directory") {
				problems = append(problems, "there is no "+found[1])
				continue
			}
		}
		if to.Fragment != "" && strings.HasSuffix(to.Path, ".md") && !slices.Contains(anchors, to.Fragment) {
			problems = append(problems, "there is no heading for "+found[1])
		}
	}
	return problems
}

// headingsOf returns the anchors of the headings of a page.
func headingsOf(text string) []string {
	var anchors []string
	for line := range strings.Lines(fence.ReplaceAllString(text, "")) {
		if !strings.HasPrefix(line, "#") {
			continue
		}
		title := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		anchors = append(anchors, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return r
			}
			return -1
		}, title))
	}
	return anchors
}

// techniqueProblems returns the sections of a chapter that lack a line for code, tests or
// figures, and excerpts that differ from the code. source returns a file by its link.
func techniqueProblems(text string, source func(file string) string) []string {
	var problems []string
	for _, section := range strings.Split("\n"+text, "\n### ")[1:] {
		section, _, _ = strings.Cut(section, "\n## ")
		title, _, _ := strings.Cut(section, "\n")
		code := lineOf(section, "- **Code** ")
		first := link.FindStringSubmatch(code)
		if first == nil {
			problems = append(problems, title+": no code")
			continue
		}
		if !testName.MatchString(lineOf(section, "- **Test** ")) {
			problems = append(problems, title+": no test")
		}
		if figure := lineOf(section, "- **Figure** "); figure != "none" && !command.MatchString(figure) {
			problems = append(problems, title+": no figure with its command")
		}
		for _, block := range fence.FindAllStringSubmatch(section, -1) {
			switch n := strings.Count(block[2], "\n"); {
			case n > 15:
				problems = append(problems, fmt.Sprintf("%s: an excerpt has %d lines", title, n))
			case block[1] != "text" && !strings.Contains(unindented(source(first[1])), unindented(block[2])):
				problems = append(problems, title+": the excerpt is not in "+first[1])
			}
		}
	}
	return problems
}

// lineOf returns the rest of the line that begins with a mark, or "".
func lineOf(text, mark string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, mark); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// unindented returns a text without the white space at both ends of each line.
func unindented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

func TestNameProblems(t *testing.T) {
	tests := map[string]bool{"TestStands": true}
	there := func(path string) bool { return slices.Contains([]string{"a/b.go", "c.lua", "lab/"}, path) }
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"all exist", "`a/b.go`, `c.lua` and `lab/`, by TestStands", nil},
		{"lost test", "by TestStands and TestFell, and again TestFell.", []string{"there is no test TestFell"}},
		{"lost files", "`a/c.go`, `d.lua`, `lab/e/`", []string{"there is no a/c.go", "there is no d.lua", "there is no lab/e/"}},
		{"no paths", "`store.Sweep`, `--a/b c`, `http.Client`, `text/event-stream`, a/c.go", nil},
		{"code", "```go\nx := `a/c.go`\n```\n", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, nameProblems(tt.text, tests, there)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinkProblems(t *testing.T) {
	headings := func(target string) ([]string, error) {
		if target != "other.md" {
			return nil, os.ErrNotExist
		}
		return headingsOf("# Other page\n## What's `new`, and why\n```\n# code\n```\n"), nil
	}
	for text, want := range map[string][]string{
		"[a](other.md), [b](other.md#whats-new-and-why), [c](https://x.example/y)": nil,
		"[a](lost.md)":                         {"there is no lost.md"},
		"[a](other.md#code)":                   {"there is no heading for other.md#code"},
		"```\n[a](lost.md)\n```\n[b](#x)\n# X": nil,
	} {
		if diff := cmp.Diff(want, linkProblems(text, headings)); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}

func TestTechniqueProblems(t *testing.T) {
	const whole = "### One\nWords.\n\n- **Code** [a.go](../a.go)\n- **Test** TestAny\n- **Figure** 3, by `lab bench a`\n"
	source := func(file string) string {
		return map[string]string{"../a.go": "package a\n\n\tfunc a() {\n\t}\n"}[file]
	}
	for name, tt := range map[string]struct {
		text string
		want []string
	}{
		"whole":          {whole, nil},
		"no figure yet":  {strings.Replace(whole, "3, by `lab bench a`", "none", 1), nil},
		"words only":     {"### One\nWords of `a.go` and TestAny.\n", []string{"One: no code"}},
		"no command":     {strings.Replace(whole, ", by `lab bench a`", "", 1), []string{"One: no figure with its command"}},
		"no second test": {whole + strings.Replace(whole, "TestAny", "none", 1), []string{"One: no test"}},
		"next chapter":   {"### One\n## Two\n" + strings.TrimPrefix(whole, "### One\n"), []string{"One: no code"}},
		"excerpt":        {whole + "```go\nfunc a() {\n}\n```\n", nil},
		"wrong excerpt":  {whole + "```go\nfunc b() {\n}\n```\n", []string{"One: the excerpt is not in ../a.go"}},
		"long excerpt":   {whole + "```go\n" + strings.Repeat("x\n", 16) + "```\n", []string{"One: an excerpt has 16 lines"}},
		"later section":  {whole + "## Others\n### Two\n", []string{"Two: no code"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, techniqueProblems(tt.text, source)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
