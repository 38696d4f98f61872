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

// A PaymentState is the provider's state of a charge or its refund.
type PaymentState string

// All states of a charge.
const (
	Confirmed PaymentState = "CONFIRMED" // the money was received
	Refused   PaymentState = "REFUSED"   // no money will be received
	Pending   PaymentState = "PENDING"   // the provider will call back
	Returned  PaymentState = "REFUNDED"  // the money was returned
)

// A Charge is one attempt to pay an order. Order and Attempt identify it: a provider charges
// once for repeated calls.
type Charge struct {
	Order   int64
	Attempt int       // 1, 2 … for each order
	Amount  int       // minor units of [Currency]
	Method  PayMethod // never [Balance]
}

// A Provider takes and refunds payments. Both methods may be repeated and called concurrently.
// After an error the outcome is unknown.
type Provider interface {
	// Charge requests the money.
	Charge(ctx context.Context, c Charge) (PaymentState, error)
	// Refund returns the money of a confirmed charge. It returns REFUNDED if the refund is
	// complete, now or earlier, or PENDING.
	Refund(ctx context.Context, c Charge) (PaymentState, error)
}

// noProvider is the [Provider] of a server without payments.
type noProvider struct{}

var errNoProvider = errors.New("payment provider is not configured")

func (noProvider) Charge(context.Context, Charge) (PaymentState, error) { return "", errNoProvider }
func (noProvider) Refund(context.Context, Charge) (PaymentState, error) { return "", errNoProvider }

// Callback is a provider that only sends notices. Every call is PENDING until
// [Service.Webhook] receives the outcome.
type Callback struct{}

// Charge implements [Provider].
func (Callback) Charge(context.Context, Charge) (PaymentState, error) { return Pending, nil }

// Refund implements [Provider].
func (Callback) Refund(context.Context, Charge) (PaymentState, error) { return Pending, nil }

// A Fake is a provider without money, for all payment methods. The zero value confirms each
// charge immediately and records nothing; with a Plan it follows the Plan. It is safe for
// concurrent use.
type Fake struct {
	// Plan returns the outcome of the next call for a charge.
	Plan func(Charge) FakeOutcome

	mu      sync.Mutex
	charges map[charge]*account // with a Plan
	late    []Charge            // awaiting a callback
}

// A FakeOutcome is the outcome of a call to a [Fake].
type FakeOutcome struct {
	Delay     time.Duration // delay before the call takes effect
	ErrBefore error         // returned without any effect
	State     PaymentState  // of the charge after its first call; default CONFIRMED
	ErrAfter  error         // returned after the call took effect
	Later     PaymentState  // state of the callback for a PENDING charge; default CONFIRMED
	Twice     bool          // call back twice
}

type charge struct {
	order   int64
	attempt int
}

// An account is the Fake's record of a charge.
type account struct {
	state, later PaymentState
	twice        bool
	taken        int // minor units taken and not refunded
}

// Charge implements [Provider].
func (f *Fake) Charge(ctx context.Context, c Charge) (PaymentState, error) {
	if f.Plan == nil {
		return Confirmed, nil
	}
	outcome := f.Plan(c)
	if err := outcome.begin(ctx); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	key := charge{c.Order, c.Attempt}
	a := f.charges[key]
	if a == nil {
		a = &account{state: cmp.Or(outcome.State, Confirmed), later: cmp.Or(outcome.Later, Confirmed), twice: outcome.Twice}
		if f.charges == nil {
			f.charges = map[charge]*account{}
		}
		f.charges[key] = a
		if a.state == Confirmed {
			a.taken = c.Amount
		}
		if a.state == Pending {
			f.late = append(f.late, c)
		}
	}
	return a.state, outcome.ErrAfter
}

// Refund implements [Provider].
func (f *Fake) Refund(ctx context.Context, c Charge) (PaymentState, error) {
	if f.Plan == nil {
		return Returned, nil
	}
	outcome := f.Plan(c)
	if err := outcome.begin(ctx); err != nil {
		return "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.charges[charge{c.Order, c.Attempt}]
	if a == nil {
		return "", fmt.Errorf("refund attempt %d of order %d: unknown charge", c.Attempt, c.Order)
	}
	a.taken = 0
	return Returned, outcome.ErrAfter
}

func (c FakeOutcome) begin(ctx context.Context) error {
	if c.Delay > 0 {
		if err := clock.Sleep(ctx, c.Delay); err != nil {
			return err
		}
	}
	return c.ErrBefore
}

// Deliver sends the callbacks of all PENDING charges according to their plan. The next Deliver
// repeats a failed callback.
func (f *Fake) Deliver(ctx context.Context, send func(ctx context.Context, c Charge, state PaymentState) error) error {
	f.mu.Lock()
	late := f.late
	f.late = nil
	f.mu.Unlock()
	var failed error
	for _, c := range late {
		if err := send(ctx, c, f.decide(c)); err != nil {
			failed = errors.Join(failed, err)
			f.mu.Lock()
			f.late = append(f.late, c)
			f.mu.Unlock()
		}
	}
	return failed
}

// decide ends a PENDING charge. A charge with two callbacks stays in the list.
func (f *Fake) decide(c Charge) PaymentState {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.charges[charge{c.Order, c.Attempt}]
	if a.state == Pending {
		if a.state = a.later; a.state == Confirmed {
			a.taken = c.Amount
		}
	}
	if a.twice {
		a.twice = false
		f.late = append(f.late, c)
	}
	return a.state
}

// Taken returns the minor units that were taken for an order and not refunded.
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
