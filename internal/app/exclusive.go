package app

import (
	"fmt"
	"log/slog"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/dblock"
	"github.com/tandian-dev/tandian/internal/kit/lock"
)

// openExclusive opens the locks of what one process does at a time. They are in Postgres,
// or in this process if it has SQLite. Each work has its own bound, so a lock has none.
func (h *House) openExclusive(reg prometheus.Registerer, log *slog.Logger) (err error) {
	o, place := lock.Options{MaxHold: -1, Log: log}, "postgres"
	if h.DB.Dialect == dialect.Postgres {
		h.exclusive, err = dblock.NewPostgres(h.DB.DB, o)
	} else {
		place = "process"
		h.exclusive, err = dblock.NewLocal(o)
	}
	if err != nil {
		return fmt.Errorf("locks in the database: %w", err)
	}
	h.closeLocks(h.exclusive)
	reg.MustRegister(lockMetrics{h.exclusive, place})
	return nil
}
