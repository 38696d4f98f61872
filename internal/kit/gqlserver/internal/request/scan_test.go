package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

//nolint:gochecknoglobals // constants
var (
	defaultLimits = JSONLimits{Depth: 12, Values: 2000} // the defaults of the server
	noLimits      = JSONLimits{Depth: -1, Values: -1}
)

// bodyOf returns a request for a query.
func bodyOf(query string) string {
	body, _ := json.Marshal(map[string]string{"query": query})
	return string(body)
}

// referenceDecode is Decode by package encoding/json, with five passes.
func referenceDecode(text []byte, limits JSONLimits) (*graphql.RawParams, *gqlerror.Error) {
	text = jsonbody.TrimBOM(text) // package json knows no byte order mark
	if !utf8.Valid(text) {
		return nil, badRequestf("The request must be UTF-8.")
	}
	if err := limits.Check(text, 1); err != nil {
		return nil, err
	}
	fields, err := Object(text)
	if err != nil {
		if bytes.HasPrefix(bytes.TrimLeft(text, " \t\r\n"), []byte("[")) {
			return nil, errcode.Errorf(errcode.BatchingNotSupported, "Batching is not supported. Send each operation in its own request.")
		}
		return nil, badRequestf("The request must be one JSON object with a query.")
	}
	var p graphql.RawParams
	for _, of := range []struct {
		name string
		to   *string
	}{{"query", &p.Query}, {"operationName", &p.OperationName}} {
		if IsNull(fields[of.name]) {
			continue
		}
		if *of.to, err = String(fields[of.name]); err != nil {
			return nil, badRequestf("%s must be a string", of.name)
		}
	}
	for _, of := range []struct {
		name string
		to   *map[string]any
	}{{"variables", &p.Variables}, {"extensions", &p.Extensions}} {
		if IsNull(fields[of.name]) {
			continue
		}
		if err = DecodeStrict(fields[of.name], of.to); err != nil {
			return nil, badRequestf("%s must be an object", of.name)
		}
	}
	return &p, nil
}

// compareDecode compares Decode with referenceDecode.
func compareDecode(t *testing.T, limits JSONLimits, known *Interner, text []byte) {
	t.Helper()
	want, refused := referenceDecode(text, limits)
	input := bytes.Clone(text)
	got, failed := Decode(input, limits, known)
	for i := range input { // Decode must not retain the text
		input[i] = 0xff
	}
	switch {
	case refused == nil && failed == nil:
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", text, diff)
		}
	case refused == nil || failed == nil:
		t.Errorf("%q: got %[3]v, want %[2]v", text, refused, failed)
	case errcode.CodeOf(refused) != errcode.CodeOf(failed) || refused.Message != failed.Message:
		t.Errorf("%q: got %[3]v, want %[2]v", text, refused, failed)
	}
}

// requestTexts returns valid and invalid requests with edge cases.
func requestTexts() []string {
	texts := []string{
		"", " ", "null", "0", `"x"`, "[]", ` [ {"query":"{ sum }"} ]`, "{}", " { } ", "{}{}", "{} x", "\ufeff{}", "{", `{"`, `{"query`, `{"query"`, `{"query":`, `{"query":"`,
		`{"query":"{ sum }"`, `{"query":"{ sum }",}`, `{,}`, `{"query" "x"}`, `{"query":"x" "operationName":"y"}`, `{query:"x"}`, `{'query':"x"}`, `{"query":"x"}//`,
		`{"query":"{ sum }","variables":{"a":[1,2.5e9,null,{"b":"\u0000"}]},"extensions":{},"operationName":"A"}`,
		`{"query":1}`, `{"query":true}`, `{"query":{}}`, `{"query":[]}`, `{"query":null,"operationName":null,"variables":null,"extensions":null}`,
		`{"operationName":1}`, `{"variables":"{}"}`, `{"variables":[]}`, `{"variables":1}`, `{"extensions":false}`, `{"extensions":{"persistedQuery":{"version":1}}}`,
		`{"QUERY":"{ sum }","query":null}`, `{"query":"a","query":"b"}`, `{"query":"a","query":null}`, `{"query":1,"query":"b"}`, `{"query":"b","query":1}`,
		`{"variables":{"a":1},"variables":{"b":2}}`, `{"variables":{"a":{"x":1},"a":{"y":2}}}`, `{"variables":{"a":1,"a":null}}`, `{"variables":{},"variables":null}`,
		`{"qu\u0065ry":"x"}`, `{"\u0071\u0075\u0065\u0072\u0079":"x","operat\u0069onNam\u0065":"y","v\u0061riables":{"\u0061":"\ud83d\ude00"}}`, `{"query\u0000":"x"}`,
		`{"unknown":{"a":[1,{"b":tru}]},"query":"x"}`, `{"unknown":{"a":[1,{"b":true}]},"query":"x"}`, `{"` + strings.Repeat("q", 200) + `":1}`,
		"{\"query\":\"\xff\"}", "{\"query\":\"\xed\xa0\x80\"}", "{\"x\xff\":1}", "\xff{}", "{\"query\":\"a\x1fb\"}", "{\"query\":\"a\x7fb\"}", "{\"query\":\"a\nb\"}", "{\"query\":\"\xff",
		"{\r\n\t \"query\"\r\n\t :\r\n\t \"x\"\r\n\t ,\"variables\" : { \"a\" : [ 1 , 2 , [ ] , { } ] , \"b\" : { \"c\" : -0.5E-7 } }\r\n\t }\r\n\t ", "{\"query\":\"x\"\v}", "{\"query\":\"x\"\u00a0}",
		`{"variables":{"":""}}`, `{"variables":{"a":"\/\b\f\n\r\t\\\""}}`,
	}
	for _, s := range []string{
		`\x`, `\`, `\u`, `\u12`, `\u123`, `\u123g`, `\uABCD`, `\uabcd`, `\u00E9`, `\ud83d\ude00`, `\uD83D\uDE00`, `\ud83d`, `\ude00`, `\ud83d\ud83d\ude00`, `\ud83dx`, `\ud83d\n`,
		`\ud83d\u0041`, `\ude00\ud83d`, `\ufffd`, `\uffff`, `\ud83d\ufffd`, `Ω\n😀`, `\\u0041`, `\"`, `\\`, `\'`, `\ud83d\ude0`, `\udbff\udfff`, `\ud83d\\ude00`,
	} {
		texts = append(texts, `{"query":"`+s+`"}`, `{"query":"a`+s+`b"}`, `{"variables":{"a":"`+s+`"}}`, `{"variables":{"`+s+`":0}}`, `{"`+s+`":0}`)
	}
	for _, v := range []string{
		"0", "-0", "00", "01", "-", "-01", "+1", ".5", "1.", "1.5", "1.e5", "1e", "1e+", "1e+5", "1E-05", "1e5.5", "1e400", "123456789012345678901234567890", "1_0", "0x10", "Infinity", "NaN", "-Infinity",
		"true", "tru", "truex", "True", "false", "falsee", "null", "nul", "nulll", "t", "f", "n", "[1,]", "[,1]", "[1 2]", "[1,2", "[", "]", "[[[[]]]]", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{1:2}`, "\x00", "undefined", "1 ", "\"",
	} {
		texts = append(texts, `{"variables":{"a":`+v+`}}`, `{"x":`+v+`}`, `{"variables":`+v+`}`, v)
	}
	for _, n := range []int{11, 12, 13, 14} {
		texts = append(texts, `{"variables":`+strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n)+"}", `{"x":`+strings.Repeat("[", n)+strings.Repeat("]", n)+"}")
	}
	for _, n := range []int{1990, 2010, 2013, 2014, 2015, 2016, 2017, 2030} {
		texts = append(texts, `{"variables":{"a":[`+strings.Repeat("1,", n-1)+"1]}}", `{"x":[`+strings.Repeat("[],", n/2)+"1]}", `{`+strings.Repeat(`"a":1,`, n)+`"b":1}`)
	}
	return texts
}

func TestDecodeAgreesWithEncodingJSON(t *testing.T) {
	for name, limits := range map[string]JSONLimits{"usual limits": defaultLimits, "no limits": noLimits, "strict limits": {Depth: 1, Values: 1}} {
		t.Run(name, func(t *testing.T) {
			known := NewInterner()
			known.Add("x")
			known.Add("Ω\n😀")
			for _, text := range requestTexts() {
				compareDecode(t, limits, known, []byte(text))
				for end := range text { // also truncated texts
					if end < 300 {
						compareDecode(t, limits, known, []byte(text[:end]))
					}
				}
			}
			for _, n := range []int{9_999, 10_000, 10_001} {
				compareDecode(t, limits, known, fmt.Appendf(nil, `{"x":%s%s}`, strings.Repeat("[", n-1), strings.Repeat("]", n-1)))
			}
		})
	}
}

func FuzzDecodeAsJSON(f *testing.F) {
	for _, text := range requestTexts() {
		f.Add([]byte(text))
	}
	known := NewInterner()
	f.Fuzz(func(t *testing.T, text []byte) {
		compareDecode(t, defaultLimits, known, text)
		compareDecode(t, noLimits, nil, text)
		asMember, _ := json.Marshal(string(text)) // each text also inside a request
		compareDecode(t, defaultLimits, known, fmt.Appendf(nil, `{"query":%s,"variables":%s}`, asMember, text))
	})
}

func TestKnownQueryIsNotCopied(t *testing.T) {
	known := NewInterner()
	text := "query Q($a: Int) {\n  hello \"Ω\"\n" + strings.Repeat("# something more\n", 100) + "}"
	known.Add(text)
	known.Add("Q")
	body := []byte(strings.TrimSuffix(bodyOf(text), "}") + `,"operationName":"Q"}`)
	allocated := testing.AllocsPerRun(100, func() {
		params, failed := Decode(body, defaultLimits, known)
		if failed != nil || params.Query != text || params.OperationName != "Q" {
			t.Fatalf("got %+v, %v", params, failed)
		}
	})
	if allocated > 1 {
		t.Errorf("got %v allocations, want at most 1 for the request", allocated)
	}
}
