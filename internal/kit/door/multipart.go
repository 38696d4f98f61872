package door

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// Requests with files, as the "GraphQL multipart request specification" (Jayden
// Seric, 2) has them: a part "operations", a part "map", and the files that map
// names, in this order. Files go to the disk: what many people send at once fits
// there, and nowhere else.

const (
	maxMap   = 64 << 10 // bytes of the part "map"
	maxHead  = 16 << 10 // bytes of the headers of a part
	maxPaths = 5        // places that one file may be put into
)

// preflightHeaders are those of which one is needed for a multipart request. A
// page of a foreign origin cannot set them without asking first.
func preflightHeaders() []string {
	return []string{"GraphQL-Require-Preflight", "Apollo-Require-Preflight", "X-Apollo-Operation-Name"}
}

// readMultipart reads a request with files. done removes them.
func (t *httpTransport) readMultipart(w http.ResponseWriter, r *http.Request, c caller, boundary string, held *memory) (params *graphql.RawParams, done func(), failed *failure) {
	done = func() {}
	limits := t.cfg.Limits
	switch {
	case !hasAny(r.Header, preflightHeaders()):
		return nil, done, fail(http.StatusBadRequest, codeCSRF, "A multipart request needs the header GraphQL-Require-Preflight.")
	case c.admission.User == "" && !t.cfg.AnonymousUploads:
		return nil, done, fail(http.StatusUnauthorized, codeUnknown, "Files are taken from those who are signed in.")
	case limits.UploadBody >= 0 && r.ContentLength > int64(limits.UploadBody):
		return nil, done, tooLong(limits.UploadBody)
	case boundary == "":
		return nil, done, badRequest("The multipart request has no boundary.")
	case !t.uploads.take(c.key, 1):
		return nil, done, noMemory()
	}
	body := &capped{Reader: r.Body, limit: limits.UploadBody, headEnd: -1}
	u := &upload{door: t.Door, held: held, body: body, parts: multipart.NewReader(body, boundary)}
	done = func() {
		u.close()
		t.uploads.give(c.key, 1)
	}
	failed = within(w, limits.UploadTime, u.read)
	return u.params, done, failed
}

func hasAny(h http.Header, names []string) bool {
	for _, name := range names {
		if h.Get(name) != "" {
			return true
		}
	}
	return false
}

// What ends the reading of a body.
var (
	errTooLong  = errors.New("the body is too long")
	errLongHead = errors.New("the headers of a part are too long")
)

// capped reads so many bytes, then fails; a negative limit is none. The headers
// of a part are kept in memory, so they have an end of their own.
type capped struct {
	io.Reader
	limit   int
	read    int
	headEnd int // where read must not come before a part has begun; negative if that is not waited for
}

func (c *capped) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += n
	switch {
	case over(c.read, c.limit):
		return 0, errTooLong
	case over(c.read, c.headEnd):
		return 0, errLongHead
	}
	return n, err
}

// upload is a multipart request that is being read.
type upload struct {
	door   *Door
	held   *memory
	body   *capped
	parts  *multipart.Reader // of body
	params *graphql.RawParams
	places map[string][]string // of each file, by the name of its part
	files  []*os.File
}

func (u *upload) read() *failure {
	text, failed := u.field("operations", u.door.cfg.Limits.Body)
	if failed != nil {
		return failed
	}
	if u.params, failed = u.door.decode(text); failed != nil {
		return failed
	}
	if text, failed = u.field("map", maxMap); failed != nil {
		return failed
	}
	if failed = u.door.modest(text, 0); failed != nil {
		return failed
	}
	if err := strictJSON(text, &u.places); err != nil || u.places == nil {
		return badRequest("The part map is not an object of lists of paths.")
	}
	if over(len(u.places), u.door.cfg.Limits.UploadFiles) {
		return badRequest("The request has more than %d files.", u.door.cfg.Limits.UploadFiles)
	}
	for len(u.places) > 0 {
		if failed = u.file(); failed != nil {
			return failed
		}
	}
	// The server waits for what is left before it answers: within this time.
	if _, err := io.Copy(io.Discard, u.body); err != nil {
		return u.broken(err)
	}
	return nil
}

// next is the next part.
func (u *upload) next() (*multipart.Part, error) {
	u.body.headEnd = u.body.read + maxHead
	defer func() { u.body.headEnd = -1 }()
	return u.parts.NextRawPart()
}

// field reads the next part, which must have the given name.
func (u *upload) field(name string, limit int) ([]byte, *failure) {
	part, err := u.next()
	if err != nil {
		return nil, u.broken(err)
	}
	if part.FormName() != name {
		return nil, badRequest("The parts are operations, map and the files, in this order.")
	}
	if _, attributes, err := mime.ParseMediaType(part.Header.Get("Content-Type")); err == nil && !jsonbody.IsUTF8(attributes["charset"]) {
		return nil, otherCharset(attributes["charset"])
	}
	text, failed := readAll(atMost(part, -1, limit), limit, u.held, nil)
	if failed != nil && failed.status == http.StatusBadRequest {
		return nil, u.broken(io.ErrUnexpectedEOF)
	}
	return jsonbody.TrimBOM(text), failed
}

// broken says why the parts end here.
func (u *upload) broken(err error) *failure {
	switch {
	case errors.Is(err, errTooLong):
		return tooLong(u.door.cfg.Limits.UploadBody)
	case errors.Is(err, errLongHead):
		return badRequest("A part has headers longer than %d bytes.", maxHead)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return unread(err)
	}
	return badRequest("The multipart request has not all its parts.")
}

// file takes the next part as a file and puts it where the map says.
func (u *upload) file() *failure {
	part, err := u.next()
	if err != nil {
		return u.broken(err)
	}
	places, known := u.places[part.FormName()]
	if !known {
		return badRequest("The request has a part that map does not name.")
	}
	delete(u.places, part.FormName())
	if len(places) == 0 || len(places) > maxPaths {
		return badRequest("A file is put into 1 to %d places.", maxPaths)
	}
	to, err := os.CreateTemp("", "upload-*")
	if err != nil {
		return u.noDisk(err)
	}
	u.files = append(u.files, to)
	size, err := io.Copy(to, part)
	if err != nil {
		if _, onDisk := errors.AsType[*os.PathError](err); onDisk {
			return u.noDisk(err)
		}
		return u.broken(err)
	}
	for _, path := range places {
		one := graphql.Upload{
			File: io.NewSectionReader(to, 0, size), Filename: cut(part.FileName()), Size: size, ContentType: cut(part.Header.Get("Content-Type")),
		}
		if !put(u.params.Variables, path, one) {
			return badRequest("The part map names a place that is not a null in the variables.")
		}
	}
	return nil
}

// noDisk is a fault of ours.
func (u *upload) noDisk(err error) *failure {
	u.door.log.Error("an upload could not be kept", "err", err)
	return fail(http.StatusInternalServerError, codeInternal, "The file could not be kept.")
}

// close removes the files.
func (u *upload) close() {
	for _, f := range u.files {
		_ = f.Close()
		if err := os.Remove(f.Name()); err != nil {
			u.door.log.Warn("an upload was not removed", "err", err)
		}
	}
}

// put puts a file into the variables, at a path like "variables.input.images.0".
// It must lead to a null: a file takes the place of nothing else.
func put(variables map[string]any, path string, file graphql.Upload) bool {
	steps := strings.Split(path, ".")
	if len(steps) < 2 || len(steps) > 16 || steps[0] != "variables" {
		return false
	}
	var at any = variables
	for i, step := range steps[1:] {
		last := i == len(steps)-2
		switch in := at.(type) {
		case map[string]any:
			value, there := in[step]
			if last && there && value == nil {
				in[step] = file
				return true
			}
			at = value
		case []any:
			n, err := json.Number(step).Int64()
			if err != nil || n < 0 || n >= int64(len(in)) {
				return false
			}
			if last && in[n] == nil {
				in[n] = file
				return true
			}
			at = in[n]
		default:
			return false
		}
	}
	return false
}
