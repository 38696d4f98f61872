package town

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write puts a file into a directory of the test.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestImportTellsWhatItFoundAndDid(t *testing.T) {
	a := write(t, "a.csv", "external_id,type,name,lat,lng\nown:1,cafe,One,1,1\nown:2,cafe,,1,1\nown:3,cafe,Three,1,1\n")
	b := write(t, "b.csv", "external_id,type,name,lat,lng\nown:3,bar,Three Bar,2,2\nown:4,cafe,Four,0,0\nown:5,cafe,Five,5,5\n")
	synctest.Test(t, func(t *testing.T) {
		sink := &fakeSink{waits: time.Second}
		var out strings.Builder
		if err := Import(t.Context(), sink, "", []string{a, b}, &out); err != nil {
			t.Fatal(err)
		}
		want := a + `: CSV, 3 records, 2 shops
  1 without a name
    line 3 (cafe)
` + b + `: CSV, 3 records, 2 shops
  1 with bad coordinates
    line 3 Four: 0, 0 stands for an unknown position
shops: 3 of 3 in 2.0 s, 2/s
3 added, 0 changed, 0 unchanged; 1 without a name, 1 with bad coordinates, 1 given again (the last one counts)
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		var got []string
		for _, d := range sink.calls[0] {
			got = append(got, d.ExternalID+" "+d.Name)
		}
		if diff := cmp.Diff([]string{"own:1 One", "own:3 Three Bar", "own:5 Five"}, got); diff != "" {
			t.Errorf("stored (-want +got)\n%s", diff)
		}
		if len(sink.calls) != 1 {
			t.Errorf("%d transactions, want one", len(sink.calls))
		}
	})
}

func TestImportStoresAllOrNothing(t *testing.T) {
	good := write(t, "good.csv", "external_id,type,name,lat,lng\nown:1,cafe,One,1,1\n")
	useless := write(t, "useless.csv", "external_id,type,name,lat,lng\nown:1,cafe,,1,1\n")
	broken := write(t, "broken.json", `{"elements": [{"type": "node",`)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	tests := []struct {
		name  string
		ctx   context.Context
		paths []string
		fail  int
		want  string // in the error; "" is none
		calls int
	}{
		{"a broken file after a good one", t.Context(), []string{good, broken}, 0, "the file ends in the middle", 0},
		{"a missing file", t.Context(), []string{good, good + "x"}, 0, "no such file", 0},
		{"no file", t.Context(), nil, 0, "no file given", 0},
		{"a good file and one without records", t.Context(), []string{good, write(t, "none.json", `{"elements": []}`)}, 0, "no records in this file (Overpass JSON); is the download complete?. Nothing was stored", 0},
		{"only column names", t.Context(), []string{write(t, "none.csv", "external_id,type,name,lat,lng\n")}, 0, "no records in this file (CSV)", 0},
		{"no id at all", t.Context(), []string{good, write(t, "idless.csv", "external_id,type,name,lat,lng\n,cafe,One,1,1\n,cafe,Two,1,1\n")}, 0, "no record has an id", 0},
		{"an ended context", ended, []string{good}, 0, "context canceled", 0},
		{"a store that fails", t.Context(), []string{good}, 1, "import 1 shops: the store is away", 1},
		{"no usable shop", t.Context(), []string{useless}, 0, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sink := &fakeSink{failAt: tt.fail}
			var out strings.Builder
			err := Import(tt.ctx, sink, "", tt.paths, &out)
			if tt.want == "" {
				if err != nil || !strings.Contains(out.String(), "0 added, 0 changed, 0 unchanged; 1 without a name") {
					t.Errorf("got %v, output %q", err, out.String())
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if len(sink.calls) != tt.calls {
				t.Errorf("%d calls of the store, want %d", len(sink.calls), tt.calls)
			}
		})
	}
}

// deaf is a reader of reports that went away.
type deaf struct{}

var errDeaf = errors.New("nobody reads this")

func (deaf) Write([]byte) (int, error) { return 0, errDeaf }

func TestImportDoesNotStoreWhatItCannotReport(t *testing.T) {
	good := write(t, "good.csv", "external_id,type,name,lat,lng\nown:1,cafe,One,1,1\n")
	sink := &fakeSink{}
	if err := Import(t.Context(), sink, "", []string{good}, deaf{}); !errors.Is(err, errDeaf) {
		t.Errorf("got %v, want %v", err, errDeaf)
	}
	if len(sink.calls) != 0 {
		t.Error("stored all the same")
	}
}
