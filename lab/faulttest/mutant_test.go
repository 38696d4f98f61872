package faulttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root returns the module's directory.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// An edit of a line that a mutant edits too must update the mutant.
func TestEachMutantStillFitsTheSources(t *testing.T) {
	mutants, err := Mutants()
	if err != nil {
		t.Fatal(err)
	}
	if len(mutants) < 7 {
		t.Errorf("got %d mutants, want 7 or more", len(mutants))
	}
	known := []string{"C", "U", "D", "Q", "R", "H", "ids", "log"} // live is left out: a slow machine breaks it
	for _, m := range mutants {
		t.Run(m.Name, func(t *testing.T) {
			if _, err := m.Overlay(root(t), t.TempDir()); err != nil {
				t.Error(err)
			}
			for _, b := range m.Breaks {
				if !slices.Contains(known, b) {
					t.Errorf("unknown invariant %q", b)
				}
			}
		})
	}
}

// It builds the packages of all mutants with their edits, without linking.
func TestEachMutantCompiles(t *testing.T) {
	mutants, err := Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mutants {
		var packages []string
		for _, e := range m.edits {
			if strings.HasSuffix(e.path, ".go") {
				packages = append(packages, "./"+filepath.Dir(e.path))
			}
		}
		if len(packages) == 0 {
			continue // Lua and SQL are read at the start
		}
		t.Run(m.Name, func(t *testing.T) {
			overlay, err := m.Overlay(root(t), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", overlay}, packages...)...)
			build.Dir = root(t)
			if out, err := build.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// Mutants of Lua and SQL depend on overlays for embedded files.
func TestAnOverlayReachesEmbeddedFiles(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"go.mod":   "module m\n\ngo 1.26\n",
		"main.go":  "package main\n\nimport \"embed\"\n\n//go:embed *.lua\nvar files embed.FS\n\nfunc main() {\n\ttext, _ := files.ReadFile(\"a.lua\")\n\tprint(string(text))\n}\n",
		"a.lua":    "as it is\n",
		"other.go": "package main\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := readMutant("m", "what: x\nbreaks: C\n--- a.lua\n@@\n-as it is\n+mutated\n")
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := m.Overlay(dir, out)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", overlay, ".")
	run.Dir = dir
	got, err := run.CombinedOutput()
	if err != nil || string(got) != "mutated\n" {
		t.Errorf("got %q, %v, want %q", got, err, "mutated\n")
	}
}

func TestAnEditMustFitOnce(t *testing.T) {
	e := change{"f", "b\n", "B\n"}
	for _, tt := range []struct{ text, want string }{
		{"a\nb\nc\n", "a\nB\nc\n"},
		{"b\nc\n", "B\nc\n"},
		{"a\nb\n", "a\nB\n"},
		{"ab\nc\n", ""},   // not a whole line
		{"b\na\nb\n", ""}, // twice
		{"a\nc\n", ""},    // not at all
		{"a\nbc\nb", ""},  // no line at its end
	} {
		got, err := e.apply([]byte(tt.text))
		if string(got) != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: got %q, %v, want %q", tt.text, got, err, tt.want)
		}
	}
}
