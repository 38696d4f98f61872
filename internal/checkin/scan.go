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
	scanPage     = 100              // bitmaps per round trip and statement
	scanRate     = 500              // bitmaps per second
	scanLimit    = 30 * time.Second // timeout of the read of a page
	recheckAfter = time.Second      // until pending updates have reached Redis
)

// Scans returns the consistency scan of the bitmaps in Redis. Package order scans the points
// of check-ins, together with those of orders.
func (s *Service) Scans() []reconcile.Scan {
	return []reconcile.Scan{
		{Name: "check-ins", Description: "check-in bitmaps in Redis with their rows", Rate: scanRate, Redis: true, Run: s.scan},
	}
}

// scan compares the whole bitmaps in Redis with the rows. Missing and unmarked bitmaps are correct.
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

// comparePage finds and repairs the wrong bitmaps of a page. A bitmap lags between a commit
// and the update of Redis. So it is wrong only if it differs in the same way after a while.
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

type mismatch struct{ extra, missing days }

func (f mismatch) String() string {
	switch {
	case f.missing == 0:
		return fmt.Sprintf("bitmap has extra days %v", f.extra.list())
	case f.extra == 0:
		return fmt.Sprintf("bitmap lacks days %v", f.missing.list())
	}
	return fmt.Sprintf("bitmap lacks days %v and has extra days %v", f.missing.list(), f.extra.list())
}

// mismatches reads the bitmaps before the rows: a concurrent check-in looks missing, never extra.
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

// repair drops a bitmap and completes it from the row at once. Otherwise a reader that saw
// the row before a check-in would mark the new bitmap as whole without that day.
func (s *Service) repair(ctx context.Context, r *reconcile.Run, p bitRef) error {
	if err := errors.Join(s.bitmaps.drop(ctx, p), s.changed(ctx, p)); err != nil {
		return fmt.Errorf("repair bitmap: %w", err)
	}
	again, err := s.mismatches(ctx, []bitRef{p})
	if err == nil && len(again) == 0 {
		r.CountRepaired(1)
	}
	return err
}
