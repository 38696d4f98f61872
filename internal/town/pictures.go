package town

import (
	"context"
	"fmt"
	"image"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
)

// How many different pictures a town has of each sort. Many show the same one: what is
// drawn is stored once.
const (
	shopLooks = 3 // of each kind of shop
	dishes    = 24
	faces     = 32

	drawnAtOnce = 4
)

// A motif is what a picture shows.
type motif struct {
	sort string // icon, shop, dish, face
	kind string // of a shop or an icon
	n    int
}

func (m motif) draw() image.Image {
	n := uint64(m.n) //nolint:gosec // never below 0
	switch m.sort {
	case "icon":
		return DrawIcon(m.kind)
	case "shop":
		return DrawShop(m.kind, n)
	case "dish":
		return DrawDish(n)
	}
	return DrawAvatar(n)
}

func shopMotif(kind string, i int) motif { return motif{"shop", kind, i % shopLooks} }

func dishMotif(i int) motif { return motif{"dish", "", i % dishes} }

func faceMotif(i int) motif { return motif{"face", "", i % faces} }

// An album draws motifs and knows where they are kept. A nil album has no pictures.
type album struct {
	keep  Pictures
	paths map[motif]string
}

// newAlbum returns an empty album over what keeps pictures; nil for nil.
func newAlbum(keep Pictures) *album {
	if keep == nil {
		return nil
	}
	return &album{keep, map[motif]string{}}
}

// fill draws and keeps those of some motifs that the album has not yet.
func (a *album) fill(ctx context.Context, wanted ...motif) error {
	if a == nil {
		return nil
	}
	var missing []motif
	seen := map[motif]bool{}
	for _, m := range wanted {
		if _, ok := a.paths[m]; !ok && !seen[m] {
			seen[m] = true
			missing = append(missing, m)
		}
	}
	for some := range slices.Chunk(missing, drawnAtOnce) {
		drawn := make([]image.Image, len(some))
		var each errgroup.Group
		each.SetLimit(runtime.GOMAXPROCS(0))
		for i, m := range some {
			each.Go(func() error { drawn[i] = m.draw(); return nil })
		}
		_ = each.Wait() // drawing does not fail
		kept, err := a.keep.Save(ctx, drawn)
		if err != nil {
			return fmt.Errorf("keep %d pictures: %w", len(some), err)
		}
		for i, m := range some {
			a.paths[m] = kept[i].URL
		}
		// What these took is some tens of megabytes, and would stay beside what the next ones
		// take: a first start should need no more memory than the server does later.
		runtime.GC()
	}
	return nil
}

// path is where a motif is kept that the album was filled with, "" without an album.
func (a *album) path(m motif) string {
	if a == nil {
		return ""
	}
	return a.paths[m]
}

// list is path as a list: of one, or of none without an album.
func (a *album) list(all ...motif) (paths []string) {
	for _, m := range all {
		if p := a.path(m); p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// plantIcons gives the types of shops that have none their icons.
func (a *album) plantIcons(ctx context.Context, types Icons) error {
	if a == nil || types == nil {
		return nil
	}
	bare, err := types.WithoutIcon(ctx)
	if err != nil || len(bare) == 0 {
		return err
	}
	icons := make([]motif, len(bare))
	for i, kind := range bare {
		icons[i] = motif{"icon", kind, 0}
	}
	if err := a.fill(ctx, icons...); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, m := range icons {
		paths[m.kind] = a.path(m)
	}
	return types.SetIcons(ctx, paths)
}
