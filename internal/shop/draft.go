package shop

import "github.com/tandian-dev/tandian/internal/kit/geo"

// A Draft is a shop as an import, a seed or the demo town describes it: what
// is known before the database has given it an id.
type Draft struct {
	// ExternalID names the shop in its source, for example "osm:node/42". A
	// draft with the external id of a stored shop updates that shop. Required.
	ExternalID string
	// FormerID is an external id that the shop may still have: a stored shop with
	// it gets ExternalID, unless another shop has that. "" is none.
	FormerID string
	// Type is the key of one of [Catalogue], for example "cafe".
	Type      string
	Name      string
	Area      string // the quarter it lies in; "" is unknown
	Address   string // "" is unknown
	Lat, Lng  float64
	AvgPrice  *int    // minor units per person; nil is unknown
	Score     float64 // up to 5.0; 0 is unrated
	OpenHours string  // "" is unknown
	// OwnerID is the user to whom the shop will belong if the draft adds it; 0
	// is nobody. It never changes the owner of a stored shop.
	OwnerID int64
	// Images are paths of pictures that are kept here. Like the owner, they are for a shop
	// that the draft adds.
	Images []string
}

// Known is what a stored shop is recognized by.
type Known struct {
	Name string
	At   geo.Point
}

// A SaveCounts counts what became of a run of drafts.
type SaveCounts struct {
	Added, Changed, Unchanged int
}

// Add returns the sum of two tallies.
func (t SaveCounts) Add(u SaveCounts) SaveCounts {
	return SaveCounts{
		Added:     t.Added + u.Added,
		Changed:   t.Changed + u.Changed,
		Unchanged: t.Unchanged + u.Unchanged,
	}
}

// Total is the number of drafts counted.
func (t SaveCounts) Total() int { return t.Added + t.Changed + t.Unchanged }

// Bounds of a shop's fields. Texts are counted in characters, not bytes.
const (
	MaxName      = 120
	MaxArea      = 80
	MaxAddress   = 255
	MaxOpenHours = 120
	MaxAvgPrice  = 100_000_000
	MaxScore     = 5.0
)
