package voucher

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// Operations of an edit of a running sale that may fail while the edit succeeds, as values of
// the label doing. The reconciliation of sales repairs both.
const (
	lowering  = "lower"     // removing stock in Redis before the database
	restoring = "take_back" // restoring that stock
)

// editFailures counts and logs these failures, at a limited rate.
type editFailures struct {
	counts   *prometheus.CounterVec
	log      *slog.Logger
	throttle clock.Throttle
}

func newEditFailures(reg prometheus.Registerer, log *slog.Logger) *editFailures {
	t := &editFailures{
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_voucher_edit_failures_total", Help: "Edits of running sales that did not reach Redis in time.",
		}, []string{"doing"}),
		log: cmp.Or(log, slog.New(slog.DiscardHandler)),
	}
	for _, doing := range []string{lowering, restoring} {
		t.counts.WithLabelValues(doing)
	}
	if reg != nil {
		if err := reg.Register(t.counts); err != nil {
			panic(fmt.Sprintf("voucher: register the metrics: %v", err))
		}
	}
	return t
}

func (t *editFailures) record(ctx context.Context, doing string, id int64, err error) {
	t.counts.WithLabelValues(doing).Inc()
	if t.throttle.Allow() {
		t.log.WarnContext(ctx, "cannot apply edit of running sale to Redis", "doing", doing, "voucher", id, "err", err)
	}
}
