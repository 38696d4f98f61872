package media

import (
	"bytes"
	"context"
	"errors"
	"image"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/picture"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/testkit/storetest"
)

// Names must not depend on uploads of other users, and hashes must not be computable from a picture.
func TestNamesArePerUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		file := pngOf(painted(60, 40))
		first, second := p.upload(t, ann, file), other.upload(t, bob, file)
		a, _ := mediapath.Parse(first.URL)
		b, _ := mediapath.Parse(second.URL)
		if a.Hash == b.Hash || a.ID == b.ID {
			t.Errorf("two users: got names %s and %s, want different ones", first.URL, second.URL)
		}
		made, err := p.decode(t.Context(), bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if a.Hash == made.hash() || b.Hash == made.hash() {
			t.Error("the name of an upload is the plain hash of its content")
		}
		if again := other.upload(t, ann, file); again.URL != first.URL {
			t.Errorf("other process: got %s, want %s", again.URL, first.URL)
		}
		if n := p.DB.Picture.Query().Where(picture.UploaderID(bob)).CountX(t.Context()); n != 1 {
			t.Errorf("second user: got %d rows, want 1", n)
		}
	})
}

func TestOnlyUploaderShowsPicture(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		drawn, err := p.Save(ctx, []image.Image{image.NewGray(image.Rect(0, 0, 3, 3))})
		if err != nil {
			t.Fatal(err)
		}
		byAnn, byBob := mediapath.Editor{UserID: ann, ItemID: 1}, mediapath.Editor{UserID: bob, ItemID: 1}
		known := func(by mediapath.Editor, path string) bool {
			t.Helper()
			sizes, err := p.UsagesOf(OfShop).Sizes(ctx, by, []string{path})
			if err != nil {
				t.Fatal(err)
			}
			_, ok := sizes[path]
			return ok
		}
		for _, by := range []mediapath.Editor{byBob, {}, {UserID: bob}} {
			if known(by, url) {
				t.Errorf("%+v: got the picture from Known", by)
			}
			if err := p.showBy(ctx, by, OfShop, 1, url); refusedFor(err) != mediapath.Rejected {
				t.Errorf("%+v shows the picture: got %v, want %s", by, err, mediapath.Rejected)
			}
			if err := p.showBy(ctx, by, OfShop, 1, drawn[0].URL); refusedFor(err) != mediapath.Rejected {
				t.Errorf("%+v shows a picture of the program: got %v, want %s", by, err, mediapath.Rejected)
			}
		}
		if err := p.showBy(ctx, byAnn, OfShop, 1, url); !known(byAnn, url) || err != nil {
			t.Errorf("uploader: got %v, want nil", err)
		}
		// A thing retains its pictures when another user edits it.
		if err := p.showBy(ctx, byBob, OfShop, 1, url); !known(byBob, url) || err != nil {
			t.Errorf("other editor of the thing: got %v, want nil", err)
		}
		if known(mediapath.Editor{UserID: bob, ItemID: 2}, url) {
			t.Error("other thing: got the picture from Known")
		}
		if err := p.showBy(ctx, byBob, OfNote, 1, url); refusedFor(err) != mediapath.Rejected {
			t.Errorf("other kind: got %v, want %s", err, mediapath.Rejected)
		}
	})
}

// dropped records the things that lost a picture. Its first calls fail.
type dropped struct {
	mu    sync.Mutex
	fails int
	ids   []int64
}

func (d *dropped) remove(_ context.Context, owner int64, _ string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.fails > 0 {
		d.fails--
		return errors.New("thing is locked")
	}
	d.ids = append(d.ids, owner)
	return nil
}

func TestDeletedPicturesAreGone(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		var things dropped
		p.OnDelete(OfNote, things.remove)
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		name, _ := mediapath.Parse(url)
		small := name
		small.Small = true
		for _, note := range []int64{4, 5} {
			if err := p.showBy(ctx, mediapath.Editor{UserID: ann}, OfNote, note, url); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Delete(ctx, Editor{UserID: bob}, url); apierror.KindOf(err) != apierror.Forbidden {
			t.Errorf("other user: got %v, want FORBIDDEN", err)
		}
		for _, path := range []string{small.Path(), "/media/a.jpg", mediapath.Name{Hash: name.Hash, ID: name.ID + 9}.Path(), mediapath.Name{Hash: name.Hash, ID: name.ID, PNG: !name.PNG}.Path()} {
			if err := p.Delete(ctx, Editor{UserID: ann}, path); refusedFor(err) != apierror.NotFound {
				t.Errorf("%s: got %v, want NOT_FOUND", path, err)
			}
		}
		if err := p.Delete(ctx, Editor{UserID: ann}, url); err != nil {
			t.Fatal(err)
		}
		slices.Sort(things.ids)
		if !slices.Equal(things.ids, []int64{4, 5}) {
			t.Errorf("got drops from notes %v, want 4 and 5", things.ids)
		}
		for _, n := range []mediapath.Name{name, small} {
			if f, err := p.files.Get(ctx, n.File()); err == nil {
				_ = f.Close()
				t.Errorf("file %s still exists", n.File())
			}
		}
		if err := p.showBy(ctx, mediapath.Editor{UserID: ann}, OfNote, 4, url); refusedFor(err) != mediapath.Rejected {
			t.Errorf("show again: got %v, want %s", err, mediapath.Rejected)
		}
		if err := p.Delete(ctx, Editor{UserID: ann}, url); refusedFor(err) != apierror.NotFound {
			t.Errorf("delete again: got %v, want NOT_FOUND", err)
		}
		if n := p.DB.PictureUse.Query().CountX(ctx) + p.DB.Picture.Query().CountX(ctx); n != 0 {
			t.Errorf("got %d rows, want 0", n)
		}
		if n := storetest.CountWaiting(t, p.box); n != 0 {
			t.Errorf("got %d jobs, want 0", n)
		}
	})
}

func TestDeleteDropsFromManyThings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		var things dropped
		p.OnDelete(OfNote, things.remove)
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		shown := map[int64]mediapath.Usage{}
		for note := range int64(300) {
			shown[math.MaxInt64-note] = mediapath.Usage{By: mediapath.Editor{UserID: ann}, Paths: []string{url}}
		}
		err := ent.WithTx(ctx, p.DB, func(tx *ent.Tx) error { return p.UsagesOf(OfNote).SetUsed(ctx, tx, shown) })
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Delete(ctx, Editor{UserID: ann}, url); err != nil || len(things.ids) != len(shown) {
			t.Errorf("got drops from %d notes, %v, want %d", len(things.ids), err, len(shown))
		}
	})
}

// An upload must not leave files without a row if the picture is deleted meanwhile.
func TestUploadDuringDeletionLeavesNoFiles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		ctx := t.Context()
		file := pngOf(painted(10, 5))
		url := p.upload(t, ann, file).URL
		var once sync.Once
		p.files.onPut = func() {
			once.Do(func() {
				if err := other.Delete(ctx, Editor{UserID: ann}, url); err != nil {
					t.Error(err)
				}
			})
		}
		if _, err := p.Upload(ctx, ann, bytes.NewReader(file)); apierror.KindOf(err) != apierror.Unavailable {
			t.Errorf("upload: got %v, want UNAVAILABLE", err)
		}
		screen, _ := mediapath.Parse(url)
		small := screen
		small.Small = true
		for _, n := range []mediapath.Name{screen, small} {
			if f, err := p.files.Get(ctx, n.File()); err == nil {
				_ = f.Close()
				t.Errorf("file %s still exists", n.File())
			}
		}
		if again := p.upload(t, ann, file); again.URL == url {
			t.Error("next upload has the name of the deleted picture")
		}
	})
}

func TestDropsEndWithTheirContext(t *testing.T) {
	s := bare()
	ctx, cancel := context.WithCancel(t.Context())
	var things dropped
	s.onDelete = map[Kind]func(context.Context, int64, string) error{OfNote: func(ctx context.Context, owner int64, path string) error {
		cancel()
		return things.remove(ctx, owner, path)
	}}
	if err := s.dropAll(ctx, drop{OfNote, 1, "a"}, drop{OfNote, 2, "a"}); !errors.Is(err, context.Canceled) || len(things.ids) != 1 {
		t.Errorf("got %d drops, %v, want 1, %v", len(things.ids), err, context.Canceled)
	}
}

func TestAdministratorsDeleteOtherPictures(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		admin := Editor{UserID: bob, IsAdmin: true}
		drawn, err := p.Save(ctx, []image.Image{image.NewGray(image.Rect(0, 0, 3, 3)), image.NewGray(image.Rect(0, 0, 4, 3))})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.show(ctx, OfShopType, 1, drawn[1].URL); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{p.upload(t, ann, pngOf(painted(10, 5))).URL, drawn[0].URL} {
			if err := p.Delete(ctx, admin, path); err != nil {
				t.Errorf("%s: got %v, want nil", path, err)
			}
		}
		if err := p.Delete(ctx, admin, drawn[1].URL); apierror.KindOf(err) != apierror.Forbidden {
			t.Errorf("icon of a shop type: got %v, want FORBIDDEN", err)
		}
	})
}

func TestUnfinishedDeletionsAreRepeated(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		things := dropped{fails: 1}
		p.OnDelete(OfUser, things.remove)
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		if err := p.showBy(ctx, mediapath.Editor{UserID: ann}, OfUser, ann, url); err != nil {
			t.Fatal(err)
		}
		p.files.set(true)
		if err := p.Delete(ctx, Editor{UserID: ann}, url); err != nil {
			t.Fatal(err)
		}
		if n := storetest.CountWaiting(t, p.box); n != 2 {
			t.Errorf("got %d jobs, want one for the files and one for the user", n)
		}
		p.files.set(false)
		name, _ := mediapath.Parse(url)
		if err := errors.Join(p.deleteFiles(ctx, name.File()), p.dropAll(ctx, drop{OfUser, ann, url})); err != nil || len(things.ids) != 1 {
			t.Errorf("jobs: got %v and drops %v, want one", err, things.ids)
		}
	})
}

// A thing that begins to show a picture during its deletion either loses it again or is refused.
func TestNoUseSurvivesADeletion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		for round := range int64(20) {
			var things dropped
			p.OnDelete(OfNote, things.remove)
			url := p.upload(t, ann, pngOf(painted(10+int(round), 5))).URL
			var shown error
			var all sync.WaitGroup
			all.Go(func() { shown = p.showBy(ctx, mediapath.Editor{UserID: ann}, OfNote, round, url) })
			all.Go(func() {
				if err := p.Delete(ctx, Editor{UserID: ann}, url); err != nil {
					t.Error(err)
				}
			})
			all.Wait()
			if shown != nil && refusedFor(shown) != mediapath.Rejected {
				t.Fatal(shown)
			}
			if lost := slices.Contains(things.ids, round); lost != (shown == nil) {
				t.Errorf("round %d: got shown %v, dropped %v, want both or none", round, shown, lost)
			}
			if n := p.DB.PictureUse.Query().CountX(ctx); n != 0 {
				t.Fatalf("round %d: got %d uses, want 0", round, n)
			}
		}
	})
}
