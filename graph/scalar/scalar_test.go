package scalar_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestIDsRoundTrip(t *testing.T) {
	tests := []struct {
		id   scalar.ID
		text string
	}{
		{scalar.ID{Type: "Shop", N: 1}, "U2hvcDox"},
		{scalar.ID{Type: "ShopType", N: 42}, "U2hvcFR5cGU6NDI"},
		{scalar.ID{Type: "Note", N: math.MaxInt64}, "Tm90ZTo5MjIzMzcyMDM2ODU0Nzc1ODA3"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			var out strings.Builder
			tt.id.MarshalGQL(&out)
			if d := cmp.Diff(`"`+tt.text+`"`, out.String()); d != "" {
				t.Errorf("written (-want +got)\n%s", d)
			}
			var got scalar.ID
			if err := got.UnmarshalGQL(tt.text); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.id, got); d != "" {
				t.Errorf("read back (-want +got)\n%s", d)
			}
		})
	}
}

func TestMalformedIDIsBadInputWithoutQuote(t *testing.T) {
	raw := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	tests := []struct{ name, id string }{
		{"empty", ""},
		{"a bare number", "7"},
		{"not encoded", "Shop:1"},
		{"padding", base64.URLEncoding.EncodeToString([]byte("Shop:10"))},
		{"the standard alphabet", "U2hvcDo+"},
		{"a line end inside", "U2hv\ncDox"},
		{"a space behind", "U2hvcDox "},
		{"stray bits at the end", "U2hvcFR5cGU6NDJ"}, // decodes to ShopType:42 like …NDI
		{"no type", raw(":1")},
		{"no number", raw("Shop:")},
		{"no colon", raw("Shop1")},
		{"two colons", raw("Shop:1:2")},
		{"zero", raw("Shop:0")},
		{"negative", raw("Shop:-1")},
		{"a plus sign", raw("Shop:+1")},
		{"leading zeros", raw("Shop:01")},
		{"an underscore", raw("Shop:1_0")},
		{"hexadecimal", raw("Shop:0x1")},
		{"a fraction", raw("Shop:1.0")},
		{"a space before the number", raw("Shop: 1")},
		{"beyond 64 bits", raw("Shop:9223372036854775808")},
		{"digits in the type", raw("Shop2:1")},
		{"a type beyond ASCII", raw("Shöp:1")},
		{"a zero byte in the type", raw("Sh\x00p:1")},
		{"huge", raw(strings.Repeat("S", 1<<20) + ":1")},
		{"130 characters", raw(strings.Repeat("S", 95) + ":1")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id, err := scalar.ParseID(tt.id)
			if apierror.KindOf(err) != apierror.BadUserInput {
				t.Fatalf("got %v, %v; want BAD_USER_INPUT", id, err)
			}
			if len(tt.id) > 3 && strings.Contains(err.Error(), tt.id) {
				t.Error("the error contains the id")
			}
		})
	}
	for _, v := range []any{7, int64(7), 7.0, json.Number("7"), true, nil, []any{"U2hvcDox"}, map[string]any{}} {
		if err := new(scalar.ID).UnmarshalGQL(v); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%T %v as an id: %v, want BAD_USER_INPUT", v, v, err)
		}
	}
}

func TestIDHasOneType(t *testing.T) {
	id := scalar.ID{Type: "Shop", N: 7}
	if n, err := id.Of("Shop"); n != 7 || err != nil {
		t.Errorf("of a Shop: %d, %v", n, err)
	}
	if n, err := id.Of("ShopType"); n != 0 || apierror.KindOf(err) != apierror.BadUserInput {
		t.Errorf("of a ShopType: %d, %v; want BAD_USER_INPUT", n, err)
	}
}

func TestNumberIsWrittenAsGlobalID(t *testing.T) {
	ctx := graphql.WithFieldContext(t.Context(), &graphql.FieldContext{Object: "ShopType"})
	var out strings.Builder
	if err := scalar.MarshalNum(42).MarshalGQLContext(ctx, &out); err != nil || out.String() != `"U2hvcFR5cGU6NDI"` {
		t.Errorf("got %s, %v", out.String(), err)
	}
	if n, err := scalar.UnmarshalNum(ctx, "U2hvcFR5cGU6NDI"); err == nil {
		t.Errorf("an argument became the bare number %d", n)
	}
}

// Each object has exactly one id that parses.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{
		"", "U2hvcDox", "U2hvcFR5cGU6NDI", "U2hvcFR5cGU6NDJ", "U2hv\ncDox", "U2hvcDo=", "Tm90ZTo5MjIzMzcyMDM2ODU0Nzc1ODA3", "OjE", "U2hvcDorMQ", "U2hvcDowMQ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := scalar.ParseID(s)
		if err != nil {
			if id != (scalar.ID{}) || apierror.KindOf(err) != apierror.BadUserInput {
				t.Fatalf("%q: %v with %v", s, id, err)
			}
			return
		}
		if id.N < 1 || id.Type == "" || id.String() != s {
			t.Fatalf("%q became %+v, whose text is %q", s, id, id)
		}
	})
}

func TestIntsHave32Bits(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want int
		ok   bool
	}{
		{"a literal", int64(7), 7, true},
		{"an int", 7, 7, true},
		{"a variable", json.Number("7"), 7, true},
		{"a whole float", 7.0, 7, true},
		{"the greatest", json.Number("2147483647"), math.MaxInt32, true},
		{"the least", json.Number("-2147483648"), math.MinInt32, true},
		{"the least float", -2147483648.0, math.MinInt32, true},
		{"one more than the greatest", int64(2147483648), 0, false},
		{"one less than the least", json.Number("-2147483649"), 0, false},
		{"a float of one more", 2147483648.0, 0, false},
		{"a float of one less", -2147483649.0, 0, false},
		{"beyond 64 bits", json.Number("9223372036854775808"), 0, false},
		{"a fraction", json.Number("1.5"), 0, false},
		{"a float with a fraction", 1.5, 0, false},
		{"NaN", math.NaN(), 0, false},
		{"infinity", math.Inf(1), 0, false},
		{"a string", "7", 0, false},
		{"a boolean", true, 0, false},
		{"null", nil, 0, false},
		{"a list", []any{7}, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := scalar.UnmarshalInt(tt.in)
			if tt.ok && (err != nil || got != tt.want) {
				t.Fatalf("got %d, %v; want %d", got, err, tt.want)
			}
			if !tt.ok && apierror.KindOf(err) != apierror.BadUserInput {
				t.Fatalf("got %d, %v; want BAD_USER_INPUT", got, err)
			}
			if tt.ok {
				if again, err := scalar.UnmarshalInt(json.Number(text(scalar.MarshalInt(got)))); err != nil || again != got {
					t.Errorf("%d was written and read back as %d, %v", got, again, err)
				}
			}
		})
	}
}

func TestLongsAreExactInJavaScript(t *testing.T) {
	const most = 1<<53 - 1
	tests := []struct {
		name string
		in   any
		want int
		ok   bool
	}{
		{"a literal", int64(7), 7, true},
		{"an int", 7, 7, true},
		{"beyond 32 bits", json.Number("3000000000"), 3_000_000_000, true},
		{"a whole float beyond 32 bits", 3e9, 3_000_000_000, true},
		{"the greatest", json.Number("9007199254740991"), most, true},
		{"the least", int64(-most), -most, true},
		{"one more than the greatest", int64(most + 1), 0, false},
		{"one less than the least", json.Number("-9007199254740992"), 0, false},
		{"a float of one more", float64(most + 1), 0, false},
		{"beyond 64 bits", json.Number("9223372036854775808"), 0, false},
		{"a fraction", json.Number("1.5"), 0, false},
		{"a float with a fraction", 1.5, 0, false},
		{"NaN", math.NaN(), 0, false},
		{"infinity", math.Inf(1), 0, false},
		{"a string", "7", 0, false},
		{"a boolean", true, 0, false},
		{"null", nil, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := scalar.UnmarshalLong(tt.in)
			if tt.ok && (err != nil || got != tt.want) {
				t.Fatalf("got %d, %v; want %d", got, err, tt.want)
			}
			if !tt.ok && apierror.KindOf(err) != apierror.BadUserInput {
				t.Fatalf("got %d, %v; want BAD_USER_INPUT", got, err)
			}
			if tt.ok && text(scalar.MarshalLong(got)) != strconv.Itoa(tt.want) {
				t.Errorf("%d was written as %s", got, text(scalar.MarshalLong(got)))
			}
		})
	}
}

func TestWholeNumbersStayInTheirRange(t *testing.T) {
	for _, tt := range []struct {
		n      int
		asInt  string
		asLong string
	}{
		{0, "0", "0"},
		{math.MaxInt32, "2147483647", "2147483647"},
		{3_000_000_000, "2147483647", "3000000000"},
		{-3_000_000_000, "-2147483648", "-3000000000"},
		{math.MaxInt64, "2147483647", "9007199254740991"},
		{math.MinInt64, "-2147483648", "-9007199254740991"},
	} {
		got := [4]string{text(scalar.MarshalInt(tt.n)), string(scalar.AppendInt(nil, tt.n)), text(scalar.MarshalLong(tt.n)), string(scalar.AppendLong(nil, tt.n))}
		if want := [4]string{tt.asInt, tt.asInt, tt.asLong, tt.asLong}; got != want {
			t.Errorf("%d: got %v, want %v", tt.n, got, want)
		}
	}
}

func TestFloatsAreFiniteNumbers(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want float64
		ok   bool
	}{
		{"a literal", 1.5, 1.5, true},
		{"a whole literal", int64(7), 7, true},
		{"an int", 7, 7, true},
		{"a variable", json.Number("120.1510"), 120.151, true},
		{"an exponent", json.Number("1e3"), 1000, true},
		{"infinity", math.Inf(-1), 0, false},
		{"NaN", math.NaN(), 0, false},
		{"beyond 64 bits", json.Number("1e400"), 0, false},
		{"NaN as a word", json.Number("NaN"), 0, false},
		{"infinity as a word", json.Number("Inf"), 0, false},
		{"a string", "1.5", 0, false},
		{"a boolean", false, 0, false},
		{"null", nil, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := scalar.UnmarshalFloat(tt.in)
			if tt.ok && (err != nil || got != tt.want) {
				t.Fatalf("got %v, %v; want %v", got, err, tt.want)
			}
			if !tt.ok && apierror.KindOf(err) != apierror.BadUserInput {
				t.Fatalf("got %v, %v; want BAD_USER_INPUT", got, err)
			}
		})
	}
}

func TestFloatsRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 1))
	floats := []float64{0, math.Copysign(0, -1), 0.1, 1e21, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64, math.Pi}
	for range 1000 {
		floats = append(floats, math.Float64frombits(random.Uint64()), random.Float64()*360-180)
	}
	for _, f := range floats {
		out := text(scalar.MarshalFloat(f))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			if out != "null" {
				t.Errorf("%v is written as %s", f, out)
			}
			continue
		}
		got, err := scalar.UnmarshalFloat(json.Number(out))
		if err != nil || got != f || !json.Valid([]byte(out)) {
			t.Errorf("%v is written as %s and read back as %v, %v", f, out, got, err)
		}
	}
	if got := text(scalar.MarshalFloat(math.NaN())) + text(scalar.MarshalFloat(math.Inf(1))); got != "nullnull" {
		t.Errorf("NaN and infinity are written as %s", got)
	}
}

func TestCursorsAreStrings(t *testing.T) {
	c := page.Encode("SCORE", 4.5, int64(7))
	out := text(scalar.MarshalCursor(c))
	var s string
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		t.Fatal(err)
	}
	if got, err := scalar.UnmarshalCursor(s); err != nil || got != c {
		t.Errorf("%s was read back as %q, %v", out, got, err)
	}
	for _, v := range []any{"", 7, json.Number("7"), nil, true} {
		if got, err := scalar.UnmarshalCursor(v); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%T %v became %q, %v; want BAD_USER_INPUT", v, v, got, err)
		}
	}
}

func text(m graphql.Marshaler) string {
	var out strings.Builder
	m.MarshalGQL(&out)
	return out.String()
}

func TestStringsAreNotNumbers(t *testing.T) {
	if got, err := scalar.UnmarshalString("042137"); err != nil || got != "042137" {
		t.Errorf("a text is read as %q, %v", got, err)
	}
	for _, in := range []any{json.Number("42137"), int64(5), 1.5, true, nil, []any{"a"}, map[string]any{}} {
		if got, err := scalar.UnmarshalString(in); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%T %v is read as %q, %v", in, in, got, err)
		}
	}
}

func TestDatesAreYearMonthDay(t *testing.T) {
	d, err := scalar.UnmarshalDate("2024-02-29")
	if err != nil || text(scalar.MarshalDate(d)) != `"2024-02-29"` {
		t.Errorf("got %s, %v", text(scalar.MarshalDate(d)), err)
	}
	for _, in := range []any{"2025-02-29", "", "tomorrow", json.Number("20250228"), nil} {
		if got, err := scalar.UnmarshalDate(in); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%v is read as %v, %v", in, got, err)
		}
	}
}

func TestTimesRoundTrip(t *testing.T) {
	for _, text := range []string{"2026-03-01T12:00:00Z", "2026-03-01T12:00:00.123+08:00", "1970-01-01T00:00:00Z", "9998-12-31T23:59:59Z"} {
		got, err := scalar.UnmarshalTime(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := json.Marshal(got.UTC()); err != nil {
			t.Error(err)
		}
	}
	for _, v := range []any{
		nil, "", 1, "2026-03-01", "2026-03-01 12:00:00", "2026-03-01T12:00:00", "2026-02-30T12:00:00Z",
		"0000-01-01T00:00:00+01:00", "0001-01-01T00:00:00Z", "1970-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z",
	} {
		if got, err := scalar.UnmarshalTime(v); apierror.KindOf(err) != apierror.BadUserInput {
			t.Errorf("%v is %v, %v; want BAD_USER_INPUT", v, got, err)
		}
	}
}

func FuzzAStringIsAppendedAsGqlgenWritesIt(f *testing.F) {
	for _, s := range []string{
		"", "plain", `"quoted"`, `back\slash`, "line\nend\r\ttab", "\x00\x01\x1f\x7f", "吃饭", "😀", "<script>&amp;</script>",
		"\u2028\u2029", "broken \xff\xfe utf-8 \xe4", "\"", "\\", "end\\", "\x00", strings.Repeat("é\"", 100),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want strings.Builder
		graphql.MarshalString(s).MarshalGQL(&want)
		if got := string(scalar.AppendString([]byte("before"), s)); got != "before"+want.String() {
			t.Errorf("%q is written as %s, by gqlgen as %s", s, got, want.String())
		}
	})
}

func TestAppendEqualsMarshal(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	east := time.Date(2026, 3, 1, 12, 0, 0, 120_000_000, time.FixedZone("", 8*3600))
	day, err := civil.Parse("2026-03-01")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		got  []byte
		want graphql.Marshaler
	}{
		{"a number", scalar.AppendInt(nil, -42), scalar.MarshalInt(-42)},
		{"a number beyond 32 bits", scalar.AppendInt(nil, 1<<40), scalar.MarshalInt(1 << 40)},
		{"a long number", scalar.AppendLong(nil, 1<<60), scalar.MarshalLong(1 << 60)},
		{"a fraction", scalar.AppendFloat(nil, 4.1), scalar.MarshalFloat(4.1)},
		{"a whole Float", scalar.AppendFloat(nil, 5), scalar.MarshalFloat(5)},
		{"a great Float", scalar.AppendFloat(nil, 1e21), scalar.MarshalFloat(1e21)},
		{"a small Float", scalar.AppendFloat(nil, -1e-7), scalar.MarshalFloat(-1e-7)},
		{"no number", scalar.AppendFloat(nil, math.NaN()), scalar.MarshalFloat(math.NaN())},
		{"an infinite Float", scalar.AppendFloat(nil, math.Inf(1)), graphql.Null},
		{"a moment", scalar.AppendTime(nil, noon), scalar.MarshalTime(noon)},
		{"a moment in another zone", scalar.AppendTime(nil, east), scalar.MarshalTime(east)},
		{"the zero moment", scalar.AppendTime(nil, time.Time{}), scalar.MarshalTime(time.Time{})},
		{"a day", scalar.AppendDate(nil, day), scalar.MarshalDate(day)},
		{"a cursor", scalar.AppendCursor(nil, "eyJhIjoxfQ"), scalar.MarshalCursor("eyJhIjoxfQ")},
		{"an id", scalar.AppendNum(nil, 1<<63-1, "ShopType"), graphql.WriterFunc(scalar.ID{Type: "ShopType", N: 1<<63 - 1}.MarshalGQL)},
	}
	for _, tt := range tests {
		var want bytes.Buffer
		tt.want.MarshalGQL(&want)
		if string(tt.got) != want.String() {
			t.Errorf("%s is appended as %s, and marshalled as %s", tt.name, tt.got, want.String())
		}
	}
}
