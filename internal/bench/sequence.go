package bench

import (
	"context"
	"io"
	"strconv"
)

// SequenceConfig says what [Sequence] measures.
type SequenceConfig struct {
	RedisURL    string // one Redis; "" for a private one, for which redis-server has to be on PATH
	DatabaseURL string // a PostgreSQL for the schemes that number there; "" leaves them out
	Dir         string // where to look for a checkout, upwards
	Only        string // tables to print, between commas: those of bench/cmd/sequence; "" for all
	Rounds      int    // of the rate; 0 for as many as it has by itself
}

// Sequence prints how Tandian's numbers of orders compare with the field's, ours
// among them.
func Sequence(ctx context.Context, cfg SequenceConfig, out, progress io.Writer) error {
	c := comparison{program: "sequence", env: stores(cfg.RedisURL, cfg.DatabaseURL)}
	if cfg.Rounds > 0 {
		c.args = []string{"--rounds", strconv.Itoa(cfg.Rounds)}
	}
	return beside(ctx, cfg.Only, cfg.Dir, func() error { return nil }, c, out, progress)
}
