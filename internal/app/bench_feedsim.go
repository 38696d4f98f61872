package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/internal/bench/feedsim"
	"github.com/tandian-dev/tandian/internal/bench/scroll"
)

// feedSimFlags are the parameters of the model.
func feedSimFlags() []cli.Flag {
	o := feedsim.Default()
	return []cli.Flag{
		&cli.IntFlag{Name: "users", Value: 0, Usage: "`NUMBER` of users, at least 1000; 0 for a table of a million, of ten and of a hundred", Local: true},
		&cli.FloatFlag{Name: "exponent", Value: o.Exponent, Usage: "`NUMBER`: accounts with f followers become fewer as f to the minus this", Local: true},
		&cli.FloatFlag{Name: "follows", Value: o.Follows, Usage: "`NUMBER` of follows a user", Local: true},
		&cli.FloatFlag{Name: "largest", Value: o.Largest, Usage: "`PART` of all users that follows the largest account, at most", Local: true},
		&cli.FloatFlag{Name: "posts", Value: o.Posts, Usage: "`NUMBER` of notes a user and day", Local: true},
		&cli.FloatFlag{Name: "post-power", Value: o.PostPower, Usage: "`NUMBER`: notes of an account grow with its followers to this power; 0: all write the same", Local: true},
		&cli.StringFlag{Name: "readers", Value: feedsim.FormatReaders(o.Readers), Usage: "`CLASSES` of readers between commas, each as percent of the users, a colon, pages a day", Local: true},
		&cli.FloatFlag{Name: "pushes", Value: o.PushRate, Usage: "`NUMBER` of pushes a second in a fan-out", Local: true},
		&cli.StringFlag{Name: "chart", Usage: "`FILE` to write with an SVG of the costs by threshold, of --users or of a hundred million", Local: true},
	}
}

// benchFeedSim computes what feeds cost by the way they are made. It needs no store.
func (c *commands) benchFeedSim(_ context.Context, cmd *cli.Command) error {
	readers, err := feedsim.ParseReaders(cmd.String("readers"))
	if err != nil {
		return usageError{fmt.Errorf("--readers: %w", err)}
	}
	o := feedsim.Options{
		Exponent: cmd.Float("exponent"), Follows: cmd.Float("follows"), Largest: cmd.Float("largest"),
		Posts: cmd.Float("posts"), PostPower: cmd.Float("post-power"), Readers: readers, PushRate: cmd.Float("pushes"),
	}
	sizes := []int{1_000_000, 10_000_000, 100_000_000}
	if n := cmd.Int("users"); n != 0 {
		sizes = []int{n}
	}
	for i, users := range sizes {
		o.Users = users
		if err := o.Check(); err != nil {
			return usageError{err}
		}
		if i > 0 {
			_, _ = fmt.Fprintln(c.stdout)
		}
		if err := feedsim.Table(o, c.stdout); err != nil {
			return fmt.Errorf("print what feeds cost: %w", err)
		}
	}
	file := cmd.String("chart")
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file, feedsim.Chart(o), 0o644); err != nil { //nolint:gosec // a picture for everybody
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}

// benchScroll measures what readers get who scroll while a feed changes.
func (c *commands) benchScroll(ctx context.Context, cmd *cli.Command) error {
	o := scroll.Options{Sessions: cmd.Int("sessions"), Seed: cmd.Uint64("seed")}
	if o.Sessions < 1 {
		return usageError{errors.New("--sessions is 1 or more")}
	}
	return scroll.Run(ctx, o, c.stdout, c.stderr)
}
