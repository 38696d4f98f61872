package app

import (
	"fmt"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/config"
)

// openCheckIns builds the room of check-ins, which earn points.
func (h *House) openCheckIns(cfg *config.Config, client *ent.Client) error {
	zone, err := cfg.Location()
	if err != nil {
		return fmt.Errorf("zone: %w", err)
	}
	h.CheckIns = checkin.New(client, h.State, h.outbox, checkin.Config{
		Prefix: cfg.RedisPrefix, Dialect: h.DB.Dialect, Zone: zone, Users: h.Accounts, Bitfield: cfg.RedisURL != "",
	})
	return nil
}
