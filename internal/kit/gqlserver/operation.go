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

// A caller is whom a request counts for.
type caller struct {
	key       string     // of rates and shares: "u:USER" or "a:NETWORK"
	network   string     // "a:NETWORK", whoever it is
	addr      netip.Addr // of the client; may be zero
	admission AuthResult
	server    *Server       // that runs its operation; nil before
	memory    *quota.Memory // what its request takes as long as it runs; nil is not counted
}

// An operation is one document that runs.
type operation struct {
	server    *Server
	caller    caller
	oc        *graphql.OperationContext
	params    graphql.RawParams       // of a subscription
	ctx       context.Context         // ends with the operation
	cancel    context.CancelCauseFunc // ends a subscription, for a reason or for none; else nil
	stopTimer context.CancelFunc      // of a query or a mutation that runs; nil before and after
	permit    quota.Permit            // among what runs
	points    document.Points
	counted   bool // its points are among those that run
	responses graphql.ResponseHandler
	handoff   *broadcast.Handoff // of a subscription
	lastEvent string             // that its client saw before; set before run
	refused   *graphql.Response  // that waits to be the next
	ended     bool
}

// begin counts a request against the caller's rate, checks it and prepares its
// operation. What is refused comes back as a response without data. The
// operation must be closed; it ends with ctx too.
func (d *Server) begin(ctx context.Context, c caller, params *graphql.RawParams) (*operation, *graphql.Response) {
	if err := d.count(c); err != nil {
		return nil, d.refused(ctx, gqlerror.List{err})
	}
	return d.start(ctx, c, params)
}

// start is begin for a request that was counted before.
func (d *Server) start(ctx context.Context, c caller, params *graphql.RawParams) (op *operation, res *graphql.Response) {
	return d.startFor(ctx, &requestInfo{caller: c}, params)
}

// startFor is start for a request that belongs to this operation alone.
func (d *Server) startFor(ctx context.Context, of *requestInfo, params *graphql.RawParams) (op *operation, res *graphql.Response) {
	defer func() {
		if p := recover(); p != nil {
			op, res = nil, &graphql.Response{Errors: d.caught(ctx, p)}
		}
	}()
	of.caller.server = d
	ctx = withRequest(ctx, of)
	if enter := of.caller.admission.WithContext; enter != nil {
		ctx = enter(ctx)
	}
	op = &operation{server: d, caller: of.caller}
	var errs gqlerror.List
	if op.oc, op.points, errs = d.exec.Prepare(ctx, of.caller.key, of.caller.memory, params); len(errs) > 0 {
		return nil, d.refused(graphql.WithOperationContext(ctx, op.oc), errs)
	}
	of.complexity = op.points.Complexity
	op.ctx = ctx
	if op.subscription() {
		op.ctx, op.cancel = context.WithCancelCause(ctx)
		op.params = *params
	}
	return op, nil
}

// run waits for a place among what runs and begins; a refusal comes back. Of a
// subscription only the beginning has a place: from then on it mostly waits.
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

// source is what a subscription that has begun is told by, nil if it has no such thing or
// failed to begin.
func (op *operation) source() broadcast.Source {
	if op.handoff == nil || op.handoff.Source() == nil || op.refused != nil {
		return nil
	}
	// Where gqlgen failed to begin, the error waits to be the first response; else there is
	// none when the context has ended.
	ended, cancel := context.WithCancel(op.ctx)
	cancel()
	if op.refused = op.respond(ended); op.refused != nil {
		return nil
	}
	return op.handoff.Source()
}

// acquire takes a place and, but for a subscription, begins the operation's time.
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

// release gives the place back.
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

// timeout is context.WithTimeout, without one if d is negative.
func timeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

func (op *operation) subscription() bool { return op.oc.Operation.Operation == ast.Subscription }

// next returns the next response, nil at the end. A subscription's blocks until
// there is one or its context ends. A response without data at all, not even
// null, is the refusal of the whole request.
func (op *operation) next() (res *graphql.Response) {
	if res, op.refused = op.refused, nil; res != nil {
		return res
	}
	return op.respond(op.ctx)
}

// respond is next for a context of the operation's, which bounds it.
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
			Errors: gqlerror.List{errcode.Errorf(errcode.ResponseTooLarge, "The answer is longer than %d bytes: ask for less at once.", limits.Answer)},
			Data:   json.RawMessage("null"),
		}
	}
	if errcode.Exceeds(len(res.Errors), limits.Errors) {
		res.Errors = res.Errors[:limits.Errors]
	}
	if op.subscription() {
		res.Data = bytes.Clone(res.Data) // gqlgen writes the next response there
	}
	return res
}

// cause returns the reason for which a subscription was cancelled, or nil.
func (op *operation) cause() error { return context.Cause(op.ctx) }

// close ends the operation and frees what it holds.
func (op *operation) close() {
	if op.cancel != nil {
		op.cancel(nil)
	}
	op.release()
}

// refused is the answer to a request that does not run.
func (d *Server) refused(ctx context.Context, errs gqlerror.List) *graphql.Response {
	d.metrics.refuse(errs[0])
	res := d.exec.DispatchError(ctx, errs)
	res.Data = nil
	return res
}

// caught logs a panic and returns what the client sees of it.
func (d *Server) caught(ctx context.Context, p any) gqlerror.List {
	return gqlerror.List{d.present(ctx, d.recovered(ctx, p))}
}

// recovered logs a panic with its stack. It is gqlgen's recover function too.
func (d *Server) recovered(ctx context.Context, p any) error {
	d.metrics.panics.Inc()
	d.log.ErrorContext(ctx, "panic", "value", fmt.Sprint(p), "stack", string(debug.Stack()))
	return errPanic
}

// encode is the JSON of a response: without data if the request was refused.
// What gqlgen wrote is JSON already, and is not read a second time.
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

// encoded is the JSON of errors or extensions. What cannot be written, a channel
// in an extension, must not take the answer with it.
func encoded(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		text, _ = json.Marshal(gqlerror.List{errcode.Errorf(errcode.Internal, "An error could not be written.")})
		if _, list := v.(gqlerror.List); !list {
			return []byte("{}")
		}
	}
	return text
}
