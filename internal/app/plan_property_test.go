package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/tandian-dev/tandian/graph"
	"github.com/tandian-dev/tandian/graph/generated"
	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// randomQuery generates a query of the whole schema.
type randomQuery struct {
	rnd    *rand.Rand
	schema *ast.Schema
	ids    map[string][]string // by type, some of missing objects
	number []string            // of orders
	defs   []string            // named fragments
	vars   map[string]any
	decl   []string // of variables
}

// unsteady lists fields whose values change all the time, or differ between servers. Only
// their types are compared.
var unsteady = []string{ //nolint:gochecknoglobals // constants
	"Query.serverTime", "Query.cacheStats", "Query.hotKeys", "Query.queueStats", "Query.siteStats", "Shop.visits", "Shop.visitsByDay",
	"Query.salesByDay", "Session.lastUsedAt", "NoteEdge.cursor", "PageInfo.startCursor", "PageInfo.endCursor", "FeedConnection.liveCursor",
}

const maxDepth = 5 // levels of a query

func (q *randomQuery) text() string {
	roots := make([]string, 0, 2)
	for range 1 + q.rnd.IntN(2) {
		f := pick(q.rnd, q.fields(q.schema.Query)...)
		for q.rnd.IntN(3) > 0 && f.Directives.ForName("auth") != nil { // otherwise most are rejected
			f = pick(q.rnd, q.fields(q.schema.Query)...)
		}
		roots = append(roots, q.field(q.schema.Query, f, 0))
	}
	decl := ""
	if len(q.decl) > 0 {
		decl = "query Q(" + strings.Join(q.decl, ", ") + ") "
	}
	return decl + "{ " + strings.Join(roots, " ") + " }" + strings.Join(q.defs, "")
}

func pick[V any](rnd *rand.Rand, of ...V) V { return of[rnd.IntN(len(of))] }

// fields returns the fields of a type, without introspection.
func (q *randomQuery) fields(d *ast.Definition) (all []*ast.FieldDefinition) {
	for _, f := range d.Fields {
		if !strings.HasPrefix(f.Name, "__") {
			all = append(all, f)
		}
	}
	return all
}

// field returns a field of a type, with a random alias.
func (q *randomQuery) field(of *ast.Definition, f *ast.FieldDefinition, depth int) string {
	kind := "a"
	if slices.Contains(unsteady, of.Name+"."+f.Name) {
		kind = "unsteady"
	}
	text := fmt.Sprintf("%s%d: %s", kind, q.rnd.IntN(1_000_000), f.Name)
	var args []string
	for _, a := range f.Arguments {
		if a.Type.NonNull && a.DefaultValue == nil || q.rnd.IntN(2) == 0 {
			args = append(args, a.Name+": "+q.value(f, a.Name, a.Type))
		}
	}
	if len(args) > 0 {
		text += "(" + strings.Join(args, ", ") + ")"
	}
	if q.rnd.IntN(60) == 0 {
		text += " @include(if: true)" // plans do not support it
	}
	if to := q.schema.Types[f.Type.Name()]; !to.IsLeafType() {
		text += q.set(to, depth+1)
	}
	return text
}

// value returns a value of an argument or an input field: a literal or a variable, rarely
// an invalid one.
func (q *randomQuery) value(f *ast.FieldDefinition, name string, typ *ast.Type) string {
	literal := q.literal(f, name, typ)
	if q.rnd.IntN(2) == 0 {
		return literal
	}
	var v any
	if err := json.Unmarshal([]byte(literal), &v); err != nil { // an enum, an input
		return literal
	}
	variable := fmt.Sprintf("v%d", len(q.decl))
	q.decl, q.vars[variable] = append(q.decl, "$"+variable+": "+typ.String()), v
	return "$" + variable
}

func (q *randomQuery) literal(f *ast.FieldDefinition, name string, typ *ast.Type) string {
	if typ.Elem != nil {
		var list []string
		for range q.rnd.IntN(4) {
			list = append(list, q.literal(f, name, typ.Elem))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	d := q.schema.Types[typ.NamedType]
	if d.Kind == ast.Enum {
		return pick(q.rnd, d.EnumValues...).Name
	}
	if d.Kind == ast.InputObject {
		var members []string
		for _, in := range d.Fields {
			if in.Type.NonNull && in.DefaultValue == nil || q.rnd.IntN(2) == 0 {
				members = append(members, in.Name+": "+q.value(f, in.Name, in.Type))
			}
		}
		return "{" + strings.Join(members, ", ") + "}"
	}
	switch typ.NamedType {
	case "ID":
		return fmt.Sprintf("%q", q.id(f, name))
	case "Int":
		if q.rnd.IntN(40) == 0 {
			return "1000" // too many
		}
		return strconv.Itoa(1 + q.rnd.IntN(4))
	case "Float":
		return map[string]string{"lat": "31.2", "lng": "121.5"}[name]
	case "Date":
		return fmt.Sprintf("%q", time.Now().UTC().AddDate(0, 0, map[string]int{"from": -3, "to": 1}[name]).Format(time.DateOnly))
	case "Cursor":
		return pick(q.rnd, "null", "null", "null", `"nonsense"`)
	}
	return fmt.Sprintf("%q", pick(q.rnd, append(q.number, "", "a", time.Now().UTC().Format("2006-01"))...))
}

// id returns an id of the type that a field needs, rarely of another type.
func (q *randomQuery) id(f *ast.FieldDefinition, name string) string {
	typ := f.Type.Name()
	if name == "typeId" {
		typ = "ShopType"
	}
	if q.ids[typ] == nil || q.rnd.IntN(20) == 0 { // an interface
		typ = pick(q.rnd, slices.Sorted(maps.Keys(q.ids))...)
	}
	if typ == "Voucher" {
		typ = pick(q.rnd, "OrdinaryVoucher", "FlashVoucher")
	}
	if q.rnd.IntN(30) == 0 {
		return "nonsense"
	}
	return pick(q.rnd, q.ids[typ]...)
}

// set returns a selection set of a type.
func (q *randomQuery) set(of *ast.Definition, depth int) string {
	parts := []string{"__typename"}
	on := of
	for range 1 + q.rnd.IntN(5) {
		if of.IsAbstractType() {
			on = pick(q.rnd, q.schema.GetPossibleTypes(of)...)
		}
		fields := q.fields(on)
		if on.Kind == ast.Interface && q.rnd.IntN(2) == 0 || len(fields) == 0 {
			continue
		}
		f := pick(q.rnd, fields...)
		if depth >= maxDepth && !q.schema.Types[f.Type.Name()].IsLeafType() {
			continue
		}
		part := q.field(on, f, depth)
		switch n := q.rnd.IntN(8); {
		case on != of || n == 0:
			part = "... on " + on.Name + " { " + part + " }"
		case n == 1:
			name := fmt.Sprintf("F%d", len(q.defs))
			q.defs = append(q.defs, fmt.Sprintf(" fragment %s on %s { %s }", name, on.Name, part))
			part = "..." + name
		case n == 2 && len(of.Interfaces) > 0:
			part += " ... on " + of.Interfaces[0] + " { __typename }"
		}
		parts = append(parts, part)
	}
	if edges := of.Fields.ForName("edges"); edges != nil && depth < maxDepth {
		parts = append(parts, q.field(of, edges, depth))
	}
	if node := of.Fields.ForName("node"); node != nil && depth <= maxDepth {
		parts = append(parts, q.field(of, node, depth))
	}
	q.rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return " { " + strings.Join(parts, " ") + " }"
}

// steady returns an answer without the values of unsteady fields and with sorted errors,
// because gqlgen's resolvers fail in any order.
func steady(t *testing.T, answer string) string {
	t.Helper()
	errors := ""
	if at := strings.LastIndex(answer, `"errors":[`); at >= 0 {
		var all struct{ Errors []json.RawMessage }
		if err := json.Unmarshal([]byte(answer), &all); err != nil {
			t.Errorf("%s: %v", answer, err)
		}
		slices.SortFunc(all.Errors, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
		errors = fmt.Sprintf(" errors: %s", all.Errors)
	}
	var data struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(answer), &data); err != nil {
		t.Errorf("%s: %v", answer, err)
	}
	return string(values(data.Data)) + errors
}

// values returns JSON in which each scalar of an unsteady field is its type, and each list of
// it has at most one element.
func values(text json.RawMessage) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	var out bytes.Buffer
	value(in, &out, false)
	return out.Bytes()
}

func value(in *json.Decoder, out *bytes.Buffer, hide bool) {
	token, err := in.Token()
	if err != nil {
		fmt.Fprintf(out, "(%v)", err)
		return
	}
	delim, ok := token.(json.Delim)
	switch {
	case ok && delim == '[':
		out.WriteByte('[')
		for n := 0; in.More(); n++ {
			one := out
			if hide && n > 0 { // keep one element
				one = &bytes.Buffer{}
			}
			value(in, one, hide)
		}
		out.WriteByte(']')
		_, _ = in.Token()
	case ok:
		out.WriteByte('{')
		for in.More() {
			name, _ := in.Token()
			fmt.Fprintf(out, "%v:", name)
			value(in, out, hide || strings.HasPrefix(fmt.Sprint(name), "unsteady"))
		}
		out.WriteByte('}')
		_, _ = in.Token()
	case hide:
		fmt.Fprintf(out, "%T", token)
	default:
		fmt.Fprintf(out, "%T(%v)", token, token)
	}
	out.WriteByte(' ')
}

// ask returns the response body of a query.
func ask(t *testing.T, s *apptest.Server, token, text string, vars map[string]any) string {
	body, err := json.Marshal(map[string]any{"query": text, "variables": vars})
	if err != nil {
		t.Error(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Error(err)
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer func() { _ = res.Body.Close() }()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Error(err)
	}
	return string(got)
}

// Two servers use plans, one uses only gqlgen. Queries run during changes. After the changes,
// all servers must give the same answers and errors to random queries of the whole schema.
func TestPlansAnswerLikeGqlgen(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number is fine
	t.Logf("seed %d", seed)
	stack := apptest.Real(t)
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "30", "--shops", "25", "--notes", "60", "--follows", "150", "--check-ins", "20", "--tokens", path)
	people := tokens(t, path)
	stack.Config.RateUser, stack.Config.RateAnonymous, stack.Config.AbsentReads = 0, 0, 0
	a, b := stack.Start(t), stack.Start(t)
	stack.Config.Without = []string{"plans"}
	plain := stack.Start(t)
	awaitIdle(t, a, b, plain)
	ids := map[string][]string{}
	for typ, n := range map[string]int64{"Shop": 25, "Note": 60, "User": 30, "ShopType": 14, "Comment": 20} {
		for i := range n + 2 { // two of missing objects
			ids[typ] = append(ids[typ], scalar.ID{Type: typ, N: i + 1}.String())
		}
	}
	m := market{people[0], people[1], people[2:], ids["Shop"][0]}
	numbers := makeOrders(t, a, m, ids)
	schema := generated.NewExecutableSchema(graph.New(graph.Services{})).Schema()
	random := func(n uint64) (text string, vars map[string]any, token string) {
		rnd := rand.New(rand.NewPCG(seed, n)) //nolint:gosec // not a secret
		q := &randomQuery{rnd: rnd, schema: schema, ids: ids, number: numbers, vars: map[string]any{}}
		switch rnd.IntN(5) {
		case 0:
		case 1:
			token = people[rnd.IntN(2)].token // privileged users
		default:
			token = people[rnd.IntN(8)].token
		}
		return q.text(), q.vars, token
	}
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // not a secret
	n, counts := uint64(2), map[string]int{}
	for burst := range 8 {
		var all sync.WaitGroup
		changes := make([]func(), 12)
		for i := range changes {
			changes[i] = randomChange(t, rnd, []*apptest.Server{a, b}, people, ids, burst)
		}
		for worker := range 3 {
			all.Go(func() {
				for i := worker; i < len(changes); i += 3 {
					changes[i]()
				}
			})
		}
		begin := n
		for worker := range uint64(2) {
			all.Go(func() {
				for i := begin + worker; i < begin+60; i += 2 {
					text, vars, token := random(i)
					ask(t, []*apptest.Server{a, b}[i/2%2], token, text, vars)
				}
			})
		}
		all.Wait()
		n += 60
		for i := begin; i < begin+60; i++ { // repeats the queries during the changes
			text, vars, token := random(i)
			answer := compare(t, text, vars, token, a, b, plain)
			counts["all"]++
			if !strings.Contains(answer, "errors:") {
				counts["without errors"]++
			}
			if token == people[0].token || token == people[1].token {
				counts["by privileged users"]++
			}
		}
		if t.Failed() {
			return
		}
	}
	if counts["without errors"] < counts["all"]/4 || counts["without errors"] == counts["all"] {
		t.Errorf("got %v, want queries with and without errors", counts)
	}
	t.Log(counts)
	left := map[string]int{}
	for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
		for _, line := range s.Log.Lines(t) { // gqlgen also executes invalid queries
			err, _ := line["err"].(string)
			if line["msg"] == "query is executed without a plan" {
				left[err]++
			}
			if line["msg"] == "query is executed without a plan" && (strings.HasPrefix(err, "panic") || strings.Contains(err, "a loader") || strings.Contains(err, "a value that must not be null") || strings.Contains(err, "a directive")) {
				t.Errorf("server %s: a plan failed: %s", name, err)
			}
		}
	}
	t.Log(left)
}

// makeOrders creates vouchers and orders, adds their ids, and returns the order numbers.
func makeOrders(t *testing.T, s *apptest.Server, m market, ids map[string][]string) (numbers []string) {
	t.Helper()
	ordinary, flash := m.ordinary(t, s, false), m.flash(t, s, 10, -time.Second, time.Hour)
	ids["OrdinaryVoucher"], ids["FlashVoucher"], ids["Voucher"] = []string{ordinary}, []string{flash}, []string{ordinary, flash}
	for i, c := range m.customers[:6] {
		for _, v := range []string{ordinary, flash} {
			var made struct {
				OrderVoucher struct{ Order struct{ ID, Number string } }
			}
			s.As(c.token).Must(t, `mutation($v: ID!) { orderVoucher(voucherId: $v) { order { id number } userErrors { code } } }`, map[string]any{"v": v}, &made)
			o := made.OrderVoucher.Order
			if o.ID == "" {
				t.Fatalf("customer %d has no order", i)
			}
			ids["Order"], numbers = append(ids["Order"], o.ID), append(numbers, o.Number)
		}
	}
	return numbers
}

// compare queries until all servers agree, because their local caches may be slightly stale.
func compare(t *testing.T, text string, vars map[string]any, token string, a, b, plain *apptest.Server) string {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		want, of, other := steady(t, ask(t, plain, token, text, vars)), steady(t, ask(t, a, token, text, vars)), steady(t, ask(t, b, token, text, vars))
		if of == want && other == want {
			return want
		}
		if time.Since(begin) > 5*time.Second {
			t.Errorf("%s\n%v\ngqlgen       %s\nplan         %s\nanother plan %s", text, vars, want, of, other)
			return want
		}
	}
}

// randomChange returns a random mutation by a random user.
func randomChange(t *testing.T, rnd *rand.Rand, servers []*apptest.Server, people []person, ids map[string][]string, burst int) func() {
	who := people[2+rnd.IntN(len(people)-2)]
	what, n := rnd.IntN(9), rnd.IntN(1000)
	one := func(typ string) string { return ids[typ][rnd.IntN(len(ids[typ])-2)] }
	shop, note, user := one("Shop"), one("Note"), one("User")
	s := servers[rnd.IntN(len(servers))]
	return func() {
		var text string
		token := who.token
		switch what {
		case 0:
			text, token = fmt.Sprintf(`mutation { updateShop(input: {id: %q, name: "Renamed %d", openHours: %s}) { userErrors { code } } }`, shop, n, []string{"null", `"9-18 \"daily\""`}[n%2]), people[1].token
		case 1:
			text = fmt.Sprintf(`mutation { likeNote(id: %q) { userErrors { code } } }`, note)
		case 2:
			text = fmt.Sprintf(`mutation { unlikeNote(id: %q) { userErrors { code } } }`, note)
		case 3:
			text = fmt.Sprintf(`mutation { addComment(input: {noteId: %q, content: "Comment %d\n<b>"}) { userErrors { code } } }`, note, n)
		case 4:
			text = fmt.Sprintf(`mutation { follow(userId: %q) { userErrors { code } } }`, user)
		case 5:
			text = fmt.Sprintf(`mutation { unfollow(userId: %q) { userErrors { code } } }`, user)
		case 6:
			text = fmt.Sprintf(`mutation { updateProfile(input: {nickname: "Nick %d", bio: %s}) { userErrors { code } } }`, n, []string{"null", `"tab\there"`}[n%2])
		case 7:
			text = fmt.Sprintf(`mutation { publishNote(input: {shopId: %q, title: "Title %d", content: "Burst %d"}) { userErrors { code } } }`, shop, n, burst)
		default:
			text, token = fmt.Sprintf(`mutation { deleteNote(id: %q) { userErrors { code } } }`, note), people[0].token
			if n%4 > 0 {
				return
			}
		}
		if got := ask(t, s, token, text, nil); strings.Contains(got, `"errors"`) {
			if !slices.ContainsFunc([]string{"RATE_LIMITED"}, func(code string) bool { return strings.Contains(got, code) }) {
				t.Errorf("%s: %s", text, got)
			}
		}
	}
}
