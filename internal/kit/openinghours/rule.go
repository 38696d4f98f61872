package openinghours

import (
	"cmp"
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
		return d.n == -((monthDays(day)-civil(day).Day())/7 + 1)
	}
	return d.n == (civil(day).Day()-1)/7+1
}

// A dateRange holds the days between two dates, both included. A range without a year wraps around
// the end of the year.
type dateRange struct{ from, to date }

func (r dateRange) contains(day int) bool {
	first, last := civil(day).Year()-1, civil(day).Year()+1
	if r.from.year > 0 {
		first, last = r.from.year, r.from.year
	}
	for year := first; year <= last; year++ {
		from, to := r.from.resolve(year, false), r.to.resolve(year, true)
		if to < from && r.from != r.to {
			to = r.to.resolve(year+1, true)
		}
		if from <= day && day <= to {
			return true
		}
	}
	return false
}

// A date is a day or a whole month, in one year or in all.
type date struct {
	year   int // 0 means every year
	month  int // 0 means Easter Sunday
	day    int // 0 means the whole month, or nth
	nth    nthDay
	offset int // days
}

// resolve returns the number of the day, or of the first or last day of a month. A year without the
// 29th of February has March 1 as the first and February 28 as the last.
func (d date) resolve(year int, last bool) int {
	year = cmp.Or(d.year, year)
	day := number(year, d.month, max(d.day, 1))
	switch {
	case d.month == 0:
		day = easter(year)
	case d.nth.n > 0:
		day += (d.nth.weekday-weekday(day)+7)%7 + 7*(d.nth.n-1)
	case d.nth.n < 0:
		day += monthDays(day) - 1
		day -= (weekday(day)-d.nth.weekday+7)%7 + 7*(-d.nth.n-1)
	case last && (d.day == 0 || civil(day).Day() != d.day):
		month := number(year, d.month, 1)
		day = month + monthDays(month) - 1
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
	first, last := 2, 2
	if slices.ContainsFunc(rules, func(r rule) bool { return r.closed && len(r.times) > 0 }) {
		first, last = 0, 3
	}
	for i := range rules {
		r := &rules[i]
		for n := first; n <= last; n++ {
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
	// A part that begins after midnight, because of a cut, belongs to the next day.
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

// monthDays returns the length of the month of a day.
func monthDays(day int) int {
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
