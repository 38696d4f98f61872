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

// httpTransport serves GET and POST as "GraphQL over HTTP" has it, multipart
// requests with files, and event streams.
type httpTransport struct{ *Server }

// serve answers a request that opens no WebSocket. The memory of the caller is for what
// the request takes while it runs. The other one is for the request until it is read, and
// then for its response.
func (t *httpTransport) serve(w http.ResponseWriter, r *http.Request, c caller) {
	held := t.memoryOf(c)
	c.memory = t.memoryOf(c)
	defer c.memory.Release()
	defer held.Release()
	as := request.Negotiate(r)
	if as.First == "" {
		t.refuse(w, r, http.StatusNotAcceptable, errcode.Errorf(errcode.NotAcceptable, "Answers are %s, %s or %s.", request.MediaGraphQL, request.MediaJSON, request.MediaStream))
		return
	}
	params, done, failed := t.read(w, r, c, held)
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
	held.Release()
	switch {
	case r.Method == http.MethodGet && op.oc.Operation.Operation == ast.Mutation:
		w.Header().Set("Allow", http.MethodPost)
		t.refuse(w, r, http.StatusMethodNotAllowed, errcode.Errorf(errcode.MethodNotAllowed, "A mutation needs POST."))
	case op.subscription() && !as.Stream:
		t.refuse(w, r, http.StatusNotAcceptable, errcode.Errorf(errcode.NotAcceptable, "A subscription needs a WebSocket, or an event stream: Accept: text/event-stream."))
	case op.subscription():
		t.stream(w, r, as, op)
	default:
		t.answer(w, r, as, op, held)
	}
}

// read reads the request, by its method and content type. done must be called
// once the request is answered.
func (t *httpTransport) read(w http.ResponseWriter, r *http.Request, c caller, held *quota.Memory) (params *graphql.RawParams, done func(), failed *failure) {
	done = func() {}
	switch r.Method {
	case http.MethodGet:
		params, failed = t.fromURL(r.URL)
		return params, done, failed
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, POST")
		return nil, done, fail(http.StatusMethodNotAllowed, errcode.MethodNotAllowed, "Requests are GET or POST.")
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, done, fail(http.StatusUnsupportedMediaType, errcode.UnsupportedMediaType, "Requests are not compressed.")
	}
	kind, attributes, err := contentType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && kind == "multipart/form-data":
		return t.readMultipart(w, r, c, attributes["boundary"], held)
	case err != nil, kind != request.MediaJSON:
		return nil, done, fail(http.StatusUnsupportedMediaType, errcode.UnsupportedMediaType, "Requests are application/json in UTF-8, or multipart/form-data with files.")
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
		text, failed := readAll(limitBody(r.Body, r.ContentLength, limit), limit, held, into.Bytes)
		if failed == nil {
			params, failed = t.decode(text)
		}
		return failed
	})
	return params, done, failed
}

// contentType is mime.ParseMediaType, which needs no look at what nearly all clients send.
func contentType(header string) (media string, attributes map[string]string, err error) {
	switch header {
	case request.MediaJSON, request.MediaJSON + "; charset=utf-8", request.MediaJSON + "; charset=UTF-8", request.MediaJSON + ";charset=utf-8", request.MediaJSON + ";charset=UTF-8":
		return request.MediaJSON, nil, nil
	}
	return mime.ParseMediaType(header) //nolint:wrapcheck // nobody is told
}

// otherCharset refuses JSON that is not UTF-8 by its content type.
func otherCharset(charset string) *failure {
	return fail(http.StatusUnsupportedMediaType, errcode.UnsupportedMediaType, "Requests are in UTF-8, not in the charset %q.", errcode.Truncate(charset))
}

// answerRefused answers a request that does not run.
func (t *httpTransport) answerRefused(w http.ResponseWriter, as request.Accepted, res *graphql.Response) {
	if as.First == request.MediaStream {
		t.streamOne(w, res)
		return
	}
	t.write(w, as.JSON, statusOf(res, as.JSON), res)
}

// answer runs a query or a mutation and sends its answer.
func (t *httpTransport) answer(w http.ResponseWriter, r *http.Request, as request.Accepted, op *operation, held *quota.Memory) {
	refused := op.run()
	if refused != nil {
		t.answerRefused(w, as, refused)
		return
	}
	res := op.next()
	if res == nil {
		res = &graphql.Response{}
	}
	if !takeAnswer(held, op, res) {
		t.refuse(w, r, http.StatusServiceUnavailable, errcode.NoMemory())
		return
	}
	if as.First == request.MediaStream {
		t.streamOne(w, res)
		return
	}
	if keep := t.cacheControl(w, r, op, res); keep != "" {
		w.Header().Set("Cache-Control", keep)
	}
	t.write(w, as.JSON, statusOf(res, as.JSON), res)
}

// cacheControl says who may keep an answer: nobody, which is "" and what write says by
// itself, but for an anonymous GET of public fields alone.
func (t *httpTransport) cacheControl(w http.ResponseWriter, r *http.Request, op *operation, res *graphql.Response) string {
	const nobody = ""
	if r.Method != http.MethodGet || len(t.cfg.CacheableFields) == 0 {
		return nobody
	}
	// Also the answer that is not kept says so: a cache must not give the one
	// to who asked for the other.
	w.Header().Add("Vary", "Authorization")
	if r.Header.Get("Authorization") != "" || len(res.Errors) > 0 || op.oc.Operation.Operation != ast.Query {
		return nobody
	}
	age := time.Duration(math.MaxInt64)
	for _, f := range graphql.CollectFields(op.oc, op.oc.Operation.SelectionSet, []string{t.queryType}) {
		if f.Name == "__typename" {
			continue
		}
		public, ok := t.cfg.CacheableFields[f.Name]
		if !ok {
			return nobody
		}
		age = min(age, public)
	}
	if age == math.MaxInt64 {
		return nobody
	}
	return fmt.Sprintf("public, max-age=%d", int(age.Seconds()))
}
