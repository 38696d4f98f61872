package openinghours

import (
	"slices"
	"time"
)

// everyDay is the set of all weekdays; bit 0 is Monday.
const everyDay = 1<<7 - 1

// A rule states the hours of the days that match all of its selectors. Empty selectors match every
// day.
type rule struct {
	additional bool // adds to the earlier rules and does not replace them
	closed     bool
	years      []numberRange
	dates      []dateRange
	weeks      []numberRange // by ISO 8601
	days       uint8         // set of weekdays
	nth        []nthDay      // more days, each in addition to the set
	times      []Range       // only a closed rule can have none: it closes the whole day
}

// A numberRange holds every step-th number between two numbers, both included.
type numberRange struct{ from, to, step int }

func (r numberRange) contains(n int) bool {
	return r.from <= n && n <= r.to && (n-r.from)%r.step == 0
}

// An nthDay is the n-th weekday of a month, or the -n-th before its end, moved by some days.
type nthDay struct{ weekday, n, offset int }

func (d nthDay) contains(day int) bool {
	day -= d.offset
	if weekday(day) != d.weekday {
		return false
	}
	if d.n < 0 {
		return d.n == -((monthEnd(day)-civil(day).Day())/7 + 1)
	}
	return d.n == (civil(day).Day()-1)/7+1
}

// A dateRange holds every step-th day between two dates, both included. A range without a year wraps
// around the end of the year.
type dateRange struct {
	from, to date
	step     int
}

func (r dateRange) contains(day int) bool {
	first, last := civil(day).Year()-1, civil(day).Year()+1
	if r.from.year > 0 {
		first, last = r.from.year, r.from.year
	}
	for year := first; year <= last; year++ {
		from, to := r.from.first(year), r.to.last(year)
		if r.to.year == 0 && to < from {
			to = r.to.last(year + 1)
		}
		if r.from == r.to && !r.from.exists(year) {
			continue
		}
		if from <= day && day <= to && (day-from)%r.step == 0 {
			return true
		}
	}
	return false
}

// A date is a day or a whole month, in one year or in all.
type date struct {
	year   int // 0 means every year
	month  int // 0 means Easter Sunday
	day    int // 0 means the whole month, or see nth
	nth    nthDay
	after  int // moves to this weekday: 1 to 7 to the next from Monday, -1 to -7 back; 0 stays
	offset int // days, added at the end
}

// exists reports whether the year has the date. Only the 29th of February can be missing.
func (d date) exists(year int) bool {
	if d.year > 0 {
		year = d.year
	}
	return d.month == 0 || d.day == 0 || civil(number(year, d.month, d.day)).Day() == d.day
}

func (d date) first(year int) int { return d.resolve(year, false) }
func (d date) last(year int) int  { return d.resolve(year, true) }

// resolve returns the number of the day, or the first or last day of a whole month.
func (d date) resolve(year int, last bool) int {
	if d.year > 0 {
		year = d.year
	}
	var day int
	switch {
	case d.month == 0:
		day = easter(year)
	case d.nth.n > 0:
		day = number(year, d.month, 1)
		day += (d.nth.weekday-weekday(day)+7)%7 + 7*(d.nth.n-1)
	case d.nth.n < 0:
		day = number(year, d.month+1, 0)
		day -= (weekday(day)-d.nth.weekday+7)%7 + 7*(-d.nth.n-1)
	case d.day > 0:
		day = number(year, d.month, d.day)
		if last && !d.exists(year) {
			day--
		}
	case last:
		day = number(year, d.month+1, 0)
	default:
		day = number(year, d.month, 1)
	}
	if d.after > 0 {
		day += (d.after-1-weekday(day)+6)%7 + 1
	} else if d.after < 0 {
		day -= (weekday(day)+d.after+1+6)%7 + 1
	}
	return day + d.offset
}

func (r *rule) matches(day int) bool {
	contains := func(n int) func(numberRange) bool {
		return func(r numberRange) bool { return r.contains(n) }
	}
	if r.days>>weekday(day)&1 == 0 && !slices.ContainsFunc(r.nth, func(d nthDay) bool { return d.contains(day) }) {
		return false
	}
	if len(r.years) > 0 && !slices.ContainsFunc(r.years, contains(civil(day).Year())) {
		return false
	}
	if len(r.weeks) > 0 {
		if _, week := civil(day).ISOWeek(); !slices.ContainsFunc(r.weeks, contains(week)) {
			return false
		}
	}
	return len(r.dates) == 0 || slices.ContainsFunc(r.dates, func(d dateRange) bool { return d.contains(day) })
}

// varies reports whether the rule matches other days than those of fixed weekdays.
func (r *rule) varies() bool { return len(r.years)+len(r.dates)+len(r.weeks)+len(r.nth) > 0 }

// evaluate returns the ranges that begin on a day. Later rules replace earlier ones, except for the
// tail of the day before after midnight.
//
// A closed rule with times also cuts the tails that reach into its times, so the two days before and
// the day after matter too.
func evaluate(rules []rule, day int) []Range {
	var sets [4][]Range // of the days from day-2 to day+1
	for i := range rules {
		r := &rules[i]
		for n := range sets {
			switch {
			case !r.matches(day - 2 + n):
			case r.closed && len(r.times) == 0:
				sets[n] = nil
			case r.closed:
				for m := range sets {
					for _, t := range r.times {
						shift := (n - m) * dayMinutes
						sets[m] = subtract(sets[m], Range{t.Opens + shift, t.Closes + shift})
					}
				}
			case r.additional:
				sets[n] = merge(slices.Concat(sets[n], r.times))
			default:
				sets[n] = slices.Clone(r.times)
			}
		}
	}
	// A cut can leave a piece that begins after midnight. It belongs to the next day.
	var ranges []Range
	for _, r := range sets[1] {
		if r.Opens >= dayMinutes {
			ranges = append(ranges, Range{r.Opens - dayMinutes, r.Closes - dayMinutes})
		}
	}
	for _, r := range sets[2] {
		if r.Opens < dayMinutes {
			ranges = append(ranges, r)
		}
	}
	return merge(ranges)
}

// dayNumber returns the days from 1970-01-01 to the wall clock day of at.
func dayNumber(at time.Time) int {
	y, m, d := at.Date()
	return number(y, int(m), d)
}

func number(year, month, day int) int {
	return int(time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix() / (dayMinutes * 60))
}

func civil(day int) time.Time { return time.Unix(int64(day)*dayMinutes*60, 0).UTC() }

func monthEnd(day int) int {
	t := civil(day)
	return civil(number(t.Year(), int(t.Month())+1, 0)).Day()
}

// weekday returns 0 for Monday to 6 for Sunday. Day 0 was a Thursday.
func weekday(day int) int { return ((day+3)%7 + 7) % 7 }

// easter returns Easter Sunday by the algorithm of Meeus, Jones and Butcher.
func easter(year int) int {
	a, b, c := year%19, year/100, year%100
	h := (19*a + b - b/4 - (b-(b+8)/25+1)/3 + 15) % 30
	l := (32 + 2*(b%4) + 2*(c/4) - h - c%4) % 7
	m := (a + 11*h + 22*l) / 451
	n := h + l - 7*m + 114
	return number(year, n/31, n%31+1)
}
