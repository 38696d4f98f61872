package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/town"
)

// importSettings are the settings of the server that an import uses.
var importSettings = []string{
	"data-dir", "database-url", "redis-url", "redis-cache-url", "redis-ca", "redis-cert", "redis-key", "redis-prefix",
	"start-timeout", "log-format", "log-level",
}

func (c *commands) importCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take in shops from OpenStreetMap Overpass JSON, GeoJSON or CSV", ArgsUsage: "FILE…",
		Description:        town.ImportHelp,
		CustomHelpTemplate: c.importHelp(),
		Action:             c.importShops,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "source", Usage: "`NAME` of the data set, where ids like 42 are not unique in the world; the same at each import", Local: true},
		},
	}
}

// importHelp is the usual help of a command without the settings of the server
// that an import does not use.
func (c *commands) importHelp() string {
	var b strings.Builder
	for _, flag := range c.cfg.Flags() {
		if slices.Contains(importSettings, flag.Names()[0]) {
			b.WriteString("\n   " + flag.String())
		}
	}
	own, _, _ := strings.Cut(cli.CommandHelpTemplate, "{{if .VisiblePersistentFlags}}")
	return own + "\n\nSETTINGS OF THE STORES:" + b.String() + "\n\nAll settings: tandian --help\n"
}

func (c *commands) importShops(ctx context.Context, cmd *cli.Command) error {
	if !cmd.Args().Present() {
		return usageError{errors.New("import needs a FILE")}
	}
	source := cmd.String("source")
	if source != "" {
		if err := town.CheckSource(source); err != nil {
			return usageError{err}
		}
	}
	return c.withHouse(ctx, func(h *House) error {
		return town.Import(ctx, h.Shops, source, cmd.Args().Slice(), c.stdout)
	})
}
