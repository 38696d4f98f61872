package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// Each direct dependency has a row with its reason in ARCHITECTURE.md.
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
		t.Fatal("got no dependencies in ARCHITECTURE.md or in go.mod")
	}
	for _, r := range mod.Require {
		if !r.Indirect && !strings.Contains(table, r.Path) {
			t.Errorf("%s has no row in ARCHITECTURE.md: add it with its reason", r.Path)
		}
	}
}

// The linker drops unused methods only from a program that never looks up a method by a computed
// name. Templates and the fields of an ent schema do that.
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
		t.Error("ent/runtime.go reads the fields of the schema at start; see ent/entc.go")
	}
}

// Each package that uses redis.UniversalClient compiles 1500 wrappers of go-redis: 500 KB of code and
// more than a second. Services only send commands, for which redis.Cmdable suffices.
func TestServicesUseRedisCmdable(t *testing.T) {
	allowed := []string{"internal/kit/", "internal/app/", "internal/cli/", "internal/testkit/", "internal/flashsale/", "lab/"} // flashsale opens connections
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
			t.Errorf("%s uses redis.UniversalClient, want redis.Cmdable", name)
		}
	}
	if checked < 100 {
		t.Errorf("got %d files, want at least 100", checked)
	}
}
