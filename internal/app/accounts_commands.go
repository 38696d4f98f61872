package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/account"
)

// accountsCommands are the commands for accounts.
func (c *commands) accountsCommands() *cli.Command {
	return &cli.Command{
		Name: "accounts", Usage: "look after accounts",
		Commands: []*cli.Command{{
			Name: "check-phones", Usage: "list phones that several accounts have, or that are stored under another spelling than their own",
			Description: "Prints masked phones and ids of users. Exit status 0: every account has a phone of its own, in its own spelling; 1: some do not; 2: a wrong call.",
			Action:      c.checkPhones,
			Flags: []cli.Flag{
				&cli.BoolFlag{Name: "rewrite", Usage: "store phones that one account has under their own spelling; only when no server of an earlier version runs any more", Local: true},
			},
		}},
	}
}

var errPhonesLeft = errors.New("some accounts share a phone, or have it under another spelling")

func (c *commands) checkPhones(ctx context.Context, cmd *cli.Command) error {
	return c.withHouse(ctx, func(h *House) error {
		checked, found, err := h.Accounts.CheckPhones(ctx, cmd.Bool("rewrite"))
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "FOUND\tPHONE\tUSERS")
		left := 0
		for _, f := range found {
			if f.State == account.PhoneShared || f.State == account.PhoneSpelling {
				left++
			}
			users := make([]string, len(f.Users))
			for i, id := range f.Users {
				users[i] = strconv.FormatInt(id, 10)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\n", f.State, f.Phone.Masked(), strings.Join(users, ", "))
		}
		if len(found) > 0 {
			if err := table.Flush(); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(c.stdout, "%d phones checked.\n", checked); err != nil {
			return err
		}
		if left > 0 {
			return errPhonesLeft
		}
		return nil
	})
}
