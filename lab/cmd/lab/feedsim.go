package main

import (
	"context"
	"fmt"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/tandian-dev/tandian/lab/feedsim"
	"github.com/tandian-dev/tandian/lab/paging"
)

// feedSimFlags are the parameters of the model.
func feedSimFlags() []cli.Flag {
	o := feedsim.Default()
	return []cli.Flag{
		&cli.IntFlag{Name: "users", Value: 0, Usage: "`NUMBER` of users, at least 1000; 0 prints tables for 1, 10 and 100 million"},
		&cli.FloatFlag{Name: "exponent", Value: o.Exponent, Usage: "`NUMBER`: the count of accounts with f followers falls as f to the minus this"},
		&cli.FloatFlag{Name: "follows", Value: o.Follows, Usage: "`NUMBER` of follows per user"},
		&cli.FloatFlag{Name: "largest", Value: o.Largest, Usage: "`SHARE` of all users that follow the largest account, at most"},
		&cli.FloatFlag{Name: "posts", Value: o.Posts, Usage: "`NUMBER` of notes per user and day"},
		&cli.FloatFlag{Name: "post-power", Value: o.PostPower, Usage: "`NUMBER`: an account's notes grow with its followers to this power; 0 is no growth"},
		&cli.StringFlag{Name: "readers", Value: feedsim.FormatReaders(o.Readers), Usage: "`CLASSES` of readers, each PERCENT_OF_USERS:PAGES_A_DAY, between commas"},
		&cli.FloatFlag{Name: "pushes", Value: o.PushRate, Usage: "`NUMBER` of pushes a second in a fan-out"},
		&cli.StringFlag{Name: "chart", Usage: "`FILE` for an SVG picture of the costs by threshold"},
	}
}

// benchFeedSim computes what feeds cost by the way they are made. It needs no store.
func (c *commands) benchFeedSim(_ context.Context, cmd *cli.Command) error {
	readers, err := feedsim.ParseReaders(cmd.String("readers"))
	if err != nil {
		return refused("--readers: %w", err)
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
	if err := os.WriteFile(file, feedsim.Chart(o), 0o644); err != nil { //nolint:gosec // a picture to look at
		return fmt.Errorf("write the chart: %w", err)
	}
	return nil
}

// benchPaging compares ways to page through a feed that changes.
func (c *commands) benchPaging(ctx context.Context, cmd *cli.Command) error {
	o := paging.Options{Sessions: cmd.Int("sessions"), Seed: cmd.Uint64("seed")}
	if o.Sessions < 1 {
		return refused("--sessions must be at least 1")
	}
	return paging.Run(ctx, o, c.stdout, c.stderr)
}
