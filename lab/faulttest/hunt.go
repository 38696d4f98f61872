package faulttest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

const (
	huntSeeds = 3                // runs per mutant, at most
	huntFirst = 15 * time.Second // of the first run, which catches most
	huntFor   = 40 * time.Second // of later runs
)

// HuntConfig selects the mutants to build and run.
type HuntConfig struct {
	Names  []string // of mutants; nil means all
	Binary string   // program of the unchanged server; "" builds it
	Keep   string   // see [Config]; files of mutant runs are not kept
	Out    io.Writer
	// Seed, if it is not 0, repeats a printed run: every run uses it and lasts for Duration.
	Seed     uint64
	Duration time.Duration
}

// run returns the config of a run of length d, or of the repeated run.
func (cfg HuntConfig) run(d time.Duration, cards []PlannedFault, names ...string) Config {
	one := Config{Seed: NewSeed(), Duration: d, Cards: cards, Out: cfg.Out, Command: "mutants fault", Trailer: strings.Join(names, " ")}
	if cfg.Seed != 0 {
		one.Seed, one.Duration = cfg.Seed, cfg.Duration
	}
	return one
}

// RunMutants builds mutants one after the other and runs each under the faults of its deck,
// until a run catches it, three times at most. Before that it runs the unchanged server under
// all these faults, and returns an error if a guarantee is broken. It prints a table and
// returns the names of the mutants that were not caught.
func RunMutants(ctx context.Context, cfg HuntConfig) (survivors []string, err error) {
	mutants, err := selectMutants(cfg.Names)
	if err != nil {
		return nil, err
	}
	if err := runControl(ctx, cfg, mutants); err != nil {
		return nil, err
	}
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mutant\tdeck\tcaught by\tafter")
	for _, m := range mutants {
		var c outcome
		if c, err = hunt(ctx, cfg, m); err != nil {
			err = fmt.Errorf("mutant %s: %w", m.Name, err)
			break // print the rows so far
		}
		if len(c.by) == 0 {
			survivors = append(survivors, m.Name)
		}
		caught := c.verdict()
		fmt.Fprintf(cfg.Out, "caught by: %s\n", caught)
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, cmp.Or(formatDeck(m), "-"), caught, c.after())
	}
	_, printed := fmt.Fprintf(cfg.Out, "\n%s", flushed(w, &table))
	return survivors, errors.Join(err, printed)
}

// flushed returns the text of a table.
func flushed(w *tabwriter.Writer, text *strings.Builder) string {
	_ = w.Flush() // a Builder never fails
	return text.String()
}

func selectMutants(names []string) ([]Mutant, error) {
	mutants, err := Mutants()
	if err != nil || len(names) == 0 {
		return mutants, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(mutants, func(m Mutant) bool { return m.Name == name }) {
			return nil, fmt.Errorf("unknown mutant %q", name)
		}
	}
	return slices.DeleteFunc(mutants, func(m Mutant) bool { return !slices.Contains(names, m.Name) }), nil
}

// runControl runs the unchanged server under the faults of all mutants.
func runControl(ctx context.Context, cfg HuntConfig, mutants []Mutant) error {
	var deck [][]string
	for _, m := range mutants {
		for _, card := range m.Deck {
			if !slices.ContainsFunc(deck, func(other []string) bool { return slices.Equal(card, other) }) {
				deck = append(deck, card)
			}
		}
	}
	cards, err := cardsByName(deck)
	if err != nil {
		return err
	}
	d := huntFirst + time.Duration(len(deck))*5*time.Second
	fmt.Fprintln(cfg.Out, "the unchanged server:")
	one := cfg.run(d, cards, cfg.Names...)
	one.Binary, one.Keep = cfg.Binary, cfg.Keep
	report, err := Run(ctx, one)
	if err != nil {
		return err
	}
	if report.Broken() {
		return errors.New("control run failed: the unchanged server breaks a guarantee")
	}
	return nil
}

// outcome is the result of all runs of a mutant.
type outcome struct {
	by    []string // broken invariants that it should break
	other []string // other broken invariants; a slow machine breaks "live"
	runs  int
	took  time.Duration // of load, over all runs
}

// found adds the invariants that a run broke.
func (c *outcome) found(m Mutant, broken []string) {
	for _, invariant := range broken {
		if slices.Contains(m.Breaks, invariant) {
			c.by = append(c.by, invariant)
		} else if !slices.Contains(c.other, invariant) {
			c.other = append(c.other, invariant)
		}
	}
}

// verdict summarizes what caught the mutant. An invariant that it should not break counts as
// a wrong reason.
func (c *outcome) verdict() string {
	switch {
	case len(c.by) > 0:
		return strings.Join(c.by, " ")
	case len(c.other) > 0:
		return "WRONG REASON: " + strings.Join(c.other, " ")
	}
	return "NOT CAUGHT"
}

func (c *outcome) after() string { return fmt.Sprintf("%v, run %d", c.took, c.runs) }

func hunt(ctx context.Context, cfg HuntConfig, m Mutant) (c outcome, err error) {
	dir, err := os.MkdirTemp("", "tandian-mutant-")
	if err != nil {
		return c, fmt.Errorf("create mutant directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := m.Build(ctx, dir)
	if err != nil {
		return c, err
	}
	cards, err := cardsByName(m.Deck)
	if err != nil {
		return c, err
	}
	for d := huntFirst; c.runs < huntSeeds && len(c.by) == 0; d = huntFor {
		fmt.Fprintf(cfg.Out, "\n%s: %s\n", m.Name, m.What)
		one := cfg.run(d, cards, m.Name)
		one.Binary = binary
		report, err := Run(ctx, one)
		if err != nil {
			return c, err
		}
		c.runs++
		c.took += one.Duration
		c.found(m, report.broken())
	}
	return c, nil
}

// Build builds the mutant's server into dir and returns its path.
func (m Mutant) Build(ctx context.Context, dir string) (string, error) {
	module, err := moduleRoot()
	if err != nil {
		return "", err
	}
	edited := filepath.Join(dir, "edited")
	if err := os.Mkdir(edited, 0o700); err != nil {
		return "", err
	}
	overlay, err := m.Overlay(module, edited)
	if err != nil {
		return "", err
	}
	return BuildServer(ctx, dir, overlay)
}

func formatDeck(m Mutant) string {
	cards := make([]string, len(m.Deck))
	for i, faults := range m.Deck {
		cards[i] = strings.Join(faults, " + ")
	}
	return strings.Join(cards, "; ")
}
