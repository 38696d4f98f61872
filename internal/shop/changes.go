package shop

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
	"github.com/tandian-dev/tandian/internal/kit/text"
)

// Details describes a new shop. Texts become one line each. A nil or blank optional
// text is unknown.
type Details struct {
	Name      string
	TypeID    int64
	Images    []string // at most [mediapath.MaxImages] paths below /media, each once
	Area      *string  // quarter
	Address   string
	At        geo.Point
	AvgPrice  *int // minor units per person; nil is unknown
	OpenHours *string
	Phone     *string
	Website   *string // URL, http or https
	TimeZone  *string // IANA name; nil is the zone of the server
}

// Changes holds the new values of a shop's fields. Name, TypeID, Address and At
// cannot be cleared.
type Changes struct {
	Name      optional.Field[string]
	TypeID    optional.Field[int64]
	Images    optional.Field[[]string]
	Area      optional.Field[string]
	Address   optional.Field[string]
	At        optional.Field[geo.Point]
	AvgPrice  optional.Field[int] // minor units per person
	OpenHours optional.Field[string]
	Phone     optional.Field[string]
	Website   optional.Field[string] // URL, http or https
	TimeZone  optional.Field[string] // IANA name; clear for the zone of the server
}

// changes returns the details as changes of an empty shop.
func (d Details) changes() Changes {
	return Changes{
		Name: optional.Set(d.Name), TypeID: optional.Set(d.TypeID), Images: optional.Set(d.Images),
		Area: optional.Field[string]{Given: true, Value: d.Area}, Address: optional.Set(d.Address), At: optional.Set(d.At),
		AvgPrice: optional.Field[int]{Given: true, Value: d.AvgPrice}, OpenHours: optional.Field[string]{Given: true, Value: d.OpenHours},
		Phone: optional.Field[string]{Given: true, Value: d.Phone}, Website: optional.Field[string]{Given: true, Value: d.Website},
		TimeZone: optional.Field[string]{Given: true, Value: d.TimeZone},
	}
}

func (c Changes) clean() Changes {
	c.Name, c.Address = line(c.Name), line(c.Address)
	c.Area, c.OpenHours = lineOrClear(c.Area), lineOrClear(c.OpenHours)
	c.Phone, c.Website, c.TimeZone = lineOrClear(c.Phone), lineOrClear(c.Website), lineOrClear(c.TimeZone)
	return c
}

func (s *Service) hasType(ctx context.Context, c Changes) (bool, error) {
	id := optional.Value(c.TypeID.Value)
	if id <= 0 {
		return false, nil
	}
	return s.typeExists(ctx, id)
}

// check returns all errors of c, which must be clean. have is the current row, empty for a
// new shop. typeExists reports whether the type exists; known holds the usable images.
func (c Changes) check(have *ent.Shop, typeExists bool, known map[string]mediapath.Size) apierror.UserErrors {
	var wrong apierror.UserErrors
	// An imported shop may have no address, and a form may send the empty address back.
	noAddress := have.ID != 0 && have.Address == "" && c.Address.Value != nil
	checkText(&wrong, "name", "name", c.Name, true, MaxName)
	if c.TypeID.Given && !typeExists {
		wrong.Add(apierror.InvalidInput, "typeId", "Choose a shop type from the list.")
	}
	checkImages(&wrong, c.Images, known)
	checkText(&wrong, "area", "area", c.Area, false, MaxArea)
	checkText(&wrong, "address", "address", c.Address, !noAddress, MaxAddress)
	if at := c.At; at.Given && (at.Value == nil || !at.Value.Valid()) {
		wrong.Add(apierror.InvalidInput, "location", "Enter a latitude from -%v to %[1]v and a longitude from -180 to 180 degrees.", geo.MaxLat)
	}
	if p := c.AvgPrice.Value; c.AvgPrice.Given && p != nil && !validPrice(*p) {
		wrong.Add(apierror.InvalidInput, "avgPrice", "The average price must be 0 to %d.", MaxAvgPrice)
	}
	checkText(&wrong, "openHours", "opening hours", c.OpenHours, false, MaxOpenHours)
	checkText(&wrong, "phone", "phone number", c.Phone, false, MaxPhone)
	if w := c.Website.Value; w != nil && !validWebsite(*w) {
		wrong.Add(apierror.InvalidInput, "website", "Enter an address that starts with http:// or https://, at most %d characters.", MaxWebsite)
	}
	if z := c.TimeZone.Value; z != nil && !validZone(*z) {
		wrong.Add(apierror.InvalidInput, "timeZone", "Enter a time zone such as Asia/Shanghai.")
	}
	return wrong
}

func (c Changes) apply(r ent.Shop, known map[string]mediapath.Size, zones *zones) ent.Shop {
	set(&r.Name, c.Name)
	set(&r.TypeID, c.TypeID)
	set(&r.Address, c.Address)
	setOrClear(&r.Area, c.Area)
	setOrClear(&r.AvgPrice, c.AvgPrice)
	setOrClear(&r.OpenHours, c.OpenHours)
	setOrClear(&r.Phone, c.Phone)
	setOrClear(&r.Website, c.Website)
	if c.TimeZone.Given {
		r.TimeZone = optional.Value(c.TimeZone.Value)
	}
	r.OpenMask = openMask(r.OpenHours, zones.location(r.TimeZone))
	at := geo.Point{Lat: r.Lat, Lng: r.Lng}
	set(&at, c.At)
	r.Lat, r.Lng, r.Geo = at.Lat, at.Lng, geo.Hash(at)
	if c.Images.Given {
		r.Images = mediapath.Column(optional.Value(c.Images.Value), known)
	}
	r.Search = searchText(r.Name, optional.Value(r.Area), r.Address)
	return r
}

// write sets all columns that an edit controls: not the counters of sales and comments.
func write(m *ent.ShopMutation, r *ent.Shop) {
	m.SetName(r.Name)
	m.SetTypeID(r.TypeID)
	m.SetImages(r.Images)
	m.SetAddress(r.Address)
	m.SetLat(r.Lat)
	m.SetLng(r.Lng)
	m.SetGeo(r.Geo)
	m.SetSearch(r.Search)
	writeOrClear(r.Area, m.SetArea, m.ClearArea)
	writeOrClear(r.AvgPrice, m.SetAvgPrice, m.ClearAvgPrice)
	writeOrClear(r.OpenHours, m.SetOpenHours, m.ClearOpenHours)
	writeOrClear(r.OpenMask, m.SetOpenMask, m.ClearOpenMask)
	writeOrClear(r.Phone, m.SetPhone, m.ClearPhone)
	writeOrClear(r.Website, m.SetWebsite, m.ClearWebsite)
	m.SetTimeZone(r.TimeZone)
}

// line converts a text to one line, and a blank text to "".
func line(f optional.Field[string]) optional.Field[string] {
	if !f.Given || f.Value == nil {
		return f
	}
	s := text.Line(*f.Value)
	if text.Blank(s) {
		s = ""
	}
	return optional.Set(s)
}

// lineOrClear is like line, but clears the field for a blank text.
func lineOrClear(f optional.Field[string]) optional.Field[string] {
	f = line(f)
	if f.Given && optional.Value(f.Value) == "" {
		return optional.Clear[string]()
	}
	return f
}

// checkText checks the length of a text. what is the name of the text in messages.
func checkText(wrong *apierror.UserErrors, field, what string, f optional.Field[string], required bool, limit int) {
	switch {
	case !f.Given:
	case required && optional.Value(f.Value) == "":
		wrong.Add(apierror.InvalidInput, field, "The %s must not be empty.", what)
	case text.Len(optional.Value(f.Value)) > limit:
		wrong.Add(apierror.InvalidInput, field, "Use at most %d characters for the %s.", limit, what)
	}
}

func checkImages(wrong *apierror.UserErrors, f optional.Field[[]string], known map[string]mediapath.Size) {
	paths := optional.Value(f.Value)
	if why := cmp.Or(mediapath.Check(paths), mediapath.CheckKnown(paths, known)); why != "" {
		wrong.Add(mediapath.Rejected, "images", "%s", why)
	}
}

// validWebsite reports whether s is an absolute URL that browsers may open as a link.
func validWebsite(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && text.Len(s) <= MaxWebsite
}

func validZone(name string) bool {
	if name == "Local" { // the zone of the machine is no IANA name
		return false
	}
	_, err := time.LoadLocation(name)
	return err == nil
}

func validPrice(p int) bool { return p >= 0 && p <= MaxAvgPrice }

func set[T any](to *T, f optional.Field[T]) {
	if f.Given {
		*to = *f.Value
	}
}

func setOrClear[T any](to **T, f optional.Field[T]) {
	if f.Given {
		*to = f.Value
	}
}

func writeOrClear[T any](v *T, set func(T), clearIt func()) {
	if v == nil {
		clearIt()
		return
	}
	set(*v)
}
