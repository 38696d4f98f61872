package archtest

import (
	"bytes"
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// onlyDir lists every phrase below one directory, or in one file:
//
//	go test ./internal/archtest -run Phrases -v -args -dir internal/kit/cache
var onlyDir = flag.String("dir", "", "report all phrases of this directory or file of the tree, and of no other")

//go:embed phrases.txt
var phraseList string

const (
	maxReported   = 40
	maxExceptions = 10
)

// An exception allows one text of phrases.txt in one file.
type exception struct{ file, text, reason string }

var exceptions []exception // at most ten

// A phrase is an entry of phrases.txt.
type phrase struct {
	scope, advice string
	re            *regexp.Regexp
}

// A kind is the part of a file that a text is in.
type kind int

const (
	prose     kind = iota // Markdown, GraphQL schemas, SQL and Lua comments
	goComment             // starts at "//"
	message               // a literal of a log or error call
)

// A text is one line to check.
type text struct {
	line int
	kind kind
	text string
}

// A hit is a phrase in a file.
type hit struct {
	file         string
	line         int
	text, advice string
}

func (h hit) String() string { return fmt.Sprintf("%s:%d: %q: %s", h.file, h.line, h.text, h.advice) }

// parsePhrases reads the format that phrases.txt describes.
func parsePhrases(list string) ([]phrase, error) {
	entry := regexp.MustCompile(`(?m)^\[(all|comments|strings)\] (.+)\n {4}(.+)$`)
	var phrases []phrase
	for _, found := range entry.FindAllStringSubmatch(list, -1) {
		re, err := regexp.Compile(found[3])
		if err != nil {
			return nil, err
		}
		phrases = append(phrases, phrase{found[1], found[2], re})
	}
	rest := entry.ReplaceAllString(list, "")
	for line := range strings.Lines(rest) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return nil, fmt.Errorf("invalid line %q", line)
		}
	}
	return phrases, nil
}

func (p phrase) covers(k kind) bool {
	return p.scope == "all" || p.scope == "comments" && k == goComment || p.scope == "strings" && k == message
}

// phrasesIn finds the phrases in the texts of one file, each once per line.
func phrasesIn(phrases []phrase, file string, texts []text) []hit {
	var hits []hit
	for _, t := range texts {
		for _, p := range phrases {
			if !p.covers(t.kind) {
				continue
			}
			if found := p.re.FindString(t.text); found != "" {
				hits = append(hits, hit{file, t.line, strings.TrimSpace(found), p.advice})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return a.line - b.line })
	return hits
}

// textsOf returns the lines of a file to check. Generated Go has none.
func textsOf(file string, source []byte) ([]text, error) {
	switch path.Ext(file) {
	case ".go":
		return goTexts(file, source)
	case ".md", ".graphqls":
		return lineTexts(source, 1, prose), nil
	case ".sql", ".lua":
		var texts []text
		for _, t := range lineTexts(source, 1, prose) {
			if _, comment, ok := strings.Cut(t.text, "--"); ok {
				texts = append(texts, text{t.line, prose, strings.TrimSpace(comment)})
			}
		}
		return texts, nil
	}
	return nil, nil
}

func lineTexts(source []byte, line int, k kind) []text {
	var texts []text
	for l := range bytes.Lines(source) {
		texts = append(texts, text{line, k, strings.TrimSpace(string(l))})
		line++
	}
	return texts
}

func goTexts(file string, source []byte) ([]text, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || ast.IsGenerated(parsed) {
		return nil, err
	}
	var texts []text
	for _, group := range parsed.Comments {
		for _, c := range group.List {
			texts = append(texts, lineTexts([]byte(c.Text), set.Position(c.Pos()).Line, goComment)...)
		}
	}
	seen := map[token.Pos]bool{} // a constructor may be in the arguments of another one
	ast.Inspect(parsed, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for _, literal := range messagesOf(call) {
			value, err := strconv.Unquote(literal.Value)
			if err == nil && !seen[literal.Pos()] {
				seen[literal.Pos()] = true
				texts = append(texts, lineTexts([]byte(value), set.Position(literal.Pos()).Line, message)...)
			}
		}
		return true
	})
	return texts, nil
}

var (
	logMethod = regexp.MustCompile(`^((Debug|Info|Warn|Error|Log)(Context)?|LogAttrs)$`)
	logName   = regexp.MustCompile(`(?i)log(ger)?$`)
)

// messagesOf returns the literals of a call that logs or that makes an error:
// the first argument with literals, or all of them if the error is for a client.
func messagesOf(call *ast.CallExpr) []*ast.BasicLit {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	from, method := lastName(fun.X), fun.Sel.Name
	switch {
	case logMethod.MatchString(method) && logName.MatchString(from),
		from == "errors" && method == "New", from == "fmt" && method == "Errorf":
		for _, arg := range call.Args {
			if found := literalsIn(arg); len(found) > 0 {
				return found
			}
		}
	case forClients(from), len(call.Args) > 1 && forClients(packageOf(call.Args[0])): // New(kind, …), errs.Add(code, …)
		var found []*ast.BasicLit
		for _, arg := range call.Args {
			found = append(found, literalsIn(arg)...)
		}
		return found
	}
	return nil
}

func forClients(pkg string) bool { return pkg == "apierror" }

// lastName returns the name of a logger or package: log for s.cfg.log.With(…).
func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if strings.HasPrefix(e.Sel.Name, "With") {
			return lastName(e.X)
		}
		return e.Sel.Name
	case *ast.CallExpr:
		return lastName(e.Fun)
	}
	return ""
}

// packageOf returns x of the expression x.Y.
func packageOf(e ast.Expr) string {
	if s, ok := e.(*ast.SelectorExpr); ok {
		if x, ok := s.X.(*ast.Ident); ok {
			return x.Name
		}
	}
	return ""
}

// literalsIn returns the string literals of a literal or of a concatenation.
func literalsIn(e ast.Expr) []*ast.BasicLit {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return []*ast.BasicLit{e}
		}
	case *ast.BinaryExpr:
		return append(literalsIn(e.X), literalsIn(e.Y)...)
	case *ast.ParenExpr:
		return literalsIn(e.X)
	}
	return nil
}

// allPhrases checks every file of both modules, or those below dir.
func allPhrases(t *testing.T, phrases []phrase, dir string) []hit {
	t.Helper()
	var hits []hit
	err := filepath.WalkDir(filepath.Join(root, dir), func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, file)
		name = filepath.ToSlash(name)
		if d.IsDir() {
			hidden := name != "." && strings.HasPrefix(d.Name(), ".")
			if hidden || d.Name() == "node_modules" || name == "tmp" || name == "dist" || name == "data" || name == "internal/web/dist" {
				return filepath.SkipDir
			}
			return nil
		}
		if name == "CHANGELOG.md" {
			return nil
		}
		switch path.Ext(name) {
		case ".go", ".md", ".graphqls", ".sql", ".lua":
		default:
			return nil
		}
		source, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		texts, err := textsOf(name, source)
		hits = append(hits, phrasesIn(phrases, name, texts)...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hits
}

// without removes the hits that an exception allows, and returns the exceptions
// that allow none.
func without(hits []hit, exceptions []exception) (rest []hit, unused []exception) {
	used := map[exception]bool{}
	for _, h := range hits {
		i := slices.IndexFunc(exceptions, func(e exception) bool { return e.file == h.file && e.text == h.text })
		if i < 0 {
			rest = append(rest, h)
			continue
		}
		used[exceptions[i]] = true
	}
	for _, e := range exceptions {
		if !used[e] {
			unused = append(unused, e)
		}
	}
	return rest, unused
}

func TestPhrasesAreNotInTheTree(t *testing.T) {
	phrases, err := parsePhrases(phraseList)
	if err != nil || len(phrases) < 45 {
		t.Fatalf("phrases.txt has %d phrases, %v", len(phrases), err)
	}
	if len(exceptions) > maxExceptions {
		t.Errorf("%d exceptions, want at most %d", len(exceptions), maxExceptions)
	}
	for _, e := range exceptions {
		if e.reason == "" {
			t.Errorf("the exception %q in %s has no reason", e.text, e.file)
		}
	}
	hits, unused := without(allPhrases(t, phrases, *onlyDir), exceptions)
	perDir := map[string]int{}
	for i, h := range hits {
		perDir[path.Dir(h.file)]++
		if i < maxReported || *onlyDir != "" {
			t.Error(h)
		}
	}
	if len(hits) > 0 {
		t.Errorf("%d phrases in all", len(hits))
		for _, dir := range slices.Sorted(maps.Keys(perDir)) {
			t.Errorf("%5d in %s", perDir[dir], dir)
		}
	}
	if *onlyDir == "" {
		for _, e := range unused {
			t.Errorf("the exception %q in %s is unused: remove it", e.text, e.file)
		}
	}
}

// Each scope has a file with the phrase and one without it.
func TestPhrasesMatchInTheirScope(t *testing.T) {
	phrases, err := parsePhrases("# how to write\n[all] write again\n    (?i)\\banew\\b\n" +
		"[comments] start with a verb\n    ^// ?(\\w+ )?is (what|who)\\b\n[strings] write not found\n    ^there is no\n")
	if err != nil {
		t.Fatal(err)
	}
	const (
		again, verb, notFound = "write again", "start with a verb", "write not found"
		head                  = "package a\n\n"
	)
	for _, tt := range []struct {
		name, file, source string
		want               []string // advice, in the order of lines
	}{
		{"all in a comment", "a.go", head + "// F reads it anew.\nfunc F() {}\n", []string{again}},
		{"all at the end of a line", "a.go", head + "var a = 1 // read anew\n", []string{again}},
		{"all in a block comment", "a.go", head + "/* One.\nRead anew. */\nvar a int\n", []string{again}},
		{"all in a message", "a.go", head + `var e = errors.New("read it anew")`, []string{again}},
		{"all in Markdown", "a.md", "# A\n\nIt is read\nanew.\n", []string{again}},
		{"all in a schema", "a.graphqls", "\"\"\"\nRead anew.\n\"\"\"\nscalar A\n", []string{again}},
		{"all in SQL", "a.sql", "-- Reads anew.\nSELECT 1\n", []string{again}},
		{"all in Lua", "a.lua", "return 1 -- anew\n", []string{again}},
		{"all, not in another literal", "a.go", head + `var a = "anew"; func f(t T) { t.Error("anew"); http.Error(w, "anew") }`, nil},
		{"all, not in code", "a.go", head + "var anew int\n", nil},
		{"all, not in a statement", "a.sql", "SELECT anew\n", nil},
		{"all, not in other files", "a.css", "/* anew */", nil},
		{"all, not in generated code", "a.go", "// Code generated by b. DO NOT EDIT.\n\n" + head + "// Anew.\nvar a int\n", nil},
		{"comments", "a.go", head + "// A is what we need.\ntype A int\n", []string{verb}},
		{"comments, only at the start", "a.go", head + "// This A is what we need.\ntype A int\n", nil},
		{"comments, not in pages", "a.md", "// A is what we need.\n", nil},
		{"comments, not in messages", "a.go", head + `var e = errors.New("// A is what we need")`, nil},
		{"strings in an error", "a.go", head + `var e = fmt.Errorf("there is no %s", "x")`, []string{notFound}},
		{"strings in a log", "a.go", head + "func f(ctx C) {\n" + `s.cfg.Log.With("a", 1).WarnContext(ctx, "there is no a", "b", "there is no b")` + "\n}\n", []string{notFound}},
		{"strings in LogAttrs", "a.go", head + `func f() { slog.LogAttrs(ctx, slog.LevelInfo, "there is no a") }`, []string{notFound}},
		{"strings for a client", "a.go", head + "func f() {\n" + `apierror.New(apierror.NotFound, "there is no a")` + "\n" + `errs.Add(apierror.NotFound, "field", "there is "+"b", "there is no c")` + "\n}\n", []string{notFound, notFound}},
		{"strings, not in comments", "a.go", head + "// there is no a\nvar a int\n", nil},
		{"strings, not in a test's report", "a.go", head + `func f() { t.Log("there is no a") }`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			texts, err := textsOf(tt.file, []byte(tt.source))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, h := range phrasesIn(phrases, tt.file, texts) {
				got = append(got, h.advice)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPhrasesNameFileAndLine(t *testing.T) {
	phrases, err := parsePhrases("[all] write again\n    (?i)\\banew\\b\n")
	if err != nil {
		t.Fatal(err)
	}
	hits := phrasesIn(phrases, "docs/a.md", lineTexts([]byte("One.\nRead Anew.\n"), 1, prose))
	if len(hits) != 1 || hits[0].String() != `docs/a.md:2: "Anew": write again` {
		t.Errorf("hits are %v", hits)
	}
	rest, unused := without(hits, []exception{{"docs/a.md", "Anew", "a quotation"}, {"docs/b.md", "Anew", "a quotation"}})
	if len(rest) != 0 || len(unused) != 1 || unused[0].file != "docs/b.md" {
		t.Errorf("rest is %v, unused are %v", rest, unused)
	}
	if _, err := parsePhrases("[some] advice\n    x\n"); err == nil {
		t.Error("an unknown scope is accepted")
	}
}
