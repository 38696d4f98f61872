package gqlserver

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

const (
	repository   = "../../.."
	securityPage = repository + "/docs/security.md"
)

// limitRow matches a row of the limit tables: a name and a default.
var limitRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\S+) \\|")

func securityText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(securityPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSecurityPageListsEveryLimitAndDefault(t *testing.T) {
	var defaults, written Limits
	defaults = defaults.orDefaults()
	flags := map[string]*int{
		"--rate-anonymous": &defaults.AnonymousRate, "--rate-user": &defaults.UserRate,
		"--conns-per-address": &defaults.SocketsPerAddress, "--conns-per-user": &defaults.SocketsPerUser,
		"--absent-reads": &defaults.AbsentReads,
	}
	rows := map[string]string{}
	for _, row := range limitRow.FindAllStringSubmatch(securityText(t), -1) {
		name, value := row[1], row[2]
		if rows[name] != "" {
			t.Errorf("duplicate row of %s", name)
		}
		rows[name] = value
		if flag, ok := flags[name]; ok {
			if value != strconv.Itoa(*flag) {
				t.Errorf("default of %s: got %s, want %d", name, value, *flag)
			}
			delete(flags, name)
			continue
		}
		if err := written.Set(name, value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for flag := range flags {
		t.Errorf("missing row of %s", flag)
	}
	got := written.all()
	for i, want := range defaults.all() {
		switch {
		case want.name == "":
		case rows[want.name] == "":
			t.Errorf("missing row of %s", want.name)
		case want.number != nil && *got[i].number != *want.number:
			t.Errorf("default of %s: got %s, want %d", want.name, rows[want.name], *want.number)
		case want.span != nil && *got[i].span != *want.span:
			t.Errorf("default of %s: got %s, want %v", want.name, rows[want.name], time.Duration(want.fallback))
		}
	}
}

func TestSecurityPageListsEveryCode(t *testing.T) {
	page := securityText(t)
	source, err := os.ReadFile("internal/errcode/errcode.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`= "([A-Z_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 15 {
		t.Fatalf("got %d codes in errcode.go, want at least 15", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(page, "\n| "+code[1]+" |") {
			t.Errorf("missing row of %s", code[1])
		}
	}
	for _, code := range closeCodes() {
		if sent := code >= websocket.StatusPolicyViolation; sent && !strings.Contains(page, "\n| "+strconv.Itoa(int(code))+" |") {
			t.Errorf("missing row of close code %d", code)
		}
	}
}

func TestSecurityPageNamesExistingTests(t *testing.T) {
	tests := testNames(t)
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(securityText(t), -1)
	if len(named) < 50 {
		t.Errorf("got %d test names, want at least 50", len(named))
	}
	for _, name := range named {
		if !tests[name] {
			t.Errorf("unknown test %s", name)
		}
	}
}

// testNames returns the names of all tests in the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for _, dir := range []string{"internal", "graph", "ent", "lab"} {
		err := filepath.WalkDir(filepath.Join(repository, dir), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && entry.Name() == "node_modules":
				return filepath.SkipDir
			case !strings.HasSuffix(path, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			for _, found := range declaration.FindAllSubmatch(text, -1) {
				names[string(found[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return names
}
