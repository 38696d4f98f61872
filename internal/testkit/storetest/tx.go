package storetest

import (
	"context"
	"database/sql"
	"sync"

	"entgo.io/ent/dialect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

// AtFirstTx returns a client that calls before when its first transaction is about to begin, and
// begun when it has begun. Either may be nil.
func (p Process) AtFirstTx(before, begun func()) *ent.Client {
	drv := &hooked{Driver: p.SQL.Driver(sqldb.NewSQLMetrics(prometheus.NewRegistry(), nil))}
	drv.before, drv.begun = once(before), once(begun)
	return ent.NewClient(ent.Driver(drv))
}

func once(f func()) func() {
	if f == nil {
		return func() {}
	}
	return sync.OnceFunc(f)
}

type hooked struct {
	dialect.Driver
	before, begun func()
}

// Tx implements [dialect.Driver].
func (h *hooked) Tx(ctx context.Context) (dialect.Tx, error) {
	h.before()
	tx, err := h.Driver.Tx(ctx)
	h.begun()
	return tx, err //nolint:wrapcheck // of the driver itself
}

// QueryContext implements [sqldb.Querier].
func (h *hooked) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return h.Driver.(sqldb.Querier).QueryContext(ctx, query, args...) //nolint:wrapcheck // of the driver itself
}
