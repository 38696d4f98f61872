package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/importer"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

func (c *commands) importCommand() *cobra.Command {
	var opts importer.Options
	cmd := &cobra.Command{
		Use: "import FILE…", Short: "import shops from OpenStreetMap Overpass JSON, GeoJSON or CSV",
		Long: importer.Help(),
		RunE: func(cmd *cobra.Command, args []string) error { return c.importShops(cmd.Context(), opts, args) },
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmdline.Refuse("import needs a FILE")
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.Source, "source", "", "name the data set `NAME` if its ids are not globally unique; use the same name for each import")
	f.StringVar(&opts.ShopZone, "shop-zone", "", "the time `ZONE` of shops whose record has none, such as Asia/Ho_Chi_Minh (default: the zone of the server)")
	return cmd
}

func (c *commands) importShops(ctx context.Context, opts importer.Options, files []string) error {
	if err := opts.Check(); err != nil {
		return cmdline.UsageError{Err: err}
	}
	return c.withComponents(ctx, func(components *app.Components) error {
		return importer.Import(ctx, components.Shops, opts, files, c.stdout)
	})
}
