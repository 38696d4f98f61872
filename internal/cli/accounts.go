package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/app"
	"github.com/tandian-dev/tandian/internal/kit/cmdline"
)

func (c *commands) accountsCommands() *cobra.Command {
	rewrite := false
	check := &cobra.Command{
		Use: "check-phones", Short: "list phones that several accounts share or that are not normalized",
		Long: "It prints masked phones and user ids. The exit code is 0 if each account has its own normalized\n" +
			"phone and 1 if one does not.",
		RunE: func(cmd *cobra.Command, _ []string) error { return c.checkPhones(cmd.Context(), rewrite) },
	}
	check.Flags().BoolVar(&rewrite, "rewrite", false, "normalize phones that only one account has; first stop all servers of earlier versions")
	return cmdline.Group("accounts COMMAND", "check accounts", check)
}

var errPhonesLeft = errors.New("some accounts share a phone or have one that is not normalized")

func (c *commands) checkPhones(ctx context.Context, rewrite bool) error {
	return c.withComponents(ctx, func(components *app.Components) error {
		checked, found, err := components.Accounts.CheckPhones(ctx, rewrite)
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
