// Command gqlgen runs gqlgen with two plugins. One generates the plans, the other lets updates
// distinguish null from an omitted field. It reads gqlgen.yml from the working directory or the
// nearest directory above it.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/99designs/gqlgen/api"
	"github.com/99designs/gqlgen/codegen/config"
	"github.com/99designs/gqlgen/plugin"
	"github.com/vektah/gqlparser/v2/ast"

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
	if err := api.Generate(cfg, api.PrependPlugin(omittable{}), api.AddPlugin(plangen.Plugin{})); err != nil {
		return fmt.Errorf("generate: %w", err)
	}
	return nil
}

// omittable makes the nullable fields of each input type Update… omittable: null clears a field, an
// omitted field stays unchanged.
type omittable struct{}

var _ plugin.ConfigMutator = omittable{}

// Name implements plugin.Plugin.
func (omittable) Name() string { return "omittable" }

// MutateConfig implements plugin.ConfigMutator.
func (omittable) MutateConfig(cfg *config.Config) error {
	yes := true
	for name, d := range cfg.Schema.Types {
		if d.Kind != ast.InputObject || !strings.HasPrefix(name, "Update") {
			continue
		}
		entry := cfg.Models[name]
		if entry.Fields == nil {
			entry.Fields = map[string]config.TypeMapField{}
		}
		for _, f := range d.Fields {
			if !f.Type.NonNull {
				field := entry.Fields[f.Name]
				field.Omittable = &yes
				entry.Fields[f.Name] = field
			}
		}
		cfg.Models[name] = entry
	}
	return nil
}
