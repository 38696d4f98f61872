package importer

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/shop"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// read decodes content as a file of that name.
func read(t *testing.T, name, content string) (*File, error) {
	t.Helper()
	return Decode(t.Context(), name, "", strings.NewReader(content), int64(len(content)))
}

// dump formats a draft as a line of a golden file.
func dump(d shop.Draft) string {
	price := "-"
	if d.AvgPrice != nil {
		price = strconv.Itoa(*d.AvgPrice)
	}
	return strings.Join([]string{
		d.ExternalID, d.Type, d.Name, d.Area, d.Address,
		fmt.Sprint(d.Lat), fmt.Sprint(d.Lng), price, fmt.Sprint(d.Score), d.OpenHours,
		d.Phone, d.Website, d.TimeZone,
	}, " | ")
}

func TestReadFormats(t *testing.T) {
	for _, name := range []string{"overpass.json", "shops.geojson", "shops.csv"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("testdata", name)
			file, err := Read(t.Context(), path, "")
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			got.WriteString(file.String())
			for _, d := range file.Drafts {
				checkDraft(t, d)
				got.WriteString(dump(d) + "\n")
			}
			golden := path + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestBrokenFilesReturnErrorPosition(t *testing.T) {
	const header = "external_id,type,name,lat,lng\n"
	tests := []struct{ name, file, content, want string }{
		{"empty", "a.json", "", "a.json: line 1, column 1: the file is empty"},
		{"only spaces", "a.csv", " \n\n", "a.csv: line 1, column 1: the file is empty"},
		{"truncated in an element", "a.json", "{\"elements\": [\n {\"id\": 1", "a.json: line 2, column 10: the file ends in the middle of the JSON document"},
		{"truncated between elements", "a.json", "{\"elements\": [\n {},", "a.json: line 2, column 5: the file ends in the middle of the JSON document"},
		{"truncated after the elements", "a.json", `{"elements": []`, "a.json: line 1, column 16: the file ends in the middle of the JSON document"},
		{"bad JSON in an element", "a.json", "{\"elements\": [{},\n  {\"id\": 1, oops}]}", "a.json: line 2, column 13: invalid character 'o' looking for beginning of object key string"},
		{"bad JSON after many elements", "a.json", "{\"elements\": [{}, {\"tags\": {}} ,\n\n{\"id\": 0x1}]}", "a.json: line 3, column 9: invalid character 'x' after object key:value pair"},
		{"bad JSON between members", "a.json", "{\"elements\": [],\n oops}", "a.json: line 2, column 2: invalid character 'o'"},
		{"missing comma between elements", "a.json", "{\"elements\": [{}\n{}]}", "a.json: line 2, column 1: expected comma after array element"},
		{"something behind the end", "a.json", "{\"elements\": []}\n{}", "something follows the end of the JSON document"},
		{"neither format", "a.json", `{"shops": []}`, `a.json: line 1, column 1: neither "elements" (Overpass) nor "features" (GeoJSON) in this JSON object`},
		{"an array", "a.json", `[{}]`, `a.json: line 1, column 1: want a JSON object with "elements" (Overpass) or "features" (GeoJSON) here`},
		{"elements are no array", "a.json", `{"elements": {}}`, "a.json: line 1, column 14: want an array here"},
		{"an error of a server", "a.json", `{"code": 429, "message": "too many requests"}`, `(GeoJSON) in this JSON object; it has "code", "message": too many requests`},
		{"a timeout of Overpass", "a.json", "{\"elements\": [{}],\n\"remark\": \"runtime error: Query timed out in \\\"query\\\" at line 3 after 26 seconds.\"}", "a.json: line 2, column 11: the download is incomplete: the server gave up (runtime error: Query timed out"},
		{"no memory for Overpass", "a.json", `{"remark": "runtime error: Query ran out of memory in \"recurse\"", "elements": []}`, "the download is incomplete: the server gave up"},
		{"not UTF-8", "a.json", "{\"elements\": [\n{\"tags\": {\"name\": \"Caf\xe9\"}}]}", "a.json: line 2, column 23: not UTF-8 from here on (is the text Latin-1, Windows-1252 or GB 18030?); save the file as UTF-8"},
		{"ends in half a character", "a.csv", header + "a,cafe,Caf\xc3", "a.csv: line 2, column 11: not UTF-8 from here on (is the text Latin-1, Windows-1252 or GB 18030?); save the file as UTF-8"},
		{"UTF-16 without a mark", "a.csv", "e\x00x\x00t\x00", "a.csv: line 1, column 1: the file looks like UTF-16 without a byte order mark; save it as UTF-8"},
		{"UTF-32", "a.csv", "\xff\xfe\x00\x00e\x00\x00\x00", "the file is UTF-32; save it as UTF-8"},
		{"an Excel workbook", "a.csv", "PK\x03\x04\x14", "the file is a ZIP archive or an Excel workbook"},
		{"compressed", "a.json", "\x1f\x8b\x08", "the file is compressed (gzip); unpack it first"},
		{"a web page", "a.json", "<!DOCTYPE html>\n<html><body>429</body></html>", "a.json: line 1, column 1: this is a web page (HTML)"},
		{"a page of Overpass", "a.json", "<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC \"x\">\n<html/>", "this is a web page (HTML)"},
		{"XML", "a.osm", "<?xml version=\"1.0\"?><osm/>", "a.osm: line 1, column 1: this looks like XML; ask Overpass for [out:json], or convert the file to GeoJSON"},
		{"no header", "a.csv", "hello\n", "a.csv: line 1, column 1: as CSV, the header has no column external_id, type, name, lat, lng; it needs external_id, type, name, lat, lng, between commas, semicolons or tabs. It is \"hello\""},
		{"columns missing", "a.csv", "external_id,name,lat\na,b,1\n", "a.csv: line 1, column 1: as CSV, the header has no column type, lng; it needs external_id, type, name, lat, lng, between commas, semicolons or tabs. It is \"external_id,name,lat\""},
		{"a column twice", "a.csv", "external_id,type,name,lat,lng,Lat\n", `a.csv: line 1, column 1: the header has the column "lat" twice`},
		{"a quote without end", "a.csv", header + "a,cafe,c,1,2\nb,cafe,\"b,1,2\n", "a.csv: line 3: the file ends inside quotes that start in this row"},
		{"a quote without end and bad rows", "a.csv", header + "b,cafe,\"b,1,2\nc\nd\n", "a.csv: line 2: the file ends inside quotes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := read(t, tt.file, tt.content)
			if file != nil || err == nil {
				t.Fatalf("got %v, %v; want no file and an error", file, err)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error\n got %q\nwant %q in it", err, tt.want)
			}
		})
	}
}

func TestReadRejectsUnreadableFiles(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large.json")
	if err := os.WriteFile(large, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, maxFile+1<<20); err != nil { // sparse
		t.Fatal(err)
	}
	tests := []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none.json"), "no such file"},
		{"a directory", dir, "is not a regular file"},
		{"more than 512 MB", large, "has 513 MB, more than 512"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Read(t.Context(), tt.path, "")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestHugeRecordsAffectOnlyThemselves(t *testing.T) {
	huge := strings.Repeat("x", maxRecord+1<<20)
	const cup = `{"type": "node", "id": 1, "lat": 1, "lon": 2, "tags": {"amenity": "cafe", "name": "Cup"}}`
	const row = "own:1,cafe,Cup,1,2\n"
	const header = "external_id,type,name,lat,lng\n"
	tests := []struct {
		name, file, content, want string // want lists the unreadable records
	}{
		{"an element", "a.json", `{"elements": [{"name": "` + huge + `"},` + cup + `]}`, "element 1: it has more than 16 MB"},
		{"a member next to them", "a.json", `{"x": "` + huge + `", "elements": [` + cup + `]}`, ""},
		{"deep nesting", "a.json", `{"elements": [` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "," + cup + `]}`, "element 1: it is nested deeper than 200 levels"},
		{"deep nesting in quotes", "a.json", `{"elements": [{"x": "` + strings.Repeat("[", 20_000) + `"},` + cup + `]}`, ""},
		{"a line", "a.csv", header + huge + "\n" + row, "line 2: it has more than 16 MB"},
		{"a row of many lines", "a.csv", header + "own:0,cafe,\"" + strings.Repeat(strings.Repeat("x", 1<<20)+"\n", maxRecord>>20) + "\n" + row, "line 2: it has more than 16 MB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := read(t, tt.file, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			if len(file.Drafts) != 1 || file.Drafts[0].Name != "Cup" {
				t.Errorf("got %d shops, want the one after it", len(file.Drafts))
			}
			if got := strings.Join(file.Report.Unreadable.Examples, "; "); got != tt.want {
				t.Errorf("got unreadable %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReadStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, name := range []string{"overpass.json", "shops.geojson", "shops.csv"} {
		if _, err := Read(ctx, filepath.Join("testdata", name), ""); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want %v", name, err, context.Canceled)
		}
	}
}

func TestFormatIsDetectedByContent(t *testing.T) {
	const row = "external_id,type,name,lat,lng\na,cafe,Cup,1,2\n"
	tests := []struct{ name, file, content, want string }{
		{"Overpass under another name", "shops.txt", ` {"elements": []}`, "Overpass JSON"},
		{"GeoJSON named CSV", "shops.csv", `{"features": []}`, "GeoJSON"},
		{"CSV without an extension", "shops", row, "CSV"},
		{"behind a byte order mark", "shops", "\ufeff" + row, "CSV"},
		{"JSON behind a byte order mark", "shops", "\ufeff{\"features\": []}", "GeoJSON"},
		{"CSV of Windows lines", "shops", strings.ReplaceAll(row, "\n", "\r\n"), "CSV"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := read(t, tt.file, tt.content)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, file.Format); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSplitCharactersAreRead(t *testing.T) {
	const content = "a é 荷塘 🦆 z"
	s := &stream{ctx: t.Context(), r: iotest.OneByteReader(strings.NewReader(content))}
	if err := iotest.TestReader(s, []byte(content)); err != nil {
		t.Error(err)
	}
}

func TestInvalidUTF8IsDetected(t *testing.T) {
	tests := []struct {
		name, content string
		want          int64 // offset of the first bad byte
	}{
		{"a byte that never occurs", "ab\xffc", 2},
		{"a character broken off", "é\xe8\x8dx", 2},
		{"a character broken off by the end", "荷\xf0\x9f\xa6", 3},
		{"a lone continuation", "荷\x8d", 3},
		{"half a surrogate pair", "a\xed\xa0\x80", 1},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		"in halves": iotest.HalfReader, "end with the data": iotest.DataErrReader,
	}
	for _, tt := range tests {
		for how, through := range readers {
			t.Run(tt.name+" "+how, func(t *testing.T) {
				_, err := io.ReadAll(&stream{ctx: t.Context(), r: through(strings.NewReader(tt.content))})
				found, ok := errors.AsType[*formatError](err)
				if !ok || found.at != tt.want {
					t.Errorf("got %v, want byte %d", err, tt.want)
				}
			})
		}
	}
}

func TestCSVRoundTrip(t *testing.T) {
	demo, err := os.ReadFile(filepath.Join("..", "demo", "shops.csv"))
	if err != nil {
		t.Fatal(err)
	}
	file, err := read(t, "shops.csv", string(demo))
	if err != nil {
		t.Fatal(err)
	}
	want := file.Drafts
	price := 0
	want = append(
		want,
		shop.Draft{ExternalID: `a "quoted", id`, Type: "kids", Name: `"`, Lat: -33.5, Lng: -179.999999, AvgPrice: &price},
		shop.Draft{ExternalID: "b", Type: "hotel", Name: "#1 Inn", Lat: 1e-6, Score: 5, OpenHours: "24/7", Phone: "+999 5710 0000", Website: "http://inn.example", TimeZone: "UTC"},
	)
	var b strings.Builder
	w := csv.NewWriter(&b)
	rows := [][]string{{"external_id", "type", "name", "area", "address", "lat", "lng", "avg_price", "score", "open_hours", "phone", "website", "time_zone"}}
	for _, d := range want {
		price := ""
		if d.AvgPrice != nil {
			price = strconv.Itoa(*d.AvgPrice)
		}
		rows = append(rows, []string{
			d.ExternalID, d.Type, d.Name, d.Area, d.Address,
			fmt.Sprint(d.Lat), fmt.Sprint(d.Lng), price, fmt.Sprint(d.Score), d.OpenHours, d.Phone, d.Website, d.TimeZone,
		})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	file, err = read(t, "shops.csv", b.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, file.Drafts); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestLongExternalIDsAreRejected(t *testing.T) {
	tests := []struct {
		name, id string
		want     int // shops
	}{
		{"200 bytes", strings.Repeat("a", 200), 1},
		{"201 bytes", strings.Repeat("a", 201), 0},
		{"201 bytes in 67 characters", strings.Repeat("荷", 67), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file, err := read(t, "a.csv", "external_id,type,name,lat,lng\n"+tt.id+",cafe,Cup,1,2\n")
			if err != nil {
				t.Fatal(err)
			}
			if len(file.Drafts) != tt.want || file.Report.NoID.Count != 1-tt.want {
				t.Errorf("got %d shops, %d without an id, want %d shops", len(file.Drafts), file.Report.NoID.Count, tt.want)
			}
		})
	}
}

func TestReportLimitsExamples(t *testing.T) {
	var b strings.Builder
	b.WriteString("external_id,type,name,lat,lng\n")
	for i := range 25 {
		fmt.Fprintf(&b, "%d,cafe,,1,2\n", i)
	}
	file, err := read(t, "shops.csv", b.String())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(file.String()), "\n")
	got := []string{lines[0], lines[1], lines[2], lines[len(lines)-2], lines[len(lines)-1]}
	want := []string{
		"shops.csv: CSV, 25 records, 0 shops", "  25 without a name",
		"    line 2 (cafe)", "    line 21 (cafe)", "    … and 5 more",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
