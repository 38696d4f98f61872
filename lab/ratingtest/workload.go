package ratingtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/lab/faulttest"
)

const (
	hotShare = 0.7 // of the ratings are of the first shop

	// unknownPause follows a call without an answer. The commit of a killed server may be on
	// its way to the database.
	unknownPause = time.Second / 2
)

// value is a rating. Zero stars are no rating.
type value struct{ Stars, Taste, Environment, Service int }

// key identifies what one user did with one shop, by global ids.
type key struct{ user, shop string }

// A state is all values that a row may have: one after an answer, more after calls without
// an answer.
type state[V comparable] map[V]bool

// workload rates and saves shops by many users. Each connection has its own users, so the
// writes of a user to a shop are in order.
type workload struct {
	api    *api
	people []faulttest.Person // the last one rates each shop at the end
	shops  []string

	mu      sync.Mutex
	ratings map[key]state[value]
	saves   map[key]state[bool]
	wrong   differences

	answered, unknown atomic.Int64
}

func newWorkload(a *api, people []faulttest.Person, shops []string) *workload {
	return &workload{api: a, people: people, shops: shops, ratings: map[key]state[value]{}, saves: map[key]state[bool]{}}
}

func (w *workload) String() string {
	return fmt.Sprintf("%d writes answered, %d without an answer", w.answered.Load(), w.unknown.Load())
}

// work writes by the users of a connection until ctx ends.
func (w *workload) work(ctx context.Context, connection int, choices *rand.Rand) {
	mine := w.people[connection*usersEach : (connection+1)*usersEach]
	for ctx.Err() == nil {
		who, shop := mine[choices.IntN(len(mine))], w.shops[0]
		if choices.Float64() > hotShare {
			shop = w.shops[choices.IntN(len(w.shops))]
		}
		// A call is not cancelled, so that its outcome is known.
		if !w.one(context.WithoutCancel(ctx), choices, who, shop) && clock.Sleep(ctx, unknownPause) != nil {
			return
		}
	}
}

// one makes a random write. It returns false without an answer.
func (w *workload) one(ctx context.Context, choices *rand.Rand, who faulttest.Person, shop string) bool {
	server, at := choices.IntN(servers), key{who.ID, shop}
	rating := value{Stars: 1 + choices.IntN(5)}
	switch action := choices.IntN(100); {
	case action < 55:
		if choices.IntN(3) == 0 {
			rating.Taste, rating.Environment, rating.Service = choices.IntN(6), choices.IntN(6), choices.IntN(6)
		}
		return w.rate(ctx, server, who, shop, rating)
	case action < 75:
		return write(ctx, w, w.ratings, server, who, "delete", vars{"id": shop}, at, value{})
	case action < 85:
		input := vars{"shopId": shop, "title": "Lunch", "content": "The soup was hot.", "stars": rating.Stars}
		return write(ctx, w, w.ratings, server, who, "publish", vars{"input": input}, at, rating)
	case action < 95:
		return write(ctx, w, w.saves, server, who, "save", vars{"id": shop}, at, true)
	}
	return write(ctx, w, w.saves, server, who, "unsave", vars{"id": shop}, at, false)
}

func (w *workload) rate(ctx context.Context, server int, who faulttest.Person, shop string, to value) bool {
	input := vars{"shopId": shop, "stars": to.Stars}
	for name, aspect := range map[string]int{"taste": to.Taste, "environment": to.Environment, "service": to.Service} {
		if aspect > 0 {
			input[name] = aspect
		}
	}
	return write(ctx, w, w.ratings, server, who, "rate", vars{"input": input}, key{who.ID, shop}, to)
}

// write sends a mutation that changes a state to a value, and records the outcome. It returns
// false without an answer.
func write[V comparable](ctx context.Context, w *workload, all map[key]state[V], server int, who faulttest.Person, name string, variables vars, at key, to V) bool {
	got, err := w.api.change(ctx, server, who, name, variables)
	if errors.Is(err, syscall.ECONNREFUSED) { // the server is dead, so nothing was sent
		got, err = w.api.change(ctx, (server+1)%servers, who, name, variables)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, errRefused):
		w.wrong.add("refusal", "%v", err)
	case err != nil:
		w.unknown.Add(1)
		if all[at] == nil {
			var none V
			all[at] = state[V]{none: true}
		}
		all[at][to] = true
		return false
	default:
		w.answered.Add(1)
		all[at] = state[V]{to: true}
		if name == "rate" && (got.Rating == nil || any(*got.Rating) != any(to)) {
			w.wrong.add("answer", "rateShop of %v answered %v for %v", at, got.Rating, to)
		}
	}
	return true
}

// rateEach rates each shop, and saves it, by the last user.
func (w *workload) rateEach(ctx context.Context) error {
	last := w.people[len(w.people)-1]
	for i, shop := range w.shops {
		if !w.rate(ctx, i%servers, last, shop, value{Stars: 1 + i%5}) ||
			!write(ctx, w, w.saves, i%servers, last, "save", vars{"id": shop}, key{last.ID, shop}, true) {
			return fmt.Errorf("rate shop %s: no answer, although no fault is active", shop)
		}
	}
	return nil
}

// checkAcknowledged compares the rows with the answered writes.
func (w *workload) checkAcknowledged(r *rows, found *differences) {
	*found = append(*found, w.wrong...)
	compareStates(w.ratings, r.ratingOf(), "rating", found)
	saved := map[key]bool{}
	for _, s := range r.saves {
		saved[s.key] = true
	}
	compareStates(w.saves, saved, "save", found)
}

// compareStates adds the rows that no answer explains, and the answered ones that are missing.
func compareStates[V comparable](want map[key]state[V], rows map[key]V, kind string, found *differences) {
	for at, possible := range want {
		if is := rows[at]; !possible[is] {
			found.add(kind, "user %s, shop %s: the row is %v, answered were %v", at.user, at.shop, is, possible)
		}
	}
	for at, is := range rows {
		if want[at] == nil {
			found.add(kind, "user %s, shop %s: nothing wrote the row %v", at.user, at.shop, is)
		}
	}
}
