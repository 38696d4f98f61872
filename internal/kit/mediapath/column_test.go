package mediapath

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestColumnEncodingIsStable(t *testing.T) {
	sizes := map[string]Size{"/media/a.png": {Width: 640, Height: 480}}
	const both = `[{"url":"/media/a.png","width":640,"height":480},{"url":"/media/b\u0026\"c\".png"}]`
	if got := Column([]string{"/media/a.png", `/media/b&"c".png`}, sizes); got != both {
		t.Errorf("got column %s, want %s", got, both)
	}
	if got := Column(nil, nil); got != "[]" {
		t.Errorf("without images: got %s, want []", got)
	}
	paths, err := PathsOf(both)
	if d := cmp.Diff([]string{"/media/a.png", `/media/b&"c".png`}, paths); d != "" || err != nil {
		t.Errorf("paths: %v (-want +got)\n%s", err, d)
	}
	images, err := ImagesOf(both)
	if d := cmp.Diff([]Image{ImageOf("/media/a.png", 640, 480), ImageOf(`/media/b&"c".png`, 0, 0)}, images); d != "" || err != nil {
		t.Errorf("images: %v (-want +got)\n%s", err, d)
	}
	for _, none := range []string{"", "[]", "null", " [ ] "} {
		if images, err := ImagesOf(none); images != nil || err != nil {
			t.Errorf("%q: got %v, %v, want no images", none, images, err)
		}
	}
}

func TestWithoutRemovesOneImage(t *testing.T) {
	const column = `[{"url": "/media/a.png", "width": 640, "height": 480}, {"url": "/media/b.png"}]`
	for _, tt := range []struct {
		column, path, left string
		found              bool
	}{
		{column, "/media/a.png", `[{"url":"/media/b.png"}]`, true},
		{column, "/media/b.png", `[{"url":"/media/a.png","width":640,"height":480}]`, true},
		{`[{"url":"/media/b.png"}]`, "/media/b.png", "[]", true},
		{`[{"url":"/media/b.png"}]`, "/media/c.png", `[{"url":"/media/b.png"}]`, false},
		{"[]", "/media/b.png", "[]", false},
	} {
		left, found, err := Without(tt.column, tt.path)
		if left != tt.left || found != tt.found || err != nil {
			t.Errorf("%s without %s: got %s, %v, %v, want %s, %v", tt.column, tt.path, left, found, err, tt.left, tt.found)
		}
	}
}

func TestCorruptColumnsAreErrors(t *testing.T) {
	for _, column := range []string{"x", "{}", "[1]", `[{"url":1}]`, `[{"url":"/media/a.png"}`} {
		if _, err := ImagesOf(column); err == nil {
			t.Errorf("images of %s: got no error", column)
		}
		if _, err := PathsOf(column); err == nil {
			t.Errorf("paths of %s: got no error", column)
		}
		if _, _, err := Without(column, "/media/a.png"); err == nil {
			t.Errorf("%s without an image: got no error", column)
		}
	}
}
