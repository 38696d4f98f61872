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

// fakePictures counts pictures. Their paths are their numbers.
type fakePictures struct{ drawn []image.Image }

func (f *fakePictures) Save(_ context.Context, album []image.Image) (kept []mediapath.Image, err error) {
	for range album {
		f.drawn = append(f.drawn, nil)
		kept = append(kept, mediapath.Image{URL: fmt.Sprintf("/media/%d.jpg", len(f.drawn))})
	}
	return kept, nil
}

// fakeIcons are shop types without an icon.
type fakeIcons struct{ bare, set []string }

func (f *fakeIcons) TypesWithoutIcon(context.Context) ([]string, error) { return f.bare, nil }

func (f *fakeIcons) SetIcons(_ context.Context, paths map[string]string) error {
	for key, path := range paths {
		f.set = append(f.set, key+" "+path)
	}
	slices.Sort(f.set)
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

// Numbers of different pictures of package drawing: per shop type, dishes and avatars.
const picturesPerType, dishes, faces = 3, 24, 32

func TestSeedDrawsPicturesOnce(t *testing.T) {
	pictures, icons, shops, users := &fakePictures{}, &fakeIcons{bare: []string{"bar", "cafe"}}, &fakeShops{}, &fakeAccounts{}
	notes := &fakeNotes{}
	services := Services{Shops: shops, Accounts: users, Notes: notes, Likes: fakeLikes{fakeNotes: notes}, Pictures: pictures, Icons: icons}
	plan := Plan{Users: 200, Shops: 300, Notes: 400, Seed: 3, Pictures: true}
	if err := Seed(t.Context(), services, plan, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(icons.set); got != "[bar /media/1.jpg cafe /media/2.jpg]" {
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
	shopPictures := 0
	for kind, paths := range kinds {
		if shopPictures += len(paths); len(paths) > picturesPerType {
			t.Errorf("type %s has %d pictures", kind, len(paths))
		}
	}
	bare := 0
	for _, u := range users.users {
		if u.AvatarURL == "" {
			bare++
		}
	}
	if bare < 60 || bare > 70 {
		t.Errorf("got %d of 200 users without avatar, want 60 to 70", bare)
	}
	with := map[int]int{}
	for _, n := range slices.Concat(notes.calls...) {
		with[len(n.Images)]++
	}
	if len(with) != 4 || with[0] != 100 {
		t.Errorf("got notes by number of pictures: %v", with)
	}
	if want := 2 + shopPictures + faces + dishes; len(pictures.drawn) > want || len(pictures.drawn) < want-faces {
		t.Errorf("got %d pictures, want about %d", len(pictures.drawn), want)
	}
}

func TestSeedWithoutPictures(t *testing.T) {
	pictures, shops := &fakePictures{}, &fakeShops{}
	services := Services{Shops: shops, Accounts: &fakeAccounts{}, Pictures: pictures, Icons: &fakeIcons{bare: []string{"bar"}}}
	if err := Seed(t.Context(), services, Plan{Users: 3, Shops: 3}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(pictures.drawn) > 0 || len(shops.calls[0][0].Images) > 0 {
		t.Errorf("got %d pictures, a shop with %v", len(pictures.drawn), shops.calls[0][0].Images)
	}
}

func TestSeedCheckIns(t *testing.T) {
	into := &fakeCheckIns{}
	services := Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, CheckIns: into}
	plan := Plan{Users: 300, Shops: 1, CheckIns: 200, Seed: 3, Today: newYear()}
	if err := Seed(t.Context(), services, plan, io.Discard); err != nil {
		t.Fatal(err)
	}
	by, seen := map[int64]int{}, map[checkin.Draft]bool{}
	for _, d := range into.drafts {
		if ago := civil.Days(d.Day, newYear()) - 1; ago < 1 || ago > lastDays || seen[d] {
			t.Fatalf("check-in of %v, seen before: %v", d.Day, seen[d])
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
		t.Errorf("got %d users with check-ins, %d of them nearly daily", len(by), days)
	}
	again := &fakeCheckIns{}
	services.CheckIns, services.Accounts = again, &fakeAccounts{}
	if err := Seed(t.Context(), services, plan, io.Discard); err != nil || !slices.Equal(again.drafts, into.drafts) {
		t.Errorf("the same seed differs: %v", err)
	}
}

func TestSeedVisits(t *testing.T) {
	into := &fakeVisits{}
	const visits = 20_000
	services := Services{Shops: &fakeShops{}, Accounts: &fakeAccounts{}, Visits: into}
	if err := Seed(t.Context(), services, Plan{Users: 100, Shops: 50, Visits: visits, Seed: 3, Today: newYear()}, io.Discard); err != nil {
		t.Fatal(err)
	}
	site, shops := int64(0), int64(0)
	once, users, anonymous := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, d := range into.days {
		key := fmt.Sprint(d.Shop, d.Date)
		if ago := civil.Days(d.Date, newYear()) - 1; once[key] || ago < 1 || ago > lastDays || int64(len(d.Visitors)) != d.Views || d.Views == 0 {
			t.Fatalf("day %v of shop %d, seen before: %v, %d views", d.Date, d.Shop, once[key], d.Views)
		}
		once[key] = true
		if d.Shop == 0 {
			site += d.Views
		} else {
			shops += d.Views
		}
		for _, v := range d.Visitors {
			if strings.HasPrefix(v, "u:") {
				users[v] = true
			} else {
				anonymous[v] = true
			}
		}
	}
	if site < visits-lastDays || site > visits+lastDays || shops < visits*6/10 || shops > visits*8/10 {
		t.Errorf("got %d visits to the site, %d to shops", site, shops)
	}
	if len(users) < 80 || len(anonymous) < 2000 {
		t.Errorf("got %d users and %d anonymous visitors", len(users), len(anonymous))
	}
}

func TestInvalidPlansAreRejected(t *testing.T) {
	for want, plan := range map[string]Plan{
		"check-ins of 3 users": {Users: 2, CheckIns: 3},
		"visits need shops":    {Visits: 1},
		"visits: the number":   {Shops: 1, Visits: MaxVisits + 1},
	} {
		if err := plan.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", plan, err)
		}
	}
}
