package media

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/quota"
	"github.com/tandian-dev/tandian/internal/kit/reconcile"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

const ann, bob = int64(7), int64(8) // users

func TestTheSamePictureHasTheSameName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		file := jpegOf(painted(400, 200))
		first := p.upload(t, ann, file)
		if *first.Width != 400 || *first.Height != 200 || !mediapath.Valid(first.URL) || first.ThumbnailURL == first.URL {
			t.Errorf("it is %+v", first)
		}
		for _, again := range []*mediapath.Image{p.upload(t, ann, file), other.upload(t, ann, append(bytes.Clone(file), "and more"...))} {
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("once more it is another one: %s", diff)
			}
		}
		if another := p.upload(t, ann, jpegOf(painted(400, 201))); another.URL == first.URL {
			t.Error("another one has its name")
		}
		for _, path := range []string{first.URL, first.ThumbnailURL} {
			if len(p.contentOf(t, path)) == 0 {
				t.Errorf("%s is empty", path)
			}
		}
		if n := p.DB.Picture.Query().CountX(t.Context()); n != 2 {
			t.Errorf("there are %d rows", n)
		}
	})
}

func TestManyWhoUploadTheSameGetTheSame(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		p.patient, other.patient = time.Minute, time.Minute
		file := pngOf(painted(60, 40))
		var mu sync.Mutex
		urls := map[string]int{}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				image, err := []*process{p, other}[i%2].Upload(t.Context(), ann, bytes.NewReader(file))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				urls[image.URL]++
			})
		}
		all.Wait()
		if len(urls) != 1 {
			t.Errorf("they are %v", urls)
		}
	})
}

func TestAPictureThatCouldNotBeStoredIsNotThere(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		file := pngOf(painted(60, 40))
		p.files.set(true)
		if _, err := p.Upload(t.Context(), ann, bytes.NewReader(file)); apierror.KindOf(err) != apierror.Unavailable {
			t.Fatalf("the disk is full: %v", err)
		}
		row := p.DB.Picture.Query().OnlyX(t.Context())
		if row.Stored {
			t.Error("it is said to be stored")
		}
		if err := p.show(t.Context(), OfNote, 1, nameOf(row).Path()); refusedFor(err) != mediapath.Rejected {
			t.Errorf("a note shows it: %v", err)
		}
		p.files.set(false)
		if got := p.upload(t, ann, file); got.URL != nameOf(row).Path() {
			t.Errorf("the next time it is %s", got.URL)
		}
		if err := p.show(t.Context(), OfNote, 1, nameOf(row).Path()); err != nil {
			t.Error(err)
		}
	})
}

// limitWait returns the time until the next upload, from the refusal of one too many.
func limitWait(t *testing.T, err error) time.Duration {
	t.Helper()
	if refusedFor(err) != quota.LimitReached {
		t.Fatalf("got %v, want LIMIT_REACHED", err)
	}
	why, _ := errors.AsType[apierror.UserErrors](err)
	return why[0].RetryAfter
}

func TestAUserAddsSoManyPicturesAnHour(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		now := time.Now()
		p.cfg.PerHour, p.now = 2, func() time.Time { return now }
		add := func(user int64, w int) error {
			_, err := p.Upload(t.Context(), user, bytes.NewReader(pngOf(painted(w, 4))))
			return err
		}
		for w := range 2 {
			if err := add(ann, w+1); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(20 * time.Minute)
		if wait := limitWait(t, add(ann, 9)); wait < 39*time.Minute || wait > 41*time.Minute {
			t.Errorf("the third may be added in %s, want 40 minutes", wait)
		}
		if err := add(bob, 9); err != nil {
			t.Errorf("somebody else: %v", err)
		}
		for range triesFor * p.cfg.PerHour { // what is no picture is a try
			_, err := p.Upload(t.Context(), 9, strings.NewReader("<html>"))
			if refusedFor(err) != mediapath.Rejected {
				t.Fatal(err)
			}
		}
		if wait := limitWait(t, add(9, 3)); wait <= 0 || wait > time.Hour {
			t.Errorf("who has only tried may try in %s", wait)
		}
		now = now.Add(time.Hour + time.Second)
		if err := add(ann, 10); err != nil {
			t.Errorf("an hour later: %v", err)
		}
	})
}

func TestWhatNothingShowsIsCollectedADayLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p := open(t, on, dir)
		begin := time.Now()
		now := begin
		p.now = func() time.Time { return now }
		of := map[string]*mediapath.Image{}
		for i, name := range []string{"shown", "twice", "no more", "never", "touched"} {
			of[name] = p.upload(t, ann, pngOf(painted(10+i, 5)))
		}
		for owner, name := range map[int64]string{1: "shown", 2: "no more", 3: "twice", 4: "twice"} {
			if err := p.show(t.Context(), OfNote, owner, of[name].URL); err != nil {
				t.Fatal(err)
			}
		}
		// The same owner of another kind is another one.
		if err := p.show(t.Context(), OfShop, 1); err != nil {
			t.Fatal(err)
		}
		for _, owner := range []int64{2, 3} {
			if err := p.show(t.Context(), OfNote, owner); err != nil {
				t.Fatal(err)
			}
		}
		collect := func(want int) {
			t.Helper()
			if n, err := p.DeleteOrphans(t.Context()); err != nil || n != want {
				t.Fatalf("%d are collected, not %d: %v", n, want, err)
			}
		}
		now = begin.Add(Orphaned - time.Minute)
		collect(0)
		p.upload(t, ann, pngOf(painted(14, 5))) // touched
		now = begin.Add(Orphaned + time.Minute)
		collect(2)
		collect(0)
		for name, image := range of {
			gone := name == "no more" || name == "never"
			for _, path := range []string{image.URL, image.ThumbnailURL} {
				parsed, _ := mediapath.Parse(path)
				if f, err := p.files.Get(t.Context(), parsed.File()); (err != nil) != gone {
					t.Errorf("%s: %v", name, err)
				} else if err == nil {
					_ = f.Close()
				}
			}
			known, err := p.UsagesOf(OfNote).Known(t.Context(), mediapath.Program(), []string{image.URL})
			if _, ok := known[image.URL]; ok == gone || err != nil {
				t.Errorf("%s is known: %v, %v", name, ok, err)
			}
		}
		// What is uploaded again has another name: nobody deletes it who meant the other one.
		if again := p.upload(t, ann, pngOf(painted(12, 5))); again.URL == of["no more"].URL {
			t.Error("it has its old name")
		}
		if err := p.show(t.Context(), OfNote, 9, of["never"].URL); refusedFor(err) != mediapath.Rejected {
			t.Errorf("what was collected is shown: %v", err)
		}
	})
}

func TestAllPagesAreCollected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		var drawn []image.Image
		for i := range 3 * collectAtOnce {
			drawn = append(drawn, image.NewGray(image.Rect(0, 0, i+1, 1)))
		}
		kept, err := p.Save(t.Context(), drawn)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(kept); i += 3 { // of each page some are shown
			if err := p.show(t.Context(), OfUser, int64(i+1), kept[i].URL); err != nil {
				t.Fatal(err)
			}
		}
		p.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		if n, err := p.DeleteOrphans(t.Context()); err != nil || n != 2*collectAtOnce {
			t.Errorf("%d are collected: %v", n, err)
		}
		if n := p.DB.Picture.Query().CountX(t.Context()); n != collectAtOnce {
			t.Errorf("%d are left", n)
		}
	})
}

func TestFilesThatCouldNotBeDeletedAreDeletedLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		image := p.upload(t, ann, pngOf(painted(10, 5)))
		p.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		p.files.set(true)
		if n, err := p.DeleteOrphans(t.Context()); err != nil || n != 1 {
			t.Fatalf("%d are collected: %v", n, err)
		}
		p.box.Wait()
		list, err := p.box.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		waiting := int64(0)
		for _, topic := range list {
			waiting += topic.Waiting
		}
		if waiting != 1 {
			t.Fatalf("%d jobs wait", waiting)
		}
		p.files.set(false)
		name, _ := mediapath.Parse(image.URL)
		for range 2 { // it may be done twice
			if err := p.deleteFiles(t.Context(), name.File()); err != nil {
				t.Fatal(err)
			}
		}
		if f, err := p.files.Get(t.Context(), name.File()); err == nil {
			_ = f.Close()
			t.Error("the file is there")
		}
	})
}

// Whoever begins to show a picture while it is collected either shows it, and it stays, or
// is refused: there is no note whose picture is gone.
func TestNoPictureIsCollectedThatSomebodyBeginsToShow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		for _, one := range []*process{p, other} {
			one.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		}
		refusals := 0
		for round := range 40 {
			refusals += p.raceCollector(t, other, round)
		}
		t.Logf("%d of %d were collected before they were shown", refusals, 40*raced)
	})
}

const raced = 4 // pictures of a round

// raceCollector keeps some pictures, has other show them while they are collected, and
// returns how many were gone before.
func (p *process) raceCollector(t *testing.T, other *process, round int) (refusals int) {
	t.Helper()
	var drawn []image.Image
	for i := range raced {
		drawn = append(drawn, image.NewGray(image.Rect(0, 0, i+1, round+1)))
	}
	late := p.now
	p.now = time.Now
	kept, err := p.Save(t.Context(), drawn)
	p.now = late
	if err != nil {
		t.Fatal(err)
	}
	shown := make([]bool, len(kept))
	var all sync.WaitGroup
	all.Go(func() {
		for i := range kept {
			switch err := other.show(t.Context(), OfNote, int64(raced*round+i+1), kept[i].URL); {
			case err == nil:
				shown[i] = true
			case refusedFor(err) == mediapath.Rejected:
				refusals++
			default:
				t.Error(err)
			}
		}
	})
	all.Go(func() {
		if _, err := p.DeleteOrphans(t.Context()); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	for i, image := range kept {
		name, _ := mediapath.Parse(image.URL)
		f, err := p.files.Get(t.Context(), name.File())
		if err == nil {
			_ = f.Close()
		}
		if shown[i] && err != nil {
			t.Errorf("round %d: picture %d is shown, and its file: %v", round, i, err)
		}
	}
	return refusals
}

func TestOnlyPicturesThatAreHereAreShown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		image := p.upload(t, ann, pngOf(painted(10, 5)))
		name, _ := mediapath.Parse(image.URL)
		other := name
		other.Hash = strings.Repeat("0", 40)
		bad := map[string]string{
			"another id": mediapath.Name{Hash: name.Hash, ID: name.ID + 1}.Path(), "another hash": other.Path(), "another format": mediapath.Name{Hash: name.Hash, ID: name.ID, PNG: true}.Path(),
			"a thumbnail": image.ThumbnailURL, "a path of no picture": "/media/a.webp", "elsewhere": "https://example.com" + image.URL,
		}
		for what, path := range bad {
			if err := p.show(t.Context(), OfNote, 1, image.URL, path); refusedFor(err) != mediapath.Rejected {
				t.Errorf("%s: %v", what, err)
			}
			known, err := p.UsagesOf(OfNote).Known(t.Context(), mediapath.Program(), []string{path, image.URL})
			if diff := cmp.Diff(map[string]mediapath.Size{image.URL: {Width: 10, Height: 5}}, known); diff != "" || err != nil {
				t.Errorf("%s is known: %s, %v", what, diff, err)
			}
		}
		if n := p.DB.PictureUse.Query().CountX(t.Context()); n != 0 {
			t.Errorf("%d uses are written down", n)
		}
		for kind, field := range map[Kind]string{OfUser: "avatarUrl", OfShop: "images", OfNote: "images"} {
			why, ok := errors.AsType[apierror.UserErrors](p.show(t.Context(), kind, 1, other.Path()))
			if !ok || fmt.Sprint(why[0].Field) != "[input "+field+"]" {
				t.Errorf("%s: %+v", kind, why)
			}
		}
	})
}

func TestAPictureIsServedForEver(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		image := p.upload(t, ann, jpegOf(painted(100, 50)))
		glass := p.upload(t, ann, pngOf(seeThrough(painted(100, 50))))
		ask := func(method, path string, header ...string) *httptest.ResponseRecorder {
			q := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			for i := 0; i < len(header); i += 2 {
				q.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			p.ServeHTTP(w, q)
			return w
		}
		for path, kind := range map[string]string{image.URL: "image/jpeg", image.ThumbnailURL: "image/jpeg", glass.URL: "image/png", glass.ThumbnailURL: "image/png"} {
			r := ask("GET", path)
			body := r.Body.Bytes()
			if r.Code != 200 || !bytes.Equal(body, p.contentOf(t, path)) {
				t.Errorf("%s: %d, %d bytes", path, r.Code, len(body))
			}
			want := map[string]string{
				"Content-Type": kind, "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; sandbox", "Content-Length": fmt.Sprint(len(body)), "ETag": `"` + strings.TrimPrefix(path, "/media/") + `"`,
			}
			for name, value := range want {
				if got := r.Header().Get(name); got != value {
					t.Errorf("%s: %s is %q, not %q", path, name, got, value)
				}
			}
			if again := ask("GET", path, "If-None-Match", r.Header().Get("ETag")); again.Code != 304 {
				t.Errorf("%s: who has it gets %d", path, again.Code)
			}
			if part := ask("GET", path, "Range", "bytes=0-9"); part.Code != 206 || part.Body.Len() != 10 {
				t.Errorf("%s: a part is %d, %d bytes", path, part.Code, part.Body.Len())
			}
			if head := ask("HEAD", path); head.Code != 200 || head.Header().Get("Content-Length") != fmt.Sprint(len(body)) {
				t.Errorf("%s: HEAD is %d", path, head.Code)
			}
		}
		name, _ := mediapath.Parse(image.URL)
		for path, status := range map[string]int{
			"/media/": 404, "/media/a.jpg": 404, "/media/..%2fapp.db": 404, "/media/%2e%2e/app.db": 404, strings.TrimSuffix(image.URL, ".jpg") + ".png": 404,
			mediapath.Name{Hash: name.Hash, ID: name.ID + 5}.Path(): 404, image.URL + "/": 404, image.URL + "%00": 404,
		} {
			r := ask("GET", path)
			if r.Code != status || r.Header().Get("Cache-Control") != "no-store" || r.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d, %v", path, r.Code, r.Header())
			}
		}
		if r := ask("DELETE", image.URL); r.Code != 405 || r.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("DELETE is %d", r.Code)
		}
	})
}

func TestTheScanSetsRightWhatSomebodyChangedPastTheProgram(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		var urls []string
		for i := range 4 {
			urls = append(urls, p.upload(t, ann, pngOf(painted(10+i, 5))).URL)
		}
		images := func(paths ...string) string { return mediapath.Column(paths, nil) }
		user := p.DB.User.Create().SetNickname("Ann").SetAvatarURL(urls[0]).SaveX(ctx)
		typ := p.DB.ShopType.Create().SetKey("cafe").SetName("Cafe").SetSort(1).SetIconURL(urls[1]).SaveX(ctx)
		shop := p.DB.Shop.Create().SetTypeID(typ.ID).SetName("A").SetLat(1).SetLng(1).SetGeo(1).SetSearch("a").SetImages(images(urls[0], urls[1])).SaveX(ctx)
		made := p.DB.Note.Create().SetAuthorID(user.ID).SetShopID(shop.ID).SetTitle("A").SetContent("A").SetImages(images(urls[2], "/media/old.webp")).SetCreatedAt(1).SaveX(ctx)
		ended := p.DB.Note.Create().SetAuthorID(user.ID).SetShopID(shop.ID).SetTitle("A").SetContent("A").SetImages(images(urls[3])).SetCreatedAt(1).SetDeletedAt(2).SaveX(ctx)
		for owner, path := range map[int64]string{made.ID: urls[3], ended.ID: urls[3], 4711: urls[0]} {
			if err := p.show(ctx, OfNote, owner, path); err != nil {
				t.Fatal(err)
			}
		}
		find := func(dry bool, found, mended int) {
			t.Helper()
			r, err := reconcile.New(prometheus.NewRegistry(), p.Log).RunOnce(ctx, p.Scans()[0], reconcile.Options{DryRun: dry})
			if err != nil || r.Found != found || r.Repaired != mended {
				t.Errorf("dry %v: found %d, mended %d, not %d and %d: %v", dry, r.Found, r.Repaired, found, mended, err)
			}
		}
		find(true, 6, 0)
		find(false, 6, 6)
		find(false, 0, 0)
		p.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		if n, err := p.DeleteOrphans(ctx); err != nil || n != 1 { // that of the note which was deleted
			t.Errorf("%d are collected, %v", n, err)
		}
		find(false, 0, 0)
		p.DB.Picture.Delete().ExecX(ctx)
		p.DB.PictureUse.Delete().ExecX(ctx)
		find(false, 4, 0) // what is gone cannot be mended
	})
}

// Three pages of users show the same picture, which is not written down for some; and it is
// for some who are gone.
func TestTheScanReadsAllThingsInPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		var users []int64
		for range 3 {
			some := make([]*ent.UserCreate, scanPage-10)
			for i := range some {
				some[i] = p.DB.User.Create().SetNickname("Ann").SetAvatarURL(url)
			}
			for _, u := range p.DB.User.CreateBulk(some...).SaveX(ctx) {
				users = append(users, u.ID)
			}
		}
		last := len(users) - 1
		wrong := []int64{users[0], users[scanPage-1], users[scanPage], users[last-1], users[last]}
		gone := []int64{users[last] + 1, users[last] + 2}
		shown := make(map[int64]mediapath.Shown, len(users))
		for _, id := range append(users, gone...) {
			if !slices.Contains(wrong, id) {
				shown[id] = mediapath.Shown{By: mediapath.Program(), Paths: []string{url}}
			}
		}
		err := ent.WithTx(ctx, p.DB, func(tx *ent.Tx) error { return p.UsagesOf(OfUser).Show(ctx, tx, shown) })
		if err != nil {
			t.Fatal(err)
		}
		p.DB.User.UpdateOneID(users[0]).SetNickname("Bob").ExecX(ctx) // it may lie behind the others now
		for _, want := range []int{len(wrong) + len(gone), 0} {
			r, err := reconcile.New(prometheus.NewRegistry(), p.Log).RunOnce(ctx, p.Scans()[0], reconcile.Options{})
			if err != nil || r.Found != want || r.Repaired != want {
				t.Errorf("found %d, mended %d, not %d: %v", r.Found, r.Repaired, want, err)
			}
		}
	})
}
