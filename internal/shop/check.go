package shop

import (
	"cmp"
	"context"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/patch"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// clean brings the texts into the form in which they are checked and stored.
func (c Changes) clean() Changes {
	c.Name, c.Address = line(c.Name), line(c.Address)
	c.Area, c.OpenHours = lineOrClear(c.Area), lineOrClear(c.OpenHours)
	return c
}

// line is a text in one line, "" if it shows nothing.
func line(f patch.Field[string]) patch.Field[string] {
	if !f.Given || f.Value == nil {
		return f
	}
	s := text.Line(*f.Value)
	if text.Blank(s) {
		s = ""
	}
	return patch.Set(s)
}

// lineOrClear is the same, but for one that shows nothing it clears the field.
func lineOrClear(f patch.Field[string]) patch.Field[string] {
	f = line(f)
	if f.Given && optional.Value(f.Value) == "" {
		return patch.Clear[string]()
	}
	return f
}

// hasType says whether the type that the changes name exists.
func (s *Service) hasType(ctx context.Context, c Changes) (bool, error) {
	id := optional.Value(c.TypeID.Value)
	if id <= 0 {
		return false, nil
	}
	return s.isKind(ctx, id)
}

// check says everything that is wrong with clean changes of a row; typed is
// whether their type exists, known are those of their pictures that do. For a shop that is new the row is empty.
func (c Changes) check(have *ent.Shop, typed bool, known map[string]mediapath.Size) fault.UserErrors {
	var wrong fault.UserErrors
	// An imported shop may have no address, and a form may send that back.
	noAddress := have.ID != 0 && have.Address == "" && c.Address.Value != nil
	checkText(&wrong, "name", "name", c.Name, true, MaxName)
	if c.TypeID.Given && !typed {
		wrong.Add(fault.InvalidInput, "typeId", "There is no such shop type.")
	}
	checkImages(&wrong, c.Images, known)
	checkText(&wrong, "area", "area", c.Area, false, MaxArea)
	checkText(&wrong, "address", "address", c.Address, !noAddress, MaxAddress)
	if at := c.At; at.Given && (at.Value == nil || !at.Value.Valid()) {
		wrong.Add(fault.InvalidInput, "location", "A location has a latitude of -%v to %[1]v and a longitude of -180 to 180 degrees.", geo.MaxLat)
	}
	if p := c.AvgPrice.Value; c.AvgPrice.Given && p != nil && !validPrice(*p) {
		wrong.Add(fault.InvalidInput, "avgPrice", "The average price is 0 to %d.", MaxAvgPrice)
	}
	checkText(&wrong, "openHours", "opening hours", c.OpenHours, false, MaxOpenHours)
	return wrong
}

// checkText checks a text; what is how the message calls it.
func checkText(wrong *fault.UserErrors, field, what string, f patch.Field[string], required bool, most int) {
	switch {
	case !f.Given:
	case required && optional.Value(f.Value) == "":
		wrong.Add(fault.InvalidInput, field, "The %s must not be empty.", what)
	case text.Len(optional.Value(f.Value)) > most:
		wrong.Add(fault.InvalidInput, field, "Write at most %d characters for the %s.", most, what)
	}
}

func checkImages(wrong *fault.UserErrors, f patch.Field[[]string], known map[string]mediapath.Size) {
	paths := optional.Value(f.Value)
	if why := cmp.Or(mediapath.Check(paths), mediapath.Missing(paths, known)); why != "" {
		wrong.Add(mediapath.Rejected, "images", "%s", why)
	}
}

func validPrice(p int) bool { return p >= 0 && p <= MaxAvgPrice }
