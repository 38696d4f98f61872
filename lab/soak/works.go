package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	mathrand "math/rand/v2"

	"golang.org/x/sync/errgroup"

	"github.com/tandian-dev/tandian/graph/scalar"
	"github.com/tandian-dev/tandian/lab/testbed"
)

// A work is a user action: opening a screen, or a tap on one, with all requests that the app makes
// for it. Its latency is that of all of them.
type work struct {
	name   string
	weight int // of all weights
	do     func(c *crowd, ctx context.Context, v *visit) error
}

// A visit is one arrival of a user.
type visit struct {
	rnd  *mathrand.Rand
	who  person
	sale int
	n    int
}

// works returns all works. There are ten readers per writer.
func works() []*work {
	return []*work{
		{"home", 80, (*crowd).home},
		{"shops of a type", 140, (*crowd).browse},
		{"shops near", 100, (*crowd).near},
		{"shop", 170, (*crowd).shop},
		{"hot notes", 80, (*crowd).hot},
		{"note and comments", 130, (*crowd).note},
		{"feed", 100, (*crowd).feed},
		{"sale", 30, (*crowd).viewSale},
		{"visit beacon", 50, (*crowd).beacon},
		{"sign in", 10, (*crowd).signIn},
		{"like or unlike", 50, (*crowd).like},
		{"comment", 10, (*crowd).comment},
		{"follow or unfollow", 20, (*crowd).follow},
		{"publish", 15, (*crowd).publish},
		{"check in", 15, (*crowd).checkIn},
	}
}

// buying is the work of a race.
func buying() *work { return &work{"order in a sale", 0, (*crowd).order} }

// paying is the work of a buyer a moment later.
func paying() *work { return &work{"pay", 0, nil} }

// Shapes of the Zipf distributions of requests, and the population.
const (
	zipfS, zipfThings = 1.1, 1
	freshNotes        = 200 // newest notes, which a third of the readers want
	present           = 600 // people at a time
	stay              = 40  // works of each of them
)

// A crowd holds the users and the objects that they see.
type crowd struct {
	api          *client
	seed         uint64
	people       []person // with sessions: the administrator, the merchant, customers
	types        []string
	shops, notes span
	places       [][2]float64
	codes        *testbed.Codes
	sales        []*sale
	paying       *work
	published    func(note string, began time.Time) // is notified of each new note
	after        func(ctx context.Context, wait time.Duration, w *work, do func(context.Context) error)

	mu    sync.Mutex
	fresh []string // newest notes
	phone int      // of the last signed-in user
}

// A span is a range of consecutive ids.
type span struct {
	kind        string
	first, last int64
}

// pick draws an id. A few ids, spread over the span, are the most popular.
func (s span) pick(rnd *mathrand.Rand) string {
	n := uint64(s.last - s.first + 1)                                            //nolint:gosec // it is positive
	rank := mathrand.NewZipf(rnd, zipfS, zipfThings, n-1).Uint64()               // 0 is the most popular
	return scalar.ID{Type: s.kind, N: s.first + int64(spread(rank, n))}.String() //nolint:gosec // below n
}

// spread is a permutation of 0 to n-1 for most n: neighbours in rank are not neighbours in number.
func spread(rank, n uint64) uint64 { return (rank*2_654_435_761 + 12_345) % n }

// visit returns the visitor of an arrival.
func (c *crowd) visit(a arrival) *visit {
	rnd := mathrand.New(mathrand.NewPCG(c.seed, uint64(1_000_000+a.n))) //nolint:gosec // a load is no secret
	return &visit{rnd: rnd, who: c.someone(rnd, a.n), sale: a.sale, n: a.n}
}

// someone returns a customer with a session who is present at the n-th arrival. Users stay for a
// few minutes and some forty works, then others replace them.
func (c *crowd) someone(rnd *mathrand.Rand, n int) person {
	i := n/stay + rnd.IntN(present)
	all := uint64(len(c.people) - 2)              //nolint:gosec // checked at the start
	return c.people[2+spread(uint64(i)%all, all)] //nolint:gosec // it is positive
}

// famous returns an author, usually with many followers.
func (c *crowd) famous(rnd *mathrand.Rand) person {
	all := uint64(len(c.people) - 2) //nolint:gosec // checked at the start
	return c.people[2+spread(mathrand.NewZipf(rnd, zipfS, zipfThings, all-1).Uint64(), all)]
}

// reader returns a reader: half of them have no session.
func (v *visit) reader() person {
	who := v.who
	if v.rnd.IntN(2) == 0 {
		who.token, who.id = "", ""
	}
	return who
}

func wrong(format string, args ...any) error { return failure{"WRONG", fmt.Sprintf(format, args...)} }

type userErrors []struct{ Code, Message string }

func (e userErrors) refused() error {
	if len(e) > 0 {
		return failure{e[0].Code, e[0].Message}
	}
	return nil
}

// edges is a page of objects.
type edges struct {
	Edges []struct {
		Distance *float64
		Node     struct{ ID string }
	}
}

// together sends several requests in parallel, like a screen.
func together(ctx context.Context, requests ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, r := range requests {
		group.Go(func() error { return r(ctx) })
	}
	return group.Wait() //nolint:wrapcheck // it names the operation
}

func (c *crowd) shopList(who person, filter, near vars) func(context.Context) error {
	return func(ctx context.Context) error {
		var got struct{ Shops edges }
		if err := c.api.ask(ctx, who, "HomeShops", vars{"filter": filter, "near": near, "first": 10}, &got); err != nil {
			return err
		}
		if len(got.Shops.Edges) == 0 {
			return wrong("no shops")
		}
		if near == nil {
			return nil
		}
		last := 0.0
		for _, e := range got.Shops.Edges {
			if e.Distance == nil || *e.Distance < last {
				return wrong("shops near are not in the order of their distance")
			}
			last = *e.Distance
		}
		return nil
	}
}

func (c *crowd) hotList(who person) func(context.Context) error {
	return func(ctx context.Context) error {
		var got struct{ HotNotes edges }
		if err := c.api.ask(ctx, who, "HotNotes", nil, &got); err != nil {
			return err
		}
		if len(got.HotNotes.Edges) == 0 {
			return wrong("no hot notes")
		}
		return nil
	}
}

func (c *crowd) home(ctx context.Context, v *visit) error {
	who := v.reader()
	return together(ctx, func(ctx context.Context) error {
		var got struct{ ShopTypes []struct{ ID string } }
		if err := c.api.ask(ctx, who, "Home", nil, &got); err != nil {
			return err
		}
		if len(got.ShopTypes) != len(c.types) {
			return wrong("%d types of shops, not %d", len(got.ShopTypes), len(c.types))
		}
		return nil
	}, c.shopList(who, nil, c.place(v)), c.hotList(who))
}

func (c *crowd) browse(ctx context.Context, v *visit) error {
	return c.shopList(v.reader(), vars{"typeId": c.types[v.rnd.IntN(len(c.types))]}, nil)(ctx)
}

// place returns a user's location: within a few streets of a shop of their own.
func (c *crowd) place(v *visit) vars {
	at := c.places[spread(uint64(v.who.n), uint64(len(c.places)))] //nolint:gosec // it is positive
	return vars{"lat": at[0] + v.rnd.NormFloat64()*0.003, "lng": at[1] + v.rnd.NormFloat64()*0.003, "radius": 5000}
}

func (c *crowd) near(ctx context.Context, v *visit) error {
	var filter vars
	if v.rnd.IntN(2) == 0 {
		return c.shopList(v.reader(), filter, c.place(v))(ctx)
	}
	who, filter := v.reader(), vars{"typeId": c.types[v.rnd.IntN(len(c.types))]}
	var got struct{ Shops edges } // of a type there may be none here
	return c.api.ask(ctx, who, "HomeShops", vars{"filter": filter, "near": c.place(v), "first": 10}, &got)
}

func (c *crowd) shop(ctx context.Context, v *visit) error {
	who, id := v.reader(), c.shops.pick(v.rnd)
	look := func(document string) func(context.Context) error {
		return func(ctx context.Context) error {
			var got struct{ Shop *struct{ ID string } }
			if err := c.api.ask(ctx, who, document, vars{"id": id}, &got); err != nil {
				return err
			}
			if got.Shop == nil || got.Shop.ID != id {
				return wrong("%s shows another shop, or none", document)
			}
			return nil
		}
	}
	return together(ctx, look("Shop"), look("ShopNotes"))
}

func (c *crowd) hot(ctx context.Context, v *visit) error { return c.hotList(v.reader())(ctx) }

// wanted returns a note to read: one of the newest, or a popular one.
func (c *crowd) wanted(rnd *mathrand.Rand) string {
	if rnd.IntN(3) == 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.fresh) > 0 {
			return c.fresh[rnd.IntN(len(c.fresh))]
		}
	}
	return c.notes.pick(rnd)
}

func (c *crowd) note(ctx context.Context, v *visit) error {
	who, id := v.reader(), c.wanted(v.rnd)
	return together(ctx, func(ctx context.Context) error {
		var got struct {
			Note *struct {
				ID     string
				Author struct{ ID string }
			}
		}
		if err := c.api.ask(ctx, who, "Note", vars{"id": id}, &got); err != nil {
			return err
		}
		if got.Note == nil || got.Note.ID != id || got.Note.Author.ID == "" {
			return wrong("another note, or none")
		}
		return nil
	}, func(ctx context.Context) error {
		var got struct{ Note *struct{ ID string } }
		if err := c.api.ask(ctx, who, "Comments", vars{"noteId": id}, &got); err != nil {
			return err
		}
		if got.Note == nil || got.Note.ID != id {
			return wrong("comments of another note, or of none")
		}
		return nil
	})
}

func (c *crowd) feed(ctx context.Context, v *visit) error {
	var got struct {
		Me *struct {
			ID   string
			Feed *edges
		}
	}
	if err := c.api.ask(ctx, v.who, "Feed", nil, &got); err != nil {
		return err
	}
	if got.Me == nil || got.Me.ID != v.who.id || got.Me.Feed == nil {
		return wrong("the feed of another user, or none")
	}
	return nil
}

func (c *crowd) beacon(ctx context.Context, v *visit) error {
	shop := c.shops.pick(v.rnd)
	body, err := json.Marshal(map[string]any{"path": "/shops/" + shop, "shop": shop})
	if err != nil {
		return fmt.Errorf("write a beacon: %w", err)
	}
	status, _, err := c.api.post(ctx, v.reader(), "/visit", body)
	if err == nil && status != http.StatusNoContent {
		err = failure{fmt.Sprintf("HTTP_%d", status), "a beacon"}
	}
	return err
}

func (c *crowd) like(ctx context.Context, v *visit) error {
	document, field, liked := "LikeNote", "likeNote", true
	if v.rnd.IntN(4) == 0 {
		document, field, liked = "UnlikeNote", "unlikeNote", false
	}
	var got map[string]struct {
		Note       *struct{ IsLiked bool }
		UserErrors userErrors
	}
	if err := c.api.ask(ctx, v.who, document, vars{"id": c.wanted(v.rnd)}, &got); err != nil {
		return err
	}
	p := got[field]
	if err := p.UserErrors.refused(); err != nil {
		return err
	}
	if p.Note == nil || p.Note.IsLiked != liked {
		return wrong("%s does not show it", document)
	}
	return nil
}

func (c *crowd) comment(ctx context.Context, v *visit) error {
	var got struct {
		AddComment struct {
			Comment    *struct{ ID string }
			UserErrors userErrors
		}
	}
	input := vars{"noteId": c.wanted(v.rnd), "content": fmt.Sprintf("I was there too, number %d.", v.n)}
	if err := c.api.ask(ctx, v.who, "AddComment", vars{"input": input}, &got); err != nil {
		return err
	}
	if err := got.AddComment.UserErrors.refused(); err != nil || got.AddComment.Comment != nil {
		return err
	}
	return wrong("no comment")
}

func (c *crowd) follow(ctx context.Context, v *visit) error {
	followee := c.famous(v.rnd)
	if followee.id == v.who.id {
		followee = c.people[2+v.rnd.IntN(len(c.people)-2)]
	}
	if followee.id == v.who.id {
		return nil
	}
	document, field := "Follow", "follow"
	if v.rnd.IntN(3) == 0 {
		document, field = "Unfollow", "unfollow"
	}
	var got map[string]struct {
		User       *struct{ ID string }
		UserErrors userErrors
	}
	if err := c.api.ask(ctx, v.who, document, vars{"userId": followee.id}, &got); err != nil {
		return err
	}
	p := got[field]
	if err := p.UserErrors.refused(); err != nil {
		return err
	}
	if p.User == nil || p.User.ID != followee.id {
		return wrong("%s of another user", document)
	}
	return nil
}

func (c *crowd) publish(ctx context.Context, v *visit) error {
	began := time.Now()
	var got struct {
		PublishNote struct {
			Note       *struct{ ID string }
			UserErrors userErrors
		}
	}
	input := vars{"shopId": c.shops.pick(v.rnd), "title": fmt.Sprintf("Visit %d", v.n), "content": "The soup was hot and the tea was free. I will come again."}
	if err := c.api.ask(ctx, v.who, "PublishNote", vars{"input": input}, &got); err != nil {
		return err
	}
	if err := got.PublishNote.UserErrors.refused(); err != nil {
		return err
	}
	if got.PublishNote.Note == nil {
		return wrong("no note")
	}
	id := got.PublishNote.Note.ID
	c.published(id, began)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fresh = append(c.fresh, id); len(c.fresh) > freshNotes {
		c.fresh = slices.Clone(c.fresh[1:])
	}
	return nil
}

func (c *crowd) checkIn(ctx context.Context, v *visit) error {
	var got struct {
		CheckIn struct {
			CheckIns   *struct{ Count int }
			UserErrors userErrors
		}
	}
	if err := c.api.ask(ctx, v.who, "CheckIn", nil, &got); err != nil {
		return err
	}
	if err := got.CheckIn.UserErrors.refused(); err != nil {
		return err
	}
	if got.CheckIn.CheckIns == nil || got.CheckIn.CheckIns.Count < 1 {
		return wrong("no check-in")
	}
	return nil
}

// signIn signs in a new phone with the code from a message, and reads the viewer. Three of ten sign
// out again.
func (c *crowd) signIn(ctx context.Context, v *visit) error {
	c.mu.Lock()
	c.phone++
	phone := fmt.Sprintf("+86139%08d", c.phone)
	c.mu.Unlock()
	who := person{n: v.n}
	message := c.codes.Expect(phone)
	var sent struct {
		SendLoginCode struct{ UserErrors userErrors }
	}
	if err := c.api.ask(ctx, who, "SendLoginCode", vars{"phone": phone}, &sent); err != nil {
		return err
	}
	if err := sent.SendLoginCode.UserErrors.refused(); err != nil {
		return err
	}
	var code string
	select {
	case code = <-message:
	case <-time.After(requestPatience):
		return failure{"NO_CODE", "login code did not arrive"}
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // it names the operation
	}
	var in struct {
		Login struct {
			Token      string
			User       struct{ ID string }
			UserErrors userErrors
		}
	}
	if err := c.api.ask(ctx, who, "Login", vars{"input": vars{"phone": phone, "code": code}}, &in); err != nil {
		return err
	}
	if err := in.Login.UserErrors.refused(); err != nil {
		return err
	}
	who.token, who.id = in.Login.Token, in.Login.User.ID
	var me struct{ Me *struct{ ID string } }
	if err := c.api.ask(ctx, who, "Me", nil, &me); err != nil {
		return err
	}
	if me.Me == nil || me.Me.ID != who.id {
		return wrong("another user is signed in, or none")
	}
	if v.rnd.IntN(10) < 3 {
		return c.api.ask(ctx, who, "Logout", nil, &struct{}{})
	}
	return nil
}
