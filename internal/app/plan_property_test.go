package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/internal/testkit/apptest"
)

// A question is a random query: of what plans know, and now and then of something else.
type question struct {
	rnd  *rand.Rand
	ids  map[string][]string // by type, some of nothing
	defs []string            // named fragments
	vars map[string]any
	decl []string // of variables
}

// What is asked of types: fields that depend on their object, and links with what they lead
// to; a link with * is a page of it, one with + a list with a size.
var (
	askedPlain = map[string][]string{ //nolint:gochecknoglobals // constants
		"Shop":     {"id", "name", "area", "address", "avgPrice", "sold", "commentCount", "score", "openHours", "location { lat lng }", "images { url width height thumbnailUrl }", "__typename"},
		"ShopType": {"id", "name", "iconUrl", "sort", "__typename"},
		"Note":     {"id", "title", "content", "createdAt", "images { url }", "likeCount", "commentCount", "isLiked", "__typename"},
		"Comment":  {"id", "content", "likeCount", "replyCount", "createdAt", "isLiked"},
		"User":     {"id", "nickname", "avatarUrl", "role", "city", "bio", "level", "points", "followerCount", "followeeCount", "noteCount", "isFollowed", "__typename"},
	}
	askedLinks = map[string][]string{ //nolint:gochecknoglobals // constants
		"Shop":    {"type ShopType", "notes *Note"},
		"Note":    {"author User", "shop Shop", "firstLikers +User", "comments *Comment"},
		"Comment": {"author User", "note Note", "parent Comment", "replies *Comment"},
		"User":    {"followers *User", "followees *User", "notes *Note"},
	}
	askedElse = map[string][]string{ //nolint:gochecknoglobals // constants: gqlgen's
		"Shop": {"vouchers { __typename }"}, "User": {"phone", "gender", "birthday"}, "Note": {"likeCount @include(if: true)"},
	}
)

func (q *question) text() string {
	roots := make([]string, 0, 2)
	for range 1 + q.rnd.IntN(2) {
		roots = append(roots, fmt.Sprintf("r%d: %s", len(roots), q.root()))
	}
	decl := ""
	if len(q.decl) > 0 {
		decl = "query Q(" + strings.Join(q.decl, ", ") + ") "
	}
	return decl + "{ " + strings.Join(roots, " ") + " }" + strings.Join(q.defs, "")
}

func (q *question) root() string {
	switch q.rnd.IntN(8) {
	case 0:
		return "shop(id: " + q.id("Shop") + ")" + q.set("Shop", 0)
	case 1:
		return "note(id: " + q.id("Note") + ")" + q.set("Note", 0)
	case 2:
		return "user(id: " + q.id("User") + ")" + q.set("User", 0)
	case 3:
		return "shops(" + q.first() + q.pick("", ", orderBy: SOLD", ", orderBy: NEWEST", ", near: {lat: 31.2, lng: 121.5}", ", filter: {typeId: "+q.id("ShopType")+"}") + ")" + q.page("Shop", 0)
	case 4:
		return "shopTypes" + q.set("ShopType", 0)
	case 5:
		return "me { feed(" + q.first() + ") " + q.page("Note", 1) + " " + q.set("User", 0)[2:]
	case 6:
		return "me" + q.set("User", 0)
	default:
		return "hotNotes(" + q.first() + ")" + q.page("Note", 0)
	}
}

func (q *question) pick(of ...string) string { return of[q.rnd.IntN(len(of))] }

// id is that of a thing, literally or by a variable, and seldom of something else.
func (q *question) id(typ string) string {
	if q.rnd.IntN(20) == 0 {
		typ = q.pick("Shop", "Note", "User")
	}
	id := q.pick(q.ids[typ]...)
	if q.rnd.IntN(30) == 0 {
		id = "nonsense"
	}
	if q.rnd.IntN(2) == 0 {
		return fmt.Sprintf("%q", id)
	}
	name := fmt.Sprintf("v%d", len(q.decl))
	q.decl, q.vars[name] = append(q.decl, "$"+name+": ID!"), id
	return "$" + name
}

func (q *question) first() string {
	n := 1 + q.rnd.IntN(5)
	if q.rnd.IntN(30) == 0 {
		n = 1000 // too many
	}
	if q.rnd.IntN(2) == 0 {
		return fmt.Sprintf("first: %d", n)
	}
	name := fmt.Sprintf("v%d", len(q.decl))
	q.decl, q.vars[name] = append(q.decl, "$"+name+": Int!"), n
	return "first: $" + name
}

// page is a page of things. A ranking is named by its cursors, and made anew every two
// seconds: of places only the things are asked for.
func (q *question) page(typ string, depth int) string {
	return "{ edges { node" + q.set(typ, depth+1) + " } pageInfo { hasNextPage hasPreviousPage } }"
}

// set is a selection set of a type.
func (q *question) set(typ string, depth int) string {
	var parts []string
	for range 1 + q.rnd.IntN(6) {
		part := q.pick(askedPlain[typ]...)
		switch q.rnd.IntN(8) {
		case 0:
			part = fmt.Sprintf("a%d: %s", len(parts), part)
		case 1:
			part = "... on " + typ + " { " + part + " }"
		case 2:
			name := fmt.Sprintf("F%d", len(q.defs))
			q.defs = append(q.defs, fmt.Sprintf(" fragment %s on %s { %s }", name, typ, part))
			part = "..." + name
		}
		parts = append(parts, part)
	}
	if other := askedElse[typ]; len(other) > 0 && q.rnd.IntN(25) == 0 {
		parts = append(parts, q.pick(other...))
	}
	if links := askedLinks[typ]; len(links) > 0 && depth < 3 {
		for range q.rnd.IntN(3) {
			name, to, _ := strings.Cut(q.pick(links...), " ")
			alias := fmt.Sprintf("l%d: ", len(parts))
			switch to[0] {
			case '*':
				parts = append(parts, alias+name+"("+q.first()+")"+q.page(to[1:], depth+1))
			case '+':
				parts = append(parts, alias+name+"("+q.first()+")"+q.set(to[1:], depth+1))
			default:
				parts = append(parts, alias+name+q.set(to, depth+1))
			}
		}
	}
	q.rnd.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	return " { " + strings.Join(parts, " ") + " }"
}

// ask returns the whole answer, byte by byte.
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

// Two servers answer by plans, with bytes that they keep, one by gqlgen alone. While things
// change, all are asked, so that bytes are kept of what changes under them; once the changes
// have returned, all have to say the same, byte by byte, errors too.
func TestPlansAnswerAsGqlgenDoes(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano()) //nolint:gosec // any number does
	t.Logf("seed %d", seed)
	stack := apptest.Real(t)
	path := filepath.Join(t.TempDir(), "tokens")
	stack.Seed(t, "--users", "30", "--shops", "25", "--notes", "60", "--follows", "150", "--tokens", path)
	people := tokens(t, path)
	stack.Config.RateUser, stack.Config.RateAnonymous, stack.Config.AbsentReads = 0, 0, 0
	a, b := stack.Start(t), stack.Start(t)
	stack.Config.Without = []string{"plans", "bytes"}
	plain := stack.Start(t)
	quiet(t, a, b, plain)
	ids := map[string][]string{}
	for typ, n := range map[string]int64{"Shop": 25, "Note": 60, "User": 30, "ShopType": 14} {
		for i := range n + 2 { // two of nothing
			ids[typ] = append(ids[typ], scalar.ID{Type: typ, N: i + 1}.String())
		}
	}
	rnd := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test is no secret
	random := func(n uint64) (text string, vars map[string]any, token string) {
		rnd := rand.New(rand.NewPCG(seed, n)) //nolint:gosec // a test is no secret
		q := &question{rnd: rnd, ids: ids, vars: map[string]any{}}
		if rnd.IntN(4) > 0 {
			token = people[rnd.IntN(len(people))].token
		}
		return q.text(), q.vars, token
	}
	n := uint64(2)
	for burst := range 6 {
		var all sync.WaitGroup
		changes := make([]func(), 12)
		for i := range changes {
			changes[i] = aChange(t, rnd, []*apptest.Server{a, b}, people, ids, burst)
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
				for i := begin + worker; i < begin+40; i += 2 {
					text, vars, token := random(i)
					ask(t, []*apptest.Server{a, b}[i/2%2], token, text, vars)
				}
			})
		}
		all.Wait()
		n += 40
		for i := begin; i < begin+40; i++ { // also those that were asked while things changed
			text, vars, token := random(i)
			compare(t, text, vars, token, a, b, plain)
		}
		if t.Failed() {
			return
		}
	}
	for name, s := range map[string]*apptest.Server{"a": a, "b": b} {
		for _, line := range s.Log.Lines(t) { // what a client did wrong is left to gqlgen too
			if err, _ := line["err"].(string); line["msg"] == "a query is left to gqlgen" && (strings.HasPrefix(err, "panic") || strings.Contains(err, "a loader") || strings.Contains(err, "nothing is there")) {
				t.Errorf("server %s: a plan failed: %s", name, err)
			}
		}
		if got := s.House().Written(); got.Hits < 100 || got.Misses < 100 || got.Bytes == 0 {
			t.Errorf("server %s: of the bytes that it keeps %+v", name, got)
		}
		bytes, most := s.Counter(t, "tandian_cache_local_bytes", "policy", "written"), s.Counter(t, "tandian_cache_local_limit_bytes", "policy", "written")
		if bytes <= 0 || bytes > most {
			t.Errorf("server %s: it is said to keep %v bytes of %v", name, bytes, most)
		}
	}
	if got := plain.House().Written(); got.Hits+got.Misses != 0 {
		t.Errorf("the plain server kept bytes: %+v", got)
	}
}

// compare asks until all say the same: what is in memory may be a moment older elsewhere.
func compare(t *testing.T, text string, vars map[string]any, token string, a, b, plain *apptest.Server) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		want, of, other := ask(t, plain, token, text, vars), ask(t, a, token, text, vars), ask(t, b, token, text, vars)
		if of == want && other == want {
			return
		}
		if time.Since(begin) > 5*time.Second {
			t.Errorf("%s\n%v\ngqlgen says     %s\na plan says     %s\nanother one says %s", text, vars, want, of, other)
			return
		}
	}
}

// aChange is one that somebody makes.
func aChange(t *testing.T, rnd *rand.Rand, servers []*apptest.Server, people []person, ids map[string][]string, burst int) func() {
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
