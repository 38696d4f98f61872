package app

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/setting"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/store"
)

// openScans gathers what the rooms compare. A noun adds its scans here, by one line.
func (h *House) openScans(client *ent.Client, reg prometheus.Registerer, log *slog.Logger) {
	h.scans = reconcile.New(turns{client, h.DB.Dialect}.take, reg, log)
	h.scans.Add(h.sales.Scans()...)
	h.scans.Add(h.Orders.Scans()...)
	h.workers["scans"] = h.scans.Work
}

// Scans are what `tandian reconcile` runs, and what any process with workers runs on a
// schedule.
func (h *House) Scans() *reconcile.Scans { return h.scans }

// turns have one process at a time run a scan, and none before it is due. When one was
// run last stands in the settings.
type turns struct {
	db      *ent.Client
	dialect string
}

const turnPrefix = "reconcile." // of the settings

// take is a [reconcile.Turn]. The advisory lock lasts as long as the scan, in a
// transaction that holds nothing else.
func (t turns) take(ctx context.Context, name string, every time.Duration, do func(context.Context) error) (done bool, err error) {
	if t.dialect != dialect.Postgres { // there is one process
		return t.ifDue(ctx, t.db, name, every, do)
	}
	err = ent.WithTx(ctx, t.db, func(tx *ent.Tx) error {
		alone, err := store.Alone(ctx, tx, turnPrefix+name)
		if err != nil || !alone {
			return err
		}
		done, err = t.ifDue(ctx, tx.Client(), name, every, do)
		return err
	})
	return done, err
}

func (t turns) ifDue(ctx context.Context, db *ent.Client, name string, every time.Duration, do func(context.Context) error) (bool, error) {
	last, err := db.Setting.Query().Where(setting.ID(turnPrefix + name)).All(ctx)
	if err != nil {
		return false, fmt.Errorf("read when %s was compared: %w", name, err)
	}
	if len(last) == 1 {
		ms, err := strconv.ParseInt(last[0].Value, 10, 64)
		if age := time.Since(time.UnixMilli(ms)); err == nil && age >= 0 && age < every {
			return false, nil
		}
	}
	if err := do(ctx); err != nil {
		return true, err
	}
	err = db.Setting.Create().SetID(turnPrefix+name).SetValue(strconv.FormatInt(time.Now().UnixMilli(), 10)).
		OnConflict(entsql.ConflictColumns(setting.FieldID), entsql.ResolveWithNewValues()).Exec(ctx)
	if err != nil {
		return true, fmt.Errorf("write down that %s was compared: %w", name, err)
	}
	return true, nil
}
