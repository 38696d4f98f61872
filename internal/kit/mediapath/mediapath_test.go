package mediapath

import (
	"strings"
	"testing"
)

func TestOnlyPathsBelowMediaAreValid(t *testing.T) {
	for path, want := range map[string]bool{
		"/media/a.webp": true, "/media/a1/b-2_c.png": true, "/media/" + strings.Repeat("a", 181): true,
		"": false, "/media/": false, "/media": false, "media/a": false, "/media/.a": false, "/media/a/../b": false, "/media/..": false,
		"/media//a": false, "/media/a//b": false, "/other/a": false, "/media/a b": false, "/media/a\n": false, "/media/塘": false,
		"https://example.com/media/a": false, "//example.com/media/a": false, "javascript:alert(1)": false,
		"/media/" + strings.Repeat("a", 182): false,
	} {
		if Valid(path) != want {
			t.Errorf("%q: got valid %v, want %v", path, !want, want)
		}
	}
}

func TestParseInvertsPath(t *testing.T) {
	hash := strings.Repeat("0a", 20)
	for _, n := range []Name{{Hash: hash, ID: 1}, {Hash: hash, ID: 1<<63 - 1, PNG: true}, {Hash: hash, ID: 36, Small: true}, {Hash: hash, ID: 7, PNG: true, Small: true}} {
		got, ok := Parse(n.Path())
		if !ok || got != n || !Valid(n.Path()) {
			t.Errorf("%s: got %+v, %v, want %+v", n.Path(), got, ok, n)
		}
	}
	for _, path := range []string{
		"", "/media/", "/media/a.jpg", hash + "-1.jpg", "/media/" + hash + ".jpg", "/media/" + hash + "-0.jpg", "/media/" + hash + "-01.jpg", "/media/" + hash + "-1.gif",
		"/media/" + hash + "-1.jpg.png", "/media/" + strings.ToUpper(hash) + "-1.jpg", "/media/" + hash + "-1.jpg\n", "/media/../media/" + hash + "-1.jpg", "/media/" + hash + "-zzzzzzzzzzzzz.jpg",
	} {
		if n, ok := Parse(path); ok {
			t.Errorf("%q: got %+v, want an error", path, n)
		}
	}
}

func TestUploadedImageHasThumbnail(t *testing.T) {
	n := Name{Hash: strings.Repeat("f", 40), ID: 40}
	if got := ImageOf(n.Path(), 3, 2); got.ThumbnailURL != "/media/"+n.Hash+"-14-small.jpg" || got.URL != n.Path() || *got.Width != 3 || *got.Height != 2 {
		t.Errorf("uploaded image: got %+v", got)
	}
	if got := ImageOf("/media/a.webp", 0, 0); got.ThumbnailURL != "/media/a.webp" || got.Width != nil || got.Height != nil {
		t.Errorf("other image: got %+v", got)
	}
}
