package shop

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/geo"
)

const (
	announceTries = 5
	lateQueue     = 1024        // edited shops that Redis is still to be told of; of more it is not
	lateEvery     = time.Second // between two tries to tell it
)

// The outcomes of an announcement, as the metric names them.
const (
	announcedAtOnce = "told"
	announcedLate   = "late" // left to Run
	announcedNever  = "lost" // no room left for it
)

func newAnnouncements(reg prometheus.Registerer) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tandian_shop_announcements_total",
		Help: "Edited shops that Redis was to be told of, by outcome: told at once, late (tried again until told), lost (too many of these).",
	}, []string{"outcome"})
	reg.MustRegister(c)
	for _, o := range []string{announcedAtOnce, announcedLate, announcedNever} {
		c.WithLabelValues(o)
	}
	return c
}

// announce drops the cached rows of shops that were committed, and all cached
// lists, and puts the shops into the GEO cells. All of them, also those that were not changed: the
// call that changed them may have ended before this. It tries a few times: a
// hiccup of Redis should not end a long import.
func (s *Service) announce(ctx context.Context, stored []placed) error {
	return tryToTell(ctx, func() error { return s.tell(ctx, stored) })
}

func tryToTell(ctx context.Context, tell func() error) (err error) {
	for range announceTries {
		if err = tell(); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// tell is one try. It may be repeated, late too: a cell keeps places that are
// no longer true, and readers ask the row.
func (s *Service) tell(ctx context.Context, stored []placed) error {
	ids := make([]int64, len(stored))
	for i, p := range stored {
		ids[i] = p.id
	}
	return errors.Join(s.shops.Invalidate(ctx, ids...), s.cells.place(ctx, stored), s.tables.shops.Changed(ctx))
}

// announceEdit announces one shop that was committed, until ctx ends, which is
// not the request's. A cached row is replaced, not dropped: the readers of a
// popular shop need no load after its edit.
//
// It has no error, because the write stands: a client that saw one would create
// its shop twice. What Redis could not be told by then is left to
// [Service.Run], which tells it when it answers again. Until then other readers
// may be shown the cached row, and a new place is missing in its cells. The same
// holds for what a crash between commit and announcement leaves untold, or a
// stop before Run was done, but for as long as the cached row and the cells
// live: forty minutes and an hour at most.
func (s *Service) announceEdit(ctx context.Context, row *ent.Shop) {
	p := placed{row.ID, row.TypeID, geo.Point{Lat: row.Lat, Lng: row.Lng}}
	err := tryToTell(ctx, func() error {
		_, err := s.shops.Put(ctx, row.ID, *fromRow(row))
		return errors.Join(err, s.cells.place(ctx, []placed{p}), s.tables.shops.Changed(ctx))
	})
	if err == nil {
		s.announced.WithLabelValues(announcedAtOnce).Inc()
		return
	}
	outcome := announcedNever
	if s.late.Add(p) {
		outcome = announcedLate
	}
	s.announced.WithLabelValues(outcome).Inc()
	s.log.ErrorContext(ctx, "a shop is stored, but Redis was not told of it", "shop", p.id, "outcome", outcome, "err", err)
}

// tellLate tells Redis of the shops that it could not be told of, until ctx ends.
func (s *Service) tellLate(ctx context.Context) {
	s.late.Run(ctx, func(ctx context.Context, p placed) error { return s.tell(ctx, []placed{p}) }, func(p placed, err error, kept bool) {
		if !kept {
			s.announced.WithLabelValues(announcedNever).Inc()
			s.log.ErrorContext(ctx, "Redis cannot be told of a stored shop, and too many wait", "shop", p.id, "err", err)
		}
	})
}
