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

// Guard guards a handler that stands beside the schema, on the same origin: requests
// that a page of a foreign origin makes a browser send are 403, pages of [Config].AllowedOrigins
// may send them and read the answers, who asks is found out as
// for an operation, and each request counts against the same rate, 429. Then next may ask
// [CallerOf], and has the context of [AuthResult].WithContext. What else is to be bounded, the
// method, the body and its size, is for next to look at; only the time for a body is
// bounded here. A refusal is JSON as the door's own are.
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

// LookUp runs read for a request that is not answered by what it reads, such as one for a
// page about an object. Its context has a caller without a token, whose reads [AllowRead] and
// [RecordNotFound] count. The request counts against the rate of its client network, and takes
// a place among what runs. If that network has no more of either, LookUp returns false
// without running read: the request can be answered without. It never waits.
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

// CallerOf says who sent the request or the operation that ctx belongs to: the user,
// [AuthResult].User, "" for nobody known; and the network of the client, by which limits
// count, "" where there is no request. An answer that it was asked for reaches nobody else,
// see [broadcast.MarkPersonal].
func CallerOf(ctx context.Context) (user, network string) {
	broadcast.MarkPersonal(ctx)
	c := callerOf(ctx)
	return c.admission.User, strings.TrimPrefix(c.network, "a:")
}

// Ids that name nothing are what no cache holds: each is a question for the
// stores (the field calls it cache penetration), and there are any number of them.
// A client that follows what it was shown meets few. Whether a read ends in
// nothing is known only afterwards, so a resolver asks before it reads, and says
// afterwards what was absent:
//
//	if wait, ok := gqlserver.AllowRead(ctx); !ok {
//		gqlserver.RecordRefusal(ctx, wait)
//		return nil, rateLimited(wait)
//	}
//	v, err := read(ctx, id)
//	if errors.Is(err, errNotFound) {
//		gqlserver.RecordNotFound(ctx, 1)
//	}

// AllowRead says whether the caller of the operation that ctx belongs to may read
// by an id that it names, and if not, how long until it may. It may not while as
// many of its reads as [Limits].AbsentReads ended in nothing within a minute. Reads
// that run at once may go beyond that together; the surplus, up to as many again, is
// waited for too. A caller is a user, or else a client network. Where there is no
// operation, everything may be read.
func AllowRead(ctx context.Context) (wait time.Duration, ok bool) {
	c := callerOf(ctx)
	if c.server == nil {
		return 0, true
	}
	wait, ok = c.server.notFound.Left(c.key)
	if !ok {
		broadcast.MarkPersonal(ctx) // another caller may
	}
	return wait, ok
}

// RecordRefusal counts, in tandian_door_refused_total, that the caller of the operation that
// ctx belongs to was told that it may not.
func RecordRefusal(ctx context.Context, wait time.Duration) {
	if c := callerOf(ctx); c.server != nil {
		c.server.metrics.refuse(tooMany(wait))
	}
}

// RecordNotFound says that n reads of the caller of the operation that ctx belongs to
// ended in nothing.
func RecordNotFound(ctx context.Context, n int) {
	if c := callerOf(ctx); c.server != nil {
		c.server.notFound.Spend(c.key, n)
	}
}
