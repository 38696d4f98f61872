package servebench

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	mathrand "math/rand/v2"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/lab/testbed"
)

//go:embed graphql
var documents embed.FS

// document returns an embedded document, without its header comment.
func document(name string) string {
	text, err := documents.ReadFile("graphql/" + name + ".graphql")
	if err != nil {
		panic(err) // it is named below
	}
	_, rest, _ := strings.Cut(string(text), "\n")
	return rest
}

// A work is one kind of request.
type work struct {
	name    string
	goal    float64 // of what the bare handler answers; 0 is none
	maxCost [2]float64
	bytes   int      // of an answer, if it is not compared as a whole
	without []string // optimizations that its server disables; it has a server of its own
	own     bool     // needs private stores

	repeats   bool     // requests may be sent again
	fresh     bool     // each round has a new server
	reference string   // the baseline of its server CPU
	times     float64  // the largest multiple of that CPU that meets the goal
	baseline  []string // arguments of a server that replaces the bare handler; nil for that handler
	requests  func(ctx context.Context, s *target) ([]request, error)
}

// unmeasured returns the reason why a work is not measured, "" if it is.
func (w *work) unmeasured(b *bench) string {
	switch {
	case w.own && b.At != "":
		return "it needs a server of its own"
	case w.fresh && len(b.people) < crowd+2+1000:
		return "not enough people"
	case w.name == "login" && b.codes == nil:
		return "login codes go elsewhere"
	case strings.HasPrefix(w.name, "uncached") && b.allShop == 0:
		return "the shops are unknown without a database"
	}
	return ""
}

// verdict returns the goal of a work and whether the figures of a run meet it.
func (w *work) verdict(f *figure, all []*figure) (goal, met string) {
	var ok bool
	switch {
	case w.reference != "":
		i := slices.IndexFunc(all, func(of *figure) bool { return of.work.name == w.reference })
		if i < 0 {
			return "", ""
		}
		times := median(f.cpu) / median(all[i].cpu)
		goal, ok = fmt.Sprintf("%.2f ≤ %g × %s", times, w.times, w.reference), times <= w.times
	case w.goal > 0:
		goal, ok = fmt.Sprintf("≥ %.2f", w.goal), median(f.share) >= w.goal
	case w.maxCost != [2]float64{}:
		goal, ok = fmt.Sprintf("≤ %.0f, Postgres ≤ %.0f µs", w.maxCost[0], w.maxCost[1]), median(f.cpu) <= w.maxCost[0] && median(f.postgres) <= w.maxCost[1]
	default:
		return "", ""
	}
	if ok {
		return goal, "yes"
	}
	return goal, "NO"
}

const (
	variety   = 1024             // different requests of a read
	crowd     = 2000             // users that send them
	tries     = 20_000           // buyers of a sale
	checkIns  = 6_000            // of a round, at most
	logins    = 1_000            // of a round
	patience  = 10 * time.Second // for a login code
	commented = 40               // notes with comments
	comments  = 10               // per note
)

func (b *bench) works() []*work {
	return []*work{
		b.reading("cached shop", "shop", oneShop, 1, work{goal: 0.45}),
		b.reading("request log of a cached shop", "shop", oneShop, 1,
			work{goal: 0.97, own: true, baseline: []string{"--log-level", "warn"}}),
		{name: "uncached shop", maxCost: [2]float64{190, 75}, bytes: 360, requests: b.shopsOnce},
		{name: "uncached shop without cache", maxCost: [2]float64{150, 80}, bytes: 360, requests: b.shopsOnce, without: []string{"cache"}, own: true},
		b.visiting("first visit of a cached shop", "shop", oneShop, 1, work{reference: "cached shop", times: 1.5, bytes: 328}),
		b.reading("page of 20 shops", "shops", func(b *bench, n int) map[string]any { return vars{"type": b.types[n%len(b.types)]} }, 20, work{goal: 0.36}),
		b.reading("shops near", "near", func(_ *bench, n int) map[string]any {
			rnd := mathrand.New(mathrand.NewPCG(uint64(n%100), 1)) //nolint:gosec // a load is no secret
			return vars{"lat": 30 + rnd.Float64()/5, "lng": 120 + rnd.Float64()/5}
		}, 0, work{}),
		b.reading("hot notes", "hot", func(*bench, int) map[string]any { return nil }, 10, work{goal: 0.22}),
		b.reading("feed page", "feed", func(*bench, int) map[string]any { return nil }, 10, work{goal: 0.11}),
		b.visiting("first visit of a feed page", "feed", func(*bench, int) map[string]any { return nil }, 10, work{reference: "feed page", times: 2, bytes: 5234}),
		{name: "note page", goal: 0.08, repeats: true, requests: b.notePages},
		{name: "orderVoucher", goal: 0.35, bytes: 130, requests: b.orders},
		{name: "checkIn", bytes: 110, requests: b.checkInOnce},
		{name: "login", bytes: 160, requests: b.logIn},
	}
}

func oneShop(b *bench, n int) map[string]any { return vars{"id": b.shops[n%len(b.shops)]} }

// vars are the variables of a document.
type vars = map[string]any

// reading returns a work that reads the given number of nodes per response. A response is correct
// if it equals an earlier one, which the server returned twice without errors.
func (b *bench) reading(name, of string, variables func(b *bench, n int) map[string]any, nodes int, w work) *work {
	w.name, w.repeats = name, true
	w.requests = func(ctx context.Context, s *target) ([]request, error) {
		var all []request
		text, c := document(of), testbed.Conn{Addr: s.addr()}
		defer c.Close()
		for n := 0; n < 4*variety && len(all) < variety; n++ {
			r := request{wire: wire(s, b.someone(n), text, variables(b, n))}
			if err := r.learn(ctx, &c); err != nil {
				return nil, err
			}
			if nodesIn(r.want) >= nodes {
				all = append(all, r)
			}
		}
		if len(all) < variety/2 {
			return nil, fmt.Errorf("only %d answers have %d nodes", len(all), nodes)
		}
		return all, nil
	}
	return &w
}

// visiting returns a work that reads the given number of nodes per response, each time for a person
// new to this server. Redis has their data, because another server has read it. Before that the
// crowd sends its requests, so that the new server has cached popular data.
func (b *bench) visiting(name, of string, variables func(b *bench, n int) map[string]any, nodes int, w work) *work {
	w.name, w.own, w.fresh = name, true, true
	var visitors []person
	w.requests = func(ctx context.Context, s *target) ([]request, error) {
		text, all := document(of), []request(nil)
		request := func(s *target, n int, p person) request {
			return request{wire: wire(s, p, text, variables(b, n)), want: []byte(`{"data":{`)}
		}
		if visitors == nil {
			others := b.people[2+crowd:]
			seen := make([]bool, len(others)) // with that many nodes
			var all errgroup.Group
			for i := range b.Connections {
				all.Go(func() error {
					c := testbed.Conn{Addr: b.server.addr()}
					defer c.Close()
					for n := i; n < len(others); n += b.Connections {
						answer, err := c.Ask(ctx, request(b.server, n, others[n]).wire)
						if err != nil {
							return err
						}
						seen[n] = nodesIn(answer) >= nodes
					}
					return nil
				})
			}
			if err := all.Wait(); err != nil {
				return nil, err
			}
			for n, p := range others {
				if seen[n] {
					visitors = append(visitors, p)
				}
			}
		}
		for n, p := range b.people[2 : 2+crowd] {
			all = append(all, request(s, n, p))
		}
		load{s.addr(), b.Connections, all}.closed(ctx, time.Minute, false)
		all = nil
		for n, p := range visitors {
			all = append(all, request(s, n, p))
		}
		if len(all) < 1000 {
			return nil, fmt.Errorf("only %d answers have %d nodes", len(all), nodes)
		}
		return all, nil
	}
	return &w
}

// learn sends the request until two consecutive responses are equal. The cursors of the page info
// may name a temporary ranking, so learn ignores all text after the last list.
func (r *request) learn(ctx context.Context, c *testbed.Conn) error {
	for range 5 {
		answer, err := c.Ask(ctx, r.wire)
		if err != nil {
			return err
		}
		var said struct {
			Data   map[string]any
			Errors []any
		}
		if err := json.Unmarshal(answer, &said); err != nil || said.Data == nil || len(said.Errors) > 0 {
			return fmt.Errorf("unexpected answer %.300s", answer)
		}
		r.all = len(answer)
		if end := bytes.LastIndex(answer, []byte(`"pageInfo"`)); end > 0 {
			answer = answer[:end]
		}
		if bytes.Equal(answer, r.want) {
			return nil
		}
		r.want = bytes.Clone(answer)
	}
	return errors.New("all answers differ")
}

// nodesIn counts the objects of a response by their ids.
func nodesIn(answer []byte) int {
	if n := strings.Count(string(answer), `"node":{`); n > 0 {
		return n
	}
	return min(1, strings.Count(string(answer), `"id":`))
}

// someone returns one of the first customers, by n.
func (b *bench) someone(n int) person {
	all := min(crowd, len(b.people)-2)
	return b.people[2+n%all]
}

// shopsOnce requests shops that were never requested before.
func (b *bench) shopsOnce(_ context.Context, s *target) ([]request, error) {
	left := b.allShop - b.asked
	n := min(left, max(b.allShop/int64(2*b.Rounds+4), 1000))
	if n < 100 {
		return nil, errors.New("not enough shops")
	}
	text, all := document("shop"), make([]request, n)
	for i := range all {
		id := scalar.ID{Type: "Shop", N: b.firstShop + b.asked + int64(i)}.String()
		all[i] = request{wire: wire(s, b.someone(i), text, vars{"id": id}), want: []byte(`{"data":{"shop":{"id":"` + id + `","name":"`)}
	}
	b.asked += n
	return all, nil
}

// notePages requests the pages of hot notes, after adding comments to them.
func (b *bench) notePages(ctx context.Context, s *target) ([]request, error) {
	notes := b.notes[:min(commented, len(b.notes))]
	for i := range len(notes) * comments {
		var said struct{ AddComment struct{ UserErrors []any } }
		input := vars{"noteId": notes[i%len(notes)], "content": fmt.Sprintf("I was there too, number %d, and the soup was hot.", i)}
		if err := b.ask(ctx, b.someone(i), "mutation($input: AddCommentInput!) { addComment(input: $input) { userErrors { code } } }", vars{"input": input}, &said); err != nil {
			return nil, fmt.Errorf("comment: %w", err)
		}
		if len(said.AddComment.UserErrors) > 0 {
			return nil, fmt.Errorf("comment: %v", said.AddComment.UserErrors)
		}
	}
	return b.reading("", "note", func(_ *bench, n int) map[string]any { return vars{"id": notes[n%len(notes)]} }, comments, work{}).requests(ctx, s)
}

// warmSessions sends one request of each person, so that the server has cached their sessions.
func (b *bench) warmSessions(ctx context.Context, s *target, people []person) error {
	all := make([]request, len(people))
	for i, p := range people {
		all[i] = request{wire: wire(s, p, "{ me { id } }", nil), want: []byte(p.ID)}
	}
	if o := (load{s.addr(), b.Connections, all}).closed(ctx, time.Minute, false); o.wrong > 0 {
		return fmt.Errorf("%d of %d users are unknown: %s", o.wrong, len(people), o.example)
	}
	return nil
}

// orders requests orders of a new sale with enough stock.
func (b *bench) orders(ctx context.Context, s *target) ([]request, error) {
	people := b.people[2:min(len(b.people), tries+2)]
	if err := b.warmSessions(ctx, s, people); err != nil {
		return nil, err
	}
	var mine struct {
		Me struct {
			Shops struct {
				Edges []struct{ Node struct{ ID string } }
			}
		}
	}
	if err := b.ask(ctx, b.people[1], "{ me { shops(first: 1) { edges { node { id } } } } }", nil, &mine); err != nil {
		return nil, fmt.Errorf("read the merchant's shops: %w", err)
	}
	if len(mine.Me.Shops.Edges) == 0 {
		return nil, errors.New("the merchant has no shop")
	}
	now := time.Now()
	var made struct {
		CreateFlashVoucher struct {
			Voucher    struct{ ID string }
			UserErrors []any
		}
	}
	err := b.ask(ctx, b.people[1], document("makesale"), vars{"input": vars{
		"shopId": mine.Me.Shops.Edges[0].Node.ID, "title": "Half price", "payValue": 100, "faceValue": 200, "stock": len(people) + len(people)/10,
		"beginsAt": now.Add(time.Second).UTC().Format(time.RFC3339), "endsAt": now.Add(time.Hour).UTC().Format(time.RFC3339),
	}}, &made)
	if err != nil || len(made.CreateFlashVoucher.UserErrors) > 0 {
		return nil, fmt.Errorf("create sale: %v, %w", made.CreateFlashVoucher.UserErrors, err)
	}
	time.Sleep(3 * time.Second) // the sale opens, and orders of the previous sale are stored
	text, all := document("order"), make([]request, len(people))
	for i, p := range people {
		all[i] = request{wire: wire(s, p, text, vars{"voucher": made.CreateFlashVoucher.Voucher.ID}), want: []byte(`{"data":{"orderVoucher":{"order":{"id":"`)}
	}
	return all, nil
}

// checkInOnce requests check-ins of users without one today.
func (b *bench) checkInOnce(ctx context.Context, s *target) ([]request, error) {
	n := min(checkIns, (len(b.people)-2)/(b.Rounds+1)) // the tail is one more round
	if n < 100 {
		return nil, errors.New("not enough people")
	}
	people := b.people[2+b.checkedIn:][:n]
	b.checkedIn += len(people)
	text, all := document("checkin"), make([]request, len(people))
	for i, p := range people {
		all[i] = request{wire: wire(s, p, text, nil), want: []byte(`"userErrors":[]`)}
	}
	return all, b.warmSessions(ctx, s, people)
}

// logIn requests logins of phones with a code.
func (b *bench) logIn(ctx context.Context, s *target) ([]request, error) {
	text, all := document("login"), make([]request, logins)
	for i := range all {
		b.phones++
		phone, who := fmt.Sprintf("+86139%08d", b.phones), b.someone(b.phones)
		who.Token = ""
		message := b.codes.Expect(phone)
		var sent struct{ SendLoginCode struct{ UserErrors []any } }
		if err := b.ask(ctx, who, document("sendcode"), vars{"phone": phone}, &sent); err != nil {
			return nil, fmt.Errorf("send a code: %w", err)
		}
		if len(sent.SendLoginCode.UserErrors) > 0 {
			return nil, fmt.Errorf("send a code: %v", sent.SendLoginCode.UserErrors)
		}
		select {
		case code := <-message:
			all[i] = request{wire: wire(s, who, text, vars{"phone": phone, "code": code}), want: []byte(`{"data":{"login":{"token":"`)}
		case <-time.After(patience):
			return nil, errors.New("login code did not arrive")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return all, nil
}

// serverFor returns the server of a work.
func (b *bench) serverFor(ctx context.Context, w *work) (*target, error) {
	if len(w.without) == 0 && !w.fresh && w.baseline == nil {
		return b.server, nil
	}
	return b.start(ctx, append(w.without, b.Without...)...)
}
