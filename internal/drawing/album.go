package drawing

import (
	"context"
	"fmt"
	"image"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// Numbers of different pictures. Many shops, notes and users share a picture.
const (
	picturesPerType = 3 // of each shop type
	dishes          = 24
	faces           = 32

	drawBatch = 4
)

// A Motif identifies a picture.
type Motif struct {
	sort     string // "icon", "shop", "dish" or "face"
	shopType string // of a shop or an icon
	n        int
}

func (m Motif) draw() image.Image {
	n := uint64(m.n) //nolint:gosec // never below 0
	switch m.sort {
	case "icon":
		return Icon(m.shopType)
	case "shop":
		return Shop(m.shopType, n)
	case "dish":
		return Dish(n)
	}
	return Avatar(n)
}

// ShopMotif returns the motif of shop i of a type, one of 3 for each type.
func ShopMotif(kind string, i int) Motif { return Motif{"shop", kind, i % picturesPerType} }

// DishMotif returns the motif of dish i, one of 24.
func DishMotif(i int) Motif { return Motif{"dish", "", i % dishes} }

// FaceMotif returns the motif of avatar i, one of 32.
func FaceMotif(i int) Motif { return Motif{"face", "", i % faces} }

// Pictures stores pictures.
type Pictures interface {
	// Save stores pictures and returns their paths, in their order. It stores equal
	// pictures once.
	Save(ctx context.Context, drawn []image.Image) ([]mediapath.Image, error)
}

// Icons stores the icons of shop types.
type Icons interface {
	// TypesWithoutIcon returns the keys of the types without an icon.
	TypesWithoutIcon(ctx context.Context) ([]string, error)
	// SetIcons sets the paths of icons, by key, of types without one.
	SetIcons(ctx context.Context, paths map[string]string) error
}

// An Album draws motifs and remembers their paths. A nil Album has no pictures. It is not
// safe for concurrent use.
type Album struct {
	store Pictures
	paths map[Motif]string
}

// NewAlbum returns an empty album that stores pictures in store, or nil if store is nil.
func NewAlbum(store Pictures) *Album {
	if store == nil {
		return nil
	}
	return &Album{store, map[Motif]string{}}
}

// Fill draws and stores the motifs that are not in the album.
func (a *Album) Fill(ctx context.Context, wanted ...Motif) error {
	if a == nil {
		return nil
	}
	var missing []Motif
	seen := map[Motif]bool{}
	for _, m := range wanted {
		if _, ok := a.paths[m]; !ok && !seen[m] {
			seen[m] = true
			missing = append(missing, m)
		}
	}
	for some := range slices.Chunk(missing, drawBatch) {
		drawn := make([]image.Image, len(some))
		var each errgroup.Group
		each.SetLimit(runtime.GOMAXPROCS(0))
		for i, m := range some {
			each.Go(func() error { drawn[i] = m.draw(); return nil })
		}
		_ = each.Wait() // drawing does not fail
		stored, err := a.store.Save(ctx, drawn)
		if err != nil {
			return fmt.Errorf("store %d pictures: %w", len(some), err)
		}
		for i, m := range some {
			a.paths[m] = stored[i].URL
		}
		// Free some tens of megabytes before the next batch: a first start must not need
		// more memory than the server does later.
		runtime.GC()
	}
	return nil
}

// Path returns the path of a motif of the album, or "" for a nil Album.
func (a *Album) Path(m Motif) string {
	if a == nil {
		return ""
	}
	return a.paths[m]
}

// List returns the distinct paths of motifs of the album.
func (a *Album) List(all ...Motif) (paths []string) {
	for _, m := range all {
		if p := a.Path(m); p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// AddIcons draws and sets icons of the shop types without one.
func (a *Album) AddIcons(ctx context.Context, types Icons) error {
	if a == nil || types == nil {
		return nil
	}
	missing, err := types.TypesWithoutIcon(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	icons := make([]Motif, len(missing))
	for i, kind := range missing {
		icons[i] = Motif{"icon", kind, 0}
	}
	if err := a.Fill(ctx, icons...); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, m := range icons {
		paths[m.shopType] = a.Path(m)
	}
	return types.SetIcons(ctx, paths)
}
