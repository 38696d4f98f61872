// Command tandian serves local reviews and flash sales over GraphQL. See
// README.md, or run it with --help.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/tandian-dev/tandian/internal/cli"
)

func main() {
	cli.Prepare()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal drains; after it, a second one ends the process at once.
	context.AfterFunc(ctx, stop)
	code := cli.Main(ctx, os.Args, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
