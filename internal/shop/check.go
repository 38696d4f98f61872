package shop

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/patch"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// The codes of this room's refusals.
const (
	InvalidInput  fault.Code = "INVALID_INPUT"
	NotFound      fault.Code = "NOT_FOUND"
	ImageRejected fault.Code = "IMAGE_REJECTED"
)

// imagePath is what the path of an uploaded image looks like. Whether there is
// such an image is not looked at here: that will be another room's to say.
var imagePath = regexp.MustCompile(`^/media/[A-Za-z0-9][A-Za-z0-9._/-]{0,180}$`)

// refusals collects what is wrong with an input.
type refusals struct{ all fault.UserErrors }

func (r *refusals) add(code fault.Code, field, format string, args ...any) {
	r.all = append(r.all, fault.UserError{Code: code, Message: fmt.Sprintf(format, args...), Field: []string{"input", field}})
}

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
	if f.Given && value(f.Value) == "" {
		return patch.Clear[string]()
	}
	return f
}

// hasType says whether the type that the changes name exists.
func (s *Service) hasType(ctx context.Context, c Changes) (bool, error) {
	id := value(c.TypeID.Value)
	if id <= 0 {
		return false, nil
	}
	types, err := s.TypesByID(ctx, []int64{id})
	return types[id] != nil, err
}

// check says everything that is wrong with clean changes of a row; typed is
// whether their type exists. For a shop that is new the row is empty.
func (c Changes) check(have *ent.Shop, typed bool) fault.UserErrors {
	var r refusals
	// An imported shop may have no address, and a form may send that back.
	noAddress := have.ID != 0 && have.Address == "" && c.Address.Value != nil
	r.text("name", "name", c.Name, true, MaxName)
	if c.TypeID.Given && !typed {
		r.add(InvalidInput, "typeId", "There is no such shop type.")
	}
	r.images(c.Images)
	r.text("area", "area", c.Area, false, MaxArea)
	r.text("address", "address", c.Address, !noAddress, MaxAddress)
	if at := c.At; at.Given && (at.Value == nil || !at.Value.Valid()) {
		r.add(InvalidInput, "location", "A location has a latitude of -%v to %[1]v and a longitude of -180 to 180 degrees.", geo.MaxLat)
	}
	if p := c.AvgPrice.Value; c.AvgPrice.Given && p != nil && !validPrice(*p) {
		r.add(InvalidInput, "avgPrice", "The average price is 0 to %d.", MaxAvgPrice)
	}
	r.text("openHours", "opening hours", c.OpenHours, false, MaxOpenHours)
	return r.all
}

// text checks a text; what is how the message calls it.
func (r *refusals) text(field, what string, f patch.Field[string], required bool, most int) {
	switch {
	case !f.Given:
	case required && value(f.Value) == "":
		r.add(InvalidInput, field, "The %s must not be empty.", what)
	case text.Len(value(f.Value)) > most:
		r.add(InvalidInput, field, "Write at most %d characters for the %s.", most, what)
	}
}

func (r *refusals) images(f patch.Field[[]string]) {
	paths := value(f.Value)
	bad := func(path string) bool {
		return !imagePath.MatchString(path) || strings.Contains(path, "..") || strings.Contains(path, "//")
	}
	switch {
	case len(paths) > MaxImages:
		r.add(ImageRejected, "images", "A shop has at most %d images.", MaxImages)
	case slices.ContainsFunc(paths, bad):
		r.add(ImageRejected, "images", "An image must be one that was uploaded here.")
	case len(slices.Compact(slices.Sorted(slices.Values(paths)))) < len(paths):
		r.add(ImageRejected, "images", "An image stands in the list twice.")
	}
}

func validPrice(p int) bool { return p >= 0 && p <= MaxAvgPrice }
