package text

import (
	"strings"
	"testing"
)

func TestLineCleansText(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "荷塘小面 Lotus Pond", "荷塘小面 Lotus Pond"},
		{"composes", "Cafe\u0301", "Café"},
		{"trims and collapses every kind of space", "\u3000a \t\n\u00a0 b\u2028", "a b"},
		{"drops control characters", "a\x00\x1b[31mb\x7f", "a[31mb"},
		{"drops marks that reorder or hide", "\ufeffa\u202eb\u2066c\u200b", "abc"},
		{"keeps joiners", "👨\u200d🍳", "👨\u200d🍳"},
		{"nothing stays nothing", " \n ", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Line(tt.in)
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if again := Line(got); again != got {
				t.Errorf("second pass: got %q, want %q", again, got)
			}
		})
	}
}

func TestTruncateCountsCharacters(t *testing.T) {
	tests := []struct {
		name, in string
		most     int
		want     string
		was      bool
	}{
		{"fits", "荷塘", 2, "荷塘", false},
		{"too long", "荷塘面", 2, "荷塘", true},
		{"leaves no space at the end", "a bc", 2, "a", true},
		{"nothing", "", 2, "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, was := Truncate(tt.in, tt.most); got != tt.want || was != tt.was {
				t.Errorf("got %q, %v; want %q, %v", got, was, tt.want, tt.was)
			}
		})
	}
}

func TestParagraphsKeepTheirLines(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"lines stay", "a\nb", "a\nb"},
		{"one empty line between paragraphs", "a\n\n\n \nb", "a\n\nb"},
		{"none at the ends", "\n\na \n\n", "a"},
		{"every kind of line end", "a\r\nb\rc\u2028d\u2029e", "a\nb\nc\nd\ne"},
		{"lines are cleaned", " a\x00  b\u202e ", "a b"},
		{"nothing stays nothing", "\n \n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Paragraphs(tt.in)
			if got != tt.want || Paragraphs(got) != got {
				t.Errorf("got %q, want %q; again %q", got, tt.want, Paragraphs(got))
			}
		})
	}
}

func TestBlankTextsShowNothing(t *testing.T) {
	for in, want := range map[string]bool{"": true, "\u00a0\u2003": true, "\u200d": true, "\u3164\u2800": true, "\ufe0f": true, "\x00": true, "a": false, "👨": false, "。": false} {
		if Blank(in) != want {
			t.Errorf("Blank(%q) = %v, want %v", in, !want, want)
		}
	}
	if Len(strings.Repeat("塘", 3)) != 3 {
		t.Error("Len counts bytes, want characters")
	}
}

func TestControlCharactersAreFound(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     bool
	}{
		{"nothing", "", false},
		{"letters and signs", "好吃 naïve 👨\u200d🍳 <b>", false},
		{"line ends and tabs", "a\nb\r\nc\td", false},
		{"NUL", "a\x00b", true},
		{"an escape sequence", "\x1b[31mred", true},
		{"backspace", "a\b", true},
		{"vertical tab", "a\vb", true},
		{"form feed", "a\fb", true},
		{"last C0 character", "a\x1f", true},
		{"DEL", "\x7f", true},
		{"first C1 character", "\u0080", true},
		{"next line", "a\u0085b", true},
		{"last C1 character", "\u009f", true},
		{"no-break space", "\u00a0", false},
		{"marks that reorder", "\u202e\u2066\u200f", false},
		{"line and paragraph separators", "\u2028\u2029", false},
		{"invalid UTF-8", "\x80\xff", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := HasControl(tt.in); got != tt.want {
				t.Errorf("HasControl(%q) = %t, want %t", tt.in, got, tt.want)
			}
		})
	}
}
