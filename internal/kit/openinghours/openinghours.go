// Package openinghours reads opening hours in the notation of OpenStreetMap and answers questions
// about them.
//
// The notation is the one of
// https://wiki.openstreetmap.org/wiki/Key:opening_hours/specification, for example
// "Mo-Fr 08:00-22:00; Sa,Su 09:00-23:00". The package knows no holidays and no positions. [Hours]
// lists the parts of a text that it accepts and ignores.
//
// All times are wall clock times of the shop. A [time.Time] argument must be in its location.
package openinghours

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	dayMinutes  = 24 * 60
	weekMinutes = 7 * dayMinutes
	maxCloses   = 2 * dayMinutes // 48:00

	fixedHorizon  = 4 * 7 // days, also enough if a change falls into the skipped hour of a DST night
	variedHorizon = 400   // days, a little more than a year
)

// A Range is a time span of one day, in minutes after midnight. Opens is 0 to 1439. Closes is above
// Opens and at most 2880. A Closes above 1440 is a time of the next day: 1560 is 02:00.
type Range struct{ Opens, Closes int }

// A MinuteRange is a time span of a week, in minutes after Monday 00:00. From is included, To is
// not: 0 <= From < To <= 10080.
type MinuteRange struct{ From, To int }

// Hours holds parsed opening hours. The zero value is never open. It is immutable, so it is safe
// for concurrent use.
type Hours struct {
	// Ignored names the accepted parts that do not count, in order of appearance and without
	// repeats: "comments", "fallback rules", "open end", "public holidays", "school holidays",
	// "sun times", "unknown hours". Nil means that the answers are exact.
	Ignored []string

	days  [7][]Range // by weekday from Monday; unused if rules is not empty
	rules []rule     // only if the hours depend on the date
	text  string     // the parsed text, with rules
}

// Varies reports whether the hours differ between weeks, for example by season.
func (h Hours) Varies() bool { return len(h.rules) > 0 }

// Day returns the ranges that begin on the day of at, sorted and disjoint. The tail of the previous
// day after midnight is not among them.
func (h Hours) Day(at time.Time) []Range { return slices.Clone(h.day(dayNumber(at))) }

// IsOpen reports whether the shop is open at the wall clock minute of at.
//
// A range that crosses midnight counts on both days. In the night when clocks go back, both passes
// of the repeated hour give the same answer. In the night when clocks go forward, the skipped hour
// does not occur.
func (h Hours) IsOpen(at time.Time) bool {
	minute := at.Hour()*60 + at.Minute()
	day := dayNumber(at)
	for _, s := range spans(h.day(day-1), h.day(day)) {
		if s.Opens <= minute && minute < s.Closes {
			return true
		}
	}
	return false
}

// NextChange returns the first instant after at when IsOpen differs from the minute before, in the
// location of at.
//
// It reports false if there is no change within four weeks, or within 400 days for hours that vary.
// Ranges that touch do not change anything, also across midnight. A clock change can open or close a
// shop, because wall clock times count.
func (h Hours) NextChange(at time.Time) (time.Time, bool) {
	open, horizon := h.IsOpen(at), fixedHorizon
	if h.Varies() {
		horizon = variedHorizon
	}
	last := dayNumber(at) + horizon
	for {
		day, end := dayNumber(at), last
		_, shift := at.ZoneBounds()
		if !shift.IsZero() {
			shift = shift.In(at.Location())
			end = min(last, dayNumber(shift.Add(-1)))
		}
		// Between two clock changes, instants and wall clock times differ by a constant.
		if d, minute, ok := h.change(day, at.Hour()*60+at.Minute(), end, open); ok {
			hour, mins, sec := at.Clock()
			since := time.Duration(hour*60+mins)*time.Minute + time.Duration(sec)*time.Second + time.Duration(at.Nanosecond())
			next := at.Add(time.Duration((d-day)*dayMinutes+minute)*time.Minute - since)
			if shift.IsZero() || next.Before(shift) {
				return next, true
			}
		}
		if shift.IsZero() || end == last {
			return time.Time{}, false
		}
		at = shift // change also finds a state that differs from the begin on
	}
}

// change returns the first wall clock minute from (day, minute) on when the state is not open, up to
// the end of the day last.
func (h Hours) change(day, minute, last int, open bool) (int, int, bool) {
	today := h.day(day - 1)
	for ; day <= last; day, minute = day+1, 0 {
		before := today
		today = h.day(day)
		for _, s := range spans(before, today) {
			switch {
			case s.Closes <= minute:
			case !open:
				return day, max(s.Opens, minute), true
			case s.Opens > minute:
				return day, minute, true
			default:
				minute = s.Closes
			}
		}
		if open && minute < dayMinutes {
			return day, minute, true
		}
	}
	return 0, 0, false
}

// Week returns the spans of the week from Monday to Sunday that contains at. They are sorted and
// disjoint, and do not touch. Hours that do not vary have the same spans in each week.
//
// The spans are split at the end of the week: the tail of Sunday after midnight is part of the next
// week, and the week begins with the tail of the Sunday before.
func (h Hours) Week(at time.Time) []MinuteRange {
	day := dayNumber(at)
	monday := day - weekday(day)
	var week []MinuteRange
	for i := range 7 {
		for _, s := range spans(h.day(monday+i-1), h.day(monday+i)) {
			from, to := i*dayMinutes+s.Opens, i*dayMinutes+s.Closes
			if n := len(week); n > 0 && week[n-1].To == from {
				week[n-1].To = to
				continue
			}
			week = append(week, MinuteRange{from, to})
		}
	}
	return week
}

// spans returns the times of a day from 0 to 1440, with the tail of the day before. They are
// sorted and disjoint, and do not touch.
func spans(before, day []Range) []Range {
	var spans []Range
	for _, r := range before {
		if r.Closes > dayMinutes {
			spans = append(spans, Range{0, r.Closes - dayMinutes})
		}
	}
	for _, r := range day {
		spans = append(spans, Range{r.Opens, min(r.Closes, dayMinutes)})
	}
	return merge(spans)
}

func (h Hours) day(day int) []Range {
	if h.Varies() {
		return evaluate(h.rules, day)
	}
	return h.days[weekday(day)]
}

// String returns a text of at most 500 bytes from which [Parse] reads the same hours. It is canonical
// unless the hours vary: then it is the parsed text. Hours that are never open are "off", hours of
// 00:00 to 24:00 are "24/7".
func (h Hours) String() string {
	if h.Varies() {
		return h.text
	}
	var parts []string
	var done uint8
	for i, ranges := range h.days {
		if done>>i&1 == 1 || len(ranges) == 0 {
			continue
		}
		var same uint8
		for j := i; j < 7; j++ {
			if slices.Equal(ranges, h.days[j]) {
				same |= 1 << j
			}
		}
		done |= same
		if same == everyDay && slices.Equal(ranges, []Range{{0, dayMinutes}}) {
			return "24/7"
		}
		parts = append(parts, dayText(same)+" "+timeText(ranges))
	}
	return cmp.Or(strings.Join(parts, "; "), "off")
}

func dayName(weekday int) string {
	return strings.ToUpper(weekdays[weekday][:1]) + weekdays[weekday][1:2]
}

// dayText returns a set of weekdays such as "Mo-Fr,Su". Two neighbours are no range: "Sa,Su".
func dayText(days uint8) string {
	var parts []string
	for i := 0; i < 7; i++ {
		if days>>i&1 == 0 {
			continue
		}
		last := i
		for last < 6 && days>>(last+1)&1 == 1 {
			last++
		}
		if last-i < 2 {
			parts = append(parts, dayName(i))
			continue
		}
		parts = append(parts, dayName(i)+"-"+dayName(last))
		i = last
	}
	return strings.Join(parts, ",")
}

func timeText(ranges []Range) string {
	parts := make([]string, len(ranges))
	for i, r := range ranges {
		closes := r.Closes
		if closes > dayMinutes && closes-dayMinutes <= r.Opens {
			closes -= dayMinutes
		}
		parts[i] = fmt.Sprintf("%02d:%02d-%02d:%02d", r.Opens/60, r.Opens%60, closes/60, closes%60)
	}
	return strings.Join(parts, ",")
}

// merge sorts ranges and joins those that overlap or touch. It reuses the slice.
func merge(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return a.Opens - b.Opens })
	kept := ranges[:0]
	for _, r := range ranges {
		if n := len(kept); n > 0 && r.Opens <= kept[n-1].Closes {
			kept[n-1].Closes = max(kept[n-1].Closes, r.Closes)
			continue
		}
		kept = append(kept, r)
	}
	return kept
}

// subtract returns the parts of ranges outside of the cut.
func subtract(ranges []Range, cut Range) []Range {
	var kept []Range
	for _, r := range ranges {
		if r.Opens < min(r.Closes, cut.Opens) {
			kept = append(kept, Range{r.Opens, min(r.Closes, cut.Opens)})
		}
		if max(r.Opens, cut.Closes) < r.Closes {
			kept = append(kept, Range{max(r.Opens, cut.Closes), r.Closes})
		}
	}
	return kept
}
