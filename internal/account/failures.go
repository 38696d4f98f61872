package account

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// failures are what went wrong without anybody being told: something else
// answered, or it is tried again later. Each is counted; they are logged
// seldom, because they may come with every request.
type failures struct {
	log      *slog.Logger
	total    *prometheus.CounterVec
	complain map[string]*clock.Seldom // by doing; not written any more
}

func newFailures(reg prometheus.Registerer, log *slog.Logger) *failures {
	f := &failures{
		log: log,
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tandian_account_failures_total",
			Help: "What failed in the background of accounts, by what was being done: sessions in Redis (read, refresh, fill), " +
				"their rows (refresh_row, purge).",
		}, []string{"doing"}),
		complain: map[string]*clock.Seldom{},
	}
	reg.MustRegister(f.total)
	for _, doing := range []string{"read", "refresh", "fill", "refresh_row", "purge"} {
		f.total.WithLabelValues(doing)
		f.complain[doing] = &clock.Seldom{}
	}
	return f
}

// note counts a failure, and logs it if the last one like it is some time ago.
func (f *failures) note(ctx context.Context, doing string, err error) {
	f.total.WithLabelValues(doing).Inc()
	if f.complain[doing].Due() {
		f.log.WarnContext(ctx, "accounts: something failed in the background", "doing", doing, "err", err)
	}
}
