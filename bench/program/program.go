// Package program is what the programs of bench/cmd have in common.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Main runs a program on the arguments of the process until it is done, or asked
// to end. If it fails, the process ends here.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// Flags are those that every program has, and its own. Parse fills in the fields.
type Flags struct {
	*flag.FlagSet
	Seed   uint64 // of the random choices
	Only   []string
	Scheme string

	tables []string
	only   string
}

// NewFlags are those of a program that prints tables.
func NewFlags(name string, tables []string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), tables: tables}
	f.Uint64Var(&f.Seed, "seed", 0, "`number` that decides the random choices; 0 draws one")
	f.StringVar(&f.only, "only", "", "tables to print, between commas: "+strings.Join(tables, ", "))
	f.StringVar(&f.Scheme, "scheme", "", "only schemes with this `text` in their name")
	return f
}

// Parse reads the flags. A table that there is not is an error.
func (f *Flags) Parse(args []string) error {
	if err := f.FlagSet.Parse(args); err != nil {
		return err
	}
	f.Only = Split(f.only)
	for _, name := range f.Only {
		if !slices.Contains(f.tables, name) {
			return fmt.Errorf("there is no table %q; there are %s", name, strings.Join(f.tables, ", "))
		}
	}
	if f.Seed == 0 {
		f.Seed = uint64(time.Now().UnixNano())
	}
	return nil
}

// Split returns the words between commas.
func Split(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
