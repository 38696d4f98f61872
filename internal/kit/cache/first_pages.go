package cache

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
)

// ListItem is a place in a list: lists are ordered by At, the highest first.
type ListItem struct {
	Pos int64 // unique in a list, below math.MaxInt64
	ID  int64 // of what stands there
}

// ListPage is a page of a list.
type ListPage struct {
	Items []ListItem // the highest first
	More  bool       // the list goes on below them
}

// ListRange is a part of a list that is to be read from the truth: the first Most spots
// below Below.
type ListRange[K comparable] struct {
	Owner  K
	Before int64 // math.MaxInt64: from the start
	Limit  int   // at least 1
}

// listItems are the first of a list, as pairs of At and ID: a record is "[[9,4],[7,1]]".
type listItems [][2]int64

// maxItemBytes is the longest text of a spot in a record, with a comma.
const maxItemBytes = len("[-9223372036854775808,-9223372036854775808],")

// FirstPages keeps the first places of many lists of one kind, each under its owner, for
// lists that are read in pages of many owners at once: the newest notes of the shops of
// a page, the comments of its notes. It is safe for concurrent use.
//
// A head is a record of a [Cache], with all that its policy can say. It holds the first
// spots of its list; fewer than a head can hold are the whole list, so an empty list is
// a value like any other. What does not lie within the head is read from the truth.
type FirstPages[K comparable] struct {
	cache *Cache[K, listItems]
	size  int
	load  func(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error)
}

// HeadSource names the owners of lists and loads their spots.
type HeadSource[K comparable] struct {
	Key   func(K) string // as in a [Source]
	Parse func(string) (K, error)
	// Load reads parts of lists from the database, each owner's in the order of the list. An
	// owner that it leaves out has no spots there. All asks of a call have the same Below and
	// Most. It follows the rules of a [Loader].
	Load func(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error)
}

// NewFirstPages returns the heads of one kind of list, of size spots each: two or three pages.
//
// NewHeads panics as [New] does, or if the size is not positive. A policy without
// MaxBytes gets what a head may need.
func NewFirstPages[K comparable](client *Client, p Policy, size int, src HeadSource[K]) *FirstPages[K] {
	if size < 1 {
		panic(fmt.Sprintf("cache: heads %s of %d spots", p.Name, size))
	}
	if p.MaxBytes <= 0 {
		p.MaxBytes = max(16<<10, headerSize+size*maxItemBytes+len("[]"))
	}
	f := &FirstPages[K]{size: size, load: src.Load}
	f.cache = New(client, p, Source[K, listItems]{Key: src.Key, Parse: src.Parse, Load: f.loadHeads})
	return f
}

// Pages returns up to first spots of each owner's list below a place, which is
// math.MaxInt64 for the start, and whether more follow. An owner may stand in owners
// more than once.
//
// Pages within their heads cost what [Cache.GetMany] costs, and are as fresh. What goes
// beyond a head, or lies below it, is read by one call of the loader for all owners that
// need it, after that. A page comes from one place: the head, or one read of the truth.
//
// With an error, a loader's, [ErrBusy] or that of ctx, the map holds the pages that could
// be had all the same.
func (f *FirstPages[K]) Pages(ctx context.Context, owners []K, below int64, first int) (map[K]ListPage, error) {
	pages := make(map[K]ListPage, len(owners))
	if first < 1 {
		for _, k := range owners {
			pages[k] = ListPage{}
		}
		return pages, nil
	}
	owners = distinct(owners)
	heads, failed := f.cache.GetMany(ctx, owners)
	var ranges []ListRange[K]
	for _, k := range owners {
		found, ok := heads[k]
		if !ok {
			continue // it failed
		}
		page, within := found.page(below, first, len(found) < f.size)
		if within {
			pages[k] = page
		} else {
			ranges = append(ranges, ListRange[K]{k, below, first + 1})
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
		return fmt.Errorf("pages of %s: %w", f.cache.core.limits().policy.Name, err)
	}
	return nil
}

// page reports false if a head does not hold all that the page has to say.
func (f listItems) page(below int64, first int, whole bool) (ListPage, bool) {
	skip, _ := slices.BinarySearchFunc(f, below, func(s [2]int64, below int64) int {
		return cmp.Or(cmp.Compare(below, s[0]), -1) // the place itself is not below itself
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

// Invalidate forgets the heads of these owners. Call it after the commit of whatever
// put something into their lists, took it out or gave it another place. Its promise and
// its error are those of [Cache.Invalidate].
func (f *FirstPages[K]) Invalidate(ctx context.Context, owners ...K) error {
	return f.cache.Invalidate(ctx, owners...)
}

// Stats returns what these heads did in this process so far. Reads of the truth beyond
// them are among its loads.
func (f *FirstPages[K]) Stats() Stats { return f.cache.Stats() }

// loadHeads is the loader of the cache. Each owner has a head, if only an empty one.
func (f *FirstPages[K]) loadHeads(ctx context.Context, owners []K) (map[K]listItems, error) {
	ranges := make([]ListRange[K], len(owners))
	for i, k := range owners {
		ranges[i] = ListRange[K]{k, math.MaxInt64, f.size}
	}
	lists, err := f.read(ctx, ranges)
	if err != nil {
		return nil, err
	}
	heads := make(map[K]listItems, len(owners))
	for _, k := range owners {
		found := make(listItems, len(lists[k]))
		for i, s := range lists[k] {
			found[i] = [2]int64{s.Pos, s.ID}
		}
		heads[k] = found
	}
	return heads, nil
}

// loadBeyond reads parts of lists for one reader. Its place among the loads and its
// deadline are those of any load; it keeps nothing, so it ends with its reader.
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

// read calls the loader and checks what it returned: spots out of order would be pages
// with holes, and nobody would ever see that.
func (f *FirstPages[K]) read(ctx context.Context, ranges []ListRange[K]) (map[K][]ListItem, error) {
	lists, err := f.load(ctx, ranges)
	if err != nil {
		return nil, err
	}
	for _, a := range ranges {
		if len(lists[a.Owner]) > a.Limit {
			return nil, fmt.Errorf("%d spots, want at most %d", len(lists[a.Owner]), a.Limit)
		}
		above := a.Before
		for _, s := range lists[a.Owner] {
			if s.Pos >= above {
				return nil, fmt.Errorf("a spot at %d comes after %d, want the highest first and each once", s.Pos, above)
			}
			above = s.Pos
		}
	}
	return lists, nil
}
