package like

import "strconv"

// Names of sets in Redis. kit/cache builds the keys from PREFIX, the name, and the id in
// braces, which is the hash tag. A key with the suffix :l is the lock of a rebuild. The next
// reader rebuilds a lost set from the rows.
const (
	// likersName names the sorted sets of the first likers of a note,
	// PREFIX:note:likers:{NOTE}: user in decimal → −id of the like.
	likersName = "note:likers"

	// Sorted sets of the newest targets that a user likes, PREFIX:note:liked:{USER} and
	// PREFIX:comment:liked:{USER}: target in decimal → the same number.
	likedNotes    = "note:liked"
	likedComments = "comment:liked"
)

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
