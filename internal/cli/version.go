package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/tandian-dev/tandian/internal/app"
)

func (c *commands) version(*cobra.Command, []string) error {
	b := app.ThisBuild()
	_, err := fmt.Fprintf(c.stdout, "tandian %s\ncommit   %s\ndate     %s\ngo       %s\nplatform %s/%s\n", b.Version, b.Commit, b.Date, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
