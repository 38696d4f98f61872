// Command gqlgen runs gqlgen with the plugin that writes the plans. It reads the nearest
// gqlgen.yml of the working directory or above.
package main

import (
	"fmt"
	"os"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"

	"github.com/tandian-dev/tandian/internal/kit/plan/plangen"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	cfg, err := config.LoadConfigFromDefaultLocations()
	if err != nil {
		return fmt.Errorf("load gqlgen.yml: %w", err)
	}
	if err := api.Generate(cfg, api.AddPlugin(plangen.Plugin{})); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}
