package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/cache"
	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	windowsPerLoad = 50
	loadLimit      = 30 * time.Second // per load
	recheckDelay   = time.Second      // until pending invalidations have reached Redis
)

// Windows describes the windows of one kind to a scan. Only Pause is optional.
type Windows[K comparable] struct {
	Format string // of a finding, with one verb for the key: "likes of user %d"
	Window *cache.Window[K]
	Size   int                   // of a window
	Load   cache.WindowLoader[K] // of the windows, reads the source of truth
	Parse  func(string) (K, error)
	Pause  time.Duration // before a window is compared again; default 1 s, negative for none
}

// Compare compares the windows in Redis with the source of truth, and drops wrong ones. A missing
// window is correct. It is a [Scan.Run].
func (w Windows[K]) Compare(ctx context.Context, r *Run) error {
	for at := (cache.ScanCursor{}); ; {
		stored, next, err := w.Window.Scan(ctx, at, w.Parse)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(stored, windowsPerLoad) {
			if err := r.Compare(ctx, len(part)); err != nil {
				return err
			}
			if err := w.compare(ctx, r, part); err != nil {
				return err
			}
		}
		if at = next; at == (cache.ScanCursor{}) {
			return nil
		}
	}
}

// compare drops wrong windows. A window may be outdated between a commit and its invalidation. So a
// window is wrong only if it has the same content and the same mismatch after a pause.
func (w Windows[K]) compare(ctx context.Context, r *Run, stored []cache.WindowSnapshot[K]) error {
	before, err := w.mismatches(ctx, stored)
	if err != nil || len(before) == 0 {
		return err
	}
	if err := clock.Sleep(ctx, cmp.Or(w.Pause, recheckDelay)); err != nil {
		return err
	}
	now, err := w.recheck(ctx, slices.Collect(maps.Keys(before))...)
	if err != nil {
		return err
	}
	for k, was := range before {
		is, ok := now[k]
		if !ok || is.text != was.text || !slices.Equal(is.window.Entries, was.window.Entries) {
			continue
		}
		r.Report(fmt.Sprintf(w.Format+": %s", k, is.text))
		if r.DryRun {
			continue
		}
		if err := w.Window.Invalidate(ctx, k); err != nil {
			return fmt.Errorf("drop incorrect window: %w", err)
		}
		again, err := w.recheck(ctx, k) // a reader may have reloaded it
		if err != nil {
			return err
		}
		if len(again) == 0 {
			r.CountRepaired(1)
		}
	}
	return nil
}

type mismatch[K comparable] struct {
	window cache.WindowSnapshot[K]
	text   string
}

func (w Windows[K]) recheck(ctx context.Context, ks ...K) (map[K]mismatch[K], error) {
	stored, err := w.Window.Peek(ctx, ks...)
	if err != nil {
		return nil, err
	}
	return w.mismatches(ctx, stored)
}

func (w Windows[K]) mismatches(ctx context.Context, stored []cache.WindowSnapshot[K]) (map[K]mismatch[K], error) {
	if len(stored) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, loadLimit)
	defer cancel()
	ks := make([]K, len(stored))
	for i, s := range stored {
		ks[i] = s.Key
	}
	lists, err := w.Load(ctx, ks, w.Size+1)
	if err != nil {
		return nil, err
	}
	wrong := make(map[K]mismatch[K])
	for _, s := range stored {
		if text := difference(s, lists[s.Key]); text != "" {
			wrong[s.Key] = mismatch[K]{s, text}
		}
	}
	return wrong, nil
}

// difference describes the first difference between a window and its list, or returns "".
func difference[K comparable](stored cache.WindowSnapshot[K], want []cache.Entry) string {
	n, i := len(stored.Entries), 0
	if !stored.Whole {
		want = want[:min(len(want), n)]
	}
	for i < n && i < len(want) && stored.Entries[i] == want[i] {
		i++
	}
	switch {
	case i == n && i == len(want):
		return ""
	case i == n:
		return fmt.Sprintf("missing %s, but marked complete", want[i].Member)
	case i == len(want):
		return fmt.Sprintf("extra member %s after %d", stored.Entries[i].Member, i)
	}
	return fmt.Sprintf("position %d: got %v, want %v", i+1, stored.Entries[i], want[i])
}
