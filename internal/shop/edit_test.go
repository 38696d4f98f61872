package shop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/optional"
)

// user stores a user.
func user(t *testing.T, s *Service) int64 {
	t.Helper()
	u, err := s.db.User.Create().SetNickname("Ann").Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return u.ID
}

// typeIDs returns the ids of the shop types, by key.
func typeIDs(t *testing.T, s *Service) map[string]int64 {
	t.Helper()
	types, err := s.typesByKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// noodles returns a shop with all fields.
func noodles(typeID int64) Details {
	return Details{
		Name: "Noodles", TypeID: typeID, Images: []string{"/media/a.webp", "/media/b.webp"}, Area: new("Old Town"),
		Address: "1 Long Street", At: geo.Point{Lat: 21.04, Lng: 105.8}, AvgPrice: new(4500), OpenHours: new("9-17"),
		Phone: new("+84 24 1"), Website: new("https://example.com"), TimeZone: new("Asia/Ho_Chi_Minh"),
	}
}

func create(t *testing.T, s *Service, by int64, d Details) *Shop {
	t.Helper()
	shop, err := s.Create(t.Context(), Editor{UserID: by}, d)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

func update(t *testing.T, s *Service, shop *Shop, c Changes) *Shop {
	t.Helper()
	shop, err := s.Update(t.Context(), Editor{UserID: optional.Value(shop.OwnerID)}, shop.ID, c)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

// read returns a shop through the cache.
func read(t *testing.T, s *Service, id int64) *Shop {
	t.Helper()
	shop, err := s.ByID(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return shop
}

// reasons returns the codes and fields of a UserErrors, or the text of another error.
func reasons(err error) []string {
	refused, ok := errors.AsType[apierror.UserErrors](err)
	if !ok && err != nil {
		return []string{err.Error()}
	}
	var list []string
	for _, r := range refused {
		list = append(list, string(r.Code)+" "+strings.Join(r.Field, "."))
	}
	return list
}

func TestShopFieldsAreValidated(t *testing.T) {
	long := func(n int) string { return strings.Repeat("火", n) }
	paths := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("/media/%d.webp", i)
		}
		return list
	}
	invalid := func(field string) []string { return []string{"INVALID_INPUT input." + field} }
	rejected := []string{"IMAGE_REJECTED input.images"}
	tests := []struct {
		name string
		edit func(*Details)
		want []string // nil if valid
	}{
		{"the longest name", func(d *Details) { d.Name = long(MaxName) }, nil},
		{"the longest name among spaces", func(d *Details) { d.Name = "  " + long(MaxName) + "\n" }, nil},
		{"a longer name", func(d *Details) { d.Name = long(MaxName + 1) }, invalid("name")},
		{"a name of one character", func(d *Details) { d.Name = "火" }, nil},
		{"no name", func(d *Details) { d.Name = "" }, invalid("name")},
		{"a name of spaces and joiners", func(d *Details) { d.Name = " \u200d\t" }, invalid("name")},
		{"an unknown type", func(d *Details) { d.TypeID = 1 << 40 }, invalid("typeId")},
		{"no type", func(d *Details) { d.TypeID = 0 }, invalid("typeId")},
		{"a type below all", func(d *Details) { d.TypeID = -1 }, invalid("typeId")},
		{"the longest area", func(d *Details) { d.Area = new(long(MaxArea)) }, nil},
		{"a longer area", func(d *Details) { d.Area = new(long(MaxArea + 1)) }, invalid("area")},
		{"a blank area", func(d *Details) { d.Area = new(" \u200d") }, nil},
		{"the longest address", func(d *Details) { d.Address = long(MaxAddress) }, nil},
		{"a longer address", func(d *Details) { d.Address = long(MaxAddress + 1) }, invalid("address")},
		{"a blank address", func(d *Details) { d.Address = " \u200d" }, invalid("address")},
		{"the longest hours", func(d *Details) { d.OpenHours = new(long(MaxOpenHours)) }, nil},
		{"longer hours", func(d *Details) { d.OpenHours = new(long(MaxOpenHours + 1)) }, invalid("openHours")},
		{"blank hours", func(d *Details) { d.OpenHours = new("") }, nil},
		{"the longest phone number", func(d *Details) { d.Phone = new(long(MaxPhone)) }, nil},
		{"a longer phone number", func(d *Details) { d.Phone = new(long(MaxPhone + 1)) }, invalid("phone")},
		{"a blank phone number", func(d *Details) { d.Phone = new(" ") }, nil},
		{"a website", func(d *Details) { d.Website = new("https://example.com/泡?a=b#c") }, nil},
		{"the longest website", func(d *Details) { d.Website = new("http://a/" + strings.Repeat("b", MaxWebsite-9)) }, nil},
		{"a longer website", func(d *Details) { d.Website = new("http://a/" + strings.Repeat("b", MaxWebsite-8)) }, invalid("website")},
		{"a website without a scheme", func(d *Details) { d.Website = new("example.com") }, invalid("website")},
		{"a script", func(d *Details) { d.Website = new("javascript:alert(1)//http://a") }, invalid("website")},
		{"a website with a password", func(d *Details) { d.Website = new("https://a:b@example.com") }, invalid("website")},
		{"a time zone", func(d *Details) { d.TimeZone = new("America/Argentina/Ushuaia") }, nil},
		{"an unknown time zone", func(d *Details) { d.TimeZone = new("Mars/Base") }, invalid("timeZone")},
		{"the time zone of the machine", func(d *Details) { d.TimeZone = new("Local") }, invalid("timeZone")},
		{"a time zone above", func(d *Details) { d.TimeZone = new("../../etc/passwd") }, invalid("timeZone")},
		{"price 0", func(d *Details) { d.AvgPrice = new(0) }, nil},
		{"price -1", func(d *Details) { d.AvgPrice = new(-1) }, invalid("avgPrice")},
		{"the highest price", func(d *Details) { d.AvgPrice = new(MaxAvgPrice) }, nil},
		{"a higher price", func(d *Details) { d.AvgPrice = new(MaxAvgPrice + 1) }, invalid("avgPrice")},
		{"where the axes meet", func(d *Details) { d.At = geo.Point{} }, nil},
		{"the northern edge", func(d *Details) { d.At.Lat = geo.MaxLat }, nil},
		{"beyond the northern edge", func(d *Details) { d.At.Lat = math.Nextafter(geo.MaxLat, 90) }, invalid("location")},
		{"the date line", func(d *Details) { d.At.Lng = -180 }, nil},
		{"beyond the date line", func(d *Details) { d.At.Lng = math.Nextafter(-180, -181) }, invalid("location")},
		{"no number", func(d *Details) { d.At.Lat = math.NaN() }, invalid("location")},
		{"no image", func(d *Details) { d.Images = nil }, nil},
		{"nine images", func(d *Details) { d.Images = paths(9) }, nil},
		{"ten images", func(d *Details) { d.Images = paths(10) }, rejected},
		{"an image twice", func(d *Details) { d.Images = append(paths(3), "/media/1.webp") }, rejected},
		{"the longest image path", func(d *Details) { d.Images = []string{"/media/a" + strings.Repeat("b", 180)} }, nil},
		{"a longer image path", func(d *Details) { d.Images = []string{"/media/a" + strings.Repeat("b", 181)} }, rejected},
		{"an image in a folder", func(d *Details) { d.Images = []string{"/media/2026/11/a-b_c.webp"} }, nil},
		{"an image from elsewhere", func(d *Details) { d.Images = []string{"https://example.com/media/a.webp"} }, rejected},
		{"an image above", func(d *Details) { d.Images = []string{"/media/a/../../etc/passwd"} }, rejected},
		{"an image with two slashes", func(d *Details) { d.Images = []string{"/media/a//b"} }, rejected},
		{"a hidden image", func(d *Details) { d.Images = []string{"/media/.a"} }, rejected},
		{"an image with a second line", func(d *Details) { d.Images = []string{"/media/a\n"} }, rejected},
		{"an empty path", func(d *Details) { d.Images = []string{""} }, rejected},
		{"everything wrong", func(d *Details) {
			*d = Details{
				Images: paths(10), Area: new(long(81)), AvgPrice: new(-1), OpenHours: new(long(MaxOpenHours + 1)), At: geo.Point{Lat: 99},
				Phone: new(long(MaxPhone + 1)), Website: new("x"), TimeZone: new("x"),
			}
		}, []string{
			"INVALID_INPUT input.name", "INVALID_INPUT input.typeId", "IMAGE_REJECTED input.images", "INVALID_INPUT input.area",
			"INVALID_INPUT input.address", "INVALID_INPUT input.location", "INVALID_INPUT input.avgPrice", "INVALID_INPUT input.openHours",
			"INVALID_INPUT input.phone", "INVALID_INPUT input.website", "INVALID_INPUT input.timeZone",
		}},
	}
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, cafe := user(t, s), typeIDs(t, s)["cafe"]
		for _, tt := range tests {
			d := noodles(cafe)
			old := create(t, s, ann, d)
			tt.edit(&d)
			made, err := s.Create(t.Context(), Editor{UserID: ann}, d)
			if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
				t.Errorf("%s: create (-want +got):\n%s", tt.name, diff)
			}
			changed, err := s.Update(t.Context(), Editor{UserID: ann}, old.ID, d.changes())
			if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
				t.Errorf("%s: update (-want +got):\n%s", tt.name, diff)
			}
			if tt.want != nil {
				if diff := cmp.Diff(old, read(t, s, old.ID)); diff != "" {
					t.Errorf("%s: the rejected update changed the shop (-before +after):\n%s", tt.name, diff)
				}
				continue
			}
			for version, got := range []*Shop{made, changed} {
				want := expected(d, got.ID, ann)
				want.Version = int64(1 + version)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.name, diff)
				}
				if diff := cmp.Diff(got, read(t, s, got.ID)); diff != "" {
					t.Errorf("%s (-returned +read):\n%s", tt.name, diff)
				}
			}
		}
	})
}

// expected returns the shop with these details.
func expected(d Details, id, owner int64) *Shop {
	shown := func(s *string) *string {
		if strings.Trim(optional.Value(s), " \u200d") == "" {
			return nil
		}
		return s
	}
	shop := &Shop{
		ID: id, OwnerID: &owner, TypeID: d.TypeID, Name: strings.TrimSpace(d.Name), Area: shown(d.Area), Address: d.Address,
		At: d.At, AvgPrice: d.AvgPrice, OpenHours: shown(d.OpenHours), Phone: shown(d.Phone), Website: shown(d.Website), TimeZone: optional.Value(d.TimeZone),
	}
	for _, path := range d.Images {
		shop.Images = append(shop.Images, mediapath.ImageOf(path, 640, 480))
	}
	return shop
}

func TestOptionalFieldsCanBeCleared(t *testing.T) {
	tests := []struct {
		name   string
		change Changes
		expect func(*Shop)
		want   []string
	}{
		{"area", Changes{Area: optional.Clear[string]()}, func(s *Shop) { s.Area = nil }, nil},
		{"price", Changes{AvgPrice: optional.Clear[int]()}, func(s *Shop) { s.AvgPrice = nil }, nil},
		{"hours", Changes{OpenHours: optional.Clear[string]()}, func(s *Shop) { s.OpenHours = nil }, nil},
		{"phone", Changes{Phone: optional.Clear[string]()}, func(s *Shop) { s.Phone = nil }, nil},
		{"website", Changes{Website: optional.Clear[string]()}, func(s *Shop) { s.Website = nil }, nil},
		{"time zone", Changes{TimeZone: optional.Clear[string]()}, func(s *Shop) { s.TimeZone = "" }, nil},
		{"images", Changes{Images: optional.Clear[[]string]()}, func(s *Shop) { s.Images = nil }, nil},
		{"nothing", Changes{}, func(*Shop) {}, nil},
		{"name", Changes{Name: optional.Clear[string]()}, nil, []string{"INVALID_INPUT input.name"}},
		{"type", Changes{TypeID: optional.Clear[int64]()}, nil, []string{"INVALID_INPUT input.typeId"}},
		{"address", Changes{Address: optional.Clear[string]()}, nil, []string{"INVALID_INPUT input.address"}},
		{"place", Changes{At: optional.Clear[geo.Point]()}, nil, []string{"INVALID_INPUT input.location"}},
	}
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, cafe := user(t, s), typeIDs(t, s)["cafe"]
		for _, tt := range tests {
			want := create(t, s, ann, noodles(cafe))
			got, err := s.Update(t.Context(), Editor{UserID: ann}, want.ID, tt.change)
			if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
			if tt.want != nil {
				continue
			}
			before := *want
			if tt.expect(want); !reflect.DeepEqual(&before, want) {
				want.Version++
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.name, diff)
			}
		}
	})
}

// A form may send the empty address of an imported shop back, but cannot clear an address.
func TestMissingAddressIsAllowedOnlyIfImported(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		put(t, s, Draft{ExternalID: "bare", Type: "cafe", Name: "Bare", Lat: 1, Lng: 1},
			Draft{ExternalID: "placed", Type: "cafe", Name: "Placed", Address: "1 Street", Lat: 1, Lng: 1})
		for _, e := range list(t, s, Query{Order: ByNewest, First: 2}) {
			_, err := s.Update(t.Context(), Editor{IsAdmin: true}, e.ID, Changes{Name: optional.Set("New"), Address: optional.Set(" ")})
			if (err == nil) != (e.Name == "Bare") {
				t.Errorf("%s: %v", e.Name, err)
			}
		}
	})
}

func TestOnlyOwnerOrAdminUpdatesShop(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, bob := user(t, s), user(t, s)
		owned := create(t, s, ann, noodles(typeIDs(t, s)["cafe"]))
		put(t, s, Draft{ExternalID: "free", Type: "bar", Name: "Free", Address: "1 Street", Lat: 1, Lng: 1})
		free := list(t, s, Query{Order: ByNewest, First: 1})[0]
		tests := []struct {
			name string
			by   Editor
			id   int64
			kind apierror.Kind // expected kind; "" for success or a UserErrors
			want []string
		}{
			{"the owner", Editor{UserID: ann}, owned.ID, "", nil},
			{"another user", Editor{UserID: bob}, owned.ID, apierror.Forbidden, nil},
			{"no user", Editor{}, owned.ID, apierror.Forbidden, nil},
			{"an administrator", Editor{UserID: bob, IsAdmin: true}, owned.ID, "", nil},
			{"a user, an unowned shop", Editor{UserID: bob}, free.ID, apierror.Forbidden, nil},
			{"no user, an unowned shop", Editor{}, free.ID, apierror.Forbidden, nil},
			{"an administrator, an unowned shop", Editor{UserID: bob, IsAdmin: true}, free.ID, "", nil},
			{"a user, no shop", Editor{UserID: bob}, 1 << 40, "", []string{"NOT_FOUND input.id"}},
			{"an administrator, no shop", Editor{UserID: bob, IsAdmin: true}, -1, "", []string{"NOT_FOUND input.id"}},
		}
		for i, tt := range tests {
			name := fmt.Sprint("Name ", i)
			_, err := s.Update(t.Context(), tt.by, tt.id, Changes{Name: optional.Set(name)})
			switch {
			case tt.kind != "":
				if apierror.KindOf(err) != tt.kind {
					t.Errorf("%s: got %v, want %s", tt.name, err, tt.kind)
				}
			default:
				if diff := cmp.Diff(tt.want, reasons(err)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tt.name, diff)
				}
			}
			if shop, err := s.ByID(t.Context(), tt.id); err == nil && (shop.Name == name) != (tt.kind == "") {
				t.Errorf("%s: got name %s", tt.name, shop.Name)
			}
		}
		if got := read(t, s, owned.ID).OwnerID; optional.Value(got) != ann {
			t.Errorf("got owner %v, want %d", got, ann)
		}
	})
}

// An update keeps the fields that concurrent updates change.
func TestConcurrentUpdatesOfDifferentFieldsAllApply(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		processes := []*Service{process(), process()}
		s := processes[0]
		ann, cafe, bar := user(t, s), typeIDs(t, s)["cafe"], typeIDs(t, s)["bar"]
		for round := range 10 {
			shop := create(t, s, ann, noodles(cafe))
			text := fmt.Sprint("round ", round)
			edits := []Changes{
				{Name: optional.Set(text)},
				{TypeID: optional.Set(bar)},
				{Area: optional.Set(text)},
				{Address: optional.Set(text)},
				{At: optional.Set(geo.Point{Lat: 3, Lng: 4})},
				{AvgPrice: optional.Set(round)},
				{OpenHours: optional.Set(text)},
				{Images: optional.Set([]string{"/media/c"})},
			}
			var all errgroup.Group
			for i, c := range edits {
				all.Go(func() error {
					_, err := processes[i%2].Update(t.Context(), Editor{UserID: ann}, shop.ID, c)
					return err
				})
			}
			if err := all.Wait(); err != nil {
				t.Fatal(err)
			}
			want := expected(Details{
				Name: text, TypeID: bar, Images: []string{"/media/c"}, Area: &text, Address: text,
				At: geo.Point{Lat: 3, Lng: 4}, AvgPrice: &round, OpenHours: &text,
				Phone: shop.Phone, Website: shop.Website, TimeZone: &shop.TimeZone,
			}, shop.ID, ann)
			want.Version = row(t, processes[0], shop.ID).Version
			for _, p := range processes {
				if diff := cmp.Diff(want, read(t, p, shop.ID)); diff != "" {
					t.Fatalf("round %d (-want +got):\n%s", round, diff)
				}
			}
			if row := row(t, s, shop.ID); row.Search != searchText(text, text, text) {
				t.Fatalf("got search text %q", row.Search)
			}
		}
	})
}

func row(t *testing.T, s *Service, id int64) *ent.Shop {
	t.Helper()
	r, err := s.db.Shop.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEditKeepsOtherColumns(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann := user(t, s)
		shop := create(t, s, ann, noodles(typeIDs(t, s)["cafe"]))
		sizes := map[string]mediapath.Size{"/media/b.webp": {Width: 640, Height: 480}}
		s.db.Shop.UpdateOneID(shop.ID).SetSold(7).SetCommentCount(8).SetRatingScore(4.5).SetImages(mediapath.Column([]string{"/media/a.webp", "/media/b.webp"}, sizes)).ExecX(t.Context())
		before := row(t, s, shop.ID)

		got := update(t, s, shop, Changes{Images: optional.Set([]string{"/media/new", "/media/b.webp"})})
		if got.Sold != 7 || got.CommentCount != 8 || optional.Value(got.Score) != 4.5 || optional.Value(got.OwnerID) != ann {
			t.Errorf("got shop %+v", got)
		}
		after := row(t, s, shop.ID)
		images, err := mediapath.ImagesOf(after.Images)
		if diff := cmp.Diff([]mediapath.Image{mediapath.ImageOf("/media/new", 640, 480), mediapath.ImageOf("/media/b.webp", 640, 480)}, images); diff != "" || err != nil {
			t.Errorf("images: %v (-want +got):\n%s", err, diff)
		}
		if !after.UpdatedAt.After(before.UpdatedAt) || !after.CreatedAt.Equal(before.CreatedAt) {
			t.Errorf("created %v, updated %v; before it was %v, %v", after.CreatedAt, after.UpdatedAt, before.CreatedAt, before.UpdatedAt)
		}
	})
}

// After another program has changed the row, saving the shop again publishes the change.
func TestEmptyUpdateOnlyInvalidates(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		shop := create(t, s, user(t, s), noodles(typeIDs(t, s)["cafe"]))
		read(t, s, shop.ID) // fills the cache
		behind := s.db.Shop.UpdateOneID(shop.ID).SetOpenHours("always").AddVersion(1).SaveX(t.Context())
		if got := read(t, s, shop.ID); optional.Value(got.OpenHours) == "always" {
			t.Fatal("invalid test: the row is not cached")
		}
		for _, c := range []Changes{{OpenHours: optional.Set(" always "), Name: optional.Set("Noodles")}, {}} {
			update(t, s, shop, c)
			if got := read(t, s, shop.ID); optional.Value(got.OpenHours) != "always" {
				t.Errorf("got hours %v", got.OpenHours)
			}
			if now := row(t, s, shop.ID).UpdatedAt; !now.Equal(behind.UpdatedAt) {
				t.Errorf("got a write at %v", now)
			}
		}
	})
}

// list returns the shops of one page.
func list(t *testing.T, s *Service, q Query) []*Shop {
	t.Helper()
	p, err := s.List(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	shops := make([]*Shop, len(p.Edges))
	for i, e := range p.Edges {
		shops[i] = e.Node
	}
	return shops
}

// finds reports whether a list contains the shop. It must not contain another one.
func finds(t *testing.T, s *Service, id int64, q Query) bool {
	t.Helper()
	q.First = 10
	shops := list(t, s, q)
	if len(shops) > 1 {
		t.Errorf("got %d shops for %+v", len(shops), q)
	}
	return slices.ContainsFunc(shops, func(s *Shop) bool { return s.ID == id })
}

func near(p geo.Point) *geo.Circle { return &geo.Circle{Center: p, Radius: 500} }

func TestNewShopIsFoundAtOnce(t *testing.T) {
	for _, built := range []bool{true, false} {
		t.Run(fmt.Sprintf("cells built before: %v", built), func(t *testing.T) {
			eachStack(t, func(t *testing.T, process func() *Service) {
				s, other := process(), process()
				d := noodles(typeIDs(t, s)["cafe"])
				queries := map[string]Query{
					"near": {Near: near(d.At)}, "near, of its type": {Near: near(d.At), TypeID: d.TypeID},
					"of its type": {TypeID: d.TypeID}, "by its name": {Search: "NOODLE"}, "by its area": {Search: "old town"}, "by its address": {Search: "long street"},
				}
				if built {
					searchBuilt(t, s, 0, *near(d.At))
					searchBuilt(t, s, d.TypeID, *near(d.At))
				}
				shop := create(t, s, user(t, s), d)
				for _, p := range []*Service{s, other} {
					for name, q := range queries {
						if !finds(t, p, shop.ID, q) {
							t.Errorf("got no shop %s", name)
						}
					}
				}
				// Check again after the cells are built.
				for _, typeID := range []int64{0, d.TypeID} {
					if got := searchBuilt(t, other, typeID, *near(d.At)); !slices.Equal(got, []int64{shop.ID}) {
						t.Errorf("cells of type %d: got %v", typeID, got)
					}
				}
			})
		})
	}
}

func TestChangedShopIsFoundByNewValues(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s, other := process(), process()
		cafe, bar := typeIDs(t, s)["cafe"], typeIDs(t, s)["bar"]
		here, moved := noodles(cafe).At, geo.Point{Lat: 21.05, Lng: 105.81} // in one cell
		for _, typeID := range []int64{0, cafe, bar} {
			for _, at := range []geo.Point{here, moved} {
				searchBuilt(t, s, typeID, *near(at))
			}
		}
		shop := create(t, s, user(t, s), noodles(cafe))
		steps := []struct {
			name   string
			change Changes
			typeID int64
			at     geo.Point
			word   string
		}{
			{"moved", Changes{At: optional.Set(moved)}, cafe, moved, "noodles"},
			{"of another type", Changes{TypeID: optional.Set(bar)}, bar, moved, "noodles"},
			{"renamed", Changes{Name: optional.Set("Dumplings")}, bar, moved, "dumplings"},
			{"all back", Changes{At: optional.Set(here), TypeID: optional.Set(cafe), Name: optional.Set("Noodles")}, cafe, here, "noodles"},
		}
		for _, step := range steps {
			for _, p := range []*Service{s, other} {
				read(t, p, shop.ID) // cache the old row
			}
			want := update(t, s, shop, step.change)
			for _, p := range []*Service{s, other} {
				if diff := cmp.Diff(want, read(t, p, shop.ID)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", step.name, diff)
				}
				for _, typeID := range []int64{0, cafe, bar} {
					for _, at := range []geo.Point{here, moved} {
						want := at == step.at && (typeID == 0 || typeID == step.typeID)
						if got := finds(t, p, shop.ID, Query{Near: near(at), TypeID: typeID}); got != want {
							t.Errorf("%s: at %v, type %d: got %v, want %v", step.name, at, typeID, got, want)
						}
					}
				}
				for _, word := range []string{"noodles", "dumplings"} {
					if got, want := finds(t, p, shop.ID, Query{Search: word}), word == step.word; got != want {
						t.Errorf("%s: search %q: got %v, want %v", step.name, word, got, want)
					}
				}
			}
		}
		if len(s.cells.queue)+len(other.cells.queue) > 0 {
			t.Error("a cell was missing, so the rows were read")
		}
	})
}

// A client that disconnects during the commit aborts neither the write nor the invalidation.
func TestEditInvalidatesAfterClientDisconnect(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, d := user(t, s), noodles(typeIDs(t, s)["cafe"])
		searchBuilt(t, s, 0, *near(d.At))
		var leave context.CancelFunc
		s.db.Shop.Use(func(next ent.Mutator) ent.Mutator {
			return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
				if m.Op().Is(ent.OpCreate) { // one statement with an implicit commit
					leave()
				}
				v, err := next.Mutate(ctx, m)
				leave()
				return v, err
			})
		})
		var ctx context.Context
		ctx, leave = context.WithCancel(t.Context())
		defer leave()
		shop, err := s.Create(ctx, Editor{UserID: ann}, d)
		if err != nil {
			t.Fatal(err)
		}
		read(t, s, shop.ID)
		ctx, leave = context.WithCancel(t.Context())
		defer leave()
		moved := geo.Point{Lat: 21.05, Lng: 105.81}
		if _, err := s.Update(ctx, Editor{UserID: ann}, shop.ID, Changes{At: optional.Set(moved)}); err != nil {
			t.Fatal(err)
		}
		if !finds(t, s, shop.ID, Query{Near: near(moved)}) || len(s.cells.queue) > 0 {
			t.Error("the cells lack the shop")
		}
		if n := waitingJobs(t, s); n != 0 {
			t.Errorf("got %d waiting outbox jobs, want none", n)
		}
	})
}

func TestEditStopsAtRequestDeadline(t *testing.T) {
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		ann, d := user(t, s), noodles(typeIDs(t, s)["cafe"])
		shop := create(t, s, ann, d)
		ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
		defer cancel()
		if _, err := s.Create(ctx, Editor{UserID: ann}, d); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("create: %v", err)
		}
		if _, err := s.Update(ctx, Editor{UserID: ann}, shop.ID, Changes{Name: optional.Set("Late")}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("update: %v", err)
		}
		if n, err := s.Count(t.Context()); err != nil || n != 1 {
			t.Errorf("got %d shops, %v, want 1", n, err)
		}
		if diff := cmp.Diff(shop, read(t, s, shop.ID)); diff != "" {
			t.Errorf("the shop changed (-before +after):\n%s", diff)
		}
	})
}
