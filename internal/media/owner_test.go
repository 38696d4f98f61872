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

// The name of a picture must not depend on uploads of other users, and its hash must not
// be computable from the picture.
func TestUploadsOfOthersDoNotChangeNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		dir := t.TempDir()
		p, other := open(t, on, dir), open(t, on, dir)
		file := pngOf(painted(60, 40))
		first, second := p.upload(t, ann, file), other.upload(t, bob, file)
		a, _ := mediapath.Parse(first.URL)
		b, _ := mediapath.Parse(second.URL)
		if a.Hash == b.Hash || a.ID == b.ID {
			t.Errorf("two users have the names %s and %s", first.URL, second.URL)
		}
		made, err := p.decode(t.Context(), bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		if a.Hash == made.hash() || b.Hash == made.hash() {
			t.Error("the name of an upload is the plain hash of its content")
		}
		if again := other.upload(t, ann, file); again.URL != first.URL {
			t.Errorf("the same user gets %s in another process, want %s", again.URL, first.URL)
		}
		if n := p.DB.Picture.Query().Where(picture.UploaderID(bob)).CountX(t.Context()); n != 1 {
			t.Errorf("the second user has %d rows, want 1", n)
		}
	})
}

func TestOnlyItsUserShowsAPicture(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		drawn, err := p.Save(ctx, []image.Image{image.NewGray(image.Rect(0, 0, 3, 3))})
		if err != nil {
			t.Fatal(err)
		}
		byAnn, byBob := mediapath.Editor{UserID: ann, ThingID: 1}, mediapath.Editor{UserID: bob, ThingID: 1}
		known := func(by mediapath.Editor, path string) bool {
			t.Helper()
			sizes, err := p.UsagesOf(OfShop).Known(ctx, by, []string{path})
			if err != nil {
				t.Fatal(err)
			}
			_, ok := sizes[path]
			return ok
		}
		for _, by := range []mediapath.Editor{byBob, {}, {UserID: bob}} {
			if known(by, url) {
				t.Errorf("%+v knows the picture", by)
			}
			if err := p.showBy(ctx, by, OfShop, 1, url); refusedFor(err) != mediapath.Rejected {
				t.Errorf("%+v shows the picture: %v", by, err)
			}
			if err := p.showBy(ctx, by, OfShop, 1, drawn[0].URL); refusedFor(err) != mediapath.Rejected {
				t.Errorf("%+v shows a picture of the program: %v", by, err)
			}
		}
		if err := p.showBy(ctx, byAnn, OfShop, 1, url); !known(byAnn, url) || err != nil {
			t.Errorf("its user does not show it: %v", err)
		}
		// A thing keeps the pictures that it shows, also when another user edits it.
		if err := p.showBy(ctx, byBob, OfShop, 1, url); !known(byBob, url) || err != nil {
			t.Errorf("the thing loses it: %v", err)
		}
		if known(mediapath.Editor{UserID: bob, ThingID: 2}, url) {
			t.Error("another thing may show it")
		}
		if err := p.showBy(ctx, byBob, OfNote, 1, url); refusedFor(err) != mediapath.Rejected {
			t.Errorf("a thing of another kind shows it: %v", err)
		}
	})
}

// dropped records which things lost a picture. The first calls fail.
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
		return errors.New("the thing is locked")
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
			t.Errorf("another user deletes it: %v", err)
		}
		for _, path := range []string{small.Path(), "/media/a.jpg", mediapath.Name{Hash: name.Hash, ID: name.ID + 9}.Path(), mediapath.Name{Hash: name.Hash, ID: name.ID, PNG: !name.PNG}.Path()} {
			if err := p.Delete(ctx, Editor{UserID: ann}, path); refusedFor(err) != apierror.NotFound {
				t.Errorf("%s is deleted: %v", path, err)
			}
		}
		if err := p.Delete(ctx, Editor{UserID: ann}, url); err != nil {
			t.Fatal(err)
		}
		slices.Sort(things.ids)
		if !slices.Equal(things.ids, []int64{4, 5}) {
			t.Errorf("the notes %v lose it, want 4 and 5", things.ids)
		}
		for _, n := range []mediapath.Name{name, small} {
			if f, err := p.files.Get(ctx, n.File()); err == nil {
				_ = f.Close()
				t.Errorf("%s is still there", n.File())
			}
		}
		if err := p.showBy(ctx, mediapath.Editor{UserID: ann}, OfNote, 4, url); refusedFor(err) != mediapath.Rejected {
			t.Errorf("it is shown again: %v", err)
		}
		if err := p.Delete(ctx, Editor{UserID: ann}, url); refusedFor(err) != apierror.NotFound {
			t.Errorf("it is deleted twice: %v", err)
		}
		if n := p.DB.PictureUse.Query().CountX(ctx) + p.DB.Picture.Query().CountX(ctx); n != 0 {
			t.Errorf("%d rows are left", n)
		}
		if n := storetest.Waiting(t, p.box); n != 0 {
			t.Errorf("%d jobs are left", n)
		}
	})
}

func TestPicturesOfManyThingsAreDeleted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, on storetest.Stores) {
		p := open(t, on, t.TempDir())
		ctx := t.Context()
		var things dropped
		p.OnDelete(OfNote, things.remove)
		url := p.upload(t, ann, pngOf(painted(10, 5))).URL
		shown := map[int64]mediapath.Shown{}
		for note := range int64(300) {
			shown[math.MaxInt64-note] = mediapath.Shown{By: mediapath.Editor{UserID: ann}, Paths: []string{url}}
		}
		err := ent.WithTx(ctx, p.DB, func(tx *ent.Tx) error { return p.UsagesOf(OfNote).Show(ctx, tx, shown) })
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Delete(ctx, Editor{UserID: ann}, url); err != nil || len(things.ids) != len(shown) {
			t.Errorf("%d of %d notes lose it: %v", len(things.ids), len(shown), err)
		}
	})
}

// An upload of a picture that is deleted meanwhile must not leave files without a row.
func TestUploadsDuringADeletionLeaveNoFiles(t *testing.T) {
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
			t.Errorf("the upload returns %v, want UNAVAILABLE", err)
		}
		screen, _ := mediapath.Parse(url)
		small := screen
		small.Small = true
		for _, n := range []mediapath.Name{screen, small} {
			if f, err := p.files.Get(ctx, n.File()); err == nil {
				_ = f.Close()
				t.Errorf("%s is left", n.File())
			}
		}
		if again := p.upload(t, ann, file); again.URL == url {
			t.Error("the next upload has the name of the deleted picture")
		}
	})
}

func TestADeletionEndsWithItsContext(t *testing.T) {
	s := bare()
	ctx, cancel := context.WithCancel(t.Context())
	var things dropped
	s.onDelete = map[Kind]func(context.Context, int64, string) error{OfNote: func(ctx context.Context, owner int64, path string) error {
		cancel()
		return things.remove(ctx, owner, path)
	}}
	if err := s.dropAll(ctx, drop{OfNote, 1, "a"}, drop{OfNote, 2, "a"}); !errors.Is(err, context.Canceled) || len(things.ids) != 1 {
		t.Errorf("%d things lose it, and the error is %v", len(things.ids), err)
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
				t.Errorf("%s is not deleted: %v", path, err)
			}
		}
		if err := p.Delete(ctx, admin, drawn[1].URL); apierror.KindOf(err) != apierror.Forbidden {
			t.Errorf("the icon of a shop type is deleted: %v", err)
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
		if n := storetest.Waiting(t, p.box); n != 2 {
			t.Errorf("%d jobs wait, want one for the files and one for the user", n)
		}
		p.files.set(false)
		name, _ := mediapath.Parse(url)
		if err := errors.Join(p.deleteFiles(ctx, name.File()), p.dropAll(ctx, drop{OfUser, ann, url})); err != nil || len(things.ids) != 1 {
			t.Errorf("the jobs fail, or lose the user: %v, %v", err, things.ids)
		}
	})
}

// A picture that is deleted while a thing begins to show it is either shown before, and the
// thing loses it, or is refused.
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
				t.Errorf("round %d: shown %v, and lost %v", round, shown, lost)
			}
			if n := p.DB.PictureUse.Query().CountX(ctx); n != 0 {
				t.Fatalf("round %d: %d uses are left", round, n)
			}
		}
	})
}
