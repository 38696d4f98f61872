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

// How many different pictures a town has of each sort. Many show the same one: what is
// drawn is stored once.
const (
	shopLooks = 3 // of each kind of shop
	dishes    = 24
	faces     = 32

	drawnAtOnce = 4
)

// A Motif is what a picture shows.
type Motif struct {
	sort string // icon, shop, dish, face
	kind string // of a shop or an icon
	n    int
}

func (m Motif) draw() image.Image {
	n := uint64(m.n) //nolint:gosec // never below 0
	switch m.sort {
	case "icon":
		return Icon(m.kind)
	case "shop":
		return Shop(m.kind, n)
	case "dish":
		return Dish(n)
	}
	return Avatar(n)
}

func ShopMotif(kind string, i int) Motif { return Motif{"shop", kind, i % shopLooks} }

func DishMotif(i int) Motif { return Motif{"dish", "", i % dishes} }

func FaceMotif(i int) Motif { return Motif{"face", "", i % faces} }

// Pictures keep what is drawn.
type Pictures interface {
	// Save keeps pictures and returns where, in their order. The same one is kept once.
	Save(ctx context.Context, drawn []image.Image) ([]mediapath.Image, error)
}

// Icons are the pictures of the types of shops.
type Icons interface {
	// WithoutIcon returns the keys of those that have none.
	WithoutIcon(ctx context.Context) ([]string, error)
	// SetIcons gives those that have none the pictures at some paths, by key.
	SetIcons(ctx context.Context, paths map[string]string) error
}

// An Album draws motifs and knows where they are kept. A nil album has no pictures.
type Album struct {
	keep  Pictures
	paths map[Motif]string
}

// NewAlbum returns an empty album over what keeps pictures; nil for nil.
func NewAlbum(keep Pictures) *Album {
	if keep == nil {
		return nil
	}
	return &Album{keep, map[Motif]string{}}
}

// Fill draws and keeps those of some motifs that the album has not yet.
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

// Path is where a motif is kept that the album was filled with, "" without an album.
func (a *Album) Path(m Motif) string {
	if a == nil {
		return ""
	}
	return a.paths[m]
}

// List is path as a list: of one, or of none without an album.
func (a *Album) List(all ...Motif) (paths []string) {
	for _, m := range all {
		if p := a.Path(m); p != "" && !slices.Contains(paths, p) {
			paths = append(paths, p)
		}
	}
	return paths
}

// AddIcons gives the types of shops that have none their icons.
func (a *Album) AddIcons(ctx context.Context, types Icons) error {
	if a == nil || types == nil {
		return nil
	}
	bare, err := types.WithoutIcon(ctx)
	if err != nil || len(bare) == 0 {
		return err
	}
	icons := make([]Motif, len(bare))
	for i, kind := range bare {
		icons[i] = Motif{"icon", kind, 0}
	}
	if err := a.Fill(ctx, icons...); err != nil {
		return err
	}
	paths := map[string]string{}
	for _, m := range icons {
		paths[m.kind] = a.Path(m)
	}
	return types.SetIcons(ctx, paths)
}
