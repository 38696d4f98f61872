package gqlserver

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

func TestEveryUTF8LabelIsAccepted(t *testing.T) {
	s := newTestServer(t, Config{Authenticate: tokenAsUser})
	good := want{200, request.MediaJSON, `{"sum":0}`, nil, nil}
	bad := want{415, request.MediaJSON, "-", []string{errcode.UnsupportedMediaType}, nil}
	tests := []struct {
		contentType string
		want        want
	}{
		{"application/json;charset=utf8", good},
		{"application/json; charset=UTF8", good},
		{`application/json; charset="utf8"`, good},
		{`application/json; charset="Utf-8"`, good},
		{`application/json; charset=" utf-8 "`, good},
		{"application/json ; charset = utf8", good},
		{"Application/JSON; Charset=unicode-1-1-utf-8", good},
		{"application/json; charset=unicode11utf8", good},
		{"application/json; charset=UNICODE20UTF8", good},
		{"application/json; charset=x-unicode20utf8; x=y", good},
		{"application/json;", good},
		{`application/json; charset=""`, good},
		{"application/json; charset=utf-16", bad},
		{"application/json; charset=unicode", bad},
		{"application/json; charset=latin1", bad},
		{"application/json; charset=utf_8", bad},
		{"text/plain; charset=utf8", bad},
	}
	for _, tt := range tests {
		res, text := s.do(t, http.MethodPost, "/", query("{ sum }"), map[string]string{"Content-Type": tt.contentType})
		t.Run(tt.contentType, func(t *testing.T) { tt.want.check(t, res, text) })
	}
	for _, part := range []struct {
		contentType string
		status      int
	}{{"application/json; charset=utf8", 200}, {`application/json; charset="UTF-16"`, 415}} {
		text := func(name, text string) string {
			return strings.Replace(field(name, text), "\r\n\r\n", "\r\nContent-Type: "+part.contentType+"\r\n\r\n", 1)
		}
		res, answer := s.do(t, http.MethodPost, "/", form(text("operations", oneFile), text("map", `{"0":["variables.f"]}`), file("0", "a", "A")), signedIn())
		if res.StatusCode != part.status {
			t.Errorf("parts of %s: got %d %s, want %d", part.contentType, res.StatusCode, answer, part.status)
		}
	}
}

func TestErrorNamesUnsupportedCharset(t *testing.T) {
	s := newTestServer(t, Config{})
	_, text := s.do(t, http.MethodPost, "/", query("{ sum }"), map[string]string{"Content-Type": "application/json; charset=shift_jis"})
	if !strings.Contains(string(text), `not in the charset \"shift_jis\"`) {
		t.Errorf("got %s, want the charset shift_jis in the error", text)
	}
}

func TestByteOrderMarkIsSkipped(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	s := newTestServer(t, Config{Authenticate: tokenAsUser})
	header := map[string]string{"Content-Type": request.MediaJSON}
	variables := get("query", "query($n: [Int!]) { sum(of: $n) }", "variables", mark+`{"n":[1,2]}`, "extensions", mark+`{"a":1}`)
	upload := signedIn()
	maps.Copy(upload, map[string]string{"Accept": request.MediaJSON})
	tests := []struct {
		name, method, target, body string
		header                     map[string]string
		want                       want
	}{
		{"body", "POST", "/", mark + query("{ sum }"), header, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"body that begins with spaces", "POST", "/", mark + "\r\n " + query("{ sum }"), header, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"rejected batch", "POST", "/", mark + "[" + query("{ sum }") + "]", header, want{400, request.MediaJSON, "-", []string{errcode.BatchingNotSupported}, nil}},
		{"only the mark", "POST", "/", mark, header, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"mark after the beginning", "POST", "/", " " + mark + query("{ sum }"), header, want{400, request.MediaJSON, "-", []string{errcode.BadRequest}, nil}},
		{"document", "POST", "/", query("\ufeff{ sum }"), header, want{200, request.MediaJSON, `{"sum":0}`, nil, nil}},
		{"variables and extensions of GET", "GET", variables, "", nil, want{200, request.MediaJSON, `{"sum":3}`, nil, nil}},
		{
			"parts with files", "POST", "/", form(field("operations", mark+oneFile), field("map", mark+`{"0":["variables.f"]}`), file("0", "a", mark+"A")), upload,
			want{200, request.MediaJSON, "*", nil, nil}, // the file keeps its bytes
		},
	}
	for _, tt := range tests {
		res, text := s.do(t, tt.method, tt.target, tt.body, tt.header)
		t.Run(tt.name, func(t *testing.T) { tt.want.check(t, res, text) })
		if strings.Contains(tt.name, "files") && !strings.Contains(string(text), `"size":4`) {
			t.Errorf("%s: got %s, want a file of 4 bytes", tt.name, text)
		}
	}
}

func TestSocketSkipsByteOrderMarks(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	s := startServer(t, Config{})
	v := s.connect(t)
	v.send(mark + `{"type":"connection_init","payload":{"authorization":"Bearer ann"}}`)
	v.wantMessages(ack)
	v.send(mark + `{"type":"subscribe","id":"1","payload":{"query":"{ viewer }"}}`)
	v.wantMessages(`{"type":"next","id":"1","payload":{"data":{"viewer":"ann"}}}`, `{"type":"complete","id":"1"}`)
}
