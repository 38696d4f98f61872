package openinghours

import (
	"fmt"
)

const (
	firstYear = 1900
	lastYear  = 9999
)

func isYear(t token) bool {
	n, ok := value(t)
	return ok && n >= firstYear
}

func isMonth(t token) bool {
	_, ok := named(t, months, 3)
	return ok || t.kind == word && t.text == "easter"
}

// atDates reports whether the next token begins a year, a date or a week.
func (p *parser) atDates() bool {
	t := p.peek()
	return isYear(t) || isMonth(t) || t.kind == word && (t.text == "week" || t.text == "weeks")
}

// dates reads one list of years, dates or weeks.
func (p *parser) dates(r *rule) (err error) {
	switch {
	case p.skip("week", "weeks"):
		if r.weeks != nil {
			return fmt.Errorf("%w: two lists of weeks", ErrUnknown)
		}
		r.weeks, err = p.numbers(1, 53, "a week from 1 to 53")
		if len(r.weeks) > 0 && r.weeks[0] == (numberRange{1, 53, 1}) {
			r.weeks = nil
		}
		return err
	case isYear(p.peek()) && !isMonth(p.after(1)):
		if r.years != nil || r.dates != nil {
			return fmt.Errorf("%w: two lists of years", ErrUnknown)
		}
		r.years, err = p.numbers(firstYear, lastYear, "a year")
		return err
	case r.dates != nil:
		return fmt.Errorf("%w: two lists of dates", ErrUnknown)
	}
	for {
		d, err := p.dateRange(r)
		if err != nil {
			return err
		}
		if r.years != nil && d.from.year > 0 {
			return fmt.Errorf("%w: years and dates with a year", ErrUnknown)
		}
		r.dates = append(r.dates, d)
		next := p.after(1)
		_, isDay := p.monthDay(1)
		if d.from.day == 0 || d.from.month != d.to.month {
			isDay = false
		}
		if !isMonth(next) && (!isYear(next) || !isMonth(p.after(2))) && !isDay || !p.skip(",") {
			break
		}
	}
	if len(r.dates) == 1 && r.dates[0] == (dateRange{date{month: 1}, date{month: 12}}) {
		r.dates = nil
	}
	return nil
}

// numbers reads a list such as "1-10/2,20" or "2025+".
func (p *parser) numbers(lowest, highest int, want string) ([]numberRange, error) {
	var list []numberRange
	for {
		from, err := p.number(lowest, highest, want)
		if err != nil {
			return nil, err
		}
		n := numberRange{from, from, 1}
		if p.skip("+") {
			n.to = highest
		} else if p.skip("-") {
			if n.to, err = p.number(from, highest, want); err != nil {
				return nil, err
			}
		}
		if p.skip("/") {
			if n.step, err = p.number(1, 100, "a step"); err != nil {
				return nil, err
			}
		}
		list = append(list, n)
		if next, ok := value(p.after(1)); !ok || next < lowest || next > highest || p.isClock(2) || !p.skip(",") {
			return list, nil
		}
	}
}

// isClock reports whether the n-th token from here shows that the number before it is an hour.
func (p *parser) isClock(n int) bool {
	switch p.after(n).text {
	case "h", "am", "pm":
		return true
	case ":", ".": // in "Nov 1: 08:00" it is for readability
		return p.after(n+1).kind == numeral && p.after(n+2).text != ":"
	}
	return false
}

// dateRange reads "Dec 25", "Dec 24-Jan 2", "Apr-Oct", "Dec 25,26", "2025 Jan 1+" or
// "Mar Su[-1]-Oct Su[-1]".
func (p *parser) dateRange(r *rule) (dateRange, error) {
	var from date
	var err error
	if day, ok := p.monthDay(0); ok && len(r.dates) > 0 {
		from = r.dates[len(r.dates)-1].from
		from.day, p.pos = day, p.pos+1
	} else if from, err = p.date(false); err != nil {
		return dateRange{}, err
	}
	d := dateRange{from, from}
	if p.skip("+") {
		d.to = date{month: 12, day: 31}
		if from.year > 0 {
			d.to.year = lastYear
		}
		return d, nil
	}
	if !p.skip("-", "to") {
		return d, nil
	}
	if day, ok := p.monthDay(0); ok && from.day > 0 {
		d.to = date{month: from.month, day: day}
		p.pos++
	} else if d.to, err = p.date(from.nth.n != 0); err != nil {
		return d, err
	}
	switch {
	case d.from.year == 0 && d.to.year > 0:
		return d, fmt.Errorf("%w: a year at the end of dates needs one at the begin", ErrUnknown)
	case d.from.year > 0 && d.to.year == 0:
		// The end is the first one after the begin.
		if d.to.year = d.from.year; d.to.resolve(0, true) < d.from.resolve(0, false) {
			d.to.year++
		}
	}
	return d, nil
}

// date reads one date such as "Dec", "2025 Dec 25" or "easter -2 days". A weekday as in "Mar Su[-1]"
// is part of the date only in ranges; elsewhere it is a selector of its own.
func (p *parser) date(inRange bool) (d date, err error) {
	if isYear(p.peek()) {
		d.year, _ = value(p.peek())
		p.pos++
	}
	if !p.skip("easter") {
		month, ok := named(p.peek(), months, 3)
		if !ok {
			return d, p.unexpected("a month")
		}
		p.pos++
		p.skip(".")
		d.month = month + 1
		if d.day, ok = p.monthDay(0); !ok {
			return d, p.nthOfMonth(&d, inRange)
		}
		if d.day > monthDays(number(2024, d.month, 1)) { // a leap year
			return d, p.unexpected("a day of the month")
		}
		p.pos++
	}
	d.offset, err = p.offset()
	return d, err
}

func (p *parser) nthOfMonth(d *date, inRange bool) error {
	weekday, ok := named(p.peek(), weekdays, 2)
	if !ok || p.after(1).text != "[" {
		return nil
	}
	start, list := p.pos, rule{}
	p.pos += 2
	if err := p.nth(&list, weekday); err != nil {
		return err
	}
	inRange = inRange || p.peek().text == "-" && (isMonth(p.after(1)) || isYear(p.after(1)))
	if !inRange || len(list.nth) > 1 {
		p.pos = start
		return nil
	}
	d.nth, d.offset = list.nth[0], list.nth[0].offset
	return nil
}

// monthDay returns the day of the month in the n-th token from here, unless that is an hour.
func (p *parser) monthDay(n int) (int, bool) {
	day, ok := value(p.after(n))
	if !ok || day < 1 || day > 31 || len(p.after(n).text) > 2 || p.isClock(n+1) {
		return 0, false
	}
	return day, true
}

// offset reads "+1 day" or "-2 days", or returns 0.
func (p *parser) offset() (int, error) {
	sign := 1
	switch p.peek().text {
	case "-":
		sign = -1
	case "+":
	default:
		return 0, nil
	}
	if unit := p.after(2).text; unit != "day" && unit != "days" {
		return 0, nil
	}
	p.pos++
	n, err := p.number(0, 366, "a number of days")
	p.pos++
	return sign * n, err
}
