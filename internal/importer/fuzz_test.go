package importer

import (
	"os"
	"path/filepath"
	"testing"
)

// Reading any content must return drafts that can be stored or one error, and must not
// panic.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"overpass.json", "shops.geojson", "shops.csv"} {
		content, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, string(content))
	}
	f.Add("a.json", `{"elements":[{"type":"node","id":1,"lat":1e999,"lon":"1","tags":{"name":null,"amenity":["cafe"]}}]}`)
	f.Add("a.geojson", `{"features":[{"geometry":{"type":"MultiPolygon","coordinates":[[[]]]},"properties":{"external_id":1,"type":"bar","name":"x"}}]}`)
	f.Add("a.csv", "external_id,type,name,lat,lng\n\"a\n\",cafe,\xff,1,2\n")
	f.Add("a.csv", "sep=;\r\nexternal_id;type;name;lat;lng\r\na:1;cafe;\"x;30,25;120,15\ra:2;cafe;y;1;2\r\n;;;;;;\r\n")
	f.Add("a.csv", "\xff\xfee\x00x\x00")
	f.Add("a.geojson", `{"features":[7,[],{"id":0,"geometry":{"type":"LineString","coordinates":[[179.9,1],[-179.9,null]]},"properties":{"amenity":"cafe","name":"x"}}]}`)
	f.Add("a.json", `{"elements":[{"type":"way","id":1,"bounds":{"minlat":1,"minlon":179,"maxlat":"2","maxlon":-179},"tags":{"name":"x","amenity":"cafe"}},null]}`)
	f.Add("", "\ufeff")
	f.Fuzz(func(t *testing.T, name, content string) {
		file, err := read(t, name, content)
		if err != nil {
			if file != nil {
				t.Errorf("got a file and the error %v", err)
			}
			return
		}
		if len(file.Drafts) > file.Report.Records {
			t.Errorf("got %d drafts of %d records", len(file.Drafts), file.Report.Records)
		}
		for _, d := range file.Drafts {
			checkDraft(t, d)
		}
		if file.String() == "" {
			t.Error("got an empty report")
		}
	})
}
