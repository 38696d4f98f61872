package shop

// TypeSpec is one entry of the catalogue of shop types. A [Draft] refers to it by Key,
// because a type has no id before it is stored.
type TypeSpec struct {
	Key  string // stable, lower case, internal
	Name string // display name
	Sort int    // ascending list order
}

// Catalogue returns the shop types of every installation, in list order. It only grows.
// Keys never change, because stored shops and import mappings refer to them.
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
