// Command static checks that programs have no dynamic dependencies. On macOS it accepts system
// libraries, which are the only interface to the kernel.
package main

import (
	"debug/elf"
	"debug/macho"
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	var errs []error
	for _, path := range os.Args[1:] {
		if err := check(path); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		}
	}
	if err := errors.Join(errs...); err != nil || len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "static PROGRAM…:", err)
		os.Exit(1)
	}
}

// check returns an error if the program has dynamic dependencies.
func check(path string) error {
	if f, err := elf.Open(path); err == nil {
		defer func() { _ = f.Close() }()
		for _, p := range f.Progs {
			if p.Type == elf.PT_INTERP {
				return errors.New("it needs a loader")
			}
		}
		if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
			return fmt.Errorf("it needs %q, %w", libraries, err)
		}
		return nil
	}
	f, err := macho.Open(path)
	if err != nil {
		return fmt.Errorf("read program of Linux or macOS: %w", err)
	}
	defer func() { _ = f.Close() }()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("read libraries: %w", err)
	}
	for _, l := range libraries {
		if !strings.HasPrefix(l, "/usr/lib/") && !strings.HasPrefix(l, "/System/Library/") {
			return fmt.Errorf("it needs %s", l)
		}
	}
	return nil
}
