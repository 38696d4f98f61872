package account

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/kit/observe"
)

func newFailures(reg prometheus.Registerer, log *slog.Logger) *observe.FailureLog {
	return observe.NewFailures(reg, log, observe.FailureOpts{
		Name: "tandian_account_failures_total",
		Help: "Failed background operations of accounts: sessions in Redis (read, refresh, fill), " +
			"their rows (refresh_row), known devices in their rows (device).",
		Message: "accounts: something failed in the background", Doings: []string{"read", "refresh", "fill", "refresh_row", "device"},
	})
}
