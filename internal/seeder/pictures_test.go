package seeder

import (
	"context"
	"fmt"
	"image"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/internal/checkin"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/visit"
)

// fakePictures keep nothing, and name what is drawn by its number.
type fakePictures struct{ drawn []image.Image }

func (f *fakePictures) Save(_ context.Context, drawn []image.Image) (kept []mediapath.Image, err error) {
	for range drawn {
		f.drawn = append(f.drawn, nil)
		kept = append(kept, mediapath.Image{URL: fmt.Sprintf("/media/%d.jpg", len(f.drawn))})
	}
	return kept, nil
}

// fakeIcons are types of shops of which some have no icon.
type fakeIcons struct{ bare, planted []string }

func (f *fakeIcons) WithoutIcon(context.Context) ([]string, error) { return f.bare, nil }

func (f *fakeIcons) SetIcons(_ context.Context, paths map[string]string) error {
	for key, path := range paths {
		f.planted = append(f.planted, key+" "+path)
	}
	slices.Sort(f.planted)
	return nil
}

type fakeCheckIns struct{ drafts []checkin.Draft }

func (f *fakeCheckIns) BulkInsert(_ context.Context, drafts []checkin.Draft) (int, error) {
	f.drafts = append(f.drafts, drafts...)
	return len(drafts), nil
}

type fakeVisits struct{ days []visit.Day }

func (f *fakeVisits) BulkInsert(_ context.Context, days []visit.Day) error {
	f.days = append(f.days, days...)
	return nil
}

func newYear() civil.Date { return civil.Date{Year: 2026, Month: time.January, Day: 10} }

// The numbers of pictures that package drawing makes: of each type of shop, of dishes
// and of faces.
const shopLooks, dishes, faces = 3, 24, 32

func TestASeedHasPicturesOfEachSortDrawnOnce(t *testing.T) {
	pictures, icons, shops, people := &fakePictures{}, &fakeIcons{bare: []string{"bar", "cafe"}}, &fakeShops{}, &fakeAccounts{}
	notes := &fakeNotes{}
	rooms := Services{Shops: shops, Accounts: people, Notes: notes, Likes: fakeLikes{fakeNotes: notes}, Pictures: pictures, Icons: icons}
	plan := Plan{Users: 200, Shops: 300, Notes: 400, Seed: 3, Pictures: true}
	if err := Seed(t.Context(), rooms, plan, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(icons.planted); got != "[bar /media/1.jpg cafe /media/2.jpg]" {
		t.Errorf("icons: %s", got)
	}
	kinds := map[string]map[string]bool{}
	for _, s := range slices.Concat(shops.calls...) {
		if len(s.Images) != 1 {
			t.Fatalf("%s has %v", s.Name, s.Images)
		}
		if kinds[s.Type] == nil {
			kinds[s.Type] = map[string]bool{}
		}
		kinds[s.Type][s.Images[0]] = true
	}
	looks := 0
	for kind, paths := range kinds {
		if looks += len(paths); len(paths) > shopLooks {
			t.Errorf("%s has %d looks", kind, len(paths))
		}
	}
	bare := 0
	for _, u := range people.users {
		if u.AvatarURL == "" {
			bare++
		}
	}
	if bare < 60 || bare > 70 {
		t.Errorf("%d of 200 users have no face", bare)
	}
	with := map[int]int{}
	for _, n := range slices.Concat(notes.calls...) {
		with[len(n.Images)]++
	}
	if len(with) != 4 || with[0] != 100 {
		t.Errorf("so many notes have so many pictures: %v", with)
	}
	if most := 2 + looks + faces + dishes; len(pictures.drawn) > most || len(pictures.drawn) < most-faces {
		t.Errorf("%d pictures are drawn, want about %d", len(pictures.drawn), most)
	}
}

func TestWithoutPicturesNothingIsDrawn(t *testing.T) {
	pictures, shops := &fakePictures{}, &fakeShops{}
	rooms := Services{Shops: shops, Accounts: &fakeAccounts{}, Pictures: pictures, Icons: &fakeIcons{bare: []string{"bar"}}}
	if err := Seed(t.Context(), rooms, Plan{Users: 3, Shops: 3}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(pictures.drawn) > 0 || len(shops.calls[0][0].Images) > 0 {
		t.Errorf("%d are drawn, a shop shows %v", len(pictures.drawn), shops.calls[0][0].Images)
	}
}

func TestCheckInsOfASeedLieInTheDaysBeforeToday(t *testing.T) {
	into := &fakeCheckIns{}
	rooms := Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, CheckIns: into}
	plan := Plan{Users: 300, Shops: 1, CheckIns: 200, Seed: 3, Today: newYear()}
	if err := Seed(t.Context(), rooms, plan, io.Discard); err != nil {
		t.Fatal(err)
	}
	by, seen := map[int64]int{}, map[checkin.Draft]bool{}
	for _, d := range into.drafts {
		if ago := civil.Days(d.Day, newYear()) - 1; ago < 1 || ago > lastDays || seen[d] {
			t.Fatalf("a check-in of %v, twice: %v", d.Day, seen[d])
		}
		seen[d] = true
		by[d.User]++
	}
	days := 0
	for _, n := range by {
		if n >= 25 {
			days++
		}
	}
	if len(by) < 150 || len(by) > 200 || days < 5 || days > 80 {
		t.Errorf("%d users check in, %d of them nearly every day", len(by), days)
	}
	again := &fakeCheckIns{}
	rooms.CheckIns, rooms.Accounts = again, &fakeAccounts{}
	if err := Seed(t.Context(), rooms, plan, io.Discard); err != nil || !slices.Equal(again.drafts, into.drafts) {
		t.Errorf("another time they are others: %v", err)
	}
}

func TestVisitsOfASeedAreThoseOfAMonth(t *testing.T) {
	into := &fakeVisits{}
	const visits = 20_000
	rooms := Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Visits: into}
	if err := Seed(t.Context(), rooms, Plan{Users: 100, Shops: 50, Visits: visits, Seed: 3, Today: newYear()}, io.Discard); err != nil {
		t.Fatal(err)
	}
	site, shops := int64(0), int64(0)
	once, people, strangers := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range into.days {
		key := fmt.Sprint(d.Shop, d.Date)
		if ago := civil.Days(d.Date, newYear()) - 1; once[key] || ago < 1 || ago > lastDays || int64(len(d.Visitors)) != d.Views || d.Views == 0 {
			t.Fatalf("a day: %v of %d, twice %v, %d views", d.Date, d.Shop, once[key], d.Views)
		}
		once[key] = true
		if d.Shop == 0 {
			site += d.Views
		} else {
			shops += d.Views
		}
		for _, v := range d.Visitors {
			if strings.HasPrefix(v, "u:") {
				people[v] = true
			} else {
				strangers[v] = true
			}
		}
	}
	if site < visits-lastDays || site > visits+lastDays || shops < visits*6/10 || shops > visits*8/10 {
		t.Errorf("%d visits to the site, %d to shops", site, shops)
	}
	if len(people) < 80 || len(strangers) < 2000 {
		t.Errorf("by %d users and %d strangers", len(people), len(strangers))
	}
}

func TestAPlanThatCannotBeIsRefused(t *testing.T) {
	for want, plan := range map[string]Plan{
		"check-ins of 3 users": {Users: 2, CheckIns: 3},
		"visits are to shops":  {Visits: 1},
		"visits: the number":   {Shops: 1, Visits: MaxVisits + 1},
	} {
		if err := plan.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", plan, err)
		}
	}
}
