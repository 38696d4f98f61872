package order

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

// A PaymentState is what a provider says about a charge or its refund.
type PaymentState string

// All states of a charge.
const (
	Confirmed PaymentState = "CONFIRMED" // the money is here
	Refused   PaymentState = "REFUSED"   // it will not come
	Pending   PaymentState = "PENDING"   // the provider will call back
	Returned  PaymentState = "REFUNDED"  // the money went back
)

// A Charge is one attempt to pay an order. Order and Attempt name it: a provider that
// is asked again about the same one charges once.
type Charge struct {
	Order   int64
	Attempt int       // 1, 2 …, of the order
	Amount  int       // minor units of [Currency]
	Method  PayMethod // never [Balance]
}

// A Provider takes payments and gives them back. Both calls may be repeated, and may
// be made at once; an error says that nothing is known.
type Provider interface {
	// Charge asks for the money.
	Charge(ctx context.Context, c Charge) (PaymentState, error)
	// Refund gives the money of a confirmed charge back. It returns REFUNDED when that
	// is done, or was done before, or PENDING.
	Refund(ctx context.Context, c Charge) (PaymentState, error)
}

// noProvider is the [Provider] of a server that takes no payments.
type noProvider struct{}

var errNoProvider = errors.New("no payment provider is set up")

func (noProvider) Charge(context.Context, Charge) (PaymentState, error) { return "", errNoProvider }
func (noProvider) Refund(context.Context, Charge) (PaymentState, error) { return "", errNoProvider }

// Callback is a provider that is not called, only calls: whatever it is asked is
// PENDING until [Service.Webhook] hears of it.
type Callback struct{}

// Charge implements [Provider].
func (Callback) Charge(context.Context, Charge) (PaymentState, error) { return Pending, nil }

// Refund implements [Provider].
func (Callback) Refund(context.Context, Charge) (PaymentState, error) { return Pending, nil }

// A Fake is a provider without money, for all methods. The zero value confirms each
// charge at once and remembers nothing; with a Plan it does what that says. It is
// safe for concurrent use.
type Fake struct {
	// Plan says how the next call about a charge goes.
	Plan func(Charge) FakeOutcome

	mu      sync.Mutex
	charges map[charge]*account // with a Plan
	late    []Charge            // to be called back for
}

// A FakeOutcome is how a call to a [Fake] goes.
type FakeOutcome struct {
	Slow  time.Duration // before anything happens
	Down  error         // nothing happens, and this is returned
	State PaymentState  // of a charge that was not decided before; default CONFIRMED
	Lost  error         // it happens, and this is returned
	Later PaymentState  // of a PENDING charge: what the provider will call back with; default CONFIRMED
	Twice bool          // it calls back twice
}

type charge struct {
	order   int64
	attempt int
}

// An account is what a Fake knows of a charge.
type account struct {
	said, later PaymentState
	twice       bool
	taken       int // minor units that were not given back
}

// Charge implements [Provider].
func (f *Fake) Charge(ctx context.Context, c Charge) (PaymentState, error) {
	if f.Plan == nil {
		return Confirmed, nil
	}
	course := f.Plan(c)
	if err := course.begin(ctx); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := charge{c.Order, c.Attempt}
	a := f.charges[key]
	if a == nil {
		a = &account{said: cmp.Or(course.State, Confirmed), later: cmp.Or(course.Later, Confirmed), twice: course.Twice}
		if f.charges == nil {
			f.charges = map[charge]*account{}
		}
		f.charges[key] = a
		if a.said == Confirmed {
			a.taken = c.Amount
		}
		if a.said == Pending {
			f.late = append(f.late, c)
		}
	}
	return a.said, course.Lost
}

// Refund implements [Provider].
func (f *Fake) Refund(ctx context.Context, c Charge) (PaymentState, error) {
	if f.Plan == nil {
		return Returned, nil
	}
	course := f.Plan(c)
	if err := course.begin(ctx); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.charges[charge{c.Order, c.Attempt}]
	if a == nil {
		return "", fmt.Errorf("there is no attempt %d of order %d to refund", c.Attempt, c.Order)
	}
	a.taken = 0
	return Returned, course.Lost
}

func (c FakeOutcome) begin(ctx context.Context) error {
	if c.Slow > 0 {
		if err := clock.Sleep(ctx, c.Slow); err != nil {
			return err
		}
	}
	return c.Down
}

// Deliver calls back for all charges that are PENDING, as their plan says. One whose
// callback fails is called back for by the next Deliver.
func (f *Fake) Deliver(ctx context.Context, tell func(ctx context.Context, c Charge, state PaymentState) error) error {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	var failed error
	for _, c := range late {
		if err := tell(ctx, c, f.decide(c)); err != nil {
			failed = errors.Join(failed, err)
			f.mu.Lock()
			f.late = append(f.late, c)
			f.mu.Unlock()
		}
	}
	return failed
}

// decide ends a PENDING charge. One that is called back for twice stays on the list
// once more.
func (f *Fake) decide(c Charge) PaymentState {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.charges[charge{c.Order, c.Attempt}]
	if a.said == Pending {
		if a.said = a.later; a.said == Confirmed {
			a.taken = c.Amount
		}
	}
	if a.twice {
		a.twice = false
		f.late = append(f.late, c)
	}
	return a.said
}

// Taken is how many minor units were taken for an order and not given back.
func (f *Fake) Taken(order int64) (sum int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, a := range f.charges {
		if key.order == order {
			sum += a.taken
		}
	}
	return sum
}
