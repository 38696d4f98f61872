package app

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"
)

// outboxCommands are what operators look after the outbox with.
func (c *commands) outboxCommands() *cli.Command {
	return &cli.Command{
		Name: "outbox", Usage: "look after what is done in the background because of a change",
		Commands: []*cli.Command{
			{Name: "status", Usage: "what waits, and what failed too often and is parked, by topic", Action: c.outboxStatus},
			{Name: "replay", Usage: "have parked jobs tried again by the running servers, those of a TOPIC or all", ArgsUsage: "[TOPIC]", Action: c.outboxReplay},
		},
	}
}

func (c *commands) outboxStatus(ctx context.Context, _ *cli.Command) error {
	return c.withHouse(ctx, func(h *House) error {
		list, err := h.outbox.Stats(ctx)
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

func (c *commands) outboxReplay(ctx context.Context, cmd *cli.Command) error {
	if cmd.Args().Len() > 1 {
		return usageError{fmt.Errorf("outbox replay takes one TOPIC, not %d", cmd.Args().Len())}
	}
	return c.withHouse(ctx, func(h *House) error {
		n, err := h.outbox.Unpark(ctx, cmd.Args().First())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.stdout, "Parked jobs that will be tried again: %d.\n", n)
		return err
	})
}
