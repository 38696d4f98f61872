package drawing

import (
	"context"
	"fmt"
	"image"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/mediapath"
)

// fakePictures numbers pictures in the order of their storage.
type fakePictures struct{ saved int }

func (f *fakePictures) Save(_ context.Context, drawn []image.Image) (stored []mediapath.Image, err error) {
	for range drawn {
		f.saved++
		stored = append(stored, mediapath.Image{URL: fmt.Sprint(f.saved)})
	}
	return stored, nil
}

// fakeIcons has types without an icon.
type fakeIcons struct {
	missing []string
	paths   map[string]string
}

func (f *fakeIcons) TypesWithoutIcon(context.Context) ([]string, error) { return f.missing, nil }

func (f *fakeIcons) SetIcons(_ context.Context, paths map[string]string) error {
	f.paths = paths
	return nil
}

func TestAlbumDrawsEachMotifOnce(t *testing.T) {
	pictures, icons := &fakePictures{}, &fakeIcons{missing: []string{"bar", "cafe"}}
	album := NewAlbum(pictures)
	if err := album.AddIcons(t.Context(), icons); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"bar": "1", "cafe": "2"}, icons.paths); diff != "" {
		t.Errorf("icons (-want +got)\n%s", diff)
	}
	first, second := FaceMotif(0), FaceMotif(1)
	if err := album.Fill(t.Context(), first, second, first); err != nil {
		t.Fatal(err)
	}
	if err := album.Fill(t.Context(), second, FaceMotif(faces)); err != nil {
		t.Fatal(err)
	}
	if pictures.saved != 4 {
		t.Errorf("got %d pictures, want 4", pictures.saved)
	}
	if diff := cmp.Diff([]string{"4", "3"}, album.List(second, first, second)); diff != "" {
		t.Errorf("paths (-want +got)\n%s", diff)
	}
}

func TestNilAlbumHasNoPictures(t *testing.T) {
	album, icons := NewAlbum(nil), &fakeIcons{missing: []string{"bar"}}
	if err := album.Fill(t.Context(), FaceMotif(0)); err != nil {
		t.Error(err)
	}
	if err := album.AddIcons(t.Context(), icons); err != nil || icons.paths != nil {
		t.Errorf("got icons %v, %v", icons.paths, err)
	}
	if got := album.List(FaceMotif(0)); got != nil {
		t.Errorf("got paths %v, want none", got)
	}
}
