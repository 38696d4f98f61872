package cache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// ListItem is an item of a list. Lists are ordered by Pos, the highest first.
type ListItem struct {
	Pos int64 // position: unique in a list, below math.MaxInt64
	ID  int64 // of the listed object
}

// ListPage is a page of a list.
type ListPage struct {
	Items []ListItem // highest position first
	More  bool       // the list continues below them
}

// ListRange selects a part of a list: the first Limit items before a position.
type ListRange[K comparable] struct {
	Owner  K
	Before int64 // position; math.MaxInt64: from the start
	Limit  int   // at least 1
}

// listItems are the first items of a list as pairs of Pos and ID. A record is "[[9,4],[7,1]]".
type listItems [][2]int64

// maxItemBytes is the maximum length of an item in a record, with its comma.
const maxItemBytes = len("[-9223372036854775808,-9223372036854775808],")

// FirstPages caches the first items of one list per owner. It is for pages that show the lists
// of many owners, for instance the newest notes of each shop on a page. It is safe for
// concurrent use.
//
// Each owner has one record in a [Cache], with all options of a policy. It holds the first
// items of the list, up to a fixed size. A record with fewer items, or none, is the whole
// list. Other pages come from the source of truth.
type FirstPages[K comparable] struct {
	cache *Cache[K, listItems]
	size  int
	load  func(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error)
}

// FirstPagesSource names the owners of lists and loads their items.
type FirstPagesSource[K comparable] struct {
	Key   func(K) string // as in [Source]
	Parse func(string) (K, error)
	// Load reads parts of lists from the database, each in list order. An owner that it omits
	// has no items there. All ranges of a call have the same Before and Limit. It follows the
	// rules of [Loader].
	Load func(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error)
}

// NewFirstPages returns the cache for one kind of list. The size is the number of stored items
// per list, usually two or three pages. A policy without MaxBytes gets enough for this size.
//
// NewFirstPages panics like [New], or if size is not positive.
func NewFirstPages[K comparable](client *Client, p Policy, size int, src FirstPagesSource[K]) *FirstPages[K] {
	if size < 1 {
		panic(fmt.Sprintf("cache: first pages %s: size must be positive, got %d", p.Name, size))
	}
	if p.MaxBytes <= 0 {
		p.MaxBytes = max(16<<10, headerSize+size*maxItemBytes+len("[]"))
	}
	f := &FirstPages[K]{size: size, load: src.Load}
	f.cache = New(client, p, Source[K, listItems]{Key: src.Key, Parse: src.Parse, Load: f.loadFirst})
	return f
}

// Pages returns up to first items of each owner's list before a position, and whether more
// follow. The position math.MaxInt64 selects the start. Owners may repeat.
//
// Pages within the stored items have the cost and freshness of [Cache.GetMany]. One further
// loader call reads all other pages. A page comes either from the record or from one read of
// the source of truth.
//
// Pages returns a loader error, [ErrBusy] or the error of ctx. The map then holds the
// available pages.
func (f *FirstPages[K]) Pages(ctx context.Context, owners []K, before int64, first int) (map[K]ListPage, error) {
	pages := make(map[K]ListPage, len(owners))
	if first < 1 {
		for _, k := range owners {
			pages[k] = ListPage{}
		}
		return pages, nil
	}
	owners = distinct(owners)
	stored, failed := f.cache.GetMany(ctx, owners)
	var ranges []ListRange[K]
	for _, k := range owners {
		items, ok := stored[k]
		if !ok {
			continue // it failed
		}
		page, within := items.page(before, first, len(items) < f.size)
		if within {
			pages[k] = page
		} else {
			ranges = append(ranges, ListRange[K]{k, before, first + 1})
		}
	}
	if len(ranges) == 0 {
		return pages, f.wrap(failed)
	}
	read, err := f.loadBeyond(ctx, ranges)
	for _, a := range ranges {
		if err == nil {
			part := read[a.Owner]
			pages[a.Owner] = ListPage{Items: part[:min(first, len(part))], More: len(part) > first}
		}
	}
	return pages, f.wrap(cmp.Or(failed, err))
}

func (f *FirstPages[K]) wrap(err error) error {
	if err != nil {
		return fmt.Errorf("read pages of %s: %w", f.cache.core.limits().policy.Name, err)
	}
	return nil
}

// page returns false if the items do not cover the page. If whole, they are the whole list.
func (f listItems) page(before int64, first int, whole bool) (ListPage, bool) {
	skip, _ := slices.BinarySearchFunc(f, before, func(s [2]int64, before int64) int {
		return cmp.Or(cmp.Compare(before, s[0]), -1) // excludes the position itself
	})
	rest := f[skip:]
	if len(rest) <= first && !whole {
		return ListPage{}, false
	}
	page := ListPage{More: len(rest) > first}
	for _, s := range rest[:min(first, len(rest))] {
		page.Items = append(page.Items, ListItem{Pos: s[0], ID: s[1]})
	}
	return page, true
}

// Invalidate removes the stored items of these owners. Call it after the commit of any change
// that adds, removes or moves an item of their lists. Freshness and errors are those of
// [Cache.Invalidate].
func (f *FirstPages[K]) Invalidate(ctx context.Context, owners ...K) error {
	return f.cache.Invalidate(ctx, owners...)
}

// Stats returns the counters of this process. Loads include reads past the stored items.
func (f *FirstPages[K]) Stats() Stats { return f.cache.Stats() }

// loadFirst is the loader of the cache. Each owner gets a record, an empty one if necessary.
func (f *FirstPages[K]) loadFirst(ctx context.Context, owners []K) (map[K]listItems, error) {
	ranges := make([]ListRange[K], len(owners))
	for i, k := range owners {
		ranges[i] = ListRange[K]{k, math.MaxInt64, f.size}
	}
	loaded, err := f.read(ctx, ranges)
	if err != nil {
		return nil, err
	}
	lists := make(map[K]listItems, len(owners))
	for _, k := range owners {
		items := make(listItems, len(loaded[k]))
		for i, s := range loaded[k] {
			items[i] = [2]int64{s.Pos, s.ID}
		}
		lists[k] = items
	}
	return lists, nil
}

// loadBeyond reads parts of lists for one reader, with the slots and the deadline of any load.
// It stores nothing, so it ends with its reader.
func (f *FirstPages[K]) loadBeyond(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error) {
	c := f.cache.core.limits()
	limited, cancel := context.WithTimeout(ctx, c.policy.LoadTimeout)
	defer cancel()
	if err := c.acquireSlot(limited, &load{ctx: ctx}); err != nil {
		return nil, err
	}
	defer c.releaseSlot()
	c.counts.loadCalls.Add(1)
	c.counts.loads.Add(int64(len(ranges)))
	lists, err := f.read(limited, ranges)
	if err != nil {
		c.counts.loadErrors.Add(1)
		return nil, fmt.Errorf("load %d parts of lists: %w", len(ranges), err)
	}
	return lists, nil
}

// read calls the loader and checks its result: unordered items would produce pages with gaps.
func (f *FirstPages[K]) read(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error) {
	lists, err := f.load(ctx, ranges)
	if err != nil {
		return nil, err
	}
	for _, a := range ranges {
		if len(lists[a.Owner]) > a.Limit {
			return nil, fmt.Errorf("loader returned %d items (want at most %d)", len(lists[a.Owner]), a.Limit)
		}
		above := a.Before
		for _, s := range lists[a.Owner] {
			if s.Pos >= above {
				return nil, fmt.Errorf("loader returned item %d after %d (want descending order, each once)", s.Pos, above)
			}
			above = s.Pos
		}
	}
	return lists, nil
}
