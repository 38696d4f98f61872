package faulttest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/clock"
)

const (
	defaultClients = 16
	defaultVoucher = 1500 * time.Millisecond
	defaultRate    = 180.0 // purchases per second of all clients

	minStock, maxStock = 5, 40
	newestVouchers     = 4   // vouchers that clients order
	maxRemembered      = 400 // newest orders that clients use again
	maxTries           = 4   // of one purchase
	pollers            = 6
	pollPause          = 400 * time.Millisecond
	saleLife           = time.Hour // before and after now
	price, faceValue   = 100, 500  // minor units
)

// Workload runs clients during the faults. They order scarce units of new vouchers, pay, cancel,
// do both concurrently, repeat requests, and poll queued orders until their end. The same seed
// gives the same choices if the answers are the same.
type Workload struct {
	System  System
	History *History
	Seed    uint64

	Clients      int           // concurrent clients; default 16
	VoucherEvery time.Duration // interval between new vouchers; default 1.5 s
	Rate         float64       // purchases per second of all clients; default 180
	// Healthy returns since when no fault has been active. nil means unknown.
	Healthy func() (since time.Time, ok bool)
	// Progress receives a line for each voucher that could not be created; nil discards it.
	Progress io.Writer

	client    *client
	purchases atomic.Int64

	mu       sync.Mutex
	vouchers []string   // newest last
	orders   []orderRef // reported UNPAID, newest last
	queue    []poll     // reported QUEUED, without a known end
	polling  int        // taken out of queue for a request
	queued   map[string]bool
}

// orderRef is an order of a customer.
type orderRef struct {
	person         Person
	voucher, order string
}

// poll is an order whose end a client waits for.
type poll struct {
	orderRef
	due time.Time
}

// Run runs the clients until ctx ends, and waits for their last requests. Call it once.
func (w *Workload) Run(ctx context.Context) error {
	if err := w.open(); err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { w.runMerchant(ctx) })
	for i := range w.Clients {
		all.Go(func() { w.runClient(ctx, w.random(uint64(i)+1)) })
	}
	for i := range pollers {
		all.Go(func() { w.pollQueue(ctx, w.random(1000+uint64(i)), false) })
	}
	all.Wait()
	return nil
}

// Drain polls every number reported QUEUED until its end is known. The error has the number
// of orders without an end when ctx ends.
func (w *Workload) Drain(ctx context.Context) error {
	defer w.client.close()
	var all sync.WaitGroup
	for i := range pollers {
		all.Go(func() { w.pollQueue(ctx, w.random(2000+uint64(i)), true) })
	}
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.queue); n > 0 {
		return fmt.Errorf("poll queued orders: %d have no end, such as %s", n, w.queue[0].order)
	}
	return nil
}

func (w *Workload) open() (err error) {
	if len(w.System.People()) < 3 {
		return errors.New("invalid workload: it needs an administrator, a merchant and customers")
	}
	if w.Clients == 0 {
		w.Clients = defaultClients
	}
	if w.VoucherEvery == 0 {
		w.VoucherEvery = defaultVoucher
	}
	if w.Rate == 0 {
		w.Rate = defaultRate
	}
	if w.Progress == nil {
		w.Progress = io.Discard
	}
	w.queued = map[string]bool{}
	w.client, err = newClient(w.System, w.History, w.Healthy)
	return err
}

func (w *Workload) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(w.Seed, stream)) }

// runMerchant creates vouchers and changes the stock of some.
func (w *Workload) runMerchant(ctx context.Context) {
	r := w.random(0)
	merchant := w.System.People()[1]
	for ctx.Err() == nil {
		if e := w.makeVoucher(ctx, r, merchant); e.Code != "" {
			fmt.Fprintf(w.Progress, "cannot create voucher: %s %s\n", e.Code, e.Note)
			_ = clock.Sleep(ctx, 100*time.Millisecond) // the loop checks ctx
			continue
		}
		if r.IntN(3) == 0 {
			w.editStock(ctx, r, merchant)
		}
		_ = clock.Sleep(ctx, w.VoucherEvery)
	}
}

// send sends one request. It continues when ctx ends, because a lost answer proves nothing.
func (w *Workload) send(ctx context.Context, as Person, e Event, variables map[string]any) Event {
	return w.client.do(context.WithoutCancel(ctx), as, e, variables)
}

func (w *Workload) makeVoucher(ctx context.Context, r *rand.Rand, merchant Person) Event {
	now := time.Now()
	stock := minStock + r.IntN(maxStock-minStock+1)
	e := w.send(ctx, merchant, Event{Op: OpOpen, Server: w.server(r), Stock: stock}, map[string]any{"input": map[string]any{
		"shopId": w.System.Shop(), "title": "Noon", "payValue": price, "faceValue": faceValue, "stock": stock,
		"beginsAt": now.Add(-saleLife).Format(time.RFC3339Nano), "endsAt": now.Add(saleLife).Format(time.RFC3339Nano),
	}})
	if e.Code == "" {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.vouchers = append(w.vouchers, e.Voucher)
	}
	return e
}

func (w *Workload) editStock(ctx context.Context, r *rand.Rand, merchant Person) {
	voucher := w.voucher(r)
	if voucher == "" {
		return
	}
	delta := 1 + r.IntN(6)
	if r.IntN(2) == 0 {
		delta = -delta
	}
	w.send(ctx, merchant, Event{Op: OpEdit, Server: w.server(r), Voucher: voucher, Delta: delta}, map[string]any{
		"input": map[string]any{"id": voucher, "stockDelta": delta},
	})
}

func (w *Workload) server(r *rand.Rand) int { return r.IntN(w.System.Servers()) }

// voucher returns one of the newest vouchers, "" if there is none.
func (w *Workload) voucher(r *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.vouchers)
	if n == 0 {
		return ""
	}
	back := min(r.IntN(newestVouchers), r.IntN(newestVouchers), n-1) // prefers the newest
	return w.vouchers[n-1-back]
}

func (w *Workload) customer(r *rand.Rand) Person {
	customers := w.System.People()[2:]
	return customers[r.IntN(len(customers))]
}

// someOrder returns a reported order.
func (w *Workload) someOrder(r *rand.Rand) (orderRef, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.orders)
	if n == 0 {
		return orderRef{}, false
	}
	return w.orders[n-1-r.IntN(min(n, maxRemembered))], true
}

// runClient runs one client, which performs one action after the other.
func (w *Workload) runClient(ctx context.Context, r *rand.Rand) {
	mean := float64(w.Clients) / w.Rate * float64(time.Second)
	next := time.Now()
	for ctx.Err() == nil {
		// Actions start by a schedule, so a client that waited long for an answer starts the
		// next one earlier.
		next = next.Add(time.Duration(r.ExpFloat64() * mean))
		if late := time.Now(); next.Before(late) {
			next = late
		}
		if clock.Sleep(ctx, time.Until(next)) != nil {
			return
		}
		w.step(ctx, r)
	}
}

func (w *Workload) step(ctx context.Context, r *rand.Rand) {
	switch n := r.IntN(100); {
	case n < 68:
		if voucher := w.voucher(r); voucher != "" {
			w.order(ctx, r, w.customer(r), voucher)
		}
	case n < 76: // a holder orders again
		if h, ok := w.someOrder(r); ok {
			w.order(ctx, r, h.person, h.voucher)
		}
	case n < 80:
		if h, ok := w.someOrder(r); ok {
			w.pay(ctx, r, h)
		}
	case n < 84:
		if h, ok := w.someOrder(r); ok {
			w.cancel(ctx, r, h)
		}
	case n < 92:
		if h, ok := w.someOrder(r); ok {
			w.read(ctx, r, h)
		}
	default:
		w.send(ctx, w.customer(r), Event{Op: OpMe, Server: w.server(r)}, nil)
	}
}

// order requests a unit until the answer is definite, from the next server each time, and
// then decides about the order. It continues for up to eleven seconds after ctx ends, because
// an abandoned purchase proves nothing.
func (w *Workload) order(ctx context.Context, r *rand.Rand, p Person, voucher string) {
	e := Event{Op: OpOrder, Server: w.server(r), Voucher: voucher, Purchase: w.purchases.Add(1)}
	variables := map[string]any{"voucher": voucher}
	if r.IntN(3) == 0 {
		e.Key = "k" + strconv.FormatInt(e.Purchase, 36)
		variables["key"] = e.Key
	}
	var got Event
	for try := range maxTries {
		if try > 0 {
			e.Server = (e.Server + 1) % w.System.Servers()
			_ = clock.Sleep(context.WithoutCancel(ctx), time.Duration(50+r.IntN(200))*time.Millisecond) // it always completes
		}
		if got = w.send(ctx, p, e, variables); got.Definite() {
			break
		}
	}
	h := orderRef{p, voucher, got.Order}
	switch got.Status {
	case "QUEUED":
		w.enqueuePoll(h)
	case "UNPAID":
		w.decide(ctx, r, h)
	}
}

// decide pays, cancels or keeps a new order.
func (w *Workload) decide(ctx context.Context, r *rand.Rand, h orderRef) {
	w.mu.Lock()
	if w.orders = append(w.orders, h); len(w.orders) > 2*maxRemembered {
		w.orders = append([]orderRef(nil), w.orders[maxRemembered:]...)
	}
	w.mu.Unlock()
	switch n := r.IntN(100); {
	case n < 6: // both in parallel, mostly on two servers
		other := rand.New(rand.NewPCG(r.Uint64(), 0))
		var both sync.WaitGroup
		both.Go(func() { w.pay(ctx, other, h) })
		w.cancel(ctx, r, h)
		both.Wait()
	case n < 20:
		w.pay(ctx, r, h)
	case n < 35:
		w.cancel(ctx, r, h)
	default: // the customer keeps it
	}
}

func (w *Workload) pay(ctx context.Context, r *rand.Rand, h orderRef) {
	w.sendForOrder(ctx, OpPay, r, h)
}

func (w *Workload) cancel(ctx context.Context, r *rand.Rand, h orderRef) {
	w.sendForOrder(ctx, OpCancel, r, h)
}

func (w *Workload) read(ctx context.Context, r *rand.Rand, h orderRef) Event {
	return w.sendForOrder(ctx, OpRead, r, h)
}

// sendForOrder sends one request about an order.
func (w *Workload) sendForOrder(ctx context.Context, op Op, r *rand.Rand, h orderRef) Event {
	return w.send(ctx, h.person, Event{Op: op, Server: w.server(r), Voucher: h.voucher, Order: h.order}, map[string]any{"order": h.order})
}

// enqueuePoll adds an order to the poll queue, once.
func (w *Workload) enqueuePoll(h orderRef) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.queued[h.order] {
		w.queued[h.order] = true
		w.queue = append(w.queue, poll{orderRef: h, due: time.Now()})
	}
}

// pollQueue polls queued orders until ctx ends or, with toTheEnd, until none is left.
func (w *Workload) pollQueue(ctx context.Context, r *rand.Rand, toTheEnd bool) {
	for ctx.Err() == nil {
		next, left := w.nextPoll()
		if left == 0 && toTheEnd {
			return
		}
		if next == nil {
			_ = clock.Sleep(ctx, 20*time.Millisecond) // the loop checks ctx
			continue
		}
		e := w.read(ctx, r, next.orderRef)
		w.requeue(next, e)
		if e.Status == "UNPAID" && !toTheEnd {
			w.decide(ctx, r, next.orderRef)
		}
	}
}

// nextPoll takes a due order out of the queue. left includes orders that are being polled.
func (w *Workload) nextPoll() (next *poll, left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	left = len(w.queue) + w.polling
	now := time.Now()
	for i, p := range w.queue {
		if p.due.Before(now) {
			w.queue = append(w.queue[:i:i], w.queue[i+1:]...)
			w.polling++
			return &p, left
		}
	}
	return nil, left
}

// requeue puts an order without an end back into the queue.
func (w *Workload) requeue(p *poll, e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polling--
	if e.Status == "" || e.Status == "QUEUED" {
		p.due = time.Now().Add(pollPause)
		w.queue = append(w.queue, *p)
	}
}
