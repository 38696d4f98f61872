package archtest

import (
	"encoding/json"
	"os"
	"os/exec"
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
