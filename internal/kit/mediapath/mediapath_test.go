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
			t.Errorf("%q is valid: %v", path, !want)
		}
	}
}
