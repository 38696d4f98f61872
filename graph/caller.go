package graph

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/note"
)

// A Caller is the viewer of a request and its network address, the key of login limits.
// A login or logout changes the viewer for the rest of the request.
type Caller struct {
	address string
	viewer  atomic.Pointer[account.Viewer]

	mu    sync.Mutex
	wrote map[relation]bool // written by mutations of the request
	likes map[int64]int     // like counts by note, after mutations of the request
}

// A relation is a field that relates the viewer to an object.
type relation struct {
	field  string // such as "Note.isLiked"
	viewer int64
	id     int64 // of the object
}

type viewerKey struct{}

// WithCaller returns a context with the viewer and the client address of a request. The
// server calls it once per request, before execution. Without it, the viewer is anonymous.
func WithCaller(ctx context.Context, viewer account.Viewer, address string) context.Context {
	c := &Caller{address: address}
	c.viewer.Store(&viewer)
	return context.WithValue(ctx, viewerKey{}, c)
}

// callerOf returns the caller of a request. It marks the response as personal, so that
// subscribers do not share it.
func callerOf(ctx context.Context) *Caller {
	broadcast.MarkPersonal(ctx)
	if c, ok := ctx.Value(viewerKey{}).(*Caller); ok {
		return c
	}
	return &Caller{}
}

// viewer returns the viewer of a request. The zero Viewer is anonymous.
func viewer(ctx context.Context) account.Viewer { return callerOf(ctx).is() }

func (c *Caller) is() account.Viewer {
	if v := c.viewer.Load(); v != nil {
		return *v
	}
	return account.Viewer{}
}

func (c *Caller) become(v account.Viewer) { c.viewer.Store(&v) }

// remember stores a relation that a mutation of the request has written. The response
// then need not read it from caches that the write has invalidated.
func (c *Caller) remember(field string, id int64, is bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrote == nil {
		c.wrote = map[relation]bool{}
	}
	c.wrote[relation{field, c.is().ID, id}] = is
}

// rememberLikes stores the like count of a note after a mutation of the request, or
// deletes it if it is unknown.
func (c *Caller) rememberLikes(note int64, likes int, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !known {
		delete(c.likes, note)
		return
	}
	if c.likes == nil {
		c.likes = map[int64]int{}
	}
	c.likes[note] = likes
}

// countedLikes returns the like counts of notes if mutations of the request have stored
// all of them. It does not depend on the viewer, so it does not use callerOf.
func countedLikes(ctx context.Context, notes []*note.Note) (likes []int, ok bool) {
	c, ok := ctx.Value(viewerKey{}).(*Caller)
	if !ok {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, n := range notes {
		count, known := c.likes[n.ID]
		if !known {
			return nil, false
		}
		likes = append(likes, count)
	}
	return likes, true
}

// related returns the relations of the viewer to objects: those that the request has
// written from memory, the others from read.
func related(ctx context.Context, field string, ids []int64, read func(context.Context, int64, []int64) (map[int64]bool, error)) (map[int64]bool, error) {
	c := callerOf(ctx)
	user := c.is().ID
	found := make(map[int64]bool, len(ids))
	c.mu.Lock()
	rest := make([]int64, 0, len(ids))
	for _, id := range ids {
		if is, ok := c.wrote[relation{field, user, id}]; ok {
			found[id] = is
		} else {
			rest = append(rest, id)
		}
	}
	c.mu.Unlock()
	if len(rest) == 0 {
		return found, nil
	}
	more, err := read(ctx, user, rest)
	maps.Copy(found, more)
	return found, err
}

// auth implements the directive @auth.
func auth(ctx context.Context, _ any, next graphql.Resolver, role account.Role) (any, error) {
	if err := viewer(ctx).Require(ctx, role); err != nil {
		return nil, err
	}
	return next(ctx)
}
