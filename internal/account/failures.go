package account

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

func newFailures(reg prometheus.Registerer, log *slog.Logger) *observe.FailureLog {
	return observe.NewFailureLog(reg, log, observe.FailureOpts{
		Name: "tandian_account_failures_total",
		Help: "Failed background operations of accounts: sessions in Redis (read, refresh, fill), " +
			"session rows (refresh_row) and device rows (device).",
		Message: "account background operation failed", Doings: []string{"read", "refresh", "fill", "refresh_row", "device"},
	})
}
