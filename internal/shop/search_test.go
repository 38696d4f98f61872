package shop

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/geo"
)

func TestSearchesFindOtherSpellings(t *testing.T) {
	tests := []struct{ name, search, want string }{
		{"apostrophe typed plainly", "Hattie's", "Hattie’s Wi‑Fi Bar"},
		{"apostrophe left out", "hatties", "Hattie’s Wi‑Fi Bar"},
		{"typographic where the name is plain", "Rose’s", "Rose's Pies"},
		{"another dash", "wi–fi", "Hattie’s Wi‑Fi Bar"},
		{"a blank for a dash", "wi fi", "Hattie’s Wi‑Fi Bar"},
		{"nothing for a dash", "wifi", "Hattie’s Wi‑Fi Bar"},
		{"invisible characters in the search", "月\u200b亮\ufeff茶\u200e", "月亮茶馆"},
		{"invisible characters in the name", "日光", "日\u200c光"},
		{"emoji without its selector", "☀ Sun", "☀️ Sunny"},
		{"emoji with it", "☀️", "☀️ Sunny"},
		{"dotted capital", "izmir", "İzmir Ocakbaşı"},
		{"capital without a dot", "IZMIR OCAKBASI", "İzmir Ocakbaşı"},
		{"dotless small letter", "ızmır", "İzmir Ocakbaşı"},
		{"accents left out", "bun dau", "Bún Đậu"},
		{"accents added", "Rösé’s", "Rose's Pies"},
		{"full width", "ｐｉｅｓ", "Rose's Pies"},
		{"per cent is no wildcard", "%", "100% Rye"},
		{"an underscore is none", "P_es", ""},
		{"a backslash", `\`, ""},
		{"dakuten count", "か", ""},
		{"punctuation that no name has", "…", ""},
		{"fields stay apart", "pies17", ""},
	}
	eachStack(t, func(t *testing.T, process func() *Service) {
		s := process()
		for i, name := range []string{"Hattie’s Wi‑Fi Bar", "Rose's Pies", "月亮茶馆", "日\u200c光", "☀️ Sunny", "İzmir Ocakbaşı", "Bún Đậu", "100% Rye", "がらす"} {
			d := Draft{ExternalID: string(rune('a' + i)), Type: "cafe", Name: name, Lat: 21, Lng: 105}
			if name == "Rose's Pies" {
				d.Address = "17 Mill Lane"
			}
			put(t, s, d)
		}
		circle := &geo.Circle{Center: geo.Point{Lat: 21, Lng: 105}, Radius: 5000}
		for _, tt := range tests {
			for _, q := range []Query{{Order: ByNewest}, {Near: circle}} {
				q.Search, q.First = tt.search, 100
				p, err := s.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				var got, want []string
				for _, e := range p.Edges {
					got = append(got, e.Node.Name)
				}
				if tt.want != "" {
					want = []string{tt.want}
				}
				if !cmp.Equal(got, want) {
					t.Errorf("%s, %s: %q: got %q, want %q", tt.name, q.Order, tt.search, got, want)
				}
			}
		}
		for _, nothing := range []string{"", " ", "\u200b\ufe0f", "\u00ad\u3164"} {
			if got := namesFound(t, s, nothing); len(got) != 9 {
				t.Errorf("blank %+q: got %q, want all shops", nothing, got)
			}
		}
	})
}
