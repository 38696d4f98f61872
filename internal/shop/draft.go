package shop

import "github.com/tandian-dev/tandian/internal/kit/geo"

// Draft is a shop from an import, a seed or the demo data, before it has an id.
type Draft struct {
	// ExternalID names the shop in its source, for example "osm:node/42". A draft with the
	// external id of a stored shop updates that shop. Required.
	ExternalID string
	// FormerID is an earlier external id of the shop. A stored shop with FormerID gets
	// ExternalID, unless another shop has it. "" is none.
	FormerID string
	// Type is the Key of an entry of [Catalogue], for example "cafe".
	Type      string
	Name      string
	Area      string // quarter; "" is unknown
	Address   string // "" is unknown
	Lat, Lng  float64
	AvgPrice  *int    // minor units per person; nil is unknown
	Score     float64 // prior of the score, 1.0 to 5.0; 0 is none
	OpenHours string  // "" is unknown
	Phone     string  // "" is unknown
	Website   string  // URL, http or https; "" is unknown
	TimeZone  string  // IANA name; "" is the zone of the server
	// OwnerID is the owner of a shop that the draft adds; 0 is none. Updates do not change it.
	OwnerID int64
	// Images are paths of uploaded images. Updates ignore them.
	Images []string
}

// Identity holds the fields that identify a stored shop.
type Identity struct {
	Name string
	At   geo.Point
}

// SaveCounts counts saved drafts by outcome.
type SaveCounts struct {
	Added, Changed, Unchanged int
}

// Add returns the sum of two counts.
func (t SaveCounts) Add(u SaveCounts) SaveCounts {
	return SaveCounts{
		Added:     t.Added + u.Added,
		Changed:   t.Changed + u.Changed,
		Unchanged: t.Unchanged + u.Unchanged,
	}
}

// Total returns the number of drafts.
func (t SaveCounts) Total() int { return t.Added + t.Changed + t.Unchanged }

// Limits of a shop's fields. Lengths are in characters.
const (
	MaxName      = 120
	MaxArea      = 80
	MaxAddress   = 255
	MaxOpenHours = 250
	MaxPhone     = 40
	MaxWebsite   = 300
	MaxAvgPrice  = 100_000_000
	MaxScore     = 5.0
)
