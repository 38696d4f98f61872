package shop

import (
	"strconv"
	"strings"

	"github.com/tandian-dev/tandian/internal/kit/geo"
)

// keys makes the Redis keys of this room.
type keys struct{ prefix string }

// cell is the GEO set of one geohash cell, of one type or (0) of all: members
// as [member] makes them, and the marks below. The hash tag is the cell, so
// that neighbours lie on different nodes of a cluster.
func (k keys) cell(typeID int64, c geo.Cell) string {
	kind := "all"
	if typeID != 0 {
		kind = decimal(typeID)
	}
	return k.prefix + ":shop:geo:" + kind + ":{" + c.String() + "}"
}

// cellDraft is a cell while it is being rebuilt.
func (k keys) cellDraft(typeID int64, c geo.Cell) string { return k.cell(typeID, c) + ":b" }

// Marks are members of a cell that are no shops.
const (
	markBuilt = "built" // the set is complete, even if it holds nothing else; the score is the number of its draft
	markSplit = "split" // too many shops: see the cells one character longer
)

// member is a shop at a position. The position is part of the name: whoever
// adds it, and in whatever order, a member never stands for another place.
func member(id, hash int64) string {
	return decimal(id) + ":" + strconv.FormatInt(hash, 36)
}

// parseMember is the opposite of member. It reports false for a mark.
func parseMember(m string) (id, hash int64, ok bool) {
	a, b, ok := strings.Cut(m, ":")
	if !ok {
		return 0, 0, false
	}
	id, errID := strconv.ParseInt(a, 10, 64)
	hash, errHash := strconv.ParseInt(b, 36, 64)
	return id, hash, errID == nil && errHash == nil
}
