package graph

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/internal/kit/plan"
)

// What of the types that plans know is left to gqlgen, and why. A field that is added to the
// schema has to be decided on.
var leftToGqlgen = map[string][]string{ //nolint:gochecknoglobals // a constant that Go cannot say
	"Query": {
		"node", "nodes", // of any type
		"flashSales", "voucher", "order", "orderByNumber", "cacheStats", "hotKeys", "queueStats", "salesByDay", "siteStats", "serverTime",
	},
	"Shop": {
		"vouchers",                                      // of two types
		"visits", "visitsByDay", "orders", "salesByDay", // for merchants, seldom
	},
	"User": {"phone", "gender", "birthday", "shops", "orders", "checkIns", "commonFollowees"}, // of oneself, or seldom
}

// What depends on nothing but its object, so that its bytes may be kept with it.
var viewerless = map[string][]string{ //nolint:gochecknoglobals // a constant that Go cannot say
	"Shop":     {"id", "name", "images", "area", "address", "location", "avgPrice", "sold", "commentCount", "score", "openHours"},
	"ShopType": {"id", "name", "iconUrl", "sort"}, "Location": {"lat", "lng"}, "Image": {"url", "width", "height", "thumbnailUrl"},
	"Note": {"id", "title", "content", "images", "createdAt"}, "Comment": {"id", "content", "likeCount", "replyCount", "createdAt"},
	"User": {"id", "nickname", "avatarUrl", "role", "city", "bio", "level", "points", "followerCount", "followeeCount", "noteCount"},
	// Of a list, which is made for each answer.
	"PageInfo": {"hasNextPage", "hasPreviousPage", "startCursor", "endCursor"},
	"ShopEdge": {"cursor", "distance", "node"}, "NoteEdge": {"cursor", "node"}, "FeedEdge": {"cursor", "node"}, "CommentEdge": {"cursor", "node"}, "UserEdge": {"cursor", "node"},
	"ShopConnection": {"edges", "pageInfo"}, "NoteConnection": {"edges", "pageInfo"}, "FeedConnection": {"edges", "pageInfo", "liveCursor"},
	"CommentConnection": {"edges", "pageInfo"}, "UserConnection": {"edges", "pageInfo"},
}

func TestEveryFieldIsPlannedOrLeftToGqlgenOnPurpose(t *testing.T) {
	schema := executable().Schema()
	for name, typ := range planTypes(Query(Rooms{})) {
		def := schema.Types[name]
		if def == nil {
			t.Errorf("the schema has no type %s", name)
			continue
		}
		for _, f := range def.Fields {
			planned := typ.Fields[f.Name]
			left := slices.Contains(leftToGqlgen[name], f.Name) || f.Name[:2] == "__"
			switch {
			case planned == nil && !left:
				t.Errorf("%s.%s is in no table: neither in plan.go nor here", name, f.Name)
			case planned != nil && left:
				t.Errorf("%s.%s is in both", name, f.Name)
			case planned == nil:
			case len(f.Directives) > 0:
				t.Errorf("%s.%s has directives, which no plan obeys", name, f.Name)
			case planned.To() != nil && f.Type.Elem == nil && planned.IsNullable() == f.Type.NonNull:
				t.Errorf("%s.%s: nullable is %v, but the type is %s", name, f.Name, planned.IsNullable(), f.Type)
			case planned.To() != nil && planned.To().Name != f.Type.Name():
				t.Errorf("%s.%s leads to %s, not to %s", name, f.Name, planned.To().Name, f.Type.Name())
			case planned.HasArguments() != (len(f.Arguments) > 0):
				t.Errorf("%s.%s: arguments are read: %v, of %d", name, f.Name, planned.HasArguments(), len(f.Arguments))
			case planned.Viewerless() != slices.Contains(viewerless[name], f.Name):
				t.Errorf("%s.%s: that it depends on its object alone is %v in its table, and not here", name, f.Name, planned.Viewerless())
			}
		}
		for _, f := range leftToGqlgen[name] {
			if def.Fields.ForName(f) == nil {
				t.Errorf("the schema has no field %s.%s", name, f)
			}
		}
		for f := range typ.Fields {
			if def.Fields.ForName(f) == nil {
				t.Errorf("the schema has no field %s.%s", name, f)
			}
		}
	}
}

// planTypes are all types that can be reached, by name.
func planTypes(from *plan.Type) map[string]*plan.Type {
	all := map[string]*plan.Type{}
	var walk func(*plan.Type)
	walk = func(t *plan.Type) {
		if all[t.Name] != nil {
			return
		}
		all[t.Name] = t
		for f := range maps.Values(t.Fields) {
			if f.To() != nil {
				walk(f.To())
			}
		}
	}
	walk(from)
	return all
}

func TestArgumentsHaveTheDefaultsOfTheSchema(t *testing.T) {
	field := executable().Schema().Types["NearInput"].Fields.ForName("radius")
	want, err := field.DefaultValue.Value(nil)
	if err != nil {
		t.Fatal(err)
	}
	near, err := nearOf(map[string]any{"lat": 1.5, "lng": 2.5})
	if err != nil || !reflect.DeepEqual(int64(near.Radius), want) {
		t.Errorf("%+v, %v, want a radius of %v", near, err, want)
	}
	for name, typ := range map[string]*ast.Definition{"NearInput": executable().Schema().Types["NearInput"], "ShopFilter": executable().Schema().Types["ShopFilter"]} {
		if n := map[string]int{"NearInput": 3, "ShopFilter": 2}[name]; len(typ.Fields) != n {
			t.Errorf("%s has %d fields, and %d of them are read by plans", name, len(typ.Fields), n)
		}
	}
}
