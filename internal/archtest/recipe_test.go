package archtest

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// maxFiles is how many files written by hand a new scalar field of Shop may change.
const maxFiles = 8

// The steps themselves take minutes: `make recipe` does them.
func TestTheRecipeForAFieldAppliesAndTouchesFewFiles(t *testing.T) {
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
	if files == 0 || files > maxFiles {
		t.Errorf("the recipe changes %d files, want at most %d", files, maxFiles)
	}
	apply := exec.CommandContext(t.Context(), "git", "apply", "--check", "scripts/recipe/add-field.diff")
	apply.Dir = "../.."
	if out, err := apply.CombinedOutput(); err != nil {
		t.Errorf("the diff no longer applies: %v\n%s", err, out)
	}
}
