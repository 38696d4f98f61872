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
	huntRuns = 3                // tries to catch a mutant
	huntFor  = 20 * time.Second // of one
)

// mutants are servers with a mistake in them, which the checks must find; breaks says by
// which [Fault]. See [faulttest.Mutant].
func mutants() ([]faulttest.Mutant, error) { return faulttest.ReadMutants(mutantFiles) }

// Short is a run of about 20 seconds: that of the tests.
func Short(seed uint64) Config {
	return Config{
		Seed: seed, Duration: 15 * time.Second, Authors: 30, Clients: 32, Follows: 12, Writers: 8, Rate: 30, Life: 400 * time.Millisecond,
		Deck: [][]string{{"lose-messages"}, {rebornRedis}, {"kill-server"}, {"cut-subscribers"}, {killedRedis}, {"deaf"}, {"rolling-restart"}},
	}
}

// Hunt builds mutants, those that are named or all, and has each run until what it breaks is
// found, three short runs at most. It returns the names of those that were not caught.
func Hunt(ctx context.Context, seed uint64, names []string, out io.Writer) (survivors []string, err error) {
	all, err := mutants()
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(m faulttest.Mutant) bool { return m.Name == name }) {
			return nil, fmt.Errorf("there is no mutant %q", name)
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

// A catch is what became of a mutant.
type catch struct {
	ok   bool
	by   []string // faults that were found
	runs int
}

func (c catch) String() string {
	what := "NOT CAUGHT"
	if c.ok {
		what = "caught by " + strings.Join(c.by, ", ")
	}
	return fmt.Sprintf("%s, run %d", what, c.runs)
}

func hunt(ctx context.Context, seed uint64, m faulttest.Mutant, out io.Writer) (c catch, err error) {
	dir, err := os.MkdirTemp("", "tandian-livetest-mutant-")
	if err != nil {
		return c, fmt.Errorf("make room: %w", err)
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

// word is a fault as a mutant's header has it.
func word(f Fault) string { return strings.ReplaceAll(string(f), " ", "-") }

func isFault(name string) bool {
	for _, f := range faults {
		if word(f.Fault) == name {
			return true
		}
	}
	return false
}
