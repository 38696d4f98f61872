package graph

import (
	"bytes"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/go-cmp/cmp"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/feed"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/plan"
)

// byGqlgen are the fields of the types that plans know which gqlgen answers, with the whole
// query around them, each for a reason. What is not listed has to be in a table.
var byGqlgen = map[string]string{
	"Query.node":           "any type: plans know no interfaces",
	"Query.nodes":          "any type: plans know no interfaces",
	"Query.cacheStats":     "for administrators",
	"Query.hotKeys":        "for administrators",
	"Query.queueStats":     "for administrators",
	"Query.siteStats":      "for administrators",
	"Query.voucher":        "an interface, and asked for less",
	"Query.flashSales":     "stock changes by the moment: what is read costs more than what is written",
	"Query.serverTime":     "nothing to save",
	"Query.order":          "the viewer's own",
	"Query.orderByNumber":  "the viewer's own",
	"Query.disputedOrders": "for administrators",
	"Query.salesByDay":     "for administrators",
	"Shop.vouchers":        "an interface, and other ones for the owner",
	"Shop.visits":          "for the owner",
	"Shop.visitsByDay":     "for the owner",
	"Shop.orders":          "for the owner",
	"Shop.salesByDay":      "for the owner",
	"User.phone":           "the viewer's own",
	"User.gender":          "the viewer's own",
	"User.birthday":        "the viewer's own",
	"User.shops":           "the viewer's own",
	"User.checkIns":        "the viewer's own",
	"User.orders":          "the viewer's own",
	"User.balance":         "the viewer's own",
	"User.sessions":        "the viewer's own",
	"User.commonFollowees": "dear to read, and asked for on one page alone",
}

// alone are the fields that depend on their object alone, whoever asks and whatever is
// written elsewhere: their bytes are kept with the object. Nothing may come in here that is
// another one for the owner, for who is signed in, or after the row of something else changed.
var alone = map[string]string{
	"Shop":              "id name area address avgPrice sold commentCount score openHours location images",
	"ShopType":          "id name iconUrl sort",
	"Location":          "lat lng",
	"Image":             "url width height thumbnailUrl",
	"Note":              "id title content images createdAt",
	"Comment":           "id content likeCount replyCount createdAt",
	"User":              "id nickname avatarUrl city bio level points followerCount followeeCount noteCount",
	"PageInfo":          "hasNextPage hasPreviousPage startCursor endCursor",
	"ShopConnection":    "edges pageInfo",
	"ShopEdge":          "cursor node distance",
	"NoteConnection":    "edges pageInfo",
	"NoteEdge":          "cursor node",
	"CommentConnection": "edges pageInfo",
	"CommentEdge":       "cursor node",
	"UserConnection":    "edges pageInfo",
	"UserEdge":          "cursor node",
	"FeedConnection":    "edges pageInfo liveCursor",
	"FeedEdge":          "cursor node",
	"FeedNoteAdded":     "cursor note",
	"FeedNoteRemoved":   "cursor noteId",
	"FeedReady":         "cursor",
	"FeedResync":        "cursor",
}

// keeping are the types of objects that lie in the process's memory, as rows.
var keeping = []string{"Comment", "Note", "Shop", "User"}

// read are the arguments that the tables read of fields and of inputs; of a list those that
// are not named here are first and after. A new one has to be read, or the field left to gqlgen.
var read = map[string]string{
	"Query.shop":       "id",
	"Query.note":       "id",
	"Query.user":       "id",
	"Query.shops":      "filter near orderBy first after",
	"Note.firstLikers": "first",
	"NearInput":        "lat lng radius",
	"ShopFilter":       "typeId search",
}

// planTypes are the types that plans know, by name.
func planTypes(t *testing.T) map[string]*plan.Type {
	t.Helper()
	known := map[string]*plan.Type{}
	var walk func(typ *plan.Type)
	walk = func(typ *plan.Type) {
		if other := known[typ.Name]; other != nil {
			if other != typ {
				t.Errorf("there are two tables of %s", typ.Name)
			}
			return
		}
		known[typ.Name] = typ
		for name, f := range typ.Fields {
			if to := f.Shape().To; to != nil {
				if to.Name == "" {
					t.Fatalf("%s.%s leads to a table that is empty", typ.Name, name)
				}
				walk(to)
			}
		}
	}
	tables := Plans(Rooms{})
	walk(tables.Query)
	for _, v := range told {
		typ, _ := tables.Events["feedUpdates"](v)
		walk(typ)
	}
	return known
}

// told is one value of each type of which feedUpdates tells.
var told = []feed.Update{&feed.Added{}, &feed.Removed{}, &feed.Ready{}, &feed.Resync{}}

func TestPlansKnowAllOfWhichFeedUpdatesTells(t *testing.T) {
	var got []string
	for _, v := range told {
		typ, _ := Plans(Rooms{}).Events["feedUpdates"](v)
		got = append(got, typ.Name)
	}
	if d := cmp.Diff(executable().Schema().Types["FeedUpdate"].Types, got); d != "" {
		t.Errorf("(-schema +tables)\n%s", d)
	}
}

func words(text string) []string {
	list := strings.Fields(text)
	slices.Sort(list)
	return list
}

func TestPlansKnowEveryFieldOrSayWhyNot(t *testing.T) {
	s := executable().Schema()
	left := maps.Clone(byGqlgen)
	known := planTypes(t)
	for name, typ := range known {
		d := s.Types[name]
		if d == nil || d.Kind != ast.Object {
			t.Errorf("the schema has no object %s", name)
			continue
		}
		for _, f := range fields(d) {
			full := name + "." + f.Name
			_, planned := typ.Fields[f.Name]
			if _, listed := left[full]; planned == listed {
				t.Errorf("%s is in a table: %t, and among those that gqlgen answers: %t", full, planned, listed)
			}
			delete(left, full)
		}
		for field := range typ.Fields {
			if d.Fields.ForName(field) == nil {
				t.Errorf("the schema has no %s.%s", name, field)
			}
		}
	}
	for full := range left {
		t.Errorf("%s is no field of a type that plans know", full)
	}
	if len(known) < 15 {
		t.Errorf("the walk saw %d types", len(known))
	}
}

// A directive is run by gqlgen.
func TestPlansKnowNoFieldWithADirective(t *testing.T) {
	s := executable().Schema()
	n := 0
	for name, typ := range planTypes(t) {
		for field := range typ.Fields {
			f := s.Types[name].Fields.ForName(field)
			if f == nil {
				continue
			}
			n++
			if len(f.Directives) > 0 {
				t.Errorf("%s.%s asks for @%s, which a plan does not", name, field, f.Directives[0].Name)
			}
			for _, a := range f.Arguments {
				if len(a.Directives) > 0 {
					t.Errorf("%s.%s(%s) has a directive", name, field, a.Name)
				}
			}
		}
	}
	if n < 80 {
		t.Errorf("the walk saw %d fields", n)
	}
}

func TestTablesHaveTheShapeOfTheSchema(t *testing.T) {
	s := executable().Schema()
	nullable := 0
	for name, typ := range planTypes(t) {
		for field, planned := range typ.Fields {
			f, is := s.Types[name].Fields.ForName(field), planned.Shape()
			if f == nil {
				continue
			}
			if leaf := s.Types[f.Type.Name()].IsLeafType(); leaf {
				if is.To != nil || is.Nullable || f.Type.Elem != nil {
					t.Errorf("%s.%s is %v, and the table has %+v", name, field, f.Type, is)
				}
				continue
			}
			if is.To == nil || is.To.Name != f.Type.Name() || is.List != (f.Type.Elem != nil) || is.Nullable == f.Type.NonNull {
				t.Errorf("%s.%s is %v, and the table has %+v", name, field, f.Type, is)
			}
			if f.Type.Elem != nil && (!f.Type.NonNull || !f.Type.Elem.NonNull) {
				t.Errorf("%s.%s is %v: plans know no list with nulls", name, field, f.Type)
			}
			if is.Nullable {
				nullable++
			}
		}
	}
	if nullable < 5 {
		t.Errorf("the walk saw %d fields that may be null", nullable)
	}
}

func TestWhatDependsOnItsObjectAloneWasDecided(t *testing.T) {
	got, want := map[string][]string{}, map[string][]string{}
	for name, list := range alone {
		want[name] = words(list)
	}
	var kept []string
	for name, typ := range planTypes(t) {
		for field, f := range typ.Fields {
			if f.Viewerless() {
				got[name] = append(got[name], field)
			}
		}
		slices.Sort(got[name])
		if typ.Kept != nil {
			kept = append(kept, name)
		}
	}
	delete(got, "Query") // of which there is nothing
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("fields (-want +got)\n%s", d)
	}
	slices.Sort(kept)
	if d := cmp.Diff(keeping, kept); d != "" {
		t.Errorf("types that keep bytes (-want +got)\n%s", d)
	}
}

func TestTablesReadAllArguments(t *testing.T) {
	s := executable().Schema()
	left := maps.Clone(read)
	compare := func(name string, has, otherwise []string) {
		t.Helper()
		want := otherwise
		if list, ok := left[name]; ok {
			want = words(list)
		}
		delete(left, name)
		slices.Sort(has)
		if d := cmp.Diff(want, has); d != "" {
			t.Errorf("%s (-read +schema)\n%s", name, d)
		}
	}
	for name, typ := range planTypes(t) {
		for field, planned := range typ.Fields {
			f := s.Types[name].Fields.ForName(field)
			if f == nil {
				continue
			}
			if reads := planned.Shape().Args; reads != (len(f.Arguments) > 0) {
				t.Errorf("%s.%s has %d arguments; the table reads some: %t", name, field, len(f.Arguments), reads)
			}
			var has []string
			for _, a := range f.Arguments {
				has = append(has, a.Name)
			}
			if has != nil {
				compare(name+"."+field, has, []string{"after", "first"})
			}
		}
	}
	for _, name := range []string{"NearInput", "ShopFilter"} {
		var has []string
		for _, f := range s.Types[name].Fields {
			has = append(has, f.Name)
		}
		compare(name, has, nil)
	}
	for name := range left {
		t.Errorf("%s has no arguments", name)
	}
}

func TestDefaultsOfInputsAreThoseOfTheSchema(t *testing.T) {
	s := executable().Schema()
	defaults := map[string]string{}
	for _, name := range []string{"NearInput", "ShopFilter"} {
		for _, f := range s.Types[name].Fields {
			if f.DefaultValue != nil {
				defaults[name+"."+f.Name] = f.DefaultValue.Raw
			}
		}
	}
	want := map[string]string{"NearInput.radius": strconv.Itoa(usualRadius)}
	if d := cmp.Diff(want, defaults); d != "" {
		t.Errorf("(-tables +schema)\n%s", d)
	}
	near, err := nearOf(map[string]any{"lat": 1.0, "lng": 2.0})
	if err != nil || near.Radius != usualRadius {
		t.Errorf("without a radius: %+v, %v", near, err)
	}
}

// Leaves are written as gqlgen writes them.
func TestLeavesAreWrittenAsTheScalarsDo(t *testing.T) {
	id := scalar.ID{Type: "ShopType", N: 1<<63 - 1}
	east := time.FixedZone("", 8*3600)
	tests := []struct {
		name string
		got  []byte
		want graphql.Marshaler
	}{
		{"a number", scalar.AppendInt(nil, -42), scalar.MarshalInt(-42)},
		{"a fraction", writeFloat(nil, 4.1), scalar.MarshalFloat(4.1)},
		{"a whole Float", writeFloat(nil, 5), scalar.MarshalFloat(5)},
		{"a great Float", writeFloat(nil, 1e21), scalar.MarshalFloat(1e21)},
		{"a small Float", writeFloat(nil, -1e-7), scalar.MarshalFloat(-1e-7)},
		{"a moment", writeTime(nil, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), scalar.MarshalTime(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))},
		{"a moment in another zone", writeTime(nil, time.Date(2026, 3, 1, 12, 0, 0, 120_000_000, east)), scalar.MarshalTime(time.Date(2026, 3, 1, 12, 0, 0, 120_000_000, east))},
		{"a cursor", writeCursor(nil, page.Cursor("eyJhIjoxfQ")), scalar.MarshalCursor("eyJhIjoxfQ")},
		{"an id", writeID(nil, "ShopType", id.N), graphql.WriterFunc(id.MarshalGQL)},
		{"a text", plan.String(nil, "a\"b\n吃"), scalar.MarshalString("a\"b\n吃")},
		{"nothing", orNull(nil, (*int)(nil), scalar.AppendInt), graphql.Null},
	}
	for _, tt := range tests {
		var want bytes.Buffer
		tt.want.MarshalGQL(&want)
		if string(tt.got) != want.String() {
			t.Errorf("%s is written as %s, by gqlgen as %s", tt.name, tt.got, want.String())
		}
	}
}
