package livetest

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tandian-dev/tandian/lab/faulttest"
)

//go:embed mutants/*.diff
var mutantFiles embed.FS

const (
	huntRuns = 3                // per mutant, at most
	huntFor  = 20 * time.Second // length of a run
)

// mutants returns servers with one deliberate mistake, which the checks must find; Breaks
// lists the expected [Fault] names. See [faulttest.Mutant].
func mutants() ([]faulttest.Mutant, error) { return faulttest.ReadMutants(mutantFiles) }

// Short returns the config of the test run of about 20 seconds.
func Short(seed uint64) Config {
	return Config{
		Seed: seed, Duration: 15 * time.Second, Authors: 30, Clients: 32, Follows: 12, Writers: 8, Rate: 30, Life: 400 * time.Millisecond,
		Deck: [][]string{{"lose-messages"}, {rebornRedis}, {"kill-server"}, {"cut-subscribers"}, {killedRedis}, {"deaf"}, {"rolling-restart"}},
	}
}

// RunMutants builds the named mutants, or all, and runs each until its mistake is found, three
// times at most. Seed 0 draws a seed for each run. It returns the names of the mutants that were
// not caught.
func RunMutants(ctx context.Context, seed uint64, names []string, out io.Writer) (survivors []string, err error) {
	all, err := mutants()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(m faulttest.Mutant) bool { return m.Name == name }) {
			return nil, fmt.Errorf("unknown mutant %q", name)
		}
	}
	for _, m := range all {
		if len(names) > 0 && !slices.Contains(names, m.Name) {
			continue
		}
		caught, err := hunt(ctx, seed, m, out)
		if err != nil {
			return survivors, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
		fmt.Fprintf(out, "%s: %s\n", m.Name, caught)
		if !caught.ok {
			survivors = append(survivors, m.Name)
		}
	}
	return survivors, nil
}

// outcome is the result of all runs of a mutant.
type outcome struct {
	ok   bool
	by   []string // found faults
	runs int
}

func (c outcome) String() string {
	what := "NOT CAUGHT"
	if c.ok {
		what = "caught by " + strings.Join(c.by, ", ")
	}
	return fmt.Sprintf("%s, run %d", what, c.runs)
}

func hunt(ctx context.Context, seed uint64, m faulttest.Mutant, out io.Writer) (c outcome, err error) {
	dir, err := os.MkdirTemp("", "tandian-livetest-mutant-")
	if err != nil {
		return c, fmt.Errorf("create mutant directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	binary, err := m.Build(ctx, dir)
	if err != nil {
		return c, err
	}
	for c.runs < huntRuns && !c.ok {
		cfg := Short(seed)
		if seed == 0 {
			cfg.Seed = faulttest.NewSeed()
		}
		cfg.Duration, cfg.Binary, cfg.Out = huntFor, binary, out
		if m.Deck != nil {
			cfg.Deck = m.Deck
		}
		fmt.Fprintf(out, "\n%s: %s\n", m.Name, m.What)
		report, err := Run(ctx, cfg)
		if err != nil {
			return c, err
		}
		c.runs++
		c.by = nil
		for _, f := range faults {
			if report.Counts[f.Fault] > 0 {
				c.by = append(c.by, string(f.Fault))
				c.ok = c.ok || slices.Contains(m.Breaks, word(f.Fault))
			}
		}
	}
	return c, nil
}

// word returns the name of a fault in mutant headers.
func word(f Fault) string { return strings.ReplaceAll(string(f), " ", "-") }

func isFault(name string) bool {
	for _, f := range faults {
		if word(f.Fault) == name {
			return true
		}
	}
	return false
}
