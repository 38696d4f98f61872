package gqlserver

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// Guard wraps a handler that serves the same origin as the schema. It applies the checks of an
// operation:
//
//   - A browser request from a foreign origin gets 403. Pages of [Config].AllowedOrigins may send
//     requests and read the responses.
//   - The request is authenticated, and [CallerOf] returns its caller. The context is that of
//     [AuthResult].WithContext.
//   - The request counts against the caller's rate limit and gets 429 beyond it.
//   - The body must arrive within Limits.BodyTime.
//
// The handler checks the method, the body and its size. Errors are JSON, as for operations.
func (d *Server) Guard(next http.Handler) http.Handler {
	return d.crossOrigin(d.bodyTime(d.csrf.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := d.authenticate(r)
		if err != nil {
			d.refuse(w, r, statusOf(&graphql.Response{Errors: gqlerror.List{err}}, request.MediaJSON), err)
			return
		}
		ctx := withRequest(r.Context(), &requestInfo{caller: c})
		if c.admission.WithContext != nil {
			ctx = c.admission.WithContext(ctx)
		}
		next.ServeHTTP(w, r.WithContext(ctx))
	}))))
}

// LookUp runs read for a request that can be answered without its result, such as the page of an
// object. It reports whether it ran read. It never waits for a limit.
//
// The context of read has an anonymous caller, for [AllowRead] and [RecordNotFound]. The request
// counts against the rate limit and the running complexity of the client network. LookUp returns
// false without calling read if either is used up.
func (d *Server) LookUp(r *http.Request, read func(context.Context)) bool {
	c, ok := d.lookUpToken(r.Context(), d.anonymousCaller(r), "")
	if !ok || d.count(c) != nil {
		return false
	}
	at, ok := d.running.TryAcquire(c.key, 1)
	if !ok {
		return false
	}
	defer at.Release()
	c.server = d
	ctx := withRequest(r.Context(), &requestInfo{caller: c})
	if c.admission.WithContext != nil {
		ctx = c.admission.WithContext(ctx)
	}
	read(ctx)
	return true
}

// CallerOf returns the caller of the request or operation of ctx. user is [AuthResult].User,
// empty for an anonymous caller. network is the client network that limits count by, empty
// without a request. CallerOf marks the response as personal, see [broadcast.MarkPersonal].
func CallerOf(ctx context.Context) (user, network string) {
	broadcast.MarkPersonal(ctx)
	c := callerOf(ctx)
	return c.admission.User, strings.TrimPrefix(c.network, "a:")
}

// No cache holds unknown ids, so each lookup of one reaches the stores (cache penetration). A
// client that follows links meets few of them. Only the read itself shows that an id is unknown.
// A resolver therefore checks the limit before a read and records a miss after it:
//
//	if wait, ok := gqlserver.AllowRead(ctx); !ok {
//		gqlserver.RecordRefusal(ctx, wait)
//		return nil, rateLimited(wait)
//	}
//	v, err := read(ctx, id)
//	if errors.Is(err, errNotFound) {
//		gqlserver.RecordNotFound(ctx, 1)
//	}

// AllowRead reports whether the caller of ctx's operation may read by an id that it chose. If
// not, it returns the time until it may.
//
// A caller is a user or, without one, a client network. It may not read after
// [Limits].AbsentReads misses within a minute. Concurrent reads may exceed that by up to as many
// again, and the excess extends the wait. Without an operation, every read is allowed.
func AllowRead(ctx context.Context) (wait time.Duration, ok bool) {
	c := callerOf(ctx)
	if c.server == nil {
		return 0, true
	}
	wait, ok = c.server.notFound.Left(c.key)
	if !ok {
		broadcast.MarkPersonal(ctx) // the response depends on the caller
	}
	return wait, ok
}

// RecordRefusal counts a refused read of ctx's operation in tandian_door_refused_total.
func RecordRefusal(ctx context.Context, wait time.Duration) {
	if c := callerOf(ctx); c.server != nil {
		c.server.metrics.refuse(tooMany(wait))
	}
}

// RecordNotFound records n reads of ctx's operation that found nothing. See [AllowRead].
func RecordNotFound(ctx context.Context, n int) {
	if c := callerOf(ctx); c.server != nil {
		c.server.notFound.Spend(c.key, n)
	}
}
