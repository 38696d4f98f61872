package jsonbody

import "testing"

func TestIsUTF8KnowsEveryLabel(t *testing.T) {
	tests := []struct {
		charset string
		want    bool
	}{
		{"", true},
		{"utf-8", true},
		{"UTF-8", true},
		{"utf8", true},
		{"Utf8", true},
		{"unicode-1-1-utf-8", true},
		{"Unicode11UTF8", true},
		{"unicode20utf8", true},
		{"X-UNICODE20UTF8", true},
		{" \tutf8\r\n", true},
		{"utf-16", false},
		{"utf-16le", false},
		{"unicode", false}, // UTF-16LE
		{"utf-7", false},
		{"utf 8", false},
		{"utf_8", false},
		{"iso-8859-1", false},
		{"us-ascii", false}, // windows-1252
		{"gb18030", false},
		{"utf-8utf-8", false},
	}
	for _, tt := range tests {
		if got := IsUTF8(tt.charset); got != tt.want {
			t.Errorf("%q: got %v, want %v", tt.charset, got, tt.want)
		}
	}
}

func TestTrimBOMRemovesOneMark(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a mark", "\xef\xbb\xbf{}", "{}"},
		{"a mark alone", "\xef\xbb\xbf", ""},
		{"none", "{}", "{}"},
		{"nothing", "", ""},
		{"half of one", "\xef\xbb", "\xef\xbb"},
		{"two", "\xef\xbb\xbf\xef\xbb\xbf{}", "\xef\xbb\xbf{}"},
		{"one inside", "{\xef\xbb\xbf}", "{\xef\xbb\xbf}"},
		{"one of UTF-16", "\xff\xfe{}", "\xff\xfe{}"},
	}
	for _, tt := range tests {
		if got := string(TrimBOM([]byte(tt.text))); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}
