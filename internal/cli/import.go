package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/importer"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

func (c *commands) importCommand() *cobra.Command {
	source := ""
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "import shops from OpenStreetMap Overpass JSON, GeoJSON or CSV",
		Long: importer.Help(),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importShops(cmd.Context(), source, args) },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmdline.Refuse("import needs a FILE")
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&source, "source", "", "name the data set `NAME` if its ids are not globally unique; use the same name for each import")
	return cmd
}

func (c *commands) importShops(ctx context.Context, source string, files []string) error {
	if source != "" {
		if err := importer.CheckSource(source); err != nil {
			return cmdline.UsageError{Err: err}
		}
	}
	return c.withComponents(ctx, func(components *app.Components) error {
		return importer.Import(ctx, components.Shops, source, files, c.stdout)
	})
}
