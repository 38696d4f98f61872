package gqlserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/testkit"
)

// field returns a part without a file name.
func field(name, text string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
}

// file returns a part with a file name.
func file(name, filename, text string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"" + filename + "\"\r\nContent-Type: text/plain\r\n\r\n" + text + "\r\n"
}

func form(parts ...string) string { return strings.Join(parts, "") + "--x--\r\n" }

const (
	oneFile   = `{"query":"mutation($f: Upload!) { upload(file: $f) { name size text } }","variables":{"f":null}}`
	twoFiles  = `{"query":"mutation($f: [Upload!]!) { uploads(files: $f) { name text } }","variables":{"f":[null,null]}}`
	someFiles = `{"query":"mutation($a: Upload!, $f: [Upload!]!) { upload(file: $a) { text } uploads(files: $f) { text } }","variables":{"a":null,"f":[null,null]}}`
)

// signedIn returns the headers of an upload by ann.
func signedIn(more ...string) map[string]string {
	h := map[string]string{
		"Content-Type": "multipart/form-data; boundary=x", "GraphQL-Require-Preflight": "1", "Authorization": "Bearer ann", "Accept": request.MediaGraphQL,
	}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// wantEmpty waits until a directory is empty.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	testkit.Eventually(t, testTimeout, func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 0
	})
}

// newUploadServer is newTestServer with its own directory for files.
func newUploadServer(t *testing.T, limits Limits) (s *testServer, dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("TMPDIR", dir)
	s = newTestServer(t, Config{Authenticate: tokenAsUser, Limits: limits})
	t.Cleanup(func() {
		wantEmpty(t, dir)
		wantUnused(t, s.server.uploads)
		wantUnused(t, s.server.memory)
	})
	return s, dir
}

func TestFilesAreMappedToVariables(t *testing.T) {
	s, _ := newUploadServer(t, Limits{})
	binary := "\x00\xff\r\n--\r\n--y--\r\n"
	tests := []struct {
		name, body, want string
	}{
		{"one file", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "hello")), `{"upload":{"name":"a.txt","size":5,"text":"hello"}}`},
		{"no file name", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), field("0", "hello")), `{"upload":{"name":"","size":5,"text":"hello"}}`},
		{"empty file", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "")), `{"upload":{"name":"a.txt","size":0,"text":""}}`},
		{"two in a list", form(field("operations", twoFiles), field("map", `{"a":["variables.f.1"],"b":["variables.f.0"]}`), file("a", "a.txt", "A"), file("b", "b.txt", "B")), `{"uploads":[{"name":"b.txt","text":"B"},{"name":"a.txt","text":"A"}]}`},
		{"two in another order", form(field("operations", twoFiles), field("map", `{"a":["variables.f.1"],"b":["variables.f.0"]}`), file("b", "b.txt", "B"), file("a", "a.txt", "A")), `{"uploads":[{"name":"b.txt","text":"B"},{"name":"a.txt","text":"A"}]}`},
		{"one file in three variables", form(field("operations", someFiles), field("map", `{"0":["variables.f.0","variables.a","variables.f.1"]}`), file("0", "a.txt", "A")), `{"upload":{"text":"A"},"uploads":[{"text":"A"},{"text":"A"}]}`},
		{"path as file name", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "../../etc/passwd", "x")), `{"upload":{"name":"passwd","size":1,"text":"x"}}`},
		{"no file", form(field("operations", `{"query":"{ sum }"}`), field("map", `{}`)), `{"sum":0}`},
		{"unmapped part", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "A"), file("1", "b.txt", "B")), `{"upload":{"name":"a.txt","size":1,"text":"A"}}`},
		{"preamble and epilogue", "hello\r\n" + form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "A")) + "bye", `{"upload":{"name":"a.txt","size":1,"text":"A"}}`},
		{"large file", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", strings.Repeat("a", 1<<20))), `{"upload":{"name":"a.txt","size":1048576,"text":"` + strings.Repeat("a", 1<<20) + `"}}`},
		{"transfer encoding is kept", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), strings.Replace(file("0", "a.txt", "=41"), "Content-Type", "Content-Transfer-Encoding: quoted-printable\r\nContent-Type", 1)), `{"upload":{"name":"a.txt","size":3,"text":"=41"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.do(t, "POST", "/", tt.body, signedIn())
			want{200, request.MediaGraphQL, tt.want, nil, nil}.check(t, res, text)
		})
	}
	const quoted = `{"query":"mutation($f: Upload!) { upload(file: $f) { size } }","variables":{"f":null}}`
	res, text := s.do(t, "POST", "/", form(field("operations", quoted), field("map", `{"0":["variables.f"]}`), file("0", "a", binary)), signedIn())
	want{200, request.MediaGraphQL, fmt.Sprintf(`{"upload":{"size":%d}}`, len(binary)), nil, nil}.check(t, res, text)
}

func TestMalformedMultipartRequestIsRejected(t *testing.T) {
	s, _ := newUploadServer(t, Limits{UploadBody: 300_000, Body: 100_000})
	bad := want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}
	long := want{413, request.MediaGraphQL, "-", []string{errcode.PayloadTooLarge}, nil}
	operations, mapping, one := field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "A")
	mapped := func(text string) string { return form(operations, field("map", text), one) }
	tests := []struct {
		name, body string
		want       want
	}{
		{"empty body", "", bad},
		{"no parts", "--x--\r\n", bad},
		{"another boundary", strings.ReplaceAll(form(operations, mapping, one), "--x", "--y"), bad},
		{"map before operations", form(mapping, operations, one), bad},
		{"file before map", form(operations, one, mapping), bad},
		{"no map", form(operations), bad},
		{"duplicate operations", form(operations, operations, mapping, one), bad},
		{"unmapped file", form(operations, mapping, file("1", "a.txt", "A"), one), bad},
		{"duplicate file", form(operations, field("map", `{"0":["variables.f"],"1":["variables.f"]}`), one, one), bad},
		{"missing file", form(operations, mapping), bad},
		{"part without a name", form(operations, mapping, "--x\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nA\r\n"), bad},
		{"part without headers", form(operations, mapping, "--x\r\n\r\nA\r\n"), bad},
		{"attachment", form(operations, mapping, strings.Replace(one, "form-data", "attachment", 1)), bad},
		{"truncated operations", operations[:len(operations)-20], bad},
		{"truncated header", form(operations, mapping, one[:20])[:len(operations+mapping)+20], bad},
		{"truncated file", operations + mapping + one[:len(one)-2], bad},
		{"truncated after operations", operations, bad},

		{"operations with invalid JSON", form(field("operations", "{"), mapping, one), bad},
		{"batch as operations", form(field("operations", "["+oneFile+"]"), mapping, one), want{400, request.MediaGraphQL, "-", []string{errcode.BatchingNotSupported}, nil}},
		{"operations with invalid UTF-8", form(field("operations", strings.Replace(oneFile, "{", "{\"id\":\"\xff\",", 1)), mapping, one), bad},
		{"deeply nested operations", form(field("operations", `{"variables":`+strings.Repeat("[", 100)), mapping, one), bad},
		{"map with invalid JSON", mapped(`{`), bad},
		{"null map", mapped(`null`), bad},
		{"list as map", mapped(`[["variables.f"]]`), bad},
		{"map of strings", mapped(`{"0":"variables.f"}`), bad},
		{"map of numbers", mapped(`{"0":[1]}`), bad},
		{"data after map", mapped(`{"0":["variables.f"]}{}`), bad},
		{"no paths", mapped(`{"0":[]}`), bad},
		{"null as paths", mapped(`{"0":null}`), bad},
		{"too many paths", mapped(`{"0":["variables.f","variables.f","variables.f","variables.f","variables.f","variables.f"]}`), bad},
		{"too many files", mapped(`{"0":["variables.f"],"1":["variables.f"],"2":["variables.f"],"3":["variables.f"],"4":["variables.f"]}`), bad},
		{"unknown path", mapped(`{"0":["variables.g"]}`), bad},
		{"duplicate path", mapped(`{"0":["variables.f","variables.f"]}`), bad},

		{"operations above the limit", form(field("operations", oneFile+strings.Repeat(" ", 100_001-len(oneFile))), mapping, one), long},
		{"operations at the limit", form(field("operations", oneFile+strings.Repeat(" ", 100_000-len(oneFile))), mapping, one), want{200, request.MediaGraphQL, "*", nil, nil}},
		{"map above the limit", mapped(`{"0":["variables.f"]}` + strings.Repeat(" ", maxMap)), long},
		{"body above the limit", form(operations, mapping, file("0", "a.txt", strings.Repeat("a", 300_000))), long},
		{"long part headers", form(operations, mapping, strings.Replace(one, "Content-Type", "X-Long: "+strings.Repeat("x", 100_000)+"\r\nContent-Type", 1)), bad},
		{"long preamble", strings.Repeat("x", 100_000) + "\r\n" + form(operations, mapping, one), bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.status == 200 && tt.want.codes != nil { // rejected after the transport
				tt.want.status = 400
			}
			res, text := s.do(t, "POST", "/", tt.body, signedIn())
			tt.want.check(t, res, text)
		})
	}
}

func TestFileReplacesOnlyNull(t *testing.T) {
	const variables = `{"f":null,"text":"x","list":[null,1,[null]],"input":{"images":[null,null],"0":null},"":null,"empty":[]}`
	one := graphql.Upload{Filename: "a.txt"}
	tests := []struct {
		path, want string // the resulting variables; "" if the path is rejected
	}{
		{"variables.f", `{"f":"FILE","text":"x","list":[null,1,[null]],"input":{"images":[null,null],"0":null},"":null,"empty":[]}`},
		{"variables.list.0", `{"f":null,"text":"x","list":["FILE",1,[null]],"input":{"images":[null,null],"0":null},"":null,"empty":[]}`},
		{"variables.list.2.0", `{"f":null,"text":"x","list":[null,1,["FILE"]],"input":{"images":[null,null],"0":null},"":null,"empty":[]}`},
		{"variables.input.images.1", `{"f":null,"text":"x","list":[null,1,[null]],"input":{"images":[null,"FILE"],"0":null},"":null,"empty":[]}`},
		{"variables.input.0", `{"f":null,"text":"x","list":[null,1,[null]],"input":{"images":[null,null],"0":"FILE"},"":null,"empty":[]}`},
		{"variables.text", ""},
		{"variables.nothing", ""},
		{"variables.list", ""},
		{"variables.list.1", ""},
		{"variables.list.3", ""},
		{"variables.list.-1", ""},
		{"variables.list.x", ""},
		{"variables.list.1.0", ""},
		{"variables.list.9223372036854775808", ""},
		{"variables.list.", ""},
		{"variables.empty.0", ""},
		{"variables.f.0", ""},
		{"variables.f.x", ""},
		{"variables.text.0", ""},
		{"variables.input.images.2", ""},
		{"variables", ""},
		{"variables..", ""},
		{"", ""},
		{"query", ""},
		{"0.variables.f", ""},
		{"extensions.f", ""},
		{"Variables.f", ""},
		{"variables" + strings.Repeat(".f", 100), ""},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			var in, want map[string]any
			if err := request.DecodeStrict([]byte(variables), &in); err != nil {
				t.Fatal(err)
			}
			ok := setFile(in, tt.path, one)
			if ok != (tt.want != "") {
				t.Errorf("got %v, want %v", ok, tt.want != "")
			}
			text := tt.want
			if text == "" {
				text = variables
			}
			if err := request.DecodeStrict([]byte(text), &want); err != nil {
				t.Fatal(err)
			}
			isFile := cmp.FilterValues(func(a, b any) bool { _, x := a.(graphql.Upload); _, y := b.(graphql.Upload); return x || y }, cmp.Comparer(func(a, b any) bool {
				return a == "FILE" && b == one || a == one && b == "FILE"
			}))
			if d := cmp.Diff(want, in, isFile); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if setFile(nil, "variables.f", one) {
		t.Error("got true for nil variables, want false")
	}
}

func TestUploadNeedsPreflightHeader(t *testing.T) {
	s, _ := newUploadServer(t, Limits{})
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	for header, status := range map[string]int{
		"GraphQL-Require-Preflight": 200, "Apollo-Require-Preflight": 200, "X-Apollo-Operation-Name": 200, "X-Requested-With": 400, "Accept-Language": 400,
	} {
		for value, status := range map[string]int{"x": status, "": 400} {
			of := signedIn(header, value)
			if header != "GraphQL-Require-Preflight" {
				delete(of, "GraphQL-Require-Preflight")
			}
			res, text := s.do(t, "POST", "/", body, of)
			if res.StatusCode != status {
				t.Errorf("%s %q: got %d, want %d: %s", header, value, res.StatusCode, status, text)
			}
			if status == 400 && firstCode(text) != errcode.CSRF {
				t.Errorf("%s %q: got %s, want the code %s", header, value, text, errcode.CSRF)
			}
		}
	}
}

func TestAnonymousUploadsNeedConfig(t *testing.T) {
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	for _, anonymous := range []bool{true, false} {
		s := newTestServer(t, Config{Authenticate: tokenAsUser, AnonymousUploads: anonymous})
		res, text := s.do(t, "POST", "/", body, signedIn())
		if res.StatusCode != http.StatusOK {
			t.Errorf("signed in: got %d %s, want 200", res.StatusCode, text)
		}
		of := signedIn()
		delete(of, "Authorization")
		res, text = s.do(t, "POST", "/", body, of)
		if got := firstCode(text); anonymous && got != "" || !anonymous && (got != errcode.Unauthenticated || res.StatusCode != 401) {
			t.Errorf("anonymous uploads %v: got %d %s", anonymous, res.StatusCode, text)
		}
	}
}

func TestUploadNeedsBoundary(t *testing.T) {
	s, _ := newUploadServer(t, Limits{})
	for _, kind := range []string{"multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=x", "multipart/form-data; boundary"} {
		res, text := s.do(t, "POST", "/", form(), signedIn("Content-Type", kind))
		if res.StatusCode != 400 && res.StatusCode != 415 {
			t.Errorf("%s: got %d %s, want 400 or 415", kind, res.StatusCode, text)
		}
	}
}

const uploadHeaders = "Content-Type: multipart/form-data; boundary=x\r\nGraphQL-Require-Preflight: 1\r\nAuthorization: Bearer "

func TestChunkedUploadIsReadUpToLimit(t *testing.T) {
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	s, _ := newUploadServer(t, Limits{UploadBody: len(body), UploadTime: 5 * time.Second, BodyTime: 300 * time.Millisecond})
	for more, status := range map[int]int{0: 200, 1: 413, 100_000: 413} {
		w := s.dial(t)
		w.writePOST(uploadHeaders+"ann", chunkedHeader)
		text := body + strings.Repeat("x", more)
		w.send(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text))
		if res, text := w.readResponse(); res.StatusCode != status {
			t.Errorf("%d bytes more: got %d %s, want %d", more, res.StatusCode, text, status)
		}
	}
	w := s.dial(t)
	w.writePOST(uploadHeaders+"ann", fmt.Sprintf("Content-Length: %d", len(body)+1)) // the header is enough to reject it
	if res, text := w.readResponse(); res.StatusCode != 413 {
		t.Errorf("length above the limit: got %d %s, want 413", res.StatusCode, text)
	}
}

func TestLateUploadTimesOut(t *testing.T) {
	operations, mapping, one := field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", strings.Repeat("A", 10_000))
	for name, start := range map[string]string{
		"no byte":            "",
		"half a header":      operations[:30],
		"half of operations": operations[:len(operations)/2],
		"no file":            operations + mapping,
		"half the file":      operations + mapping + one[:len(one)/2],
		"no end":             operations + mapping + one,
		"no epilogue":        form(operations, mapping, one),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := newUploadServer(t, Limits{UploadTime: 300 * time.Millisecond, BodyTime: -1})
			w := s.dial(t)
			w.writePOST(uploadHeaders+"ann", "Content-Length: 100000")
			w.send(start)
			res, text := w.readResponse()
			want{408, request.MediaJSON, "-", []string{errcode.Timeout}, nil}.check(t, res, text)
			w.wantEOF()
		})
	}
}

func TestUploadMayOutlastBodyTime(t *testing.T) {
	s, _ := newUploadServer(t, Limits{BodyTime: 200 * time.Millisecond})
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	w := s.dial(t)
	w.writePOST(uploadHeaders+"ann", fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body[:50])
	past := time.NewTimer(400 * time.Millisecond)
	<-past.C
	w.send(body[50:])
	if res, text := w.readResponse(); res.StatusCode != 200 {
		t.Errorf("got %d %s, want 200", res.StatusCode, text)
	}
}

func TestConcurrentUploadsAreLimited(t *testing.T) {
	s, dir := newUploadServer(t, Limits{Uploads: 4, UploadBody: 2 * uploadStep})
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "../client name", strings.Repeat("A", uploadStep)))
	begin := func(user string) *rawConn {
		w, before := s.dial(t), bytesUsed(s.server.uploads)
		w.writePOST(uploadHeaders+user, fmt.Sprintf("Content-Length: %d", len(body)))
		w.send(body[:len(body)-7])
		eventually(t, "the upload is being read", func() bool { return bytesUsed(s.server.uploads) == before+2*uploadStep })
		return w
	}
	busy := want{503, request.MediaGraphQL, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}
	held := []*rawConn{begin("ann")}
	res, text := s.do(t, "POST", "/", body, signedIn())
	busy.check(t, res, text) // ann uses the quarter of one caller
	for _, user := range []string{"bob", "cid", "dan"} {
		held = append(held, begin(user))
	}
	res, text = s.do(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	busy.check(t, res, text)
	res, text = s.do(t, "POST", "/", query("{ sum }"), signedIn("Content-Type", request.MediaJSON))
	want{200, request.MediaGraphQL, `{"sum":0}`, nil, nil}.check(t, res, text)

	eventually(t, "the files exist", func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "upload-*"))
		return err == nil && len(files) == len(held)
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(held) {
		t.Errorf("got files %v, %v, want %d", files, err, len(held))
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(f.Name(), "client name") {
			t.Errorf("file %s: got %v, %v, want mode 0600 and a random name", f.Name(), info, err)
		}
	}

	for i, w := range held {
		if i == 0 {
			_ = w.Close() // disconnects before the end
			continue
		}
		w.send(body[len(body)-7:])
		if res, text := w.readResponse(); res.StatusCode != 200 {
			t.Errorf("got %d %s, want 200", res.StatusCode, text)
		}
	}
	wantUnused(t, s.server.uploads)
	res, text = s.do(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
}

// Four users have four uploads each, which send a boundary and then nothing.
func TestSlowUploadsDoNotBlockOthers(t *testing.T) {
	s, _ := newUploadServer(t, Limits{})
	for _, user := range []string{"ann", "bob", "cid", "dan"} {
		for range 4 {
			w, before := s.dial(t), bytesUsed(s.server.uploads)
			w.writePOST(uploadHeaders+user, "Content-Length: 1000000")
			w.send("--x\r\n")
			eventually(t, "the upload is being read", func() bool { return bytesUsed(s.server.uploads) > before })
			defer func() { _ = w.Close() }()
		}
	}
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	res, text := s.do(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	want{200, request.MediaGraphQL, `{"upload":{"name":"a","size":1,"text":"A"}}`, nil, nil}.check(t, res, text)
}

// An upload reserves little before its bytes arrive. Hundreds of silent uploads by four users
// leave budget for others.
func TestSilentUploadsHoldLittleBudget(t *testing.T) {
	s, _ := newUploadServer(t, Limits{Uploads: 4, UploadBody: 64 << 10})
	for _, user := range []string{"ann", "bob", "cid", "dan"} {
		for range 8 {
			w, before := s.dial(t), bytesUsed(s.server.uploads)
			w.writePOST(uploadHeaders+user, "Content-Length: 60000")
			w.send("--x\r\n")
			eventually(t, "the upload is being read", func() bool { return bytesUsed(s.server.uploads) > before })
			defer func() { _ = w.Close() }()
		}
	}
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	res, text := s.do(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	want{200, request.MediaGraphQL, `{"upload":{"name":"a","size":1,"text":"A"}}`, nil, nil}.check(t, res, text)
}

// A slowBody returns a few bytes per Read, after a pause.
type slowBody struct {
	text  string
	each  int
	pause time.Duration
	ended chan struct{}
}

func (b *slowBody) Read(p []byte) (int, error) {
	if b.text == "" {
		return 0, io.EOF
	}
	select {
	case <-time.After(b.pause):
	case <-b.ended:
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(p[:min(len(p), b.each)], b.text)
	b.text = b.text[n:]
	return n, nil
}

func TestUploadsMustKeepPace(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	body := func(steps int) string {
		return form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", strings.Repeat("A", steps*paceStep-1000)))
	}
	// The transport reads at most 32 KB at a time.
	const half = paceStep / 2
	for _, tt := range []struct {
		name   string
		limits Limits
		body   slowBody
		status int
		after  time.Duration // when the response arrives; 0 to ignore it
	}{
		{"silent", Limits{}, slowBody{text: body(1), each: 1, pause: time.Hour}, 408, 10 * time.Second},
		{"one byte per second", Limits{}, slowBody{text: body(1), each: 1, pause: time.Second}, 408, 10 * time.Second},
		{"half the pace", Limits{}, slowBody{text: body(5), each: half, pause: 9 * time.Second}, 408, 10 * time.Second},
		{"minimum pace", Limits{}, slowBody{text: body(5), each: half, pause: 4500 * time.Millisecond}, 200, 0},
		{"short body", Limits{}, slowBody{text: form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A")), each: 100, pause: time.Second}, 200, 0},
		{"too long at the minimum pace", Limits{}, slowBody{text: body(8), each: half, pause: 4500 * time.Millisecond}, 408, time.Minute},
		{"configured pace", Limits{UploadPace: 20 * time.Second}, slowBody{text: body(2), each: half, pause: 9 * time.Second}, 200, 0},
		{"no pace", Limits{UploadPace: -1}, slowBody{text: body(1), each: 1, pause: time.Hour}, 408, time.Minute},
		{"no time limit", Limits{UploadTime: -1}, slowBody{text: body(20), each: half, pause: 4500 * time.Millisecond}, 200, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPipeServer(t, Config{Authenticate: tokenAsUser, Limits: tt.limits}, &http.Server{})
				tt.body.ended = make(chan struct{})
				defer close(tt.body.ended)
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, &tt.body)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range signedIn() {
					r.Header.Set(k, v)
				}
				begin := time.Now()
				res, err := s.client.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				took := time.Since(begin)
				text, err := io.ReadAll(res.Body)
				if err := errors.Join(err, res.Body.Close()); err != nil {
					t.Fatal(err)
				}
				if res.StatusCode != tt.status || tt.after > 0 && took != tt.after {
					t.Errorf("got %d after %v, want %d after %v: %s", res.StatusCode, took, tt.status, tt.after, text)
				}
			})
		})
	}
}

// All files of a request share one open file, so the number of connections limits descriptors.
func TestFilesOfRequestShareDescriptor(t *testing.T) {
	s, dir := newUploadServer(t, Limits{})
	w := s.dial(t)
	body := form(field("operations", twoFiles), field("map", `{"a":["variables.f.0"],"b":["variables.f.1"]}`), file("a", "a", "A"), file("b", "b", "BB"))
	w.writePOST(uploadHeaders+"ann", fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body[:len(body)-7])
	stored := func() (files, bytes int) {
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if info, err := f.Info(); err == nil {
				bytes += int(info.Size())
			}
		}
		return len(all), bytes
	}
	eventually(t, "the first file is stored", func() bool { _, bytes := stored(); return bytes >= 1 })
	w.send(body[len(body)-7 : len(body)-2])
	eventually(t, "both are stored", func() bool { _, bytes := stored(); return bytes == 3 })
	if files, _ := stored(); files != 1 {
		t.Errorf("got %d files, want 1", files)
	}
	w.send(body[len(body)-2:])
	if res, text := w.readResponse(); res.StatusCode != 200 || !strings.Contains(string(text), `"A"`) || !strings.Contains(string(text), `"BB"`) {
		t.Errorf("got %d %s, want 200", res.StatusCode, text)
	}
}

// The budget runs out while a body arrives.
func TestUploadWithoutBudgetIsRejected(t *testing.T) {
	s, _ := newUploadServer(t, Limits{Uploads: 4, UploadBody: 4 * uploadStep})
	if !s.server.uploads.Take("others", 4*uploadStep) || !s.server.uploads.Take("more", 4*uploadStep) || !s.server.uploads.Take("most", 4*uploadStep) {
		t.Fatal("the budget is smaller than four bodies")
	}
	free := 0
	for s.server.uploads.Take("free", uploadStep) {
		free++
	}
	s.server.uploads.Give("free", 2*uploadStep)
	for where, parts := range map[string][]string{
		"in the file":   {field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", strings.Repeat("A", 3*uploadStep))},
		"in operations": {field("operations", strings.Repeat(" ", 3*uploadStep)+oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A")},
	} {
		res, text := s.do(t, "POST", "/", form(parts...), signedIn())
		if res.StatusCode != 503 || firstCode(text) != errcode.Unavailable {
			t.Errorf("%s: got %d %s, want 503", where, res.StatusCode, text)
		}
	}
	for key, n := range map[string]int{"others": 4, "more": 4, "most": 4, "free": free - 2} {
		s.server.uploads.Give(key, n*uploadStep)
	}
}

func TestUnstorableFileIsInternalError(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	s := newTestServer(t, Config{Authenticate: tokenAsUser})
	res, text := s.do(t, "POST", "/", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A")), signedIn())
	want{500, request.MediaGraphQL, "-", []string{errcode.Internal}, nil}.check(t, res, text)
	if strings.Contains(string(text), "missing") || !strings.Contains(s.log.String(), "missing") {
		t.Errorf("got response %s and log %s, want the path only in the log", text, s.log)
	}
	wantUnused(t, s.server.uploads)
}

func TestUploadDoesNotBufferFilesInMemory(t *testing.T) {
	const size = 9 << 20
	s, _ := newUploadServer(t, Limits{})
	const mutation = `{"query":"mutation($f: Upload!) { setName(name: \"x\") }","variables":{"f":null}}`
	for name, parts := range map[string]string{
		"file":   file("0", "a", strings.Repeat("x", size)),
		"header": strings.Replace(file("0", "a", ""), "Content-Type", "X-Long: "+strings.Repeat("x", size)+"\r\nContent-Type", 1),
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.NewReader(form(field("operations", mutation), field("map", `{"0":["variables.f"]}`), parts))
			r, err := http.NewRequestWithContext(t.Context(), "POST", "/", body)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range signedIn() {
				r.Header.Set(k, v)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s.server.ServeHTTP(silentWriter{}, r)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > size/4 {
				t.Errorf("got %d bytes allocated, want at most %d", took, size/4)
			}
		})
	}
}

// silentWriter discards the response.
type silentWriter struct{}

func (silentWriter) Header() http.Header         { return http.Header{} }
func (silentWriter) Write(p []byte) (int, error) { return len(p), nil }
func (silentWriter) WriteHeader(int)             {}
