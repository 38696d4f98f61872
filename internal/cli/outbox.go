package cli

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

func (c *commands) outboxCommands() *cobra.Command {
	return cmdline.Group(
		"outbox COMMAND", "show background jobs and retry parked ones",
		&cobra.Command{Use: "status", Short: "show the waiting and parked jobs of each topic; a job is parked after too many failures", RunE: c.outboxStatus},
		&cobra.Command{
			Use: "replay [TOPIC]", Short: "let running servers retry parked jobs, of one topic or of all", RunE: c.outboxReplay,
			Args: func(_ *cobra.Command, args []string) error {
				if len(args) > 1 {
					return cmdline.Refuse("outbox replay takes at most one TOPIC, not %d", len(args))
				}
				return nil
			},
		},
	)
}

func (c *commands) outboxStatus(cmd *cobra.Command, _ []string) error {
	ctx := cmd.Context()
	return c.withComponents(ctx, func(components *app.Components) error {
		list, err := components.Outbox().Stats(ctx)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "TOPIC\tWAITING\tPENDING\tOLDEST\tPARKED")
		for _, s := range list {
			_, _ = fmt.Fprintf(table, "%s\t%d\t%d\t%v\t%d\n", printable(s.Name), s.Waiting, s.Pending, s.Oldest.Round(time.Millisecond), s.Parked)
		}
		return table.Flush()
	})
}

func (c *commands) outboxReplay(cmd *cobra.Command, args []string) error {
	ctx, topic := cmd.Context(), ""
	if len(args) == 1 {
		topic = args[0]
	}
	return c.withComponents(ctx, func(components *app.Components) error {
		n, err := components.Outbox().Unpark(ctx, topic)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.stdout, "Parked jobs to retry: %d.\n", n)
		return err
	})
}
