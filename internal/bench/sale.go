package bench

import (
	"context"
	"fmt"
	"io"

	"github.com/tandian-dev/tandian/internal/bench/salebench"
)

// SaleConfig says what [Sale] measures. All servers are its own.
type SaleConfig struct {
	Dir  string // where to look for a checkout, upwards
	Only string // tables to print, between commas: ours, and those of bench/cmd/sale; "" for all
	Ours salebench.Options
}

// Sale prints how Tandian's flash sales do, and how their way compares with the
// field's, as [Lock] does for the lock.
func Sale(ctx context.Context, cfg SaleConfig, out, progress io.Writer) error {
	return beside(ctx, cfg.Only, cfg.Dir, func() error {
		if err := salebench.Rows(ctx, cfg.Ours, out); err != nil {
			return fmt.Errorf("measure flash sales: %w", err)
		}
		return nil
	}, comparison{program: "sale"}, out, progress)
}
