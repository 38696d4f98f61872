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
	file, err := decode(context.Background(), "demo.csv", strings.NewReader(demoCSV), int64(len(demoCSV)))
	if err != nil { // the file is part of the program
		panic(fmt.Sprintf("town: the demo town: %v", err))
	}
	return file.Drafts
}
