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

// rowOf is a row of the tables of limits: a name and a default.
var rowOf = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\S+) \\|")

func securityText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(securityPage)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheSecurityPageHasEveryLimitWithItsDefault(t *testing.T) {
	var defaults, written Limits
	defaults = defaults.orDefaults()
	flags := map[string]*int{
		"--rate-anonymous": &defaults.AnonymousRate, "--rate-user": &defaults.UserRate,
		"--conns-per-address": &defaults.SocketsPerAddress, "--conns-per-user": &defaults.SocketsPerUser,
		"--absent-reads": &defaults.AbsentReads,
	}
	rows := map[string]string{}
	for _, row := range rowOf.FindAllStringSubmatch(securityText(t), -1) {
		name, value := row[1], row[2]
		if rows[name] != "" {
			t.Errorf("%s stands there twice", name)
		}
		rows[name] = value
		if flag, ok := flags[name]; ok {
			if value != strconv.Itoa(*flag) {
				t.Errorf("the default of %s is %d, not %s", name, *flag, value)
			}
			delete(flags, name)
			continue
		}
		if err := written.Set(name, value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for flag := range flags {
		t.Errorf("there is no row of %s", flag)
	}
	is := written.all()
	for i, want := range defaults.all() {
		switch {
		case want.name == "":
		case rows[want.name] == "":
			t.Errorf("there is no row of %s", want.name)
		case want.number != nil && *is[i].number != *want.number:
			t.Errorf("the default of %s is %d, not %s", want.name, *want.number, rows[want.name])
		case want.span != nil && *is[i].span != *want.span:
			t.Errorf("the default of %s is %v, not %s", want.name, time.Duration(want.fallback), rows[want.name])
		}
	}
}

func TestTheSecurityPageHasEveryCode(t *testing.T) {
	page := securityText(t)
	source, err := os.ReadFile("internal/errcode/errcode.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`= "([A-Z_]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 15 {
		t.Fatalf("errcode.go has %d codes", len(codes))
	}
	for _, code := range codes {
		if !strings.Contains(page, "\n| "+code[1]+" |") {
			t.Errorf("the page has no row of %s", code[1])
		}
	}
	for _, code := range closeCodes() {
		if sent := code >= websocket.StatusPolicyViolation; sent && !strings.Contains(page, "\n| "+strconv.Itoa(int(code))+" |") {
			t.Errorf("the page has no row of the close code %d", code)
		}
	}
}

func TestTheSecurityPageNamesTestsThatExist(t *testing.T) {
	tests := testNames(t)
	named := regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w+`).FindAllString(securityText(t), -1)
	if len(named) < 50 {
		t.Errorf("the page names %d tests", len(named))
	}
	for _, name := range named {
		if !tests[name] {
			t.Errorf("there is no test %s", name)
		}
	}
}

// testNames is the names of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	of := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
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
			for _, found := range of.FindAllSubmatch(text, -1) {
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
