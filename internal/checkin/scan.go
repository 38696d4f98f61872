package checkin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/kit/redisdb"
)

const (
	scanPage     = 100              // bitmaps that one round trip and one statement read
	scanRate     = 500              // bitmaps a second
	scanLimit    = 30 * time.Second // of reading a page
	recheckAfter = time.Second      // after which a bitmap that was only behind is not any more
)

// Scans are what this room compares: its bitmaps in Redis. The points are compared
// together with those of orders, by the room of these.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "check-ins", Description: "bitmaps in Redis of the days with a check-in, with the rows", Rate: scanRate, Redis: true, Run: s.scan},
	}
}

// scan walks over the bitmaps in Redis and compares those that are marked as whole with
// the rows. One that is not there, or has no mark, is right.
func (s *Service) scan(ctx context.Context, r *reconcile.Run) error {
	var page []bitRef
	for k, err := range (redisdb.KeyScan{Prefix: s.bitmaps.keys.all()}).All(ctx, s.bitmaps.rdb) {
		if err != nil {
			return err
		}
		p, ok := s.bitmaps.keys.parse(k.Name)
		if !ok || k.Type != "string" {
			continue
		}
		if page = append(page, p); len(page) < scanPage {
			continue
		}
		if err := s.comparePage(ctx, r, page); err != nil {
			return err
		}
		page = page[:0]
	}
	if len(page) == 0 {
		return nil
	}
	return s.comparePage(ctx, r, page)
}

// comparePage finds the wrong ones of some bitmaps, and mends them. Between a commit and
// what it tells Redis a bitmap is behind, and right: so one is wrong only if after a while
// it is still the same, and wrong in the same way.
func (s *Service) comparePage(ctx context.Context, r *reconcile.Run, page []bitRef) error {
	if err := r.Compare(ctx, len(page)); err != nil {
		return err
	}
	before, err := s.mismatches(ctx, page)
	if err != nil || len(before) == 0 {
		return err
	}
	if err := clock.Sleep(ctx, s.pause); err != nil {
		return err
	}
	wrong := make([]bitRef, 0, len(before))
	for _, p := range page {
		if _, ok := before[p]; ok {
			wrong = append(wrong, p)
		}
	}
	now, err := s.mismatches(ctx, wrong)
	if err != nil {
		return err
	}
	for _, p := range wrong {
		is, still := now[p]
		if !still || is != before[p] {
			continue
		}
		r.Report(fmt.Sprintf("user %d, %v: %v", p.User, p.Month, is))
		if r.DryRun {
			continue
		}
		if err := s.repair(ctx, r, p); err != nil {
			return err
		}
	}
	return nil
}

// A mismatch is how a bitmap differs from its row.
type mismatch struct{ extra, missing days }

func (f mismatch) String() string {
	switch {
	case f.missing == 0:
		return fmt.Sprintf("the bitmap has days %v, and the row has not", f.extra.list())
	case f.extra == 0:
		return fmt.Sprintf("the bitmap lacks days %v", f.missing.list())
	}
	return fmt.Sprintf("the bitmap lacks days %v, and has days %v, which the row has not", f.missing.list(), f.extra.list())
}

// mismatches compares bitmaps with the rows, and returns the wrong ones. The bitmaps are read
// first: what is told meanwhile looks missing, and never extra.
func (s *Service) mismatches(ctx context.Context, page []bitRef) (map[bitRef]mismatch, error) {
	ctx, cancel := context.WithTimeout(ctx, scanLimit)
	defer cancel()
	cached, err := s.bitmaps.read(ctx, page)
	if err != nil {
		return nil, err
	}
	rows, err := s.rowsOf(ctx, s.db, page)
	if err != nil {
		return nil, err
	}
	wrong := make(map[bitRef]mismatch)
	for p, is := range cached {
		f := mismatch{extra: is &^ rows[p] &^ whole, missing: rows[p] &^ is}
		if is&whole != 0 && f != (mismatch{}) {
			wrong[p] = f
		}
	}
	return wrong, nil
}

// repair drops a bitmap, and completes it from the row at once: a reader who read the row
// before a check-in that the dropped bitmap had would mark it as whole without that.
func (s *Service) repair(ctx context.Context, r *reconcile.Run, p bitRef) error {
	if err := errors.Join(s.bitmaps.drop(ctx, p), s.changed(ctx, p)); err != nil {
		return fmt.Errorf("mend a wrong bitmap: %w", err)
	}
	again, err := s.mismatches(ctx, []bitRef{p})
	if err == nil && len(again) == 0 {
		r.CountRepaired(1)
	}
	return err
}
