package faulttest

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed mutants/*.diff
var mutantFiles embed.FS

// Mutant is the server with one deliberate mistake, which the checks must find. The mistake
// is an edit of sources, applied by go build -overlay. So Lua and SQL can have mutants too, and
// the shipped program contains none.
//
// Each mutant has a file in mutants/. Its header has the keys what, breaks (see [Breach]) and
// deck. Cards in a deck are separated by semicolons, and the faults of one card by plus
// signs; a mutant that shows without faults has an empty deck. Then follow the edits as in a
// diff, without line numbers. They are whole lines, which must occur in the file exactly
// once.
type Mutant struct {
	Name   string
	What   string     // describes the mistake
	Breaks []string   // invariants, at least one of which must be found broken
	Deck   [][]string // names of the faults that show it, by card
	edits  []change
}

// change replaces lines of a file.
type change struct {
	path     string // relative to the module
	old, new string
}

// Mutants returns all mutants, by name.
func Mutants() ([]Mutant, error) { return ReadMutants(mutantFiles) }

// ReadMutants reads the mutants in the directory mutants of from, by name.
func ReadMutants(from fs.ReadDirFS) ([]Mutant, error) {
	files, err := from.ReadDir("mutants")
	if err != nil {
		return nil, err
	}
	all := make([]Mutant, len(files))
	for i, f := range files {
		text, err := fs.ReadFile(from, path.Join("mutants", f.Name()))
		if err != nil {
			return nil, err
		}
		if all[i], err = readMutant(strings.TrimSuffix(f.Name(), ".diff"), string(text)); err != nil {
			return nil, fmt.Errorf("read mutant %s: %w", f.Name(), err)
		}
	}
	return all, nil
}

func readMutant(name, text string) (Mutant, error) {
	m := Mutant{Name: name}
	head, body, ok := strings.Cut(text, "\n--- ")
	if !ok {
		return m, errors.New("invalid mutant: no edits")
	}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "what":
			m.What = value
		case "breaks":
			m.Breaks = strings.Fields(value)
		case "deck":
			m.Deck = readDeck(value)
		case "":
		default:
			return m, fmt.Errorf("unknown header %q", key)
		}
	}
	if m.What == "" || len(m.Breaks) == 0 {
		return m, errors.New("invalid mutant: the header needs what and breaks")
	}
	for file := range strings.SplitSeq(body, "\n--- ") {
		edits, err := readEdits(file)
		if err != nil {
			return m, err
		}
		m.edits = append(m.edits, edits...)
	}
	return m, nil
}

func readDeck(text string) (deck [][]string) {
	for card := range strings.SplitSeq(text, ";") {
		if faults := strings.Fields(strings.ReplaceAll(card, "+", " ")); len(faults) > 0 {
			deck = append(deck, faults)
		}
	}
	return deck
}

// readEdits parses the edits of one file: its path, and hunks that each follow a line @@.
func readEdits(text string) (edits []change, err error) {
	name, hunks, ok := strings.Cut(text, "\n@@\n")
	if !ok {
		return nil, fmt.Errorf("invalid mutant: no hunk in %q", text)
	}
	for hunk := range strings.SplitSeq(strings.TrimRight(hunks, "\n"), "\n@@\n") {
		var before, after strings.Builder
		for line := range strings.SplitSeq(hunk, "\n") {
			mark, rest := byte(' '), ""
			if line != "" {
				mark, rest = line[0], line[1:]
			}
			switch mark {
			case ' ':
				before.WriteString(rest + "\n")
				after.WriteString(rest + "\n")
			case '-':
				before.WriteString(rest + "\n")
			case '+':
				after.WriteString(rest + "\n")
			default:
				return nil, fmt.Errorf("invalid edit line %q: want a leading space, - or +", line)
			}
		}
		if before.String() == after.String() {
			return nil, fmt.Errorf("invalid edit of %s: no change", name)
		}
		edits = append(edits, change{strings.TrimSpace(name), before.String(), after.String()})
	}
	return edits, nil
}

// apply returns the edited text.
func (e change) apply(text []byte) ([]byte, error) {
	lines := slices.Concat([]byte("\n"), text)
	old := []byte("\n" + e.old)
	if n := bytes.Count(lines, old); n != 1 {
		return nil, fmt.Errorf("find edited lines in %s: %d matches, want 1:\n%s", e.path, n, e.old)
	}
	return bytes.Replace(lines, old, []byte("\n"+e.new), 1)[1:], nil
}

// Overlay writes the edited copies of a module's files into dir, together with the file for
// go build -overlay. It returns the path of that file.
func (m Mutant) Overlay(module, dir string) (string, error) {
	edited := map[string][]byte{}
	for _, e := range m.edits {
		text, ok := edited[e.path]
		if !ok {
			var err error
			if text, err = os.ReadFile(filepath.Join(module, filepath.FromSlash(e.path))); err != nil { //nolint:gosec // paths of the package's own files
				return "", fmt.Errorf("apply mutant %s: %w", m.Name, err)
			}
		}
		var err error
		if edited[e.path], err = e.apply(text); err != nil {
			return "", fmt.Errorf("apply mutant %s: %w", m.Name, err)
		}
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	for name, text := range edited {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return "", fmt.Errorf("write mutant %s: %w", m.Name, err)
		}
		overlay.Replace[filepath.Join(module, filepath.FromSlash(name))] = to
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(to, text, 0o600); err != nil {
		return "", fmt.Errorf("write mutant %s: %w", m.Name, err)
	}
	return to, nil
}
