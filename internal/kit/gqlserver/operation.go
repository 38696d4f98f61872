package gqlserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"runtime/debug"
	"slices"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/document"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/quota"
)

// A caller is the user or client network that a request counts for.
type caller struct {
	key       string     // of rates and shares: "u:USER" or "a:NETWORK"
	network   string     // "a:NETWORK", also for a user
	addr      netip.Addr // of the client; may be zero
	admission AuthResult
	server    *Server       // that runs the operation; nil before
	memory    *quota.Memory // working set of the request; nil is not counted
}

// An operation is one running document.
type operation struct {
	server    *Server
	caller    caller
	oc        *graphql.OperationContext
	params    graphql.RawParams       // of a subscription
	ctx       context.Context         // ends with the operation
	cancel    context.CancelCauseFunc // of a subscription, with an optional reason; else nil
	stopTimer context.CancelFunc      // of a running query or mutation; else nil
	permit    quota.Permit            // to run
	points    document.Points
	counted   bool // in the metric of running points
	responses graphql.ResponseHandler
	handoff   *broadcast.Handoff // of a subscription
	lastEvent string             // last event that the client received; set before run
	refused   *graphql.Response  // response to return next
	ended     bool
}

// begin counts a request against the caller's rate, checks it and prepares its operation. It
// returns a response without data if it rejects the request. The operation ends with ctx; the
// caller must close it.
func (d *Server) begin(ctx context.Context, c caller, params *graphql.RawParams) (*operation, *graphql.Response) {
	if err := d.count(c); err != nil {
		return nil, d.refused(ctx, gqlerror.List{err})
	}
	return d.start(ctx, c, params)
}

// start is begin for a request that is counted already.
func (d *Server) start(ctx context.Context, c caller, params *graphql.RawParams) (op *operation, res *graphql.Response) {
	return d.startFor(ctx, &requestInfo{caller: c}, params)
}

// startFor is start with a request info, which must belong to this operation alone.
func (d *Server) startFor(ctx context.Context, info *requestInfo, params *graphql.RawParams) (op *operation, res *graphql.Response) {
	defer func() {
		if p := recover(); p != nil {
			op, res = nil, &graphql.Response{Errors: d.caught(ctx, p)}
		}
	}()
	info.caller.server = d
	ctx = withRequest(ctx, info)
	if withContext := info.caller.admission.WithContext; withContext != nil {
		ctx = withContext(ctx)
	}
	op = &operation{server: d, caller: info.caller}
	var errs gqlerror.List
	if op.oc, op.points, errs = d.exec.Prepare(ctx, info.caller.key, info.caller.memory, params); len(errs) > 0 {
		return nil, d.refused(graphql.WithOperationContext(ctx, op.oc), errs)
	}
	info.complexity = op.points.Complexity
	op.ctx = ctx
	if op.subscription() {
		op.ctx, op.cancel = context.WithCancelCause(ctx)
		op.params = *params
	}
	return op, nil
}

// run waits for a permit and starts the operation. It returns the response of a rejected one. A
// subscription holds its permit only while it starts.
func (op *operation) run() (refused *graphql.Response) {
	defer func() {
		if p := recover(); p != nil {
			op.ended = true
			refused = &graphql.Response{Errors: op.server.caught(op.ctx, p)}
		}
		if op.subscription() {
			op.release()
		}
	}()
	if err := op.acquire(op.ctx); err != nil {
		op.ended = true
		return op.server.refused(graphql.WithOperationContext(op.ctx, op.oc), gqlerror.List{err})
	}
	if op.subscription() {
		op.handoff = &broadcast.Handoff{LastEvent: op.lastEvent}
		op.ctx = broadcast.WithHandoff(op.ctx, op.handoff)
	}
	op.responses, op.ctx = op.server.exec.DispatchOperation(op.ctx, op.oc)
	return nil
}

// source returns the source of a started subscription, or nil if it has none or failed.
func (op *operation) source() broadcast.Source {
	if op.handoff == nil || op.handoff.Source() == nil || op.refused != nil {
		return nil
	}
	// If gqlgen failed to start, the error is the first response. Otherwise, an ended context
	// gives no response.
	ended, cancel := context.WithCancel(op.ctx)
	cancel()
	if op.refused = op.respond(ended); op.refused != nil {
		return nil
	}
	return op.handoff.Source()
}

// acquire takes a permit. It also starts the timeout of a query or a mutation.
func (op *operation) acquire(ctx context.Context) *gqlerror.Error {
	limits, points := op.server.cfg.Limits, op.points.Whole
	at, ok := op.server.running.TryAcquire(op.caller.key, points)
	if !ok {
		var err error
		if at, err = op.server.running.AcquireWithin(ctx, limits.RunningWait, op.caller.key, points); err != nil {
			return errcode.Busy()
		}
	}
	op.permit, op.counted = at, true
	op.server.metrics.points.Add(float64(points))
	if !op.subscription() {
		op.ctx, op.stopTimer = timeout(ctx, limits.OperationTime)
	}
	return nil
}

// release returns the permit and stops the timeout.
func (op *operation) release() {
	if op.stopTimer != nil {
		op.stopTimer()
		op.stopTimer = nil
	}
	op.permit.Release()
	if op.counted {
		op.server.metrics.points.Sub(float64(op.points.Whole))
		op.counted = false
	}
}

// timeout is context.WithTimeout; a negative d means no timeout.
func timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

func (op *operation) subscription() bool { return op.oc.Operation.Operation == ast.Subscription }

// next returns the next response, or nil at the end. For a subscription, it blocks until there
// is one or the context ends. A response without any data, not even null, rejects the request.
func (op *operation) next() (res *graphql.Response) {
	if res, op.refused = op.refused, nil; res != nil {
		return res
	}
	return op.respond(op.ctx)
}

// respond is next with a context derived from that of the operation.
func (op *operation) respond(ctx context.Context) (res *graphql.Response) {
	if op.ended {
		return nil
	}
	defer func() {
		if p := recover(); p != nil {
			op.ended = true
			res = &graphql.Response{Errors: op.server.caught(op.ctx, p), Data: json.RawMessage("null")}
		}
		if !op.subscription() {
			op.ended = true
			op.release()
		}
	}()
	res = op.responses(ctx)
	if res == nil {
		return nil
	}
	limits := op.server.cfg.Limits
	if errcode.Exceeds(len(res.Data), limits.Answer) {
		res = &graphql.Response{
			Errors: gqlerror.List{errcode.Errorf(errcode.ResponseTooLarge, "The response is longer than %d bytes. Request less at once.", limits.Answer)},
			Data:   json.RawMessage("null"),
		}
	}
	if errcode.Exceeds(len(res.Errors), limits.Errors) {
		res.Errors = res.Errors[:limits.Errors]
	}
	if op.subscription() {
		res.Data = bytes.Clone(res.Data) // gqlgen reuses the buffer
	}
	return res
}

// cause returns the reason why the operation's context ended, or nil before.
func (op *operation) cause() error { return context.Cause(op.ctx) }

func (op *operation) close() {
	if op.cancel != nil {
		op.cancel(nil)
	}
	op.release()
}

// refused counts a rejected request and returns its response.
func (d *Server) refused(ctx context.Context, errs gqlerror.List) *graphql.Response {
	d.metrics.refuse(errs[0])
	res := d.exec.DispatchError(ctx, errs)
	res.Data = nil
	return res
}

// caught logs a panic and returns its error for the client.
func (d *Server) caught(ctx context.Context, p any) gqlerror.List {
	return gqlerror.List{d.present(ctx, d.recovered(ctx, p))}
}

// recovered logs a panic with its stack. It is also the recover function of gqlgen.
func (d *Server) recovered(ctx context.Context, p any) error {
	d.metrics.panics.Inc()
	d.log.ErrorContext(ctx, "panic", "value", fmt.Sprint(p), "stack", string(debug.Stack()))
	return errPanic
}

// encode returns the JSON of a response, without data if the request was rejected.
func encode(res *graphql.Response) []byte {
	return appendResponse(nil, res)
}

func appendResponse(out []byte, res *graphql.Response) []byte {
	out = slices.Grow(out, len(res.Data)+64)
	sep := byte('{')
	add := func(key string, value []byte) {
		out = append(append(append(out, sep), key...), value...)
		sep = ','
	}
	if len(res.Errors) > 0 {
		add(`"errors":`, encoded(res.Errors))
	}
	if len(res.Data) > 0 {
		add(`"data":`, res.Data)
	}
	if len(res.Extensions) > 0 {
		add(`"extensions":`, encoded(res.Extensions))
	}
	if sep == '{' {
		return append(out, `{"data":null}`...)
	}
	return append(out, '}')
}

// encoded returns the JSON of errors or extensions. A value that cannot be encoded must not fail
// the response.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		text, _ = json.Marshal(gqlerror.List{errcode.Errorf(errcode.Internal, "An error could not be encoded.")})
		if _, list := v.(gqlerror.List); !list {
			return []byte("{}")
		}
	}
	return text
}
