package faulttest

import "time"

const (
	// lagSlack is the age of acknowledged commits, at the moment that replication stops, that
	// may still be in flight and get lost.
	lagSlack = 500 * time.Millisecond
	// invalidatedWithin is how soon after the promotion servers no longer report lost data.
	invalidatedWithin = 5 * time.Second
)

// Lag is a promotion of a standby that was behind. Answers within the lag are ignored: their
// operations may or may not have happened. Everything acknowledged before or after must
// remain.
type Lag struct {
	Span                      // from the first acknowledgement that may be lost to the promotion
	Invalidated time.Duration // from then on no lost data is reported
}

// lags returns the promotions of asynchronous standbys, since a history began.
func lags(all []Failover, begin time.Time) (list []Lag) {
	for _, f := range all {
		if !f.Behind.IsZero() {
			until := f.Promoted.Sub(begin)
			list = append(list, Lag{Span{f.Behind.Sub(begin) - lagSlack, until}, until + invalidatedWithin})
		}
	}
	return list
}

// covers reports whether the answer of an event may have been sent within the lag.
func (l Lag) covers(e Event) bool { return e.End >= l.From && e.Start <= l.To }

// forgive returns the events without the answers within the lag, and without answers about
// those orders up to l.Invalidated. Until then, a customer who cancelled within the lag may
// get OUT_OF_STOCK. It omits all events of vouchers that were created within the lag and
// lost. exists reports whether a voucher exists.
func (l Lag) forgive(events []Event, exists func(voucher string) bool) []Event {
	orders, vouchers := map[string]bool{}, map[string]bool{}
	claims := map[[2]string]bool{} // user and voucher of operations within the lag
	for _, e := range events {
		if !l.covers(e) {
			continue
		}
		if e.Op == OpOpen {
			vouchers[e.Voucher] = true
		}
		if e.Status != "" {
			orders[e.Order] = true
		}
		claims[[2]string{e.User, e.Voucher}] = true
	}
	var list []Event
	for _, e := range events {
		lost := vouchers[e.Voucher] && !exists(e.Voucher)
		switch {
		case lost:
		case l.covers(e), e.Start > l.To && e.Start <= l.Invalidated && (orders[e.Order] || e.Code == "OUT_OF_STOCK" && claims[[2]string{e.User, e.Voucher}]):
			list = append(list, e.withoutAnswer())
		default:
			list = append(list, e)
		}
	}
	return list
}

// withoutAnswer returns the event as if no answer had arrived.
func (e Event) withoutAnswer() Event {
	e.Code, e.Note, e.Status, e.Failure, e.Calm = Unknown, "an asynchronous standby took over", "", "", 0
	if e.Op == OpOpen {
		e.Voucher, e.Stock = "", 0
	}
	if e.Op == OpOrder {
		e.Order = ""
	}
	return e
}
