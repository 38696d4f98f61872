package archtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// recipeFiles is the number of hand-written files that change for a new scalar field of Shop.
const recipeFiles = 8

// The test does not run the steps of the recipe, which take minutes; `make recipe` does.
func TestFieldRecipeAppliesAndTouchesFewFiles(t *testing.T) {
	const diff = "../../scripts/recipe/add-field.diff"
	text, err := os.ReadFile(diff)
	if err != nil {
		t.Fatal(err)
	}
	recipe, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for line := range strings.Lines(string(text)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/")
		if !ok {
			continue
		}
		files++
		if short := name[strings.LastIndex(name, "/")+1:]; !strings.Contains(string(recipe), short) {
			t.Errorf("CONTRIBUTING.md does not name %s", name)
		}
	}
	if files != recipeFiles {
		t.Errorf("the recipe changes %d files, want %d", files, recipeFiles)
	}
	apply := exec.CommandContext(t.Context(), "git", "apply", "--check", "scripts/recipe/add-field.diff")
	apply.Dir = "../.."
	if out, err := apply.CombinedOutput(); err != nil {
		t.Errorf("the diff no longer applies: %v\n%s", err, out)
	}
}
