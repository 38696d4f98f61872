package importer

import (
	"math"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
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
		is    string
		limit int
	}{{d.ExternalID, 200}, {d.Name, shop.MaxName}, {d.Area, shop.MaxArea}, {d.Address, shop.MaxAddress}, {d.OpenHours, shop.MaxOpenHours}, {d.Phone, shop.MaxPhone}, {d.Website, shop.MaxWebsite}} {
		if n := text.Len(part.is); n > part.limit || part.is != text.Line(part.is) || !utf8.ValidString(part.is) {
			t.Errorf("%q: got %d characters, want at most %d clean ones: %q", d.ExternalID, n, part.limit, part.is)
		}
	}
	if inRange := math.Abs(d.Lat) <= 85.05112878 && math.Abs(d.Lng) <= 180; !inRange || d.Lat == 0 && d.Lng == 0 {
		t.Errorf("%q: position %v, %v", d.ExternalID, d.Lat, d.Lng)
	}
	if u, err := url.Parse(d.Website); d.Website != "" && (err != nil || u.Host == "" || u.User != nil || !strings.HasPrefix(u.Scheme, "http")) {
		t.Errorf("%q: website %q", d.ExternalID, d.Website)
	}
	if _, err := time.LoadLocation(d.TimeZone); err != nil {
		t.Errorf("%q: time zone %q", d.ExternalID, d.TimeZone)
	}
	if inRange := d.Score == 0 || d.Score >= 1 && d.Score <= shop.MaxScore; !inRange {
		t.Errorf("%q: score %v", d.ExternalID, d.Score)
	}
	if p := d.AvgPrice; p != nil && (*p < 0 || *p > shop.MaxAvgPrice) {
		t.Errorf("%q: price %d", d.ExternalID, *p)
	}
}

func TestCatalogueTypesHaveTags(t *testing.T) {
	for _, kind := range shop.Catalogue() {
		mapped := false
		for _, key := range osmTypes {
			mapped = mapped || key == kind.Key
		}
		if !mapped {
			t.Errorf("type %q has no tag", kind.Key)
		}
	}
	for tag, key := range osmTypes {
		if catalogueKey(shop.Catalogue(), key) == "" {
			t.Errorf("%s has the unknown type %q", tag, key)
		}
		if before, _, _ := strings.Cut(tag, "="); !slices.Contains(osmKeys, before) {
			t.Errorf("osmKeys misses the key of %s", tag)
		}
	}
}
