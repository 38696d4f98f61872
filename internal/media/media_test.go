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

func TestSamePictureHasSameName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		file := jpegOf(painted(400, 200))
		first := p.upload(t, ann, file)
		if *first.Width != 400 || *first.Height != 200 || !mediapath.Valid(first.URL) || first.ThumbnailURL == first.URL {
			t.Errorf("got %+v, want 400 by 200", first)
		}
		for _, again := range []*mediapath.Image{p.upload(t, ann, file), other.upload(t, ann, append(bytes.Clone(file), "and more"...))} {
			if diff := cmp.Diff(first, again); diff != "" {
				t.Errorf("second upload (-want +got):\n%s", diff)
			}
		}
		if another := p.upload(t, ann, jpegOf(painted(400, 201))); another.URL == first.URL {
			t.Error("another picture has the same name")
		}
		for _, path := range []string{first.URL, first.ThumbnailURL} {
			if len(p.content(t, path)) == 0 {
				t.Errorf("%s is empty", path)
			}
		}
		if n := p.DB.Picture.Query().CountX(t.Context()); n != 2 {
			t.Errorf("got %d rows, want 2", n)
		}
	})
}

func TestConcurrentUploadsShareOneName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		p.slotTimeout, other.slotTimeout = time.Minute, time.Minute
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
			t.Errorf("got %v, want one URL", urls)
		}
	})
}

func TestUnstoredPictureIsInvisible(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		file := pngOf(painted(60, 40))
		p.files.set(true)
		if _, err := p.Upload(t.Context(), ann, bytes.NewReader(file)); apierror.KindOf(err) != apierror.Unavailable {
			t.Fatalf("full disk: got %v, want UNAVAILABLE", err)
		}
		row := p.DB.Picture.Query().OnlyX(t.Context())
		if row.Stored {
			t.Error("row is marked as stored")
		}
		if err := p.show(t.Context(), OfNote, 1, nameOf(row).Path()); refusedFor(err) != mediapath.Rejected {
			t.Errorf("show: got %v, want %s", err, mediapath.Rejected)
		}
		p.files.set(false)
		if got := p.upload(t, ann, file); got.URL != nameOf(row).Path() {
			t.Errorf("next upload: got %s, want %s", got.URL, nameOf(row).Path())
		}
		if err := p.show(t.Context(), OfNote, 1, nameOf(row).Path()); err != nil {
			t.Error(err)
		}
	})
}

// limitWait returns the time until the next upload from a refusal above the limit.
func limitWait(t *testing.T, err error) time.Duration {
	t.Helper()
	if refusedFor(err) != quota.LimitReached {
		t.Fatalf("got %v, want LIMIT_REACHED", err)
	}
	why, _ := errors.AsType[apierror.UserErrors](err)
	return why[0].RetryAfter
}

func TestUploadsPerHourAreLimited(t *testing.T) {
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
			t.Errorf("third upload: got a wait of %s, want 40 minutes", wait)
		}
		if err := add(bob, 9); err != nil {
			t.Errorf("other user: got %v, want nil", err)
		}
		for range attemptsPerPicture * p.cfg.PerHour { // invalid files count as attempts
			_, err := p.Upload(t.Context(), 9, strings.NewReader("<html>"))
			if refusedFor(err) != mediapath.Rejected {
				t.Fatal(err)
			}
		}
		if wait := limitWait(t, add(9, 3)); wait <= 0 || wait > time.Hour {
			t.Errorf("rejected attempts: got a wait of %s, want at most an hour", wait)
		}
		now = now.Add(time.Hour + time.Second)
		if err := add(ann, 10); err != nil {
			t.Errorf("an hour later: got %v, want nil", err)
		}
	})
}

func TestUnusedPicturesAreCollectedAfterADay(t *testing.T) {
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
		// The same id of another kind is another owner.
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
				t.Fatalf("got %d collected, %v, want %d", n, err, want)
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
			known, err := p.UsagesOf(OfNote).Sizes(t.Context(), mediapath.SeedEditor(), []string{image.URL})
			if _, ok := known[image.URL]; ok == gone || err != nil {
				t.Errorf("%s: got known %v, %v, want %v", name, ok, err, !gone)
			}
		}
		// A new upload has another name, so a late deletion of the old one cannot hit it.
		if again := p.upload(t, ann, pngOf(painted(12, 5))); again.URL == of["no more"].URL {
			t.Error("new upload has the old name")
		}
		if err := p.show(t.Context(), OfNote, 9, of["never"].URL); refusedFor(err) != mediapath.Rejected {
			t.Errorf("show a collected picture: got %v, want %s", err, mediapath.Rejected)
		}
	})
}

func TestCollectorReadsAllPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		var drawn []image.Image
		for i := range 3 * collectBatch {
			drawn = append(drawn, image.NewGray(image.Rect(0, 0, i+1, 1)))
		}
		saved, err := p.Save(t.Context(), drawn)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(saved); i += 3 { // some of each page are shown
			if err := p.show(t.Context(), OfUser, int64(i+1), saved[i].URL); err != nil {
				t.Fatal(err)
			}
		}
		p.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		if n, err := p.DeleteOrphans(t.Context()); err != nil || n != 2*collectBatch {
			t.Errorf("got %d collected, %v, want %d", n, err, 2*collectBatch)
		}
		if n := p.DB.Picture.Query().CountX(t.Context()); n != collectBatch {
			t.Errorf("got %d rows, want %d", n, collectBatch)
		}
	})
}

func TestFailedFileDeletionsAreRetried(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		image := p.upload(t, ann, pngOf(painted(10, 5)))
		p.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		p.files.set(true)
		if n, err := p.DeleteOrphans(t.Context()); err != nil || n != 1 {
			t.Fatalf("got %d collected, %v, want 1", n, err)
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
			t.Fatalf("got %d waiting jobs, want 1", waiting)
		}
		p.files.set(false)
		name, _ := mediapath.Parse(image.URL)
		for range 2 { // it may be repeated
			if err := p.deleteFiles(t.Context(), name.File()); err != nil {
				t.Fatal(err)
			}
		}
		if f, err := p.files.Get(t.Context(), name.File()); err == nil {
			_ = f.Close()
			t.Error("file still exists")
		}
	})
}

// A thing that begins to show a picture during its collection either keeps it or is refused. No note
// loses its picture.
func TestCollectorSparesShownPictures(t *testing.T) {
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
		t.Logf("%d of %d pictures were collected before they were shown", refusals, 40*raced)
	})
}

const raced = 4 // pictures per round

// raceCollector saves pictures, lets another process show them during their collection, and
// returns how many were collected before.
func (p *process) raceCollector(t *testing.T, other *process, round int) (refusals int) {
	t.Helper()
	var drawn []image.Image
	for i := range raced {
		drawn = append(drawn, image.NewGray(image.Rect(0, 0, i+1, round+1)))
	}
	late := p.now
	p.now = time.Now
	saved, err := p.Save(t.Context(), drawn)
	p.now = late
	if err != nil {
		t.Fatal(err)
	}
	shown := make([]bool, len(saved))
	var all sync.WaitGroup
	all.Go(func() {
		for i := range saved {
			switch err := other.show(t.Context(), OfNote, int64(raced*round+i+1), saved[i].URL); {
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
	for i, image := range saved {
		name, _ := mediapath.Parse(image.URL)
		f, err := p.files.Get(t.Context(), name.File())
		if err == nil {
			_ = f.Close()
		}
		if shown[i] && err != nil {
			t.Errorf("round %d: file of shown picture %d: got %v, want nil", round, i, err)
		}
	}
	return refusals
}

func TestOnlyStoredPicturesAreShown(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		image := p.upload(t, ann, pngOf(painted(10, 5)))
		name, _ := mediapath.Parse(image.URL)
		other := name
		other.Hash = strings.Repeat("0", 40)
		bad := map[string]string{
			"another id": mediapath.Name{Hash: name.Hash, ID: name.ID + 1}.Path(), "another hash": other.Path(), "another format": mediapath.Name{Hash: name.Hash, ID: name.ID, PNG: true}.Path(),
			"a thumbnail": image.ThumbnailURL, "invalid path": "/media/a.webp", "other host": "https://example.com" + image.URL,
		}
		for what, path := range bad {
			if err := p.show(t.Context(), OfNote, 1, image.URL, path); refusedFor(err) != mediapath.Rejected {
				t.Errorf("%s: got %v, want %s", what, err, mediapath.Rejected)
			}
			known, err := p.UsagesOf(OfNote).Sizes(t.Context(), mediapath.SeedEditor(), []string{path, image.URL})
			if diff := cmp.Diff(map[string]mediapath.Size{image.URL: {Width: 10, Height: 5}}, known); diff != "" || err != nil {
				t.Errorf("%s: %v, known (-want +got):\n%s", what, err, diff)
			}
		}
		if n := p.DB.PictureUse.Query().CountX(t.Context()); n != 0 {
			t.Errorf("got %d uses, want 0", n)
		}
		for kind, field := range map[Kind]string{OfUser: "avatarUrl", OfShop: "images", OfNote: "images"} {
			why, ok := errors.AsType[apierror.UserErrors](p.show(t.Context(), kind, 1, other.Path()))
			if !ok || fmt.Sprint(why[0].Field) != "[input "+field+"]" {
				t.Errorf("%s: got %+v, want field input.%s", kind, why, field)
			}
		}
	})
}

func TestServedPicturesAreImmutable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		image := p.upload(t, ann, jpegOf(painted(100, 50)))
		transparent := p.upload(t, ann, pngOf(withTransparency(painted(100, 50))))
		get := func(method, path string, header ...string) *httptest.ResponseRecorder {
			q := httptest.NewRequestWithContext(t.Context(), method, path, nil)
			for i := 0; i < len(header); i += 2 {
				q.Header.Set(header[i], header[i+1])
			}
			w := httptest.NewRecorder()
			p.ServeHTTP(w, q)
			return w
		}
		for path, kind := range map[string]string{image.URL: "image/jpeg", image.ThumbnailURL: "image/jpeg", transparent.URL: "image/png", transparent.ThumbnailURL: "image/png"} {
			r := get("GET", path)
			body := r.Body.Bytes()
			if r.Code != 200 || !bytes.Equal(body, p.content(t, path)) {
				t.Errorf("%s: got %d, %d bytes, want 200 with the file", path, r.Code, len(body))
			}
			want := map[string]string{
				"Content-Type": kind, "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
				"Content-Security-Policy": "default-src 'none'; sandbox", "Content-Length": fmt.Sprint(len(body)), "ETag": `"` + strings.TrimPrefix(path, "/media/") + `"`,
			}
			for name, value := range want {
				if got := r.Header().Get(name); got != value {
					t.Errorf("%s: %s: got %q, want %q", path, name, got, value)
				}
			}
			if again := get("GET", path, "If-None-Match", r.Header().Get("ETag")); again.Code != 304 {
				t.Errorf("%s: cached: got %d, want 304", path, again.Code)
			}
			if part := get("GET", path, "Range", "bytes=0-9"); part.Code != 206 || part.Body.Len() != 10 {
				t.Errorf("%s: range: got %d, %d bytes, want 206, 10", path, part.Code, part.Body.Len())
			}
			if head := get("HEAD", path); head.Code != 200 || head.Header().Get("Content-Length") != fmt.Sprint(len(body)) {
				t.Errorf("%s: HEAD: got %d, want 200", path, head.Code)
			}
		}
		name, _ := mediapath.Parse(image.URL)
		for path, status := range map[string]int{
			"/media/": 404, "/media/a.jpg": 404, "/media/..%2fapp.db": 404, "/media/%2e%2e/app.db": 404, strings.TrimSuffix(image.URL, ".jpg") + ".png": 404,
			mediapath.Name{Hash: name.Hash, ID: name.ID + 5}.Path(): 404, image.URL + "/": 404, image.URL + "%00": 404,
		} {
			r := get("GET", path)
			if r.Code != status || r.Header().Get("Cache-Control") != "no-store" || r.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: got %d, %v, want %d without caching", path, r.Code, r.Header(), status)
			}
		}
		if r := get("DELETE", image.URL); r.Code != 405 || r.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("DELETE: got %d, want 405", r.Code)
		}
	})
}

func TestScanRepairsChangesInTheDatabase(t *testing.T) {
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
		find := func(dry bool, found, repaired int) {
			t.Helper()
			r, err := reconcile.New(prometheus.NewRegistry(), p.Log).RunOnce(ctx, p.Scans()[0], reconcile.Options{DryRun: dry})
			if err != nil || r.Found != found || r.Repaired != repaired {
				t.Errorf("dry %v: got %d found, %d repaired, %v, want %d and %d", dry, r.Found, r.Repaired, err, found, repaired)
			}
		}
		find(true, 6, 0)
		find(false, 6, 6)
		find(false, 0, 0)
		p.now = func() time.Time { return time.Now().Add(2 * Orphaned) }
		if n, err := p.DeleteOrphans(ctx); err != nil || n != 1 { // the picture of the deleted note
			t.Errorf("got %d collected, %v, want 1", n, err)
		}
		find(false, 0, 0)
		p.DB.Picture.Delete().ExecX(ctx)
		p.DB.PictureUse.Delete().ExecX(ctx)
		find(false, 4, 0) // missing pictures cannot be repaired
	})
}

// Three pages of users show the same picture. Some uses are missing, and some users do not exist.
func TestScanReadsAllPages(t *testing.T) {
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
		shown := make(map[int64]mediapath.Usage, len(users))
		for _, id := range append(users, gone...) {
			if !slices.Contains(wrong, id) {
				shown[id] = mediapath.Usage{By: mediapath.SeedEditor(), Paths: []string{url}}
			}
		}
		err := ent.WithTx(ctx, p.DB, func(tx *ent.Tx) error { return p.UsagesOf(OfUser).SetUsed(ctx, tx, shown) })
		if err != nil {
			t.Fatal(err)
		}
		p.DB.User.UpdateOneID(users[0]).SetNickname("Bob").ExecX(ctx) // the update may move the row
		for _, want := range []int{len(wrong) + len(gone), 0} {
			r, err := reconcile.New(prometheus.NewRegistry(), p.Log).RunOnce(ctx, p.Scans()[0], reconcile.Options{})
			if err != nil || r.Found != want || r.Repaired != want {
				t.Errorf("got %d found, %d repaired, %v, want %d", r.Found, r.Repaired, err, want)
			}
		}
	})
}
