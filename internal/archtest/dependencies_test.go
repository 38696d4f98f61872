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
