package page

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

func TestCursorsKeepTheirExactKey(t *testing.T) {
	for _, want := range []float64{0, 0.1, 443.1567, math.Pi * 1e4, math.SmallestNonzeroFloat64, math.MaxFloat64} {
		var distance float64
		var id int64
		if err := Decode(Encode("distance", want, int64(math.MaxInt64)), "distance", &distance, &id); err != nil {
			t.Fatal(err)
		}
		if distance != want || id != math.MaxInt64 {
			t.Errorf("got %v, %d, want %v, %d", distance, id, want, int64(math.MaxInt64))
		}
	}
}

func TestForeignCursorsAreBadInput(t *testing.T) {
	raw := func(s string) Cursor { return Cursor(base64.RawURLEncoding.EncodeToString([]byte(s))) }
	tests := []struct {
		name string
		c    Cursor
	}{
		{"of another order", Encode("score", 4.5, int64(7))},
		{"too short", raw(`["distance",1]`)},
		{"too long", raw(`["distance",1,2,3]`)},
		{"a number for the order", raw(`[1,2,3]`)},
		{"a string for a number", raw(`["distance","1",2]`)},
		{"null", raw(`["distance",null,2]`)},
		{"a fraction for an id", raw(`["distance",1,2.5]`)},
		{"float overflow", raw(`["distance",1e999,2]`)},
		{"not JSON", raw(`x`)},
		{"not base64", "a cursor!"},
		{"padded", "WyJkaXN0YW5jZSIsMSwyXQ=="},
		{"endless", Cursor(make([]byte, 1<<20))},
	}
	for _, tt := range tests {
		var distance float64
		var id int64
		if err := Decode(tt.c, "distance", &distance, &id); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%s: got %v, want %s", tt.name, err, apierror.BadUserInput)
		}
	}
}

func TestFirstMustBeOneToAHundred(t *testing.T) {
	for first, good := range map[int]bool{-1: false, 0: false, 1: true, 100: true, 101: false, math.MaxInt32: false} {
		if err := CheckFirst(first); (err == nil) != good {
			t.Errorf("CheckFirst(%d) = %v, want valid = %v", first, err, good)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(string(Encode("distance", 1.5, int64(3))))
	f.Fuzz(func(t *testing.T, s string) {
		var d float64
		var id int64
		if err := Decode(Cursor(s), "distance", &d, &id); err != nil && apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%q: got %v, want %s", s, err, apierror.BadUserInput)
		}
	})
}

func TestCursorsAreTheJSONOfTheirKey(t *testing.T) {
	values := []any{
		int64(0), int64(-1), int64(math.MaxInt64), 7, -7, 0.0, math.Copysign(0, -1), 4.7, -0.1, 1e-7, 123456.789, 1e20, 1e21, 1e300, 5e-324,
		"", "plain_Order-1", `a "quoted" <word>`, "é\u2028",
	}
	for _, a := range values {
		for _, b := range values {
			for _, order := range []string{"SCORE", "<&>", "near me"} {
				want, err := json.Marshal([]any{order, a, b})
				if err != nil {
					t.Fatal(err)
				}
				got := Encode(order, a, b)
				if text, err := base64.RawURLEncoding.DecodeString(string(got)); err != nil || string(text) != string(want) {
					t.Errorf("got %s, %v, want %s", text, err, want)
				}
			}
		}
	}
}

func TestEncodeAllocatesOnlyTheCursor(t *testing.T) {
	value, id := 443.1567, int64(math.MaxInt64)
	if n := testing.AllocsPerRun(100, func() { _ = Encode("SCORE", value, id) }); n != 1 {
		t.Errorf("got %v allocations, want 1", n)
	}
}
