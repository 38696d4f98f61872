// Package demo fills the first start of an installation with a demo town: shops,
// vouchers, and users with their notes, likes, follows and comments.
package demo

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/tandian-dev/tandian/internal/drawing"
	"github.com/tandian-dev/tandian/internal/importer"
	"github.com/tandian-dev/tandian/internal/seeder"
	"github.com/tandian-dev/tandian/internal/shop"
)

// demoCSV is the demo town, in the format of an import. It is sorted by street
// and house number. All of it is invented: the streets are straight lines on
// no real map, odd numbers stand on their left, even ones on their right.
//
//go:embed shops.csv
var demoCSV string

// Demo returns the shops of the demo town: an invented old quarter of ten
// streets within 900 m of 30.2448, 120.1510, with every type of the catalogue.
// External ids are demo:NAME. The drafts are the caller's.
func Shops() []shop.Draft {
	file, err := importer.Decode(context.Background(), "shops.csv", "", strings.NewReader(demoCSV), int64(len(demoCSV)))
	if err != nil { // the file is part of the program
		panic(fmt.Sprintf("town: the demo town: %v", err))
	}
	return file.Drafts
}

// Load stores the shops of the demo town, which belong to the merchant, with pictures
// if something keeps them, and the icons of their types.
func Load(ctx context.Context, rooms seeder.Services, merchant int64) (shop.SaveCounts, error) {
	drafts := Shops() //nolint:contextcheck // it reads a small file in memory
	drawn := drawing.NewAlbum(rooms.Pictures)
	motifs := make([]drawing.Motif, len(drafts))
	for i := range drafts {
		motifs[i] = drawing.ShopMotif(drafts[i].Type, 0) // one look of each kind: a first start should not take long
	}
	err := drawn.AddIcons(ctx, rooms.Icons)
	if err == nil {
		err = drawn.Fill(ctx, motifs...)
	}
	if err != nil {
		return shop.SaveCounts{}, fmt.Errorf("pictures of the demo town: %w", err)
	}
	for i := range drafts {
		drafts[i].OwnerID, drafts[i].Images = merchant, drawn.List(motifs[i])
	}
	tally, err := rooms.Shops.Upsert(ctx, drafts, func(int) {})
	if err != nil {
		return tally, fmt.Errorf("demo town: %w", err)
	}
	return tally, nil
}
