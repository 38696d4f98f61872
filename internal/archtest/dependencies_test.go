package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Every module that we require ourselves has its reason in ARCHITECTURE.md.
func TestEachDependencyHasAReason(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", "../../go.mod").Output()
	if err != nil {
		t.Fatal(err)
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "\n## Dependencies\n")
	if !ok || len(mod.Require) == 0 {
		t.Fatal("ARCHITECTURE.md has no table of dependencies, or go.mod none")
	}
	for _, r := range mod.Require {
		if !r.Indirect && !strings.Contains(table, r.Path) {
			t.Errorf("%s has no line in ARCHITECTURE.md: say why it is needed", r.Path)
		}
	}
}

// The linker drops unused methods only from a program that never looks up a method by a name
// that it computes. Templates and the fields of an ent schema do.
func TestServerLooksUpNoMethodByName(t *testing.T) {
	linked := packagesOf(t, "-deps", ".")
	for _, p := range []string{"html/template", "google.golang.org/grpc", "github.com/urfave/cli/v3"} {
		if slices.Contains(linked, p) {
			t.Errorf("the server links %s", p)
		}
	}
	generated, err := os.ReadFile("../../ent/runtime.go")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(generated), "Fields()") || !strings.Contains(string(generated), "schema.Now") {
		t.Error("ent/runtime.go reads the fields of the schema when the program starts; see ent/entc.go")
	}
}

// A package that knows redis.UniversalClient compiles 1500 wrappers of go-redis: 500 KB of
// code and more than a second each. Services send commands alone, so redis.Cmdable will do.
func TestServicesKnowRedisByItsCommands(t *testing.T) {
	allowed := []string{"internal/kit/", "internal/app/", "internal/cli/", "internal/testkit/", "internal/flashsale/", "lab/"} // flashsale dials
	checked := 0
	for _, path := range files(t, ".go") {
		name := strings.TrimPrefix(path, "../../")
		if strings.HasSuffix(name, "_test.go") || slices.ContainsFunc(allowed, func(dir string) bool { return strings.HasPrefix(name, dir) }) {
			continue
		}
		checked++
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "redis.UniversalClient") {
			t.Errorf("%s knows redis.UniversalClient: take redis.Cmdable", name)
		}
	}
	if checked < 100 {
		t.Errorf("only %d files were checked", checked)
	}
}
