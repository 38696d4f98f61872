package note

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/cache"
)

var _ cache.Reader = (*Counts)(nil)

func TestReadJSONMatchesEncodingJSON(t *testing.T) {
	seed := rand.Uint64()
	rnd := rand.New(rand.NewPCG(seed, 0))
	number := func() int64 {
		switch rnd.IntN(4) {
		case 0:
			return 0
		case 1:
			return []int64{math.MaxInt64, math.MinInt64, -1, 1}[rnd.IntN(4)]
		}
		return rnd.Int64N(1_000_000)
	}
	for range 1000 {
		want := Counts{int(number()), int(number()), int(number()), number(), number()}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got Counts
		if !got.ReadJSON(text) || got != want {
			t.Fatalf("seed %d: %s: got %+v, want %+v", seed, text, got, want)
		}
	}
	allocs := testing.AllocsPerRun(100, func() { new(Counts).ReadJSON([]byte(`{"likes":12,"saves":4,"hot":1234567,"version":3}`)) })
	if allocs > 0 {
		t.Errorf("got %v allocations, want none", allocs)
	}
}

// The cache decodes all other values with encoding/json.
func TestReadJSONRejectsOtherForms(t *testing.T) {
	for _, text := range []string{
		``, `{`, `}`, `null`, `[]`, `{}`, `"likes"`, `{"likes"}`, `{"likes":}`, `{"likes":1`, `{"likes":1,}`, `{"likes":1,"hot"}`, `{"likes":1}x`,
		`{"likes":1.5}`, `{"likes":"1"}`, `{"likes":null}`, `{"likes":+1}`, `{"likes":9223372036854775808}`, `{"seen":1}`, `{"likes":1,"more":{"hot":2}}`,
		` {"likes":1}`, `{ "likes":1}`, `{"likes": 1}`, `{likes:1}`,
	} {
		var got Counts
		if got.ReadJSON([]byte(text)) {
			t.Errorf("%s: got success (-want +got)\n%s", text, cmp.Diff(Counts{}, got))
		}
	}
}
