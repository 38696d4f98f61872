package app

import (
	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/config"
)

// openCheckIns builds the room of check-ins, which earn points.
func (h *Components) openCheckIns(cfg *config.Config, client *ent.Client) {
	h.CheckIns = checkin.New(client, h.State, h.outbox, checkin.Config{
		Prefix: cfg.RedisPrefix, Zone: h.zone, Users: h.Accounts, Bitfield: cfg.RedisURL != "",
	})
}
