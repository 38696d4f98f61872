package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/internal/config"
	"github.com/tandian-dev/tandian/internal/kit/schedule"
)

const (
	clearEvery  = time.Hour
	clearAtOnce = 100 // notes of one batch
)

// clearTexts returns the job that clears the texts of notes deleted longer ago than the
// retention, and of their comments. Readers see neither since the deletion. A note is
// marked after its comments, so a job that was stopped goes on with the same notes. Two
// processes may run it at once: they clear the same rows twice.
func (h *Components) clearTexts(cfg *config.Config, reg prometheus.Registerer) schedule.Job {
	cleared := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "tandian_deleted_notes_cleared_total", Help: "Deleted notes whose texts were cleared, with those of their comments.",
	})
	reg.MustRegister(cleared)
	return schedule.Job{Name: "note.deleted-texts", Every: clearEvery, Do: func(ctx context.Context) error {
		before := time.Now().Add(-cfg.DeletedTextRetention)
		for {
			ids, err := h.Notes.Uncleared(ctx, before, clearAtOnce)
			if err != nil || len(ids) == 0 {
				return err
			}
			if err := h.Comments.ClearTexts(ctx, ids); err != nil {
				return err
			}
			if err := h.Notes.ClearTexts(ctx, ids); err != nil {
				return err
			}
			cleared.Add(float64(len(ids)))
			if len(ids) < clearAtOnce {
				return nil
			}
		}
	}}
}
