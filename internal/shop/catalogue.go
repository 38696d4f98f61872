package shop

// A TypeSpec is one entry of the catalogue of shop types: what a [Draft] names by
// its key before the database has given the type an id.
type TypeSpec struct {
	Key  string // stable, lower-case; never shown
	Name string // shown
	Sort int    // ascending order of the list
}

// Catalogue returns the shop types that every installation has, in the order
// in which they are listed. The list only ever grows: a key is never renamed,
// because stored shops and import mappings refer to it.
func Catalogue() []TypeSpec {
	return []TypeSpec{
		{"restaurant", "Restaurants", 10},
		{"cafe", "Cafés & tea", 20},
		{"fast_food", "Snacks & fast food", 30},
		{"bakery", "Bakeries & desserts", 40},
		{"bar", "Bars & pubs", 50},
		{"karaoke", "Karaoke", 60},
		{"hair", "Hair & beauty", 70},
		{"massage", "Massage & spa", 80},
		{"fitness", "Fitness & sports", 90},
		{"cinema", "Cinema & theatre", 100},
		{"kids", "Kids & families", 110},
		{"books", "Books & culture", 120},
		{"market", "Food shops & markets", 130},
		{"hotel", "Places to stay", 140},
	}
}
