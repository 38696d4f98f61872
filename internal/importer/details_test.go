package importer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/shop"
)

// row returns a CSV file of one shop with a value in one column.
func row(column, value string) string {
	return fmt.Sprintf("external_id,type,name,lat,lng,%s\nown:1,cafe,Cup,1,2,\"%s\"\n", column, value)
}

func TestDetailsAreCheckedAndCleaned(t *testing.T) {
	long := func(prefix string, n int) string { return prefix + strings.Repeat("a", n-len(prefix)) }
	tests := []struct {
		column, value, want string // want is "" if the value is omitted
	}{
		{"phone", " +84 24  3938 2117 ", "+84 24 3938 2117"},
		{"phone", "+84 964 388 844 ; +84 905 786 698", "+84 964 388 844"},
		{"phone", "113", "113"},
		{"phone", "11", ""},
		{"phone", "ask inside", ""},
		{"phone", ";+84 905 786 698", ""},
		{"phone", long("0123", 40), long("0123", 40)},
		{"phone", long("0123", 41), ""},
		{"website", "http://cup.example", "http://cup.example"},
		{"website", "HTTPS://Cup.example/a;b?c=d#e", "HTTPS://Cup.example/a;b?c=d#e"},
		{"website", "cup.example", "https://cup.example"},
		{"website", "www.cup.example:8080/menu", "https://www.cup.example:8080/menu"},
		{"website", "荷塘.example", "https://荷塘.example"},
		{"website", "https://cup.example; https://other.example", "https://cup.example"},
		{"website", "cup.example;www.other.example", "https://cup.example"},
		{"website", "ftp://cup.example", ""},
		{"website", "javascript:alert(1)", ""},
		{"website", "javascript://cup.example/%0aalert(1)", ""},
		{"website", "https://user:secret@cup.example", ""},
		{"website", "cup@cup.example", ""},
		{"website", "https://", ""},
		{"website", "https://:80", ""},
		{"website", "//cup.example", ""},
		{"website", "http:/cup.example", ""},
		{"website", "https://cup.example/our menu", ""},
		{"website", "127.0.0.1", ""},
		{"website", "yes", ""},
		{"website", long("https://cup.example/", 300), long("https://cup.example/", 300)},
		{"website", long("https://cup.example/", 301), ""},
		{"website", long("cup.example/", 300), ""}, // too long with the scheme
		{"time_zone", "Asia/Ho_Chi_Minh", "Asia/Ho_Chi_Minh"},
		{"time_zone", "UTC", "UTC"},
		{"time_zone", "Local", ""},
		{"time_zone", "+07:00", ""},
		{"time_zone", "../etc/passwd", ""},
		{"open_hours", "Mo-Fr  09:00-18:00", "Mo-Fr 09:00-18:00"},
		{"hours", "24/7", "24/7"},
		{"hours", "by appointment", "by appointment"},
		{"hours", long("", 250), long("", 250)},
		{"hours", "08:00-12:00" + strings.Repeat(",18:00-20:00", 20), ""},
		{"score", "1", "1"},
		{"score", "5.0", "5"},
		{"score", "0", "0"},
		{"score", "-0", "0"},
		{"score", "0.9", ""},
		{"score", "5.1", ""},
		{"score", "NaN", ""},
		{"avg_price", "0", "0"},
		{"avg_price", "12.5", ""},
	}
	field := map[string]func(shop.Draft) string{
		"phone":      func(d shop.Draft) string { return d.Phone },
		"website":    func(d shop.Draft) string { return d.Website },
		"time_zone":  func(d shop.Draft) string { return d.TimeZone },
		"open_hours": func(d shop.Draft) string { return d.OpenHours },
		"hours":      func(d shop.Draft) string { return d.OpenHours },
		"score":      func(d shop.Draft) string { return fmt.Sprint(d.Score) },
		"avg_price":  func(d shop.Draft) string { return fmt.Sprint(*d.AvgPrice) },
	}
	for _, tt := range tests {
		t.Run(tt.column+" "+tt.value, func(t *testing.T) {
			file, err := read(t, "a.csv", row(tt.column, tt.value))
			if err != nil || len(file.Drafts) != 1 {
				t.Fatalf("got %v, %v; want one shop", file, err)
			}
			d := file.Drafts[0]
			checkDraft(t, d)
			if tt.want == "" {
				checkOmitted(t, file, d)
			} else if got := field[tt.column](d); got != tt.want || file.Report.BadValue.Count > 0 {
				t.Errorf("got %q, want %q\n%s", got, tt.want, file)
			}
		})
	}
}

// checkOmitted fails the test unless the value of row is reported and not in the draft.
func checkOmitted(t *testing.T, file *File, d shop.Draft) {
	t.Helper()
	if file.Report.BadValue.Count != 1 {
		t.Errorf("got the report\n%s; want one invalid value", file)
	}
	if diff := cmp.Diff(shop.Draft{ExternalID: "own:1", Type: "cafe", Name: "Cup", Lat: 1, Lng: 2}, d); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestUnknownHoursAreReported(t *testing.T) {
	for hours, want := range map[string]int{"Mo-Fr 09:00-18:00": 0, "": 0, "by appointment": 1, "10–22 火锅": 1} {
		file, err := read(t, "a.csv", row("open_hours", hours))
		if err != nil {
			t.Fatal(err)
		}
		if got := file.Report.UnknownHours.Count; got != want {
			t.Errorf("%q: got %d shops with unknown hours, want %d", hours, got, want)
		}
	}
}

func TestShopZoneCompletesShopsWithoutZone(t *testing.T) {
	path := writeFile(t, "a.csv", "external_id,type,name,lat,lng,time_zone\nown:1,cafe,One,1,1,\nown:2,cafe,Two,1,1,Asia/Aden\nown:3,cafe,Three,1,1,Asia/Atlantis\n")
	for zone, want := range map[string][]string{
		"":                 {"", "Asia/Aden", ""},
		"Asia/Ho_Chi_Minh": {"Asia/Ho_Chi_Minh", "Asia/Aden", "Asia/Ho_Chi_Minh"},
	} {
		store := &fakeShops{}
		var out strings.Builder
		if err := Import(t.Context(), store, Options{ShopZone: zone}, []string{path}, &out); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range store.calls[0] {
			got = append(got, d.TimeZone)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", zone, diff)
		}
		if line := "3 added, 0 changed, 0 unchanged; 1 with an invalid value (omitted)\n"; !strings.HasSuffix(out.String(), line) {
			t.Errorf("output %q, want %q", out.String(), line)
		}
	}
}

func TestReportsOfAllFilesAreAdded(t *testing.T) {
	a, b := writeFile(t, "a.csv", row("open_hours", "by appointment")), writeFile(t, "b.csv", strings.ReplaceAll(row("hours", "late"), "own:1", "own:2"))
	var out strings.Builder
	if err := Import(t.Context(), &fakeShops{}, Options{}, []string{a, b}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "; 2 with opening hours in an unknown syntax (kept as text)\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

func TestCheckZone(t *testing.T) {
	for _, name := range []string{"Asia/Shanghai", "Europe/Berlin", "UTC"} {
		if err := checkZone(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "Local", "Asia/Atlantis", "GMT+7:00", "../x"} {
		if err := checkZone(name); err == nil || err.Error() != fmt.Sprintf("unknown time zone %q", name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestInvalidOptionsAreRejected(t *testing.T) {
	for _, tt := range []struct {
		opts Options
		want string
	}{
		{Options{}, "<nil>"},
		{Options{Source: "hanoi", ShopZone: "Asia/Ho_Chi_Minh"}, "<nil>"},
		{Options{Source: "Hà Nội"}, `invalid source "Hà Nội"`},
		{Options{ShopZone: "Asia/Atlantis"}, `unknown time zone "Asia/Atlantis"`},
		{Options{Source: "hanoi", ShopZone: "Hanoi"}, `unknown time zone "Hanoi"`},
	} {
		if err := tt.opts.Check(); !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%+v: got %v, want %s", tt.opts, err, tt.want)
		}
	}
}
