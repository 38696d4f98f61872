package cli_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// Two data sets use the same ids. Their shops stay separate. An import finds shops that
// versions without sources stored.
func TestImportsKeepDataSetsApart(t *testing.T) {
	t.Parallel()
	town := func(t *testing.T, name string, lat float64) string {
		rows := "external_id,type,name,lat,lng\n"
		for i := range 3 {
			rows += fmt.Sprintf("%d,cafe,%s %d,%v,105.%d\n", i, name, i, lat, i)
		}
		return testFile(t, "town.csv", rows)
	}
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if _, errs, code := stack.Command(t, "migrate"); code != 0 {
			t.Fatal(errs)
		}
		north, south := town(t, "North", 21), town(t, "South", 10)
		steps := []struct {
			name string
			args []string
			code int
			want string // in stdout or stderr
			ids  string // stored afterwards
		}{
			{"both without a source", []string{north, south}, 1, "--source NAME", ""},
			{"a bad source", []string{"--source", "Hà Nội", north}, 2, "invalid source", ""},
			{"the north", []string{"--source", "north", north}, 0, "3 added, 0 changed, 0 unchanged", "north:0 north:1 north:2"},
			{"the south", []string{"--source=south", south}, 0, "3 added, 0 changed, 0 unchanged", "north:0 north:1 north:2 south:0 south:1 south:2"},
			{"the north again, under another name", []string{"--source", "north", town(t, "North", 21)}, 0, "0 added, 0 changed, 3 unchanged", "north:0 north:1 north:2 south:0 south:1 south:2"},
			{"the south as the north", []string{"--source", "north", south}, 1, "belong to other places than before", "north:0 north:1 north:2 south:0 south:1 south:2"},
		}
		db := stack.SQL(t)
		ids := func() string {
			rows, err := db.Query("SELECT external_id FROM shops ORDER BY external_id")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = rows.Close() }()
			var all []string
			for rows.Next() {
				var id string
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
				all = append(all, id)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
			return strings.Join(all, " ")
		}
		check := func(name string, args []string, wantCode int, want, wantIDs string) {
			t.Helper()
			out, errs, code := stack.Command(t, append([]string{"import"}, args...)...)
			if code != wantCode || !strings.Contains(out+errs, want) {
				t.Errorf("%s: %d, %s%s; want %d, %q", name, code, out, errs, wantCode, want)
			}
			if got := ids(); got != wantIDs {
				t.Errorf("%s: got ids %s, want %s", name, got, wantIDs)
			}
		}
		for _, s := range steps {
			check(s.name, s.args, s.code, s.want, s.ids)
		}
		// Ids of versions without sources.
		if _, err := db.Exec("DELETE FROM shops WHERE external_id LIKE 'south:%'"); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("UPDATE shops SET external_id = substr(external_id, 7)"); err != nil {
			t.Fatal(err)
		}
		check("as before", []string{north}, 0, "0 added, 0 changed, 3 unchanged", "0 1 2")
		check("another town as before", []string{south}, 1, "--source NAME", "0 1 2")
		check("another town", []string{"--source", "south", south}, 0, "3 added, 0 changed, 0 unchanged", "0 1 2 south:0 south:1 south:2")
		check("now with a source", []string{"--source", "north", north}, 0, "0 added, 0 changed, 3 unchanged", "north:0 north:1 north:2 south:0 south:1 south:2")
	})
}

func TestImportStoresContactsAndZones(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		if _, errs, code := stack.Command(t, "migrate"); code != 0 {
			t.Fatal(errs)
		}
		file := testFile(t, "town.csv", "external_id,type,name,lat,lng,phone,website,hours,score,time_zone\n"+
			"own:1,cafe,One,1,1,+999 1234 5678,one.example,Mo-Fr 09:00-18:00,4.5,\n"+
			"own:2,cafe,Two,1,1,none,ftp://two.example,,0,Asia/Aden\n")
		if _, errs, code := stack.Command(t, "import", "--shop-zone", "Asia/Atlantis", file); code != 2 || errs != "tandian: unknown time zone \"Asia/Atlantis\"\n" {
			t.Errorf("an unknown zone: %d, %s", code, errs)
		}
		for _, want := range []string{"2 added, 0 changed, 0 unchanged; 1 with an invalid value (omitted)\n", "0 added, 0 changed, 2 unchanged; 1 with"} {
			if out, errs, code := stack.Command(t, "import", "--shop-zone", "Asia/Ho_Chi_Minh", file); code != 0 || !strings.Contains(out, want) {
				t.Errorf("%d, %s%s; want %q", code, out, errs, want)
			}
		}
		wantNumbers(t, stack.SQL(t), map[string]int{
			"count(*) FROM shops": 2,
			"count(*) FROM shops WHERE external_id = 'own:1' AND phone = '+999 1234 5678' AND website = 'https://one.example' AND time_zone = 'Asia/Ho_Chi_Minh' AND open_hours = 'Mo-Fr 09:00-18:00' AND open_mask IS NOT NULL AND score = 4.5": 1,
			"count(*) FROM shops WHERE external_id = 'own:2' AND phone IS NULL AND website IS NULL AND time_zone = 'Asia/Aden' AND open_hours IS NULL AND score = 0":                                                                             1,
		})
	})
}

func TestImportHelpDescribesFormats(t *testing.T) {
	out, errs, code := apptest.Embedded(t).Command(t, "import", "--help")
	if code != 0 {
		t.Fatalf("%d, %s", code, errs)
	}
	for _, want := range []string{
		"external_id", "type", "name", "lat", "lng", "area", "address", "avg_price", "score", "open_hours",
		"hours", "phone", "website", "time_zone", "GeoJSON", "Overpass", "CSV", "--source", "--shop-zone", "tandian serve --help",
	} {
		if !regexp.MustCompile(`(?m)(^| )` + want + `([ :]|$)`).MatchString(out) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	for _, unwanted := range []string{"--cors-origins", "--pay-within", "--addr", "--data-dir", "--database-url", "{{"} {
		if strings.Contains(out, unwanted) {
			t.Errorf("%q in\n%s", unwanted, out)
		}
	}
}

func TestFailedImportStoresNothing(t *testing.T) {
	t.Parallel()
	apptest.EachStack(t, func(t *testing.T, stack *apptest.Stack) {
		good := "external_id,type,name,lat,lng,score\n"
		for i := range 5 {
			good += fmt.Sprintf("line:%d,cafe,Shop %03d,21.00036,105.0,%d\n", i, i, i)
		}
		broken := testFile(t, "shops.csv", good+"line:9,cafe,\"Shop with a quote,21,105,1\n")
		if _, errs, code := stack.Command(t, "migrate"); code != 0 {
			t.Fatal(errs)
		}
		_, errs, code := stack.Command(t, "import", broken)
		if code != 1 || !regexp.MustCompile(`^tandian: .* line \d+.*\n$`).MatchString(errs) {
			t.Errorf("import of a broken file: %d, %q; want one line with the position", code, errs)
		}
		var n int
		if err := stack.SQL(t).QueryRow("SELECT count(*) FROM shops").Scan(&n); err != nil || n != 0 {
			t.Errorf("%d shops were stored (%v)", n, err)
		}
	})
}
