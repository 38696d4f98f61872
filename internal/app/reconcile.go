package app

import (
	"context"
	"errors"
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
	h.scans.Add(h.Notes.Scans()...)
	h.scans.Add(h.NoteLikes.Scans()...)
	h.scans.Add(h.Comments.Scans()...)
	h.scans.Add(h.CommentLikes.Scans()...)
	h.scans.Add(h.Follows.Scans()...)
	h.scans.Add(h.Feed.Scans()...)
	h.scans.Add(h.Media.Scans()...)
	h.scans.Add(h.CheckIns.Scans()...)
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
// transaction that holds nothing else but when it was run: that is stored after a
// failure too.
func (t turns) take(ctx context.Context, name string, every time.Duration, do func(context.Context) error) (done bool, err error) {
	var failed error
	if t.dialect != dialect.Postgres { // there is one process
		done, failed, err = t.ifDue(ctx, t.db, name, every, do)
		return done, errors.Join(failed, err)
	}
	err = ent.WithTx(ctx, t.db, func(tx *ent.Tx) error {
		alone, err := store.Alone(ctx, tx, turnPrefix+name)
		if err != nil || !alone {
			return err
		}
		done, failed, err = t.ifDue(ctx, tx.Client(), name, every, do)
		return err
	})
	return done, errors.Join(failed, err)
}

// ifDue has do done if it is due, and returns its failure apart from the error of the
// settings. What failed is due again after a tenth of every.
func (t turns) ifDue(ctx context.Context, db *ent.Client, name string, every time.Duration, do func(context.Context) error) (done bool, failed, err error) {
	last, err := db.Setting.Query().Where(setting.ID(turnPrefix + name)).All(ctx)
	if err != nil {
		return false, nil, fmt.Errorf("read when %s was compared: %w", name, err)
	}
	if len(last) == 1 {
		ms, err := strconv.ParseInt(last[0].Value, 10, 64)
		if age := time.Since(time.UnixMilli(ms)); err == nil && age >= 0 && age < every {
			return false, nil, nil
		}
	}
	failed = do(ctx)
	if failed != nil && ctx.Err() != nil {
		return true, failed, nil // this process ends; another may go on at once
	}
	counts := time.Now()
	if failed != nil {
		counts = counts.Add(every/10 - every)
	}
	err = db.Setting.Create().SetID(turnPrefix+name).SetValue(strconv.FormatInt(counts.UnixMilli(), 10)).
		OnConflict(entsql.ConflictColumns(setting.FieldID), entsql.ResolveWithNewValues()).Exec(ctx)
	if err != nil {
		return true, failed, fmt.Errorf("write down that %s was compared: %w", name, err)
	}
	return true, failed, nil
}
