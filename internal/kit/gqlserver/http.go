package gqlserver

import (
	"fmt"
	"math"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
	"github.com/tandian-dev/tandian/internal/kit/jsonbody"
)

// httpTransport serves GET and POST as specified by "GraphQL over HTTP", multipart requests with
// files, and event streams.
type httpTransport struct{ *Server }

// serve serves a request that opens no WebSocket. c.memory counts the working set until the
// request ends. reserved counts the body until the operation starts, and then the response.
func (t *httpTransport) serve(w http.ResponseWriter, r *http.Request, c caller) {
	reserved := t.memoryOf(c)
	c.memory = t.memoryOf(c)
	defer c.memory.Release()
	defer reserved.Release()
	as := request.Negotiate(r)
	if as.First == "" {
		t.refuse(w, r, http.StatusNotAcceptable, errcode.Errorf(errcode.NotAcceptable, "The Accept header must allow %s, %s or %s.", request.MediaGraphQL, request.MediaJSON, request.MediaStream))
		return
	}
	params, done, failed := t.read(w, r, c, reserved)
	defer done()
	if failed != nil {
		t.refuse(w, r, failed.status, failed.Error)
		return
	}
	params.Headers = r.Header
	if !c.memory.Take(weigh(params)) {
		t.refuse(w, r, http.StatusServiceUnavailable, errcode.NoMemory())
		return
	}
	op, refused := t.startFor(r.Context(), &requestInfo{caller: c, answer: w, http: r}, params)
	if refused != nil {
		t.answerRefused(w, as, refused)
		return
	}
	defer op.close()
	reserved.Release()
	switch {
	case r.Method == http.MethodGet && op.oc.Operation.Operation == ast.Mutation:
		w.Header().Set("Allow", http.MethodPost)
		t.refuse(w, r, http.StatusMethodNotAllowed, errcode.Errorf(errcode.MethodNotAllowed, "Mutations must use POST."))
	case op.subscription() && !as.Stream:
		t.refuse(w, r, http.StatusNotAcceptable, errcode.Errorf(errcode.NotAcceptable, "A subscription needs a WebSocket or the header Accept: text/event-stream."))
	case op.subscription():
		t.stream(w, r, as, op)
	default:
		t.answer(w, r, as, op, reserved)
	}
}

// read reads the request by its method and content type. The caller must call done after the
// response.
func (t *httpTransport) read(w http.ResponseWriter, r *http.Request, c caller, reserved *quota.Memory) (params *graphql.RawParams, done func(), failed *failure) {
	done = func() {}
	switch r.Method {
	case http.MethodGet:
		params, failed = t.fromURL(r.URL)
		return params, done, failed
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, POST")
		return nil, done, fail(http.StatusMethodNotAllowed, errcode.MethodNotAllowed, "Requests must use GET or POST.")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, done, fail(http.StatusUnsupportedMediaType, errcode.UnsupportedMediaType, "Requests must not be compressed.")
	}
	kind, attributes, err := contentType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "multipart/form-data":
		return t.readMultipart(w, r, c, attributes["boundary"], reserved)
	case err != nil, kind != request.MediaJSON:
		return nil, done, fail(http.StatusUnsupportedMediaType, errcode.UnsupportedMediaType, "Requests must be application/json in UTF-8, or multipart/form-data with files.")
	case !jsonbody.IsUTF8(attributes["charset"]):
		return nil, done, otherCharset(attributes["charset"])
	}
	limit := t.cfg.Limits.Body
	if limit >= 0 && r.ContentLength > int64(limit) {
		return nil, done, tooLong(limit)
	}
	failed = withReadDeadline(w, min(t.cfg.Limits.BodyTime, 0), func() *failure {
		into := request.BorrowBuffer()
		defer into.Release()
		text, failed := readAll(limitBody(r.Body, r.ContentLength, limit), limit, reserved, into.Bytes)
		if failed == nil {
			params, failed = t.decode(text)
		}
		return failed
	})
	return params, done, failed
}

// contentType is mime.ParseMediaType with a fast path for the usual headers.
func contentType(header string) (media string, attributes map[string]string, err error) {
	switch header {
	case request.MediaJSON, request.MediaJSON + "; charset=utf-8", request.MediaJSON + "; charset=UTF-8", request.MediaJSON + ";charset=utf-8", request.MediaJSON + ";charset=UTF-8":
		return request.MediaJSON, nil, nil
	}
	return mime.ParseMediaType(header) //nolint:wrapcheck // the caller discards it
}

// otherCharset returns the failure for a charset other than UTF-8.
func otherCharset(charset string) *failure {
	return fail(http.StatusUnsupportedMediaType, errcode.UnsupportedMediaType, "Requests must be in UTF-8, not in the charset %q.", errcode.Truncate(charset))
}

func (t *httpTransport) answerRefused(w http.ResponseWriter, as request.Accepted, res *graphql.Response) {
	if as.First == request.MediaStream {
		t.streamOne(w, res)
		return
	}
	t.write(w, as.JSON, statusOf(res, as.JSON), res)
}

// answer runs a query or a mutation and sends the response.
func (t *httpTransport) answer(w http.ResponseWriter, r *http.Request, as request.Accepted, op *operation, reserved *quota.Memory) {
	refused := op.run()
	if refused != nil {
		t.answerRefused(w, as, refused)
		return
	}
	res := op.next()
	if res == nil {
		res = &graphql.Response{}
	}
	if !takeAnswer(reserved, op, res) {
		t.refuse(w, r, http.StatusServiceUnavailable, errcode.NoMemory())
		return
	}
	if as.First == request.MediaStream {
		t.streamOne(w, res)
		return
	}
	if header := t.cacheControl(w, r, op, res); header != "" {
		w.Header().Set("Cache-Control", header)
	}
	t.write(w, as.JSON, statusOf(res, as.JSON), res)
}

// cacheControl returns the Cache-Control header of a response. It is empty, which means
// no-store, unless the request is an anonymous GET of public fields.
func (t *httpTransport) cacheControl(w http.ResponseWriter, r *http.Request, op *operation, res *graphql.Response) string {
	const private = ""
	if r.Method != http.MethodGet || len(t.cfg.CacheableFields) == 0 {
		return private
	}
	// Private responses need it too: caches must not mix them with public ones.
	w.Header().Add("Vary", "Authorization")
	if r.Header.Get("Authorization") != "" || len(res.Errors) > 0 || op.oc.Operation.Operation != ast.Query {
		return private
	}
	age := time.Duration(math.MaxInt64)
	for _, f := range graphql.CollectFields(op.oc, op.oc.Operation.SelectionSet, []string{t.queryType}) {
		if f.Name == "__typename" {
			continue
		}
		public, ok := t.cfg.CacheableFields[f.Name]
		if !ok {
			return private
		}
		age = min(age, public)
	}
	if age == math.MaxInt64 {
		return private
	}
	return fmt.Sprintf("public, max-age=%d", int(age.Seconds()))
}
