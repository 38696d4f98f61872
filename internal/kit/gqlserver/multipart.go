package gqlserver

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// Requests with files follow the "GraphQL multipart request specification" (Jayden Seric, 2). The
// parts are "operations", "map" and the files that map names, in this order. Files are stored on
// disk, as concurrent uploads may exceed the memory.

const (
	maxMap         = 64 << 10 // bytes of the part "map"
	maxPartHeaders = 16 << 10 // bytes of the headers of a part
	maxPaths       = 5        // paths in the variables for one file

	// uploadStep is the unit in bytes in which bodies are charged to the budget. It is small, as
	// every connection may hold a silent request with one step.
	uploadStep = 4 << 10
	// paceStep is the number of bytes that must arrive within Limits.UploadPace.
	paceStep = 64 << 10
	// unlimitedBody is the budgeted length of a body if bodies have no limit.
	unlimitedBody = 11 << 20
)

// newUploadBudget returns the budget of the bytes of multipart bodies.
//
// It counts bytes received, so a request that sends nothing costs almost nothing. A caller may
// use a quarter, but at least one body of full length.
func newUploadBudget(l Limits) *quota.ByteBudget {
	body := l.UploadBody
	if body <= 0 {
		body = unlimitedBody
	}
	body = (body + uploadStep - 1) / uploadStep * uploadStep
	return quota.NewByteBudget(l.Uploads*body, max(l.Uploads/4, 1)*body)
}

// preflightHeaders returns headers that prove a preflight. A multipart request needs one of
// them: a page of a foreign origin cannot set them without a preflight.
func preflightHeaders() []string {
	return []string{"GraphQL-Require-Preflight", "Apollo-Require-Preflight", "X-Apollo-Operation-Name"}
}

// readMultipart reads a request with files. done removes the files.
func (t *httpTransport) readMultipart(w http.ResponseWriter, r *http.Request, c caller, boundary string, reserved *quota.Memory) (params *graphql.RawParams, done func(), failed *failure) {
	done = func() {}
	limits := t.cfg.Limits
	switch {
	case !hasAny(r.Header, preflightHeaders()):
		return nil, done, fail(http.StatusBadRequest, errcode.CSRF, "A multipart request needs the header GraphQL-Require-Preflight.")
	case c.admission.User == "" && !t.cfg.AnonymousUploads:
		return nil, done, fail(http.StatusUnauthorized, errcode.Unauthenticated, "Sign in to upload files.")
	case limits.UploadBody >= 0 && r.ContentLength > int64(limits.UploadBody):
		return nil, done, tooLong(limits.UploadBody)
	case boundary == "":
		return nil, done, badRequest("The multipart request has no boundary.")
	}
	body := &limitedBody{Reader: r.Body, limit: limits.UploadBody, headEnd: -1, budget: t.uploads, key: c.key, pacer: newPacer(w, limits)}
	if !body.reserve(1) {
		return nil, done, noMemory()
	}
	u := &upload{server: t.Server, memory: reserved, body: body, parts: multipart.NewReader(body, boundary)}
	done = func() {
		u.close()
		body.release()
	}
	failed = withReadDeadline(w, limits.UploadTime, u.read)
	if failed == nil {
		body.pacer.stop()
	}
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

// A pacer sets the read deadline of a connection while a body arrives. Each paceStep bytes, or
// the rest, have Limits.UploadPace; the whole body has Limits.UploadTime.
type pacer struct {
	control *http.ResponseController
	every   time.Duration // negative for no pace
	end     time.Time     // of the whole body; zero for none
	next    int           // offset from which the deadline moves
}

func newPacer(w http.ResponseWriter, l Limits) *pacer {
	p := &pacer{control: http.NewResponseController(w), every: l.UploadPace}
	if l.UploadTime >= 0 {
		p.end = time.Now().Add(l.UploadTime)
	}
	return p
}

// before moves the deadline if another step of the body has arrived. Call it before a read.
func (p *pacer) before(read int) {
	if p.every < 0 || read < p.next {
		return
	}
	p.next = read + paceStep
	deadline := time.Now().Add(p.every)
	if !p.end.IsZero() && p.end.Before(deadline) {
		deadline = p.end
	}
	_ = p.control.SetReadDeadline(deadline) // unsupported only in tests
}

func (p *pacer) stop() {
	if p.every >= 0 {
		_ = p.control.SetReadDeadline(time.Time{})
	}
}

// Reasons to stop reading a body.
var (
	errTooLong     = errors.New("body too long")
	errLongHeaders = errors.New("part headers too long")
	errNoMemory    = errors.New("upload memory exhausted")
)

// A limitedBody fails after limit bytes; a negative limit is none. Headers of a part stay in
// memory and have a limit of their own. Bytes read are charged to a budget until release.
type limitedBody struct {
	io.Reader
	limit   int
	read    int
	headEnd int // maximum offset of the headers of the next part; negative outside of headers

	budget   *quota.ByteBudget
	key      string
	reserved int // bytes
	pacer    *pacer
	failed   error // first read error except io.EOF
}

// reserve charges the budget in steps until n bytes are covered. It returns false if the budget,
// or the caller's share of it, is used up.
func (c *limitedBody) reserve(n int) bool {
	for c.reserved < n {
		if !c.budget.Take(c.key, uploadStep) {
			return false
		}
		c.reserved += uploadStep
	}
	return true
}

func (c *limitedBody) release() { c.budget.Give(c.key, c.reserved) }

func (c *limitedBody) Read(p []byte) (int, error) {
	c.pacer.before(c.read)
	n, err := c.Reader.Read(p)
	c.read += n
	switch {
	case errcode.Exceeds(c.read, c.limit):
		n, err = 0, errTooLong
	case errcode.Exceeds(c.read, c.headEnd):
		n, err = 0, errLongHeaders
	case !c.reserve(c.read):
		n, err = 0, errNoMemory
	}
	if c.failed == nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// An upload is a multipart request being read.
type upload struct {
	server *Server
	memory *quota.Memory
	body   *limitedBody
	parts  *multipart.Reader // of body
	params *graphql.RawParams
	paths  map[string][]string // in the variables, by name of the file's part
	temp   *os.File            // all files in sequence, so that a request needs one descriptor
	size   int64               // of temp
}

func (u *upload) read() *failure {
	text, failed := u.field("operations", u.server.cfg.Limits.Body)
	if failed != nil {
		return failed
	}
	if u.params, failed = u.server.decode(text); failed != nil {
		return failed
	}
	if text, failed = u.field("map", maxMap); failed != nil {
		return failed
	}
	if failed = u.server.checkJSON(text, 0); failed != nil {
		return failed
	}
	if err := request.DecodeStrict(text, &u.paths); err != nil || u.paths == nil {
		return badRequest("The part map must be an object of lists of paths.")
	}
	if errcode.Exceeds(len(u.paths), u.server.cfg.Limits.UploadFiles) {
		return badRequest("The request has more than %d files.", u.server.cfg.Limits.UploadFiles)
	}
	for len(u.paths) > 0 {
		if failed = u.file(); failed != nil {
			return failed
		}
	}
	// The server reads the rest before it responds. Reading it here applies the deadline.
	if _, err := io.Copy(io.Discard, u.body); err != nil {
		return u.partFailure(err)
	}
	return nil
}

func (u *upload) next() (*multipart.Part, error) {
	u.body.headEnd = u.body.read + maxPartHeaders
	defer func() { u.body.headEnd = -1 }()
	return u.parts.NextRawPart()
}

// field reads the next part, which must have the given name.
func (u *upload) field(name string, limit int) ([]byte, *failure) {
	part, err := u.next()
	if err != nil {
		return nil, u.partFailure(err)
	}
	if part.FormName() != name {
		return nil, badRequest("The parts must be operations, map and the files, in this order.")
	}
	if _, attributes, err := mime.ParseMediaType(part.Header.Get("Content-Type")); err == nil && !jsonbody.IsUTF8(attributes["charset"]) {
		return nil, otherCharset(attributes["charset"])
	}
	text, failed := readAll(limitBody(part, -1, limit), limit, u.memory, nil)
	if failed != nil && failed.status == http.StatusBadRequest {
		return nil, u.partFailure(io.ErrUnexpectedEOF)
	}
	return jsonbody.TrimBOM(text), failed
}

func (u *upload) partFailure(err error) *failure {
	if u.body.failed != nil {
		err = u.body.failed // the header parser reports a syntax error instead
	}
	switch {
	case errors.Is(err, errTooLong):
		return tooLong(u.server.cfg.Limits.UploadBody)
	case errors.Is(err, errNoMemory):
		return noMemory()
	case errors.Is(err, errLongHeaders):
		return badRequest("A part has headers longer than %d bytes.", maxPartHeaders)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return readFailure(err)
	}
	return badRequest("The multipart request is incomplete.")
}

// file stores the next part as a file and sets it in the variables.
func (u *upload) file() *failure {
	part, err := u.next()
	if err != nil {
		return u.partFailure(err)
	}
	paths, known := u.paths[part.FormName()]
	if !known {
		return badRequest("The request has a part that the part map does not name.")
	}
	delete(u.paths, part.FormName())
	if len(paths) == 0 || len(paths) > maxPaths {
		return badRequest("A file must have 1 to %d paths in the part map.", maxPaths)
	}
	if u.temp == nil {
		if u.temp, err = os.CreateTemp("", "upload-*"); err != nil {
			return u.diskFailure(err)
		}
	}
	begin := u.size
	size, err := io.Copy(u.temp, part)
	u.size += size
	if err != nil {
		if _, onDisk := errors.AsType[*os.PathError](err); onDisk {
			return u.diskFailure(err)
		}
		return u.partFailure(err)
	}
	for _, path := range paths {
		one := graphql.Upload{
			File: io.NewSectionReader(u.temp, begin, size), Filename: errcode.Truncate(part.FileName()), Size: size, ContentType: errcode.Truncate(part.Header.Get("Content-Type")),
		}
		if !setFile(u.params.Variables, path, one) {
			return badRequest("Every path in the part map must lead to a null in the variables.")
		}
	}
	return nil
}

func (u *upload) diskFailure(err error) *failure {
	u.server.log.Error("cannot store upload", "err", err)
	return fail(http.StatusInternalServerError, errcode.Internal, "The file could not be saved. Try again.")
}

func (u *upload) close() {
	if u.temp == nil {
		return
	}
	_ = u.temp.Close()
	if err := os.Remove(u.temp.Name()); err != nil {
		u.server.log.Warn("cannot remove upload", "err", err)
	}
}

// setFile sets a file in the variables at a path like "variables.input.images.0". It returns
// false unless the current value is null.
func setFile(variables map[string]any, path string, file graphql.Upload) bool {
	steps := strings.Split(path, ".")
	if len(steps) < 2 || len(steps) > 16 || steps[0] != "variables" {
		return false
	}
	var at any = variables
	for i, step := range steps[1:] {
		last := i == len(steps)-2
		switch in := at.(type) {
		case map[string]any:
			value, exists := in[step]
			if last && exists && value == nil {
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
