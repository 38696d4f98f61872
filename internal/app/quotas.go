package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/quota"
)

// openQuotas returns the hourly limits on what users write. The age of an account is in
// its cached row.
func (h *Components) openQuotas(cfg *config.Config, reg prometheus.Registerer, log *slog.Logger) *quota.Set {
	return quota.NewSet(quota.Config{
		Redis: h.State, Prefix: cfg.RedisPrefix, Registerer: reg, Log: log,
		CreatedAt: func(ctx context.Context, user int64) (time.Time, error) {
			u, err := h.Accounts.ByID(ctx, user)
			if err != nil {
				return time.Time{}, fmt.Errorf("read the age of user %d: %w", user, err)
			}
			return u.CreatedAt, nil
		},
	})
}
