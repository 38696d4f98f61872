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

// field is a part without a file's name.
func field(name, text string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + text + "\r\n"
}

// file is a part with a file's name.
func file(name, filename, text string) string {
	return "--x\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"" + filename + "\"\r\nContent-Type: text/plain\r\n\r\n" + text + "\r\n"
}

func form(parts ...string) string { return strings.Join(parts, "") + "--x--\r\n" }

const (
	oneFile   = `{"query":"mutation($f: Upload!) { upload(file: $f) { name size text } }","variables":{"f":null}}`
	twoFiles  = `{"query":"mutation($f: [Upload!]!) { uploads(files: $f) { name text } }","variables":{"f":[null,null]}}`
	someFiles = `{"query":"mutation($a: Upload!, $f: [Upload!]!) { upload(file: $a) { text } uploads(files: $f) { text } }","variables":{"a":null,"f":[null,null]}}`
)

// signedIn are the headers of an upload by somebody.
func signedIn(more ...string) map[string]string {
	h := map[string]string{
		"Content-Type": "multipart/form-data; boundary=x", "GraphQL-Require-Preflight": "1", "Authorization": "Bearer ann", "Accept": request.MediaGraphQL,
	}
	for i := 0; i < len(more); i += 2 {
		h[more[i]] = more[i+1]
	}
	return h
}

// wantEmpty checks that nothing is left in a directory.
func wantEmpty(t *testing.T, dir string) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool {
		left, err := os.ReadDir(dir)
		return err == nil && len(left) == 0
	})
}

// openUploads is a house with a directory of its own for files.
func openUploads(t *testing.T, limits Limits) (s *house, dir string) {
	t.Helper()
	dir = t.TempDir()
	t.Setenv("TMPDIR", dir)
	s = openHouse(t, Config{Authenticate: named, Limits: limits})
	t.Cleanup(func() {
		wantEmpty(t, dir)
		wantUnused(t, s.server.uploads)
		wantUnused(t, s.server.memory)
	})
	return s, dir
}

func TestFilesArriveWhereMapPutsThem(t *testing.T) {
	s, _ := openUploads(t, Limits{})
	binary := "\x00\xff\r\n--\r\n--y--\r\n"
	tests := []struct {
		name, body, want string
	}{
		{"one", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "hello")), `{"upload":{"name":"a.txt","size":5,"text":"hello"}}`},
		{"one without a name", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), field("0", "hello")), `{"upload":{"name":"","size":5,"text":"hello"}}`},
		{"an empty one", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "")), `{"upload":{"name":"a.txt","size":0,"text":""}}`},
		{"two in a list", form(field("operations", twoFiles), field("map", `{"a":["variables.f.1"],"b":["variables.f.0"]}`), file("a", "a.txt", "A"), file("b", "b.txt", "B")), `{"uploads":[{"name":"b.txt","text":"B"},{"name":"a.txt","text":"A"}]}`},
		{"two in another order", form(field("operations", twoFiles), field("map", `{"a":["variables.f.1"],"b":["variables.f.0"]}`), file("b", "b.txt", "B"), file("a", "a.txt", "A")), `{"uploads":[{"name":"b.txt","text":"B"},{"name":"a.txt","text":"A"}]}`},
		{"one in three places", form(field("operations", someFiles), field("map", `{"0":["variables.f.0","variables.a","variables.f.1"]}`), file("0", "a.txt", "A")), `{"upload":{"text":"A"},"uploads":[{"text":"A"},{"text":"A"}]}`},
		{"a path for a name", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "../../etc/passwd", "x")), `{"upload":{"name":"passwd","size":1,"text":"x"}}`},
		{"none at all", form(field("operations", `{"query":"{ sum }"}`), field("map", `{}`)), `{"sum":0}`},
		{"a part more", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "A"), file("1", "b.txt", "B")), `{"upload":{"name":"a.txt","size":1,"text":"A"}}`},
		{"something before and after", "hello\r\n" + form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "A")) + "bye", `{"upload":{"name":"a.txt","size":1,"text":"A"}}`},
		{"a large one", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", strings.Repeat("a", 1<<20))), `{"upload":{"name":"a.txt","size":1048576,"text":"` + strings.Repeat("a", 1<<20) + `"}}`},
		{"an encoding that is not undone", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), strings.Replace(file("0", "a.txt", "=41"), "Content-Type", "Content-Transfer-Encoding: quoted-printable\r\nContent-Type", 1)), `{"upload":{"name":"a.txt","size":3,"text":"=41"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, text := s.ask(t, "POST", "/", tt.body, signedIn())
			want{200, request.MediaGraphQL, tt.want, nil, nil}.check(t, res, text)
		})
	}
	const quoted = `{"query":"mutation($f: Upload!) { upload(file: $f) { size } }","variables":{"f":null}}`
	res, text := s.ask(t, "POST", "/", form(field("operations", quoted), field("map", `{"0":["variables.f"]}`), file("0", "a", binary)), signedIn())
	want{200, request.MediaGraphQL, fmt.Sprintf(`{"upload":{"size":%d}}`, len(binary)), nil, nil}.check(t, res, text)
}

func TestAMultipartRequestThatDoesNotFitIsRefused(t *testing.T) {
	s, _ := openUploads(t, Limits{UploadBody: 300_000, Body: 100_000})
	bad := want{400, request.MediaGraphQL, "-", []string{errcode.BadRequest}, nil}
	long := want{413, request.MediaGraphQL, "-", []string{errcode.PayloadTooLarge}, nil}
	operations, paths, one := field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a.txt", "A")
	mapped := func(paths string) string { return form(operations, field("map", paths), one) }
	tests := []struct {
		name, body string
		want       want
	}{
		{"nothing", "", bad},
		{"no parts", "--x--\r\n", bad},
		{"another boundary", strings.ReplaceAll(form(operations, paths, one), "--x", "--y"), bad},
		{"map first", form(paths, operations, one), bad},
		{"a file before map", form(operations, one, paths), bad},
		{"no map", form(operations), bad},
		{"operations twice", form(operations, operations, paths, one), bad},
		{"a file that map does not name", form(operations, paths, file("1", "a.txt", "A"), one), bad},
		{"a file twice", form(operations, field("map", `{"0":["variables.f"],"1":["variables.f"]}`), one, one), bad},
		{"a missing file", form(operations, paths), bad},
		{"a part without a name", form(operations, paths, "--x\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\nA\r\n"), bad},
		{"a part without headers", form(operations, paths, "--x\r\n\r\nA\r\n"), bad},
		{"a part that is an attachment", form(operations, paths, strings.Replace(one, "form-data", "attachment", 1)), bad},
		{"it breaks off in operations", operations[:len(operations)-20], bad},
		{"it breaks off in a header", form(operations, paths, one[:20])[:len(operations+paths)+20], bad},
		{"it breaks off in a file", operations + paths + one[:len(one)-2], bad},
		{"it breaks off after operations", operations, bad},

		{"operations that are no JSON", form(field("operations", "{"), paths, one), bad},
		{"operations that are a batch", form(field("operations", "["+oneFile+"]"), paths, one), want{400, request.MediaGraphQL, "-", []string{errcode.BatchingNotSupported}, nil}},
		{"operations that are no UTF-8", form(field("operations", strings.Replace(oneFile, "{", "{\"id\":\"\xff\",", 1)), paths, one), bad},
		{"operations that are nested deep", form(field("operations", `{"variables":`+strings.Repeat("[", 100)), paths, one), bad},
		{"a map that is no JSON", mapped(`{`), bad},
		{"a map that is null", mapped(`null`), bad},
		{"a map that is a list", mapped(`[["variables.f"]]`), bad},
		{"a map of texts", mapped(`{"0":"variables.f"}`), bad},
		{"a map of numbers", mapped(`{"0":[1]}`), bad},
		{"a map and more", mapped(`{"0":["variables.f"]}{}`), bad},
		{"no places", mapped(`{"0":[]}`), bad},
		{"null for places", mapped(`{"0":null}`), bad},
		{"too many places", mapped(`{"0":["variables.f","variables.f","variables.f","variables.f","variables.f","variables.f"]}`), bad},
		{"too many files", mapped(`{"0":["variables.f"],"1":["variables.f"],"2":["variables.f"],"3":["variables.f"],"4":["variables.f"]}`), bad},
		{"a place that is not there", mapped(`{"0":["variables.g"]}`), bad},
		{"a place that is a file already", mapped(`{"0":["variables.f","variables.f"]}`), bad},

		{"operations above the limit", form(field("operations", oneFile+strings.Repeat(" ", 100_001-len(oneFile))), paths, one), long},
		{"operations at the limit", form(field("operations", oneFile+strings.Repeat(" ", 100_000-len(oneFile))), paths, one), want{200, request.MediaGraphQL, "*", nil, nil}},
		{"a map above the limit", mapped(`{"0":["variables.f"]}` + strings.Repeat(" ", maxMap)), long},
		{"a body above the limit", form(operations, paths, file("0", "a.txt", strings.Repeat("a", 300_000))), long},
		{"headers of a part that are long", form(operations, paths, strings.Replace(one, "Content-Type", "X-Long: "+strings.Repeat("x", 100_000)+"\r\nContent-Type", 1)), bad},
		{"something long before", strings.Repeat("x", 100_000) + "\r\n" + form(operations, paths, one), bad},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want.status == 200 && tt.want.codes != nil { // refused by what comes after the transport
				tt.want.status = 400
			}
			res, text := s.ask(t, "POST", "/", tt.body, signedIn())
			tt.want.check(t, res, text)
		})
	}
}

func TestAFileTakesThePlaceOfANullAlone(t *testing.T) {
	const variables = `{"f":null,"text":"x","list":[null,1,[null]],"input":{"images":[null,null],"0":null},"":null,"empty":[]}`
	one := graphql.Upload{Filename: "a.txt"}
	tests := []struct {
		path, want string // the variables then; "" if it is refused
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
			var in, then map[string]any
			if err := request.DecodeStrict([]byte(variables), &in); err != nil {
				t.Fatal(err)
			}
			ok := setFile(in, tt.path, one)
			if ok != (tt.want != "") {
				t.Errorf("it was put: %v", ok)
			}
			text := tt.want
			if text == "" {
				text = variables
			}
			if err := request.DecodeStrict([]byte(text), &then); err != nil {
				t.Fatal(err)
			}
			isFile := cmp.FilterValues(func(a, b any) bool { _, x := a.(graphql.Upload); _, y := b.(graphql.Upload); return x || y }, cmp.Comparer(func(a, b any) bool {
				return a == "FILE" && b == one || a == one && b == "FILE"
			}))
			if d := cmp.Diff(then, in, isFile); d != "" {
				t.Errorf("(-want +got)\n%s", d)
			}
		})
	}
	if setFile(nil, "variables.f", one) {
		t.Error("it was put into no variables")
	}
}

func TestAnUploadNeedsAHeaderThatNoFormCanSend(t *testing.T) {
	s, _ := openUploads(t, Limits{})
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	for header, status := range map[string]int{
		"GraphQL-Require-Preflight": 200, "Apollo-Require-Preflight": 200, "X-Apollo-Operation-Name": 200, "X-Requested-With": 400, "Accept-Language": 400,
	} {
		for value, status := range map[string]int{"x": status, "": 400} {
			of := signedIn(header, value)
			if header != "GraphQL-Require-Preflight" {
				delete(of, "GraphQL-Require-Preflight")
			}
			res, text := s.ask(t, "POST", "/", body, of)
			if res.StatusCode != status {
				t.Errorf("%s %q: %d, want %d: %s", header, value, res.StatusCode, status, text)
			}
			if status == 400 && firstCode(text) != errcode.CSRF {
				t.Errorf("%s %q: %s", header, value, text)
			}
		}
	}
}

func TestOnlyWhoIsKnownMayUploadUnlessAllMay(t *testing.T) {
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	for _, anonymous := range []bool{true, false} {
		s := openHouse(t, Config{Authenticate: named, AnonymousUploads: anonymous})
		res, text := s.ask(t, "POST", "/", body, signedIn())
		if res.StatusCode != http.StatusOK {
			t.Errorf("somebody known: %d %s", res.StatusCode, text)
		}
		of := signedIn()
		delete(of, "Authorization")
		res, text = s.ask(t, "POST", "/", body, of)
		if got := firstCode(text); anonymous && got != "" || !anonymous && (got != errcode.Unauthenticated || res.StatusCode != 401) {
			t.Errorf("anonymous uploads %v: %d %s", anonymous, res.StatusCode, text)
		}
	}
}

func TestAnUploadNeedsABoundary(t *testing.T) {
	s, _ := openUploads(t, Limits{})
	for _, kind := range []string{"multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=x", "multipart/form-data; boundary"} {
		res, text := s.ask(t, "POST", "/", form(), signedIn("Content-Type", kind))
		if res.StatusCode != 400 && res.StatusCode != 415 {
			t.Errorf("%s: %d %s", kind, res.StatusCode, text)
		}
	}
}

const uploadHeaders = "Content-Type: multipart/form-data; boundary=x\r\nGraphQL-Require-Preflight: 1\r\nAuthorization: Bearer "

func TestAnUploadOfUnknownLengthIsReadUpToTheLimit(t *testing.T) {
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	s, _ := openUploads(t, Limits{UploadBody: len(body), UploadTime: 5 * time.Second, BodyTime: 300 * time.Millisecond})
	for more, status := range map[int]int{0: 200, 1: 413, 100_000: 413} {
		w := s.wire(t)
		w.posts(uploadHeaders+"ann", chunkedHeader)
		text := body + strings.Repeat("x", more)
		w.send(fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(text), text))
		if res, text := w.answer(); res.StatusCode != status {
			t.Errorf("%d bytes more: %d %s", more, res.StatusCode, text)
		}
	}
	w := s.wire(t)
	w.posts(uploadHeaders+"ann", fmt.Sprintf("Content-Length: %d", len(body)+1)) // nothing of it is needed
	if res, text := w.answer(); res.StatusCode != 413 {
		t.Errorf("a length above the limit: %d %s", res.StatusCode, text)
	}
}

func TestAnUploadThatDoesNotComeInTimeIsNotWaitedFor(t *testing.T) {
	operations, paths, one := field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", strings.Repeat("A", 10_000))
	for name, start := range map[string]string{
		"nothing of it":      "",
		"half of a header":   operations[:30],
		"half of operations": operations[:len(operations)/2],
		"all but the file":   operations + paths,
		"half of the file":   operations + paths + one[:len(one)/2],
		"no end":             operations + paths + one,
		"not what follows":   form(operations, paths, one),
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := openUploads(t, Limits{UploadTime: 300 * time.Millisecond, BodyTime: -1})
			w := s.wire(t)
			w.posts(uploadHeaders+"ann", "Content-Length: 100000")
			w.send(start)
			res, text := w.answer()
			want{408, request.MediaJSON, "-", []string{errcode.Timeout}, nil}.check(t, res, text)
			w.wantsEnd()
		})
	}
}

func TestAnUploadMayTakeLongerThanAnotherBody(t *testing.T) {
	s, _ := openUploads(t, Limits{BodyTime: 200 * time.Millisecond})
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	w := s.wire(t)
	w.posts(uploadHeaders+"ann", fmt.Sprintf("Content-Length: %d", len(body)))
	w.send(body[:50])
	past := time.NewTimer(400 * time.Millisecond)
	<-past.C
	w.send(body[50:])
	if res, text := w.answer(); res.StatusCode != 200 {
		t.Errorf("%d: %s", res.StatusCode, text)
	}
}

func TestUploadsAreFewAtOnce(t *testing.T) {
	s, dir := openUploads(t, Limits{Uploads: 4, UploadBody: 2 * uploadStep})
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "../name of the client", strings.Repeat("A", uploadStep)))
	begin := func(user string) *wire {
		w, before := s.wire(t), taken(s.server.uploads)
		w.posts(uploadHeaders+user, fmt.Sprintf("Content-Length: %d", len(body)))
		w.send(body[:len(body)-7])
		eventually(t, "it is being read", func() bool { return taken(s.server.uploads) == before+2*uploadStep })
		return w
	}
	busy := want{503, request.MediaGraphQL, "-", []string{errcode.Unavailable}, map[string]string{"Retry-After": "1"}}
	held := []*wire{begin("ann")}
	res, text := s.ask(t, "POST", "/", body, signedIn())
	busy.check(t, res, text) // she has her quarter
	for _, user := range []string{"bob", "cid", "dan"} {
		held = append(held, begin(user))
	}
	res, text = s.ask(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	busy.check(t, res, text)
	res, text = s.ask(t, "POST", "/", query("{ sum }"), signedIn("Content-Type", request.MediaJSON))
	want{200, request.MediaGraphQL, `{"sum":0}`, nil, nil}.check(t, res, text)

	eventually(t, "the files are there", func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "upload-*"))
		return err == nil && len(files) == len(held)
	})
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != len(held) {
		t.Errorf("there are %v, %v", files, err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(f.Name(), "name of the client") {
			t.Errorf("%s: %v, %v", f.Name(), info, err)
		}
	}

	for i, w := range held {
		if i == 0 {
			_ = w.Close() // gone before its end
			continue
		}
		w.send(body[len(body)-7:])
		if res, text := w.answer(); res.StatusCode != 200 {
			t.Errorf("%d: %s", res.StatusCode, text)
		}
	}
	wantUnused(t, s.server.uploads)
	res, text = s.ask(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	want{200, request.MediaGraphQL, "*", nil, nil}.check(t, res, text)
}

// Finding 8: sixteen uploads of four users that send a boundary and then nothing.
func TestSlowUploadsDoNotKeepOthersOut(t *testing.T) {
	s, _ := openUploads(t, Limits{})
	for _, user := range []string{"ann", "bob", "cid", "dan"} {
		for range 4 {
			w, before := s.wire(t), taken(s.server.uploads)
			w.posts(uploadHeaders+user, "Content-Length: 1000000")
			w.send("--x\r\n")
			eventually(t, "it is being read", func() bool { return taken(s.server.uploads) > before })
			defer func() { _ = w.Close() }()
		}
	}
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	res, text := s.ask(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	want{200, request.MediaGraphQL, `{"upload":{"name":"a","size":1,"text":"A"}}`, nil, nil}.check(t, res, text)
}

// An upload holds little before its bytes arrive, so silent ones of four users leave room
// for others even if there are hundreds of connections.
func TestSilentUploadsHoldLittle(t *testing.T) {
	s, _ := openUploads(t, Limits{Uploads: 4, UploadBody: 64 << 10})
	for _, user := range []string{"ann", "bob", "cid", "dan"} {
		for range 8 {
			w, before := s.wire(t), taken(s.server.uploads)
			w.posts(uploadHeaders+user, "Content-Length: 60000")
			w.send("--x\r\n")
			eventually(t, "it is being read", func() bool { return taken(s.server.uploads) > before })
			defer func() { _ = w.Close() }()
		}
	}
	body := form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A"))
	res, text := s.ask(t, "POST", "/", body, signedIn("Authorization", "Bearer eve"))
	want{200, request.MediaGraphQL, `{"upload":{"name":"a","size":1,"text":"A"}}`, nil, nil}.check(t, res, text)
}

// A slowBody is a body of which some bytes arrive at a time, with a pause before each.
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

func TestUploadsMustKeepAPace(t *testing.T) {
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
		after  time.Duration // in which the answer comes; 0: not compared
	}{
		{"silent", Limits{}, slowBody{text: body(1), each: 1, pause: time.Hour}, 408, 10 * time.Second},
		{"a byte a second", Limits{}, slowBody{text: body(1), each: 1, pause: time.Second}, 408, 10 * time.Second},
		{"half of the pace", Limits{}, slowBody{text: body(5), each: half, pause: 9 * time.Second}, 408, 10 * time.Second},
		{"the pace", Limits{}, slowBody{text: body(5), each: half, pause: 4500 * time.Millisecond}, 200, 0},
		{"a short body", Limits{}, slowBody{text: form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A")), each: 100, pause: time.Second}, 200, 0},
		{"too long at the pace", Limits{}, slowBody{text: body(8), each: half, pause: 4500 * time.Millisecond}, 408, time.Minute},
		{"a pace of its own", Limits{UploadPace: 20 * time.Second}, slowBody{text: body(2), each: half, pause: 9 * time.Second}, 200, 0},
		{"no pace", Limits{UploadPace: -1}, slowBody{text: body(1), each: 1, pause: time.Hour}, 408, time.Minute},
		{"no time", Limits{UploadTime: -1}, slowBody{text: body(20), each: half, pause: 4500 * time.Millisecond}, 200, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := startPiped(t, Config{Authenticate: named, Limits: tt.limits}, &http.Server{})
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
					t.Errorf("%d after %v, want %d after %v: %s", res.StatusCode, took, tt.status, tt.after, text)
				}
			})
		})
	}
}

// A request has one file open, however many it sends: connections bound the descriptors.
func TestFilesOfARequestShareADescriptor(t *testing.T) {
	s, dir := openUploads(t, Limits{})
	w := s.wire(t)
	body := form(field("operations", twoFiles), field("map", `{"a":["variables.f.0"],"b":["variables.f.1"]}`), file("a", "a", "A"), file("b", "b", "BB"))
	w.posts(uploadHeaders+"ann", fmt.Sprintf("Content-Length: %d", len(body)))
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
		t.Errorf("%d files are open", files)
	}
	w.send(body[len(body)-2:])
	if res, text := w.answer(); res.StatusCode != 200 || !strings.Contains(string(text), `"A"`) || !strings.Contains(string(text), `"BB"`) {
		t.Errorf("%d: %s", res.StatusCode, text)
	}
}

// The budget fills up while a body arrives.
func TestAnUploadThatFindsNoRoomIsRefused(t *testing.T) {
	s, _ := openUploads(t, Limits{Uploads: 4, UploadBody: 4 * uploadStep})
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
		res, text := s.ask(t, "POST", "/", form(parts...), signedIn())
		if res.StatusCode != 503 || firstCode(text) != errcode.Unavailable {
			t.Errorf("%s: %d %s", where, res.StatusCode, text)
		}
	}
	for key, n := range map[string]int{"others": 4, "more": 4, "most": 4, "free": free - 2} {
		s.server.uploads.Give(key, n*uploadStep)
	}
}

func TestAFileThatCannotBeKeptIsOurFault(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "nowhere"))
	s := openHouse(t, Config{Authenticate: named})
	res, text := s.ask(t, "POST", "/", form(field("operations", oneFile), field("map", `{"0":["variables.f"]}`), file("0", "a", "A")), signedIn())
	want{500, request.MediaGraphQL, "-", []string{errcode.Internal}, nil}.check(t, res, text)
	if strings.Contains(string(text), "nowhere") || !strings.Contains(s.log.String(), "nowhere") {
		t.Errorf("the answer %s, and the log %s", text, s.log)
	}
	wantUnused(t, s.server.uploads)
}

func TestAFileTakesNoMemoryForItsBytes(t *testing.T) {
	const size = 9 << 20
	s, _ := openUploads(t, Limits{})
	const ask = `{"query":"mutation($f: Upload!) { setName(name: \"x\") }","variables":{"f":null}}`
	for name, parts := range map[string]string{
		"a file":   file("0", "a", strings.Repeat("x", size)),
		"a header": strings.Replace(file("0", "a", ""), "Content-Type", "X-Long: "+strings.Repeat("x", size)+"\r\nContent-Type", 1),
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.NewReader(form(field("operations", ask), field("map", `{"0":["variables.f"]}`), parts))
			r, err := http.NewRequestWithContext(t.Context(), "POST", "/", body)
			if err != nil {
				t.Fatal(err)
			}
			for k, v := range signedIn() {
				r.Header.Set(k, v)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			s.server.ServeHTTP(silent{}, r)
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; took > size/4 {
				t.Errorf("it took %d bytes", took)
			}
		})
	}
}

// silent is an answer that nobody reads.
type silent struct{}

func (silent) Header() http.Header         { return http.Header{} }
func (silent) Write(p []byte) (int, error) { return len(p), nil }
func (silent) WriteHeader(int)             {}
