package errcode

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTruncateEndsAtCharacterBoundary(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"short", "汉", "汉"},
		{"exactly the limit", strings.Repeat("a", MaxText), strings.Repeat("a", MaxText)},
		{"long", strings.Repeat("a", MaxText+1), strings.Repeat("a", MaxText) + "…"},
		{"at a character boundary", strings.Repeat("汉", MaxText), strings.Repeat("汉", MaxText/3) + "…"},
		{"inside a character", "a" + strings.Repeat("汉", MaxText), "a" + strings.Repeat("汉", MaxText/3-1) + "…"},
		{"inside a character, last byte", "ab" + strings.Repeat("汉", MaxText), "ab" + strings.Repeat("汉", MaxText/3-1) + "…"},
		{"no characters", strings.Repeat("\x80", MaxText+1), "…"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, Truncate(tt.text)); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
}
