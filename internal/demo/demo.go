// Package demo fills the first start of an installation with a demo town: shops,
// vouchers, and users with their notes, likes, follows, comments, ratings and saves.
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

// shopsCSV lists the shops of the demo town in the import format, by street and number.
// Everything is invented: the streets are straight lines, with odd numbers on the left
// and even ones on the right. The phones are of a country that does not exist.
//
//go:embed shops.csv
var shopsCSV string

// townZone is the time zone of the demo town.
const townZone = "Asia/Shanghai"

// Shops returns the shops of the demo town, of every type of the catalogue. The town is an
// invented old quarter of ten streets within 900 m of 30.2448, 120.1510. External ids are
// demo:NAME. The caller owns the drafts.
func Shops() []shop.Draft {
	file, err := importer.Decode(context.Background(), "shops.csv", "", strings.NewReader(shopsCSV), int64(len(shopsCSV)))
	if err != nil { // an embedded file
		panic(fmt.Sprintf("demo: read shops: %v", err))
	}
	for i := range file.Drafts {
		file.Drafts[i].TimeZone = townZone
	}
	return file.Drafts
}

// Load stores the shops of the demo town, which belong to merchant. If services has
// Pictures, it adds pictures of the shops and icons of their types.
func Load(ctx context.Context, services seeder.Services, merchant int64) (shop.SaveCounts, error) {
	drafts := Shops() //nolint:contextcheck // reads a small file in memory
	album := drawing.NewAlbum(services.Pictures)
	motifs := make([]drawing.Motif, len(drafts))
	for i := range drafts {
		motifs[i] = drawing.ShopMotif(drafts[i].Type, 0) // one picture per type, for a fast first start
	}
	err := album.AddIcons(ctx, services.Icons)
	if err == nil {
		err = album.Fill(ctx, motifs...)
	}
	if err != nil {
		return shop.SaveCounts{}, fmt.Errorf("store pictures of the demo town: %w", err)
	}
	for i := range drafts {
		drafts[i].OwnerID, drafts[i].Images = merchant, album.List(motifs[i])
	}
	counts, err := services.Shops.Upsert(ctx, drafts, func(int) {})
	if err != nil {
		return counts, fmt.Errorf("store shops of the demo town: %w", err)
	}
	return counts, nil
}
