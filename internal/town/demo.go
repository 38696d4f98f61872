package town

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/tandian-dev/tandian/internal/shop"
)

// demoCSV is the demo town, in the format of an import. It is sorted by street
// and house number. All of it is invented: the streets are straight lines on
// no real map, odd numbers stand on their left, even ones on their right.
//
//go:embed demo.csv
var demoCSV string

// The middle of the demo town.
const demoLat, demoLng = 30.2448, 120.1510

// Demo returns the shops of the demo town: an invented old quarter of ten
// streets within 900 m of 30.2448, 120.1510, with every type of the catalogue.
// External ids are demo:NAME. The drafts are the caller's.
func Demo() []shop.Draft {
	file, err := decode(context.Background(), "demo.csv", "", strings.NewReader(demoCSV), int64(len(demoCSV)))
	if err != nil { // the file is part of the program
		panic(fmt.Sprintf("town: the demo town: %v", err))
	}
	return file.Drafts
}

// Load stores the shops of the demo town, which belong to the merchant, with pictures
// if something keeps them, and the icons of their types.
func Load(ctx context.Context, rooms Services, merchant int64) (shop.SaveCounts, error) {
	drafts := Demo() //nolint:contextcheck // it reads a small file in memory
	drawn := newAlbum(rooms.Pictures)
	motifs := make([]motif, len(drafts))
	for i := range drafts {
		motifs[i] = motif{"shop", drafts[i].Type, 0} // one look of each kind: a first start should not take long
	}
	err := drawn.plantIcons(ctx, rooms.Icons)
	if err == nil {
		err = drawn.fill(ctx, motifs...)
	}
	if err != nil {
		return shop.SaveCounts{}, fmt.Errorf("pictures of the demo town: %w", err)
	}
	for i := range drafts {
		drafts[i].OwnerID, drafts[i].Images = merchant, drawn.list(motifs[i])
	}
	tally, err := rooms.Shops.Upsert(ctx, drafts, func(int) {})
	if err != nil {
		return tally, fmt.Errorf("demo town: %w", err)
	}
	return tally, nil
}
