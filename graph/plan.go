package graph

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/tandian-dev/tandian/graph/model"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/account"
	"github.com/tandian-dev/tandian/internal/comment"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/fault"
	"github.com/tandian-dev/tandian/internal/kit/geo"
	"github.com/tandian-dev/tandian/internal/kit/kept"
	"github.com/tandian-dev/tandian/internal/kit/mediapath"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/plan"
	"github.com/tandian-dev/tandian/internal/note"
	"github.com/tandian-dev/tandian/internal/shop"
)

// What is asked for most has a plan (see kit/plan): these tables say which fields depend on
// their object alone, and how the others are read: by the resolvers that gqlgen calls too.
// A field that is in no table is executed by gqlgen, with the whole query around it; the
// list of them is in plan_test.go.

// Plans are the tables of all types that plans know.
func Plans(rooms Rooms) plan.Tables {
	t := &planned{r: &Resolver{rooms}}
	t.link()
	return plan.Tables{Query: t.query(), Events: map[string]plan.Event{"feedUpdates": t.feedUpdate}}
}

func (t *planned) query() *plan.Type {
	of, rooms := &queryResolver{t.r}, t.r.rooms
	return &plan.Type{Name: "Query", Fields: map[string]*plan.Field{
		"shopTypes": plan.Links(&t.shopType, func(ctx context.Context, _ []struct{}, _ none) ([][]*shop.Type, error) {
			types, err := of.ShopTypes(ctx)
			return [][]*shop.Type{pointersTo(types)}, err
		}),
		"shop":     plan.Link(&t.shop, root(of.Shop)).With(idArgs).Nullable(),
		"shops":    plan.Link(&t.shops, root(rooms.Shops.List)).With(shopsArgs),
		"note":     plan.Link(&t.note, root(of.Note)).With(idArgs).Nullable(),
		"hotNotes": plan.Link(&t.notes, root(func(ctx context.Context, p paging) (*note.Page, error) { return of.HotNotes(ctx, p.first, p.after) })).With(pageArgs),
		"user":     plan.Link(&t.user, root(of.User)).With(idArgs).Nullable(),
		"me":       plan.Link(&t.user, root(func(ctx context.Context, _ none) (*account.User, error) { return of.Me(ctx) })).Nullable(),
	}}
}

// none are the arguments of a field that has none.
type none struct{}

// root makes a loader of a resolver of a root field.
func root[A, V any](resolve func(context.Context, A) (*V, error)) func(context.Context, []struct{}, A) ([]*V, error) {
	return func(ctx context.Context, _ []struct{}, args A) ([]*V, error) {
		v, err := resolve(ctx, args)
		return []*V{v}, err
	}
}

// pointersTo are those to the elements of a list.
func pointersTo[V any](list []V) []*V {
	out := make([]*V, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// planned are the types that plans know. They name each other.
type planned struct {
	r *Resolver

	shop, shopType, shops, shopEdge, location, image plan.Type
	note, notes, noteEdge, feed, feedEdge            plan.Type
	added, removed, ready, resync                    plan.Type
	comment, comments, commentEdge                   plan.Type
	user, users, userEdge                            plan.Type
	pageInfo                                         plan.Type
}

func (t *planned) link() {
	t.ofShops()
	t.ofNotes()
	t.ofComments()
	t.ofUsers()
	t.ofEvents()
	t.pageInfo = plan.Type{Name: "PageInfo", Fields: map[string]*plan.Field{
		"hasNextPage":     plan.Plain(func(out []byte, i *page.Info) []byte { return strconv.AppendBool(out, i.HasNextPage) }),
		"hasPreviousPage": plan.Plain(func(out []byte, i *page.Info) []byte { return strconv.AppendBool(out, i.HasPreviousPage) }),
		"startCursor":     plan.Plain(func(out []byte, i *page.Info) []byte { return orNull(out, i.StartCursor, writeCursor) }),
		"endCursor":       plan.Plain(func(out []byte, i *page.Info) []byte { return orNull(out, i.EndCursor, writeCursor) }),
	}}
}

func (t *planned) ofShops() {
	t.location = plan.Type{Name: "Location", Fields: map[string]*plan.Field{
		"lat": plan.Plain(func(out []byte, p *geo.Point) []byte { return writeFloat(out, p.Lat) }),
		"lng": plan.Plain(func(out []byte, p *geo.Point) []byte { return writeFloat(out, p.Lng) }),
	}}
	t.image = plan.Type{Name: "Image", Fields: map[string]*plan.Field{
		"url":          plan.Plain(func(out []byte, i *mediapath.Image) []byte { return plan.String(out, i.URL) }),
		"width":        plan.Plain(func(out []byte, i *mediapath.Image) []byte { return orNull(out, i.Width, scalar.AppendInt) }),
		"height":       plan.Plain(func(out []byte, i *mediapath.Image) []byte { return orNull(out, i.Height, scalar.AppendInt) }),
		"thumbnailUrl": plan.Plain(func(out []byte, i *mediapath.Image) []byte { return plan.String(out, i.ThumbnailURL) }),
	}}
	t.shopType = plan.Type{Name: "ShopType", Fields: map[string]*plan.Field{
		"id":      plan.Plain(func(out []byte, t *shop.Type) []byte { return writeID(out, "ShopType", t.ID) }),
		"name":    plan.Plain(func(out []byte, t *shop.Type) []byte { return plan.String(out, t.Name) }),
		"iconUrl": plan.Plain(func(out []byte, t *shop.Type) []byte { return orNull(out, t.IconURL, plan.String) }),
		"sort":    plan.Plain(func(out []byte, t *shop.Type) []byte { return scalar.AppendInt(out, t.Sort) }),
	}}
	of := &shopResolver{t.r}
	t.shop = plan.Type{Name: "Shop", Kept: plan.Keeps(func(s *shop.Shop) *kept.Bytes { return s.Kept }), Fields: map[string]*plan.Field{
		"id":           plan.Plain(func(out []byte, s *shop.Shop) []byte { return writeID(out, "Shop", s.ID) }),
		"name":         plan.Plain(func(out []byte, s *shop.Shop) []byte { return plan.String(out, s.Name) }),
		"area":         plan.Plain(func(out []byte, s *shop.Shop) []byte { return orNull(out, s.Area, plan.String) }),
		"address":      plan.Plain(func(out []byte, s *shop.Shop) []byte { return plan.String(out, s.Address) }),
		"avgPrice":     plan.Plain(func(out []byte, s *shop.Shop) []byte { return orNull(out, s.AvgPrice, scalar.AppendInt) }),
		"sold":         plan.Plain(func(out []byte, s *shop.Shop) []byte { return scalar.AppendLong(out, s.Sold) }),
		"commentCount": plan.Plain(func(out []byte, s *shop.Shop) []byte { return scalar.AppendInt(out, s.CommentCount) }),
		"score":        plan.Plain(func(out []byte, s *shop.Shop) []byte { return orNull(out, s.Score, writeFloat) }),
		"openHours":    plan.Plain(func(out []byte, s *shop.Shop) []byte { return orNull(out, s.OpenHours, plan.String) }),
		"location":     plan.Inner(&t.location, func(s *shop.Shop) *geo.Point { return &s.At }),
		"images":       plan.Inners(&t.image, func(s *shop.Shop) []*mediapath.Image { return pointersTo(s.Images) }),
		"type":         plan.Link(&t.shopType, ofNone(of.Type)),
		"notes":        plan.Link(&t.notes, paged(of.Notes)).With(pageArgs),
	}}
	t.shopEdge = edge("ShopEdge", &t.shop, func(e *shop.Edge) page.Cursor { return e.Cursor }, func(e *shop.Edge) *shop.Shop { return e.Node })
	t.shopEdge.Fields["distance"] = plan.Plain(func(out []byte, e *shop.Edge) []byte { return orNull(out, e.Distance, writeFloat) })
	t.shops = connection("ShopConnection", &t.shopEdge, &t.pageInfo,
		func(p *shop.Page) []*shop.Edge { return pointersTo(p.Edges) }, func(p *shop.Page) *page.Info { return &p.Info })
}

func (t *planned) ofNotes() {
	of := &noteResolver{t.r}
	counts := plan.Leaves(func(ctx context.Context, objs []*note.Note) ([]note.Counts, error) { return t.r.noteCounts(ctx, objs) })
	t.note = plan.Type{Name: "Note", Kept: plan.Keeps(func(n *note.Note) *kept.Bytes { return n.Kept }), Fields: map[string]*plan.Field{
		"id":           plan.Plain(func(out []byte, n *note.Note) []byte { return writeID(out, "Note", n.ID) }),
		"title":        plan.Plain(func(out []byte, n *note.Note) []byte { return plan.String(out, n.Title) }),
		"content":      plan.Plain(func(out []byte, n *note.Note) []byte { return plan.String(out, n.Content) }),
		"images":       plan.Inners(&t.image, func(n *note.Note) []*mediapath.Image { return pointersTo(n.Images) }),
		"createdAt":    plan.Plain(func(out []byte, n *note.Note) []byte { return writeTime(out, n.CreatedAt) }),
		"likeCount":    counts(func(out []byte, c note.Counts) []byte { return scalar.AppendInt(out, c.Likes) }),
		"commentCount": counts(func(out []byte, c note.Counts) []byte { return scalar.AppendInt(out, c.Comments) }),
		"isLiked":      plan.Leaf(strconv.AppendBool, of.IsLiked),
		"author":       plan.Link(&t.user, ofNone(of.Author)),
		"shop":         plan.Link(&t.shop, ofNone(of.Shop)),
		"firstLikers": plan.Links(&t.user, func(ctx context.Context, objs []*note.Note, p paging) ([][]*account.User, error) {
			lists, err := of.FirstLikers(ctx, objs, p.first)
			return convert(lists, pointersTo), err
		}).With(firstArgs),
		"comments": plan.Link(&t.comments, paged(of.Comments)).With(pageArgs),
	}}
	t.noteEdge = edge("NoteEdge", &t.note, func(e *note.Edge) page.Cursor { return e.Cursor }, func(e *note.Edge) *note.Note { return e.Node })
	t.notes = connection("NoteConnection", &t.noteEdge, &t.pageInfo,
		func(p *note.Page) []*note.Edge { return p.Edges }, func(p *note.Page) *page.Info { return &p.Info })
	t.feedEdge = edge("FeedEdge", &t.note, func(e *feed.Edge) page.Cursor { return e.Cursor }, noteOf)
	t.feed = connection("FeedConnection", &t.feedEdge, &t.pageInfo,
		func(p *feed.Page) []*feed.Edge { return p.Edges }, func(p *feed.Page) *page.Info { return &p.Info })
	t.feed.Fields["liveCursor"] = plan.Plain(func(out []byte, p *feed.Page) []byte { return writeCursor(out, p.Live) })
}

func (t *planned) ofComments() {
	of := &commentResolver{t.r}
	t.comment = plan.Type{Name: "Comment", Kept: plan.Keeps(func(c *comment.Comment) *kept.Bytes { return c.Kept }), Fields: map[string]*plan.Field{
		"id":         plan.Plain(func(out []byte, c *comment.Comment) []byte { return writeID(out, "Comment", c.ID) }),
		"content":    plan.Plain(func(out []byte, c *comment.Comment) []byte { return plan.String(out, c.Content) }),
		"likeCount":  plan.Plain(func(out []byte, c *comment.Comment) []byte { return scalar.AppendInt(out, c.LikeCount) }),
		"replyCount": plan.Plain(func(out []byte, c *comment.Comment) []byte { return scalar.AppendInt(out, c.ReplyCount) }),
		"createdAt":  plan.Plain(func(out []byte, c *comment.Comment) []byte { return writeTime(out, c.CreatedAt) }),
		"isLiked":    plan.Leaf(strconv.AppendBool, of.IsLiked),
		"author":     plan.Link(&t.user, ofNone(of.Author)),
		"note":       plan.Link(&t.note, ofNone(of.Note)),
		"parent":     plan.Link(&t.comment, ofNone(of.Parent)).Nullable(),
		"replies":    plan.Link(&t.comments, paged(of.Replies)).With(pageArgs),
	}}
	t.commentEdge = edge("CommentEdge", &t.comment, func(e *comment.Edge) page.Cursor { return e.Cursor }, func(e *comment.Edge) *comment.Comment { return e.Node })
	t.comments = connection("CommentConnection", &t.commentEdge, &t.pageInfo,
		func(p *comment.Page) []*comment.Edge { return p.Edges }, func(p *comment.Page) *page.Info { return &p.Info })
}

func (t *planned) ofUsers() {
	of := &userResolver{t.r}
	t.user = plan.Type{Name: "User", Kept: plan.Keeps(func(u *account.User) *kept.Bytes { return u.Kept }), Fields: map[string]*plan.Field{
		"id":        plan.Plain(func(out []byte, u *account.User) []byte { return writeID(out, "User", u.ID) }),
		"nickname":  plan.Plain(func(out []byte, u *account.User) []byte { return plan.String(out, u.Nickname) }),
		"avatarUrl": plan.Plain(func(out []byte, u *account.User) []byte { return orNull(out, u.AvatarURL, plan.String) }),
		"role": plan.Leaf(func(out []byte, r *account.Role) []byte {
			return orNull(out, r, func(out []byte, r account.Role) []byte { return plan.String(out, string(r)) })
		}, of.Role),
		"city":          plan.Plain(func(out []byte, u *account.User) []byte { return orNull(out, u.City, plan.String) }),
		"bio":           plan.Plain(func(out []byte, u *account.User) []byte { return orNull(out, u.Bio, plan.String) }),
		"level":         plan.Plain(func(out []byte, u *account.User) []byte { return scalar.AppendInt(out, u.Level()) }),
		"points":        plan.Plain(func(out []byte, u *account.User) []byte { return scalar.AppendLong(out, u.Points) }),
		"followerCount": plan.Plain(func(out []byte, u *account.User) []byte { return scalar.AppendInt(out, u.FollowerCount) }),
		"followeeCount": plan.Plain(func(out []byte, u *account.User) []byte { return scalar.AppendInt(out, u.FolloweeCount) }),
		"noteCount":     plan.Plain(func(out []byte, u *account.User) []byte { return scalar.AppendInt(out, u.NoteCount) }),
		"isFollowed":    plan.Leaf(strconv.AppendBool, of.IsFollowed),
		"followers":     plan.Link(&t.users, paged(of.Followers)).With(pageArgs),
		"followees":     plan.Link(&t.users, paged(of.Followees)).With(pageArgs),
		"notes":         plan.Link(&t.notes, paged(of.Notes)).With(pageArgs),
		"feed":          plan.Link(&t.feed, paged(of.Feed)).With(pageArgs).Nullable(),
	}}
	t.userEdge = edge("UserEdge", &t.user, func(e *account.Edge) page.Cursor { return e.Cursor }, func(e *account.Edge) *account.User { return e.Node })
	t.users = connection("UserConnection", &t.userEdge, &t.pageInfo,
		func(p *account.Page) []*account.Edge { return p.Edges }, func(p *account.Page) *page.Info { return &p.Info })
}

// ofEvents are the types of which feedUpdates tells.
func (t *planned) ofEvents() {
	t.added = plan.Type{Name: "FeedNoteAdded", Fields: map[string]*plan.Field{
		"cursor": plan.Plain(func(out []byte, u *feed.Added) []byte { return writeCursor(out, u.Cursor) }),
		"note":   plan.Inner(&t.note, addedNote),
	}}
	t.removed = plan.Type{Name: "FeedNoteRemoved", Fields: map[string]*plan.Field{
		"cursor": plan.Plain(func(out []byte, u *feed.Removed) []byte { return writeCursor(out, u.Cursor) }),
		"noteId": plan.Plain(func(out []byte, u *feed.Removed) []byte { return writeID(out, "Note", u.Note) }),
	}}
	t.ready = plan.Type{Name: "FeedReady", Fields: map[string]*plan.Field{
		"cursor": plan.Plain(func(out []byte, u *feed.Ready) []byte { return writeCursor(out, u.Cursor) }),
	}}
	t.resync = plan.Type{Name: "FeedResync", Fields: map[string]*plan.Field{
		"cursor": plan.Plain(func(out []byte, u *feed.Resync) []byte { return writeCursor(out, u.Cursor) }),
	}}
}

// feedUpdate is a [plan.Event].
func (t *planned) feedUpdate(v any) (*plan.Type, any) {
	switch u := v.(type) {
	case *feed.Added:
		return &t.added, []*feed.Added{u}
	case *feed.Removed:
		return &t.removed, []*feed.Removed{u}
	case *feed.Ready:
		return &t.ready, []*feed.Ready{u}
	case *feed.Resync:
		return &t.resync, []*feed.Resync{u}
	}
	return nil, nil
}

// edge is a type of places in lists.
func edge[E, N any](name string, node *plan.Type, cursor func(*E) page.Cursor, of func(*E) *N) plan.Type {
	return plan.Type{Name: name, Fields: map[string]*plan.Field{
		"cursor": plan.Plain(func(out []byte, e *E) []byte { return writeCursor(out, cursor(e)) }),
		"node":   plan.Inner(node, of),
	}}
}

// connection is a type of pages.
func connection[P, E any](name string, edge, info *plan.Type, edges func(*P) []*E, of func(*P) *page.Info) plan.Type {
	return plan.Type{Name: name, Fields: map[string]*plan.Field{
		"edges":    plan.Inners(edge, edges),
		"pageInfo": plan.Inner(info, of),
	}}
}

// ofNone makes a loader of a resolver of objects that has no arguments.
func ofNone[P, V any](resolve func(context.Context, []P) ([]*V, error)) func(context.Context, []P, none) ([]*V, error) {
	return func(ctx context.Context, objs []P, _ none) ([]*V, error) { return resolve(ctx, objs) }
}

// paged makes a loader of a resolver of pages.
func paged[P, V any](resolve func(ctx context.Context, objs []P, first int, after *page.Cursor) ([]*V, error)) func(context.Context, []P, paging) ([]*V, error) {
	return func(ctx context.Context, objs []P, p paging) ([]*V, error) {
		return resolve(ctx, objs, p.first, p.after)
	}
}

// paging are the arguments of a list.
type paging struct {
	first int
	after *page.Cursor
}

func pageArgs(args map[string]any) (any, error) {
	first, err := scalar.UnmarshalInt(args["first"])
	if err != nil {
		return nil, err
	}
	p := paging{first: first}
	if given := args["after"]; given != nil {
		after, err := scalar.UnmarshalCursor(given)
		if err != nil {
			return nil, err
		}
		p.after = &after
	}
	return p, nil
}

func firstArgs(args map[string]any) (any, error) {
	first, err := scalar.UnmarshalInt(args["first"])
	return paging{first: first}, err
}

func idArgs(args map[string]any) (any, error) {
	var id scalar.ID
	err := id.UnmarshalGQL(args["id"])
	return id, err
}

// shopsArgs reads the arguments of shops.
func shopsArgs(args map[string]any) (any, error) {
	p, err := pageArgs(args)
	if err != nil {
		return nil, err
	}
	paging, _ := p.(paging)
	var near *model.NearInput
	if given := args["near"]; given != nil {
		if near, err = nearOf(given); err != nil {
			return nil, err
		}
	}
	var filter *model.ShopFilter
	if given := args["filter"]; given != nil {
		if filter, err = filterOf(given); err != nil {
			return nil, err
		}
	}
	var order *shop.Order
	if given := args["orderBy"]; given != nil {
		name, err := scalar.UnmarshalString(given)
		if err != nil {
			return nil, err
		}
		by := shop.Order(name)
		order = &by
	}
	return shopQuery(filter, near, order, paging.first, paging.after)
}

const usualRadius = 5000 // of NearInput

func nearOf(given any) (*model.NearInput, error) {
	fields, ok := given.(map[string]any)
	if !ok {
		return nil, fault.BadInput("near is no NearInput")
	}
	near := &model.NearInput{Radius: usualRadius}
	var err error
	if near.Lat, err = scalar.UnmarshalFloat(fields["lat"]); err != nil {
		return nil, err
	}
	if near.Lng, err = scalar.UnmarshalFloat(fields["lng"]); err != nil {
		return nil, err
	}
	if radius, there := fields["radius"]; there {
		near.Radius, err = scalar.UnmarshalInt(radius)
	}
	return near, err
}

func filterOf(given any) (*model.ShopFilter, error) {
	fields, ok := given.(map[string]any)
	if !ok {
		return nil, fault.BadInput("filter is no ShopFilter")
	}
	filter := &model.ShopFilter{}
	if typ := fields["typeId"]; typ != nil {
		filter.TypeID = new(scalar.ID)
		if err := filter.TypeID.UnmarshalGQL(typ); err != nil {
			return nil, err
		}
	}
	if search := fields["search"]; search != nil {
		text, err := scalar.UnmarshalString(search)
		if err != nil {
			return nil, err
		}
		filter.Search = &text
	}
	return filter, nil
}

// How values are written: as the scalars of package scalar do.

func orNull[V any](out []byte, v *V, write func([]byte, V) []byte) []byte {
	if v == nil {
		return append(out, "null"...)
	}
	return write(out, *v)
}

func writeFloat(out []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(out, "null"...)
	}
	return strconv.AppendFloat(out, f, 'g', -1, 64)
}

func writeTime(out []byte, t time.Time) []byte {
	return append(t.AppendFormat(append(out, '"'), time.RFC3339Nano), '"')
}

func writeCursor(out []byte, c page.Cursor) []byte { return plan.String(out, string(c)) }

func writeID(out []byte, typ string, n int64) []byte {
	out = append(out, '"')
	var text [64]byte
	return append(scalar.AppendID(out, append(append(text[:0], typ...), ':'), n), '"')
}
