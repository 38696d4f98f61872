package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"github.com/tandian-dev/tandian/internal/kit/cmdline"
	"github.com/tandian-dev/tandian/lab/feedsim"
	"github.com/tandian-dev/tandian/lab/paging"
)

// feedSimFlags adds the parameters of the model.
func feedSimFlags(f *pflag.FlagSet) {
	o := feedsim.Default()
	f.Int("users", 0, "compute for `NUMBER` users, at least 1000; 0 prints tables for 1, 10 and 100 million")
	f.Float64("exponent", o.Exponent, "use the power law f^-`NUMBER` for the count of accounts with f followers")
	f.Float64("follows", o.Follows, "assume `NUMBER` follows per user")
	f.Float64("largest", o.Largest, "limit the followers of the largest account to `SHARE` of all users")
	f.Float64("posts", o.Posts, "assume `NUMBER` notes per user and day")
	f.Float64("post-power", o.PostPower, "grow an account's notes with its followers to the power of `NUMBER`; 0 is no growth")
	f.String("readers", feedsim.FormatReaders(o.Readers), "assume these `CLASSES` of readers, each PERCENT_OF_USERS:PAGES_A_DAY, comma-separated")
	f.Float64("pushes", o.PushRate, "assume `NUMBER` pushes per second in a fan-out")
	f.String("chart", "", "write an SVG chart of the costs by threshold to `FILE`")
}

// benchFeedSim computes the cost of feeds by policy.
func (c *commands) benchFeedSim(_ context.Context, cmd *call) error {
	readers, err := feedsim.ParseReaders(cmd.String("readers"))
	if err != nil {
		return cmdline.Refuse("--readers: %w", err)
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
			return cmdline.UsageError{Err: err}
		}
		if i > 0 {
			_, _ = fmt.Fprintln(c.stdout)
		}
		if err := feedsim.Table(o, c.stdout); err != nil {
			return fmt.Errorf("print feed costs: %w", err)
		}
	}
	file := cmd.String("chart")
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file, feedsim.Chart(o), 0o644); err != nil { //nolint:gosec // a picture to look at
		return fmt.Errorf("write chart: %w", err)
	}
	return nil
}

// benchPaging compares paging methods in a changing feed.
func (c *commands) benchPaging(ctx context.Context, cmd *call) error {
	o := paging.Options{Sessions: cmd.Int("sessions"), Seed: cmd.Uint64("seed")}
	if o.Sessions < 1 {
		return cmdline.Refuse("--sessions must be at least 1")
	}
	return paging.Run(ctx, o, c.stdout, c.stderr)
}
