package shop

import (
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/geo"
)

// keys builds the Redis keys of this package.
type keys struct{ prefix string }

// cell returns the key of the GEO set of one geohash cell and type; type 0 is all types.
// Members are built by [member], or are marks. The hash tag is the cell, so neighbouring
// cells are on different nodes of a cluster.
func (k keys) cell(typeID int64, c geo.Cell) string {
	kind := "all"
	if typeID != 0 {
		kind = decimal(typeID)
	}
	return k.prefix + ":shop:geo:" + kind + ":{" + c.String() + "}"
}

// cellDraft returns the key of a cell during its rebuild.
func (k keys) cellDraft(typeID int64, c geo.Cell) string { return k.cell(typeID, c) + ":b" }

// Marks are members of a cell that are not shops.
const (
	markBuilt = "built" // the set is complete, even if empty; the score is the draft number
	markSplit = "split" // too many shops: read the cells one character longer
)

// member returns the set member of a shop at a position. Its name contains the position,
// so concurrent writers never give a member another position.
func member(id, hash int64) string {
	return decimal(id) + ":" + strconv.FormatInt(hash, 36)
}

// parseMember parses the result of member. It returns false for a mark.
func parseMember(m string) (id, hash int64, ok bool) {
	a, b, ok := strings.Cut(m, ":")
	if !ok {
		return 0, 0, false
	}
	id, errID := strconv.ParseInt(a, 10, 64)
	hash, errHash := strconv.ParseInt(b, 36, 64)
	return id, hash, errID == nil && errHash == nil
}
