package like

import "strconv"

// The names of what this room keeps in Redis, as kit/cache makes the keys: PREFIX, the
// name, what is kept between braces, which is the hash tag; and with :l the right to
// rebuild one. A lost one is rebuilt from the rows by the next reader.
const (
	// likersName begins the sorted sets of who liked a note first,
	// PREFIX:note:likers:{NOTE}: user in decimal → −id of the like.
	likersName = "note:likers"

	// What users like, PREFIX:note:liked:{USER} and PREFIX:comment:liked:{USER}, the newest
	// targets: target in decimal → the same number.
	likedNotes    = "note:liked"
	likedComments = "comment:liked"
)

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
