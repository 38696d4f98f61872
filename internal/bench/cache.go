package bench

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache/cachebench"
)

// CacheConfig says what [Cache] measures.
type CacheConfig struct {
	RedisURL string // one Redis; "" for a private one, for which redis-server has to be on PATH
	Dir      string // where to look for a checkout, upwards
	Only     string // tables to print, between commas: ours, and those of bench/cmd/cache; "" for all
	Each     time.Duration
	Seed     uint64
	Ours     cachebench.Options // of our own rows
}

// Cache prints how Tandian's cache compares with the field's. Our own rows come
// first. The comparison is a module of its own, whose libraries the server does
// not need: in a checkout it is built and run as a child, elsewhere Cache says
// that it is not there. Progress and errors of the child go to progress.
func Cache(ctx context.Context, cfg CacheConfig, out, progress io.Writer) error {
	return beside(ctx, cfg.Only, cfg.Dir, func() error {
		if err := cachebench.Rows(ctx, cfg.Ours, out); err != nil {
			return fmt.Errorf("measure the cache: %w", err)
		}
		return nil
	}, comparison{
		program: "cache",
		args:    []string{"--dur", cfg.Each.String(), "--seed", strconv.FormatUint(cfg.Seed, 10)},
		env:     stores(cfg.RedisURL, ""),
	}, out, progress)
}
