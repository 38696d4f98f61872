package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/internal/shop"
	"github.com/tandian-dev/tandian/lab/servebench"
)

func (c *commands) filtersBench() *cobra.Command {
	return newCommand(spec{
		Use: "filters", Short: "compare pages of shops with and without filters", Run: c.benchFilters,
		Long: "It starts a server with its own Redis and PostgreSQL.",
		Flags: func(f *pflag.FlagSet) {
			f.Int("shops", 1_000_000, "create `NUMBER` shops")
			f.Int("pages", 200, "read each page `NUMBER` times")
		},
	})
}

func (c *commands) benchFilters(ctx context.Context, cmd *call) error {
	if cmd.Int("shops") < 10_000 || cmd.Int("pages") < 1 {
		return cmdline.Refuse("--shops must be at least 10000, --pages at least 1")
	}
	processes, err := selfCommand(ctx)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "tandian-bench-filters-")
	if err != nil {
		return fmt.Errorf("create folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return servebench.Filters(ctx, servebench.FilterOptions{
		Options: servebench.Options{Command: processes, Dir: dir, Progress: c.stderr},
		Shops:   cmd.Int("shops"), Pages: cmd.Int("pages"), Import: importShops,
	}, c.stdout)
}

// importShops stores drafts as `tandian import` does.
func importShops(ctx context.Context, databaseURL, redisURL string, drafts []shop.Draft) error {
	cfg := config.Default()
	cfg.DatabaseURL, cfg.RedisURL, cfg.LogReader = databaseURL, redisURL, "off"
	server, err := app.Open(ctx, &cfg, io.Discard, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	_, err = server.Shops.Upsert(ctx, drafts, func(int) {})
	return errors.Join(err, server.Close())
}
