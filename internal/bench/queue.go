package bench

import (
	"context"
	"io"
	"strconv"
)

// QueueConfig says what [Queue] measures. There is no URL: its servers are killed, so
// they are its own, and redis-server has to be on PATH.
type QueueConfig struct {
	Dir      string // where to look for a checkout, upwards
	Only     string // tables to print, between commas: those of bench/cmd/queue; "" for all
	Messages int    // of a run; 0 for as many as it has by itself
}

// Queue prints how the queue of Tandian's sales compares with the field's, ours among
// them.
func Queue(ctx context.Context, cfg QueueConfig, out, progress io.Writer) error {
	c := comparison{program: "queue"}
	if cfg.Messages > 0 {
		c.args = []string{"--messages", strconv.Itoa(cfg.Messages)}
	}
	return beside(ctx, cfg.Only, cfg.Dir, func() error { return nil }, c, out, progress)
}
