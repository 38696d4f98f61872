package voucher

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// What an edit of a running sale can fail at without failing, as the label doing
// says it: the reconciler of sales makes up for both.
const (
	lowering  = "lower"     // Redis could not be asked first for pieces to take out
	restoring = "take_back" // nor told that they stay
)

// editFailures counts these failures and logs them seldom.
type editFailures struct {
	counts *prometheus.CounterVec
	log    *slog.Logger
	seldom clock.Throttle
}

func newTroubles(reg prometheus.Registerer, log *slog.Logger) *editFailures {
	t := &editFailures{
		counts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_voucher_edit_failures_total", Help: "Edits of running sales that Redis could not be told of in time.",
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

func (t *editFailures) note(ctx context.Context, doing string, id int64, err error) {
	t.counts.WithLabelValues(doing).Inc()
	if t.seldom.Allow() {
		t.log.WarnContext(ctx, "an edit of a running sale could not be made in Redis at once", "doing", doing, "voucher", id, "err", err)
	}
}
