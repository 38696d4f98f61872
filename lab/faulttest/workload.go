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
	defaultRate    = 180.0 // wishes a second of all clients

	minStock, maxStock = 5, 40
	newest             = 4   // vouchers that are ordered
	remembered         = 400 // orders that clients come back to
	maxTries           = 4   // of one wish
	pollers            = 6
	pollPause          = 400 * time.Millisecond
	saleLife           = time.Hour // before and after now
	price, worth       = 100, 500  // minor units
)

// A Workload is what clients do while the servers are harmed: they order pieces of
// ever new vouchers, of which there are far too few, pay, cancel, both at once, ask
// again, and follow what is queued to its end. The same seed makes the same choices,
// as far as the answers are the same.
type Workload struct {
	Place   Place
	History *History
	Seed    uint64

	Clients      int           // who want something at a time; default 16
	VoucherEvery time.Duration // a new voucher; default 1.5 s
	Rate         float64       // wishes a second of all clients together; default 180
	// Healthy says since when no fault is under way, ok if so; nil: it is not known.
	Healthy func() (since time.Time, ok bool)
	// Progress gets a line for each voucher that could not be made; nil: nobody is told.
	Progress io.Writer

	client *client
	wishes atomic.Int64

	mu       sync.Mutex
	vouchers []string // newest last
	orders   []held   // that were told UNPAID, newest last
	queue    []poll   // that were told QUEUED, and are not known to be over
	polling  int      // taken out of it, to be asked about
	queued   map[string]bool
}

// held is an order of a customer.
type held struct {
	person         Person
	voucher, order string
}

// poll is an order whose end a client waits for.
type poll struct {
	held
	due time.Time
}

// Run has the clients at work until ctx ends, and waits for the end of what they wanted
// last. It is called once.
func (w *Workload) Run(ctx context.Context) error {
	if err := w.open(); err != nil {
		return err
	}
	var all sync.WaitGroup
	all.Go(func() { w.sell(ctx) })
	for i := range w.Clients {
		all.Go(func() { w.shop(ctx, w.random(uint64(i)+1)) })
	}
	for i := range pollers {
		all.Go(func() { w.follow(ctx, w.random(1000+uint64(i)), false) })
	}
	all.Wait()
	return nil
}

// Drain follows every number that was told QUEUED until its end is told. An error says
// how many have none when ctx ends.
func (w *Workload) Drain(ctx context.Context) error {
	defer w.client.close()
	var all sync.WaitGroup
	for i := range pollers {
		all.Go(func() { w.follow(ctx, w.random(2000+uint64(i)), true) })
	}
	all.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.queue); n > 0 {
		return fmt.Errorf("%d orders were told QUEUED and no end, such as %s", n, w.queue[0].order)
	}
	return nil
}

func (w *Workload) open() (err error) {
	if len(w.Place.People()) < 3 {
		return errors.New("a workload needs an administrator, a merchant and customers")
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
	w.client, err = newClient(w.Place, w.History, w.Healthy)
	return err
}

func (w *Workload) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(w.Seed, stream)) }

// sell makes a voucher now and then, and changes the stock of some.
func (w *Workload) sell(ctx context.Context) {
	r := w.random(0)
	merchant := w.Place.People()[1]
	for ctx.Err() == nil {
		if e := w.makeVoucher(ctx, r, merchant); e.Code != "" {
			fmt.Fprintf(w.Progress, "no voucher was made: %s %s\n", e.Code, e.Note)
			_ = clock.Sleep(ctx, 100*time.Millisecond) // the loop sees that ctx ended
			continue
		}
		if r.IntN(3) == 0 {
			w.editStock(ctx, r, merchant)
		}
		_ = clock.Sleep(ctx, w.VoucherEvery)
	}
}

// ask sends one request. It is not given up when ctx ends: an answer that nobody hears
// would prove nothing.
func (w *Workload) ask(ctx context.Context, as Person, e Event, variables map[string]any) Event {
	return w.client.do(context.WithoutCancel(ctx), as, e, variables)
}

func (w *Workload) makeVoucher(ctx context.Context, r *rand.Rand, merchant Person) Event {
	now := time.Now()
	stock := minStock + r.IntN(maxStock-minStock+1)
	e := w.ask(ctx, merchant, Event{Op: OpOpen, Server: w.server(r), Stock: stock}, map[string]any{"input": map[string]any{
		"shopId": w.Place.Shop(), "title": "Noon", "payValue": price, "faceValue": worth, "stock": stock,
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
	w.ask(ctx, merchant, Event{Op: OpEdit, Server: w.server(r), Voucher: voucher, Delta: delta}, map[string]any{
		"input": map[string]any{"id": voucher, "stockDelta": delta},
	})
}

func (w *Workload) server(r *rand.Rand) int { return r.IntN(w.Place.Servers()) }

// voucher is one of the newest, "" if there is none.
func (w *Workload) voucher(r *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.vouchers)
	if n == 0 {
		return ""
	}
	back := min(r.IntN(newest), r.IntN(newest), n-1) // the newest most
	return w.vouchers[n-1-back]
}

func (w *Workload) customer(r *rand.Rand) Person {
	customers := w.Place.People()[2:]
	return customers[r.IntN(len(customers))]
}

// someOrder is one that was told to its customer.
func (w *Workload) someOrder(r *rand.Rand) (held, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.orders)
	if n == 0 {
		return held{}, false
	}
	return w.orders[n-1-r.IntN(min(n, remembered))], true
}

// shop is one client, who wants one thing after the other.
func (w *Workload) shop(ctx context.Context, r *rand.Rand) {
	mean := float64(w.Clients) / w.Rate * float64(time.Second)
	next := time.Now()
	for ctx.Err() == nil {
		// By a clock, and not after each answer: who waits long for one comes sooner with
		// the next wish.
		next = next.Add(time.Duration(r.ExpFloat64() * mean))
		if late := time.Now(); next.Before(late) {
			next = late
		}
		if clock.Sleep(ctx, time.Until(next)) != nil {
			return
		}
		w.want(ctx, r)
	}
}

func (w *Workload) want(ctx context.Context, r *rand.Rand) {
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
		w.ask(ctx, w.customer(r), Event{Op: OpMe, Server: w.server(r)}, nil)
	}
}

// order asks for a piece until there is a definite answer, each time of the next
// server, and does with the order what customers do. It goes on when ctx ends, within
// eleven seconds to the last try: a wish that was given up would prove nothing.
func (w *Workload) order(ctx context.Context, r *rand.Rand, p Person, voucher string) {
	e := Event{Op: OpOrder, Server: w.server(r), Voucher: voucher, Wish: w.wishes.Add(1)}
	variables := map[string]any{"voucher": voucher}
	if r.IntN(3) == 0 {
		e.Key = "k" + strconv.FormatInt(e.Wish, 36)
		variables["key"] = e.Key
	}
	var got Event
	for try := range maxTries {
		if try > 0 {
			e.Server = (e.Server + 1) % w.Place.Servers()
			_ = clock.Sleep(context.WithoutCancel(ctx), time.Duration(50+r.IntN(200))*time.Millisecond) // nothing ends it
		}
		if got = w.ask(ctx, p, e, variables); got.Definite() {
			break
		}
	}
	h := held{p, voucher, got.Order}
	switch got.Status {
	case "QUEUED":
		w.pollLater(h)
	case "UNPAID":
		w.decide(ctx, r, h)
	}
}

// decide is what becomes of a new order.
func (w *Workload) decide(ctx context.Context, r *rand.Rand, h held) {
	w.mu.Lock()
	if w.orders = append(w.orders, h); len(w.orders) > 2*remembered {
		w.orders = append([]held(nil), w.orders[remembered:]...)
	}
	w.mu.Unlock()
	switch n := r.IntN(100); {
	case n < 6: // both at once, mostly of two servers
		other := rand.New(rand.NewPCG(r.Uint64(), 0))
		var both sync.WaitGroup
		both.Go(func() { w.pay(ctx, other, h) })
		w.cancel(ctx, r, h)
		both.Wait()
	case n < 20:
		w.pay(ctx, r, h)
	case n < 35:
		w.cancel(ctx, r, h)
	default: // it is held
	}
}

func (w *Workload) pay(ctx context.Context, r *rand.Rand, h held) {
	w.about(ctx, OpPay, r, h)
}

func (w *Workload) cancel(ctx context.Context, r *rand.Rand, h held) {
	w.about(ctx, OpCancel, r, h)
}

func (w *Workload) read(ctx context.Context, r *rand.Rand, h held) Event {
	return w.about(ctx, OpRead, r, h)
}

// about asks for something of an order, once.
func (w *Workload) about(ctx context.Context, op Op, r *rand.Rand, h held) Event {
	return w.ask(ctx, h.person, Event{Op: op, Server: w.server(r), Voucher: h.voucher, Order: h.order}, map[string]any{"order": h.order})
}

// pollLater has an order followed to its end, once.
func (w *Workload) pollLater(h held) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.queued[h.order] {
		w.queued[h.order] = true
		w.queue = append(w.queue, poll{held: h, due: time.Now()})
	}
}

// follow asks about queued orders, one after the other, until ctx ends or, if so
// wanted, none is left.
func (w *Workload) follow(ctx context.Context, r *rand.Rand, toTheEnd bool) {
	for ctx.Err() == nil {
		next, left := w.nextPoll()
		if left == 0 && toTheEnd {
			return
		}
		if next == nil {
			_ = clock.Sleep(ctx, 20*time.Millisecond) // the loop sees that ctx ended
			continue
		}
		e := w.read(ctx, r, next.held)
		w.polled(next, e)
		if e.Status == "UNPAID" && !toTheEnd {
			w.decide(ctx, r, next.held)
		}
	}
}

// nextPoll takes an order out of the queue that is due; left counts those that are
// being asked about too.
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

// polled puts an order back that has no end yet.
func (w *Workload) polled(p *poll, e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polling--
	if e.Status == "" || e.Status == "QUEUED" {
		p.due = time.Now().Add(pollPause)
		w.queue = append(w.queue, *p)
	}
}
