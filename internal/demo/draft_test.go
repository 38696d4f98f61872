package demo

import (
	"math"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/tandian-dev/tandian/internal/kit/text"
	"github.com/tandian-dev/tandian/internal/shop"
)

// checkDraft fails the test if d cannot be stored unchanged.
func checkDraft(t *testing.T, d shop.Draft) {
	t.Helper()
	known := slices.ContainsFunc(shop.Catalogue(), func(k shop.TypeSpec) bool { return k.Key == d.Type })
	if d.ExternalID == "" || len(d.ExternalID) > 200 || d.Name == "" || !known {
		t.Errorf("%q: name %q, type %q", d.ExternalID, d.Name, d.Type)
	}
	for _, part := range []struct {
		is   string
		most int
	}{{d.ExternalID, 200}, {d.Name, shop.MaxName}, {d.Area, shop.MaxArea}, {d.Address, shop.MaxAddress}, {d.OpenHours, shop.MaxOpenHours}, {d.Phone, shop.MaxPhone}, {d.Website, shop.MaxWebsite}} {
		if n := text.Len(part.is); n > part.most || part.is != text.Line(part.is) || !utf8.ValidString(part.is) {
			t.Errorf("%q: got %d characters, want at most %d clean ones: %q", d.ExternalID, n, part.most, part.is)
		}
	}
	if inRange := math.Abs(d.Lat) <= 85.05112878 && math.Abs(d.Lng) <= 180; !inRange || d.Lat == 0 && d.Lng == 0 {
		t.Errorf("%q: position %v, %v", d.ExternalID, d.Lat, d.Lng)
	}
	if inRange := d.Score >= 0 && d.Score <= shop.MaxScore; !inRange {
		t.Errorf("%q: score %v", d.ExternalID, d.Score)
	}
	if p := d.AvgPrice; p != nil && (*p < 0 || *p > shop.MaxAvgPrice) {
		t.Errorf("%q: price %d", d.ExternalID, *p)
	}
}
