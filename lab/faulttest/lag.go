package faulttest

import "time"

const (
	// lagSlack is how long before a standby was told nothing a commit may have been
	// acknowledged that it lacks: what was on its way.
	lagSlack = 500 * time.Millisecond
	// mendedWithin is how soon after the promotion nobody is told any more of what was lost.
	mendedWithin = 5 * time.Second
)

// A Lag is a promotion of a standby that was behind, as a run sees it. What was
// acknowledged while it was told nothing is worth no more than an answer that never came:
// it may have been done or not. Of what was acknowledged before nothing may be lost, and
// nothing of what was acknowledged after it.
type Lag struct {
	Span                 // from the first acknowledgement that may be lost to the promotion
	Mended time.Duration // from then on nothing that was lost is told
}

// lags are those of the promotions of asynchronous standbys, since a history began.
func lags(all []Failover, begin time.Time) (list []Lag) {
	for _, f := range all {
		if !f.Behind.IsZero() {
			until := f.Promoted.Sub(begin)
			list = append(list, Lag{Span{f.Behind.Sub(begin) - lagSlack, until}, until + mendedWithin})
		}
	}
	return list
}

// covers reports whether the answer of an event came, or may have been under way, within
// the lag.
func (l Lag) covers(e Event) bool { return e.End >= l.From && e.Start <= l.To }

// forgive takes back what was told within the lag, and what was told of that until it was
// mended; so long, who cancelled within the lag may be told that all are sold. Vouchers that nobody has any more, for they were made within the lag, are left
// out with all that was wanted of them. kept says whether a voucher is there.
func (l Lag) forgive(events []Event, kept func(voucher string) bool) []Event {
	orders, vouchers := map[string]bool{}, map[string]bool{}
	claims := map[[2]string]bool{} // user and voucher of what was done within the lag
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
		lost := vouchers[e.Voucher] && !kept(e.Voucher)
		switch {
		case lost:
		case l.covers(e), e.Start > l.To && e.Start <= l.Mended && (orders[e.Order] || e.Code == "OUT_OF_STOCK" && claims[[2]string{e.User, e.Voucher}]):
			list = append(list, e.forgotten())
		default:
			list = append(list, e)
		}
	}
	return list
}

// forgotten is the event as if its answer had not come.
func (e Event) forgotten() Event {
	e.Code, e.Note, e.Status, e.Failure, e.Calm = Unknown, "an asynchronous standby took over", "", "", 0
	if e.Op == OpOpen {
		e.Voucher, e.Stock = "", 0
	}
	if e.Op == OpOrder {
		e.Order = ""
	}
	return e
}
