package bench

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"github.com/tandian-dev/tandian/internal/kit/lock/lockbench"
)

// LockConfig says what [Lock] measures.
type LockConfig struct {
	RedisURL    string // one Redis; "" for a private one, for which redis-server has to be on PATH
	DatabaseURL string // a PostgreSQL for the schemes that lock there; "" leaves them out
	Dir         string // where to look for a checkout, upwards
	Only        string // tables to print, between commas: ours, and those of bench/cmd/lock; "" for all
	Rounds      int    // of the table handover; 0 for as many as it has by itself
	Ours        lockbench.Options
}

// Lock prints how Tandian's lock compares with the field's, as [Cache] does for
// the cache.
func Lock(ctx context.Context, cfg LockConfig, out, progress io.Writer) error {
	c := comparison{program: "lock", env: stores(cfg.RedisURL, cfg.DatabaseURL)}
	if cfg.Rounds > 0 {
		c.args = []string{"--rounds", strconv.Itoa(cfg.Rounds)}
	}
	return beside(ctx, cfg.Only, cfg.Dir, func() error {
		if err := lockbench.Rows(ctx, cfg.Ours, out); err != nil {
			return fmt.Errorf("measure the lock: %w", err)
		}
		return nil
	}, c, out, progress)
}
