package save

import "strconv"

// savedName returns the name of the sorted sets of the newest saves of a user,
// PREFIX:shop:saved:{USER} and PREFIX:note:saved:{USER}: target in decimal → id of the save.
// kit/cache builds the keys from PREFIX, the name, and the id in braces, which is the hash tag.
// A key with the suffix :l is the lock of a rebuild. The next reader rebuilds a lost set from
// the rows.
func (s *Service) savedName() string { return s.noun() + ":saved" }

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func parseDecimal(text string) (int64, error) { return strconv.ParseInt(text, 10, 64) }
