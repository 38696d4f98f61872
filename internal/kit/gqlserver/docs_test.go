package gqlserver

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// limitRow matches a row of the limit tables: a name and a default.
var limitRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (\\S+) \\|")

// referencePage returns a page of docs/reference.
func referencePage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestReferencePageListsEveryLimitAndDefault(t *testing.T) {
	var defaults, written Limits
	defaults = defaults.orDefaults()
	flags := map[string]*int{
		"--rate-anonymous": &defaults.AnonymousRate, "--rate-user": &defaults.UserRate,
		"--conns-per-address": &defaults.SocketsPerAddress, "--conns-per-user": &defaults.SocketsPerUser,
		"--absent-reads": &defaults.AbsentReads,
	}
	rows := map[string]string{}
	for _, row := range limitRow.FindAllStringSubmatch(referencePage(t, "limits.md"), -1) {
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

func TestReferencePageListsEveryCode(t *testing.T) {
	page := referencePage(t, "errors.md")
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
