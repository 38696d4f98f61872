package gqlserver

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"
	"unicode/utf8"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// freeBytes is the part of a body that is not charged to the memory budget.
const freeBytes = request.BufferSize

// A failure is a rejected request: an HTTP status and an error for the client.
type failure struct {
	status int
	*gqlerror.Error
}

func fail(status int, code, format string, args ...any) *failure {
	return &failure{status, errcode.Errorf(code, format, args...)}
}

// limitBody returns body, cut one byte after limit. That byte shows that the body is too long. A
// negative limit and a known length, which is checked before, need no cut.
func limitBody(body io.Reader, length int64, limit int) io.Reader {
	if limit < 0 || length >= 0 {
		return body
	}
	return io.LimitReader(body, int64(limit)+1)
}

// readAll reads a body into text, growing it as needed, and rejects a body beyond limit.
//
// Each byte beyond freeBytes is charged to m when it arrives, bodyFactor times for the copies of
// decoding. A client that only announces bytes uses no memory.
func readAll(body io.Reader, limit int, m *quota.Memory, text []byte) ([]byte, *failure) {
	if text = text[:0:min(cap(text), freeBytes)]; cap(text) == 0 {
		text = make([]byte, 0, freeBytes)
	}
	for {
		if len(text) == cap(text) {
			grown := 2 * cap(text)
			if grown > freeBytes && !m.Take(bodyFactor*cap(text)) {
				return nil, noMemory()
			}
			text = append(make([]byte, 0, grown), text...)
		}
		n, err := body.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case errcode.Exceeds(len(text), limit):
			return nil, tooLong(limit)
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, readFailure(err)
		}
	}
}

func readFailure(err error) *failure {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(http.StatusRequestTimeout, errcode.Timeout, "The request took too long to arrive. Try again.")
	case errors.Is(err, errNoMemory):
		return noMemory()
	}
	return fail(http.StatusBadRequest, errcode.BadRequest, "The request was incomplete. Try again.")
}

func (d *Server) decode(text []byte) (*graphql.RawParams, *failure) {
	params, err := request.Decode(text, d.cfg.Limits.json(), d.interner)
	if err != nil {
		return nil, &failure{http.StatusBadRequest, err}
	}
	return params, nil
}

func (d *Server) checkJSON(text []byte, above int) *failure {
	if err := d.cfg.Limits.json().Check(text, above); err != nil {
		return &failure{http.StatusBadRequest, err}
	}
	return nil
}

func tooLong(limit int) *failure {
	return fail(http.StatusRequestEntityTooLarge, errcode.PayloadTooLarge, "The request is longer than %d bytes.", limit)
}

func badRequest(format string, args ...any) *failure {
	return fail(http.StatusBadRequest, errcode.BadRequest, format, args...)
}

func (d *Server) fromURL(u *url.URL) (*graphql.RawParams, *failure) {
	if errcode.Exceeds(len(u.RawQuery), d.cfg.Limits.QueryString) {
		return nil, fail(http.StatusRequestURITooLong, errcode.PayloadTooLarge, "The query string is longer than %d bytes.", d.cfg.Limits.QueryString)
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, badRequest("The query string is malformed.")
	}
	params := &graphql.RawParams{Query: values.Get("query"), OperationName: values.Get("operationName")}
	if !utf8.ValidString(params.Query + params.OperationName) {
		return nil, badRequest("The request must be UTF-8.")
	}
	for name, to := range map[string]*map[string]any{"variables": &params.Variables, "extensions": &params.Extensions} {
		text := jsonbody.TrimBOM([]byte(values.Get(name)))
		if len(text) == 0 {
			continue
		}
		if err := d.checkJSON(text, 0); err != nil {
			return nil, err
		}
		if !utf8.Valid(text) || request.DecodeStrict(text, to) != nil {
			return nil, badRequest("%s must be a JSON object.", name)
		}
	}
	return params, nil
}

// withReadDeadline runs read with a deadline for the body. Zero keeps the deadline that
// [Server.bodyTime] set, and a negative limit sets none.
//
// A missed deadline stays in effect. Otherwise, the server would wait for the rest of the body.
func withReadDeadline(w http.ResponseWriter, limit time.Duration, read func() *failure) *failure {
	if limit < 0 {
		return read()
	}
	control := http.NewResponseController(w)
	if limit > 0 {
		if err := control.SetReadDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return badRequest("The connection was closed.")
		}
	}
	failed := read()
	if failed == nil {
		_ = control.SetReadDeadline(time.Time{}) // setting it worked, so clearing it does too
	}
	return failed
}
