package openinghours

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	maxText    = 500 // bytes, of a text and of its canonical form
	unknownDay = "unknown hours"
)

// ErrUnknown is wrapped by all errors of [Parse].
var ErrUnknown = errors.New("unknown opening hours")

// Parse reads the opening hours in a text of at most 500 bytes.
//
// Rules without a weekday hold every day. Later rules replace earlier ones on their days, rules after
// a comma add to them. A range that ends at or before its begin ends on the next day. An open end
// ("18:00+") is midnight, and the sun rises at 06:00 and sets at 18:00. Unknown hours count as closed.
//
// Rules for public and school holidays, fallback rules and comments are ignored, see [Hours]. It
// returns an error that wraps [ErrUnknown] for a text that it does not understand, or that states no
// hours.
func Parse(text string) (Hours, error) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxText {
		return Hours{}, fmt.Errorf("%w: text must be 1 to %d bytes", ErrUnknown, maxText)
	}
	tokens, err := lex(text)
	if err != nil {
		return Hours{}, err
	}
	p := parser{tokens: tokens}
	if err := p.text(); err != nil {
		return Hours{}, err
	}
	h := Hours{Ignored: p.ignored, rules: p.rules, text: text}
	if !slices.ContainsFunc(p.rules, func(r rule) bool { return r.varies() }) {
		for i := range h.days {
			h.days[i] = evaluate(p.rules, number(2024, 1, 1)+i) // a Monday
		}
		h.rules, h.text = nil, ""
		p.stated = p.stated && (h.String() != "off" || !slices.Contains(p.ignored, unknownDay))
	}
	if !p.stated {
		return Hours{}, fmt.Errorf("%w: no hours for ordinary days", ErrUnknown)
	}
	if len(h.String()) > maxText {
		return Hours{}, fmt.Errorf("%w: too many rules", ErrUnknown)
	}
	return h, nil
}

type parser struct {
	tokens  []token
	pos     int
	rules   []rule
	ignored []string
	stated  bool // some rule is open, or closes all days
}

func (p *parser) peek() token       { return p.tokens[p.pos] }
func (p *parser) after(n int) token { return p.tokens[min(p.pos+n, len(p.tokens)-1)] }

// skip consumes the next token if it has one of the texts and is no comment.
func (p *parser) skip(texts ...string) bool {
	t := p.peek()
	if t.kind == end || t.kind == comment || !slices.Contains(texts, t.text) {
		return false
	}
	p.pos++
	return true
}

func (p *parser) ignore(what string) {
	if !slices.Contains(p.ignored, what) {
		p.ignored = append(p.ignored, what)
	}
}

// unexpected returns the error for the next token.
func (p *parser) unexpected(want string) error {
	if p.peek().kind == end {
		return fmt.Errorf("%w: text ends, want %s", ErrUnknown, want)
	}
	return fmt.Errorf("%w: unexpected %.20q, want %s", ErrUnknown, p.peek().text, want)
}

// text reads all rules.
func (p *parser) text() error {
	for additional := false; ; {
		for p.skip(";") {
		}
		if p.peek().kind == end {
			return nil
		}
		if err := p.rule(additional); err != nil {
			return err
		}
		additional = false
		switch _, isDay := named(p.peek(), weekdays, 2); {
		case p.peek().kind == end:
		case p.skip("||"):
			p.ignore("fallback rules")
			return nil
		case p.skip(",", "&", "and"):
			additional = true
		case !p.skip(";") && !isDay: // a missing separator is clear before a weekday
			return p.unexpected("; between rules")
		}
	}
}

// selection holds the state of one rule while it is read.
type selection struct {
	rule
	dayLists int
	holiday  bool // the rule holds only on holidays
	allDay   bool // "24/7", or "open" without times
	unknown  bool
	comments bool
	modified bool
}

// rule reads one rule. It keeps the rule if it matters on ordinary days.
func (p *parser) rule(additional bool) error {
	s := selection{rule: rule{additional: additional}}
	start := p.pos
	for more := true; more; {
		var err error
		if more, err = p.part(&s); err != nil {
			return err
		}
	}
	if p.pos == start {
		return p.unexpected("a day or a time")
	}
	return p.add(s)
}

// part reads one selector or modifier. It reports false at the end of the rule.
func (p *parser) part(s *selection) (bool, error) {
	t := p.peek()
	_, isDay := named(t, weekdays, 2)
	switch {
	case s.modified && t.kind != comment:
		return false, nil
	case t.kind == comment:
		p.pos++
		s.comments = true
		p.ignore("comments")
	case len(s.times) == 0 && !s.allDay && p.atDates():
		return true, p.dates(&s.rule)
	case isDay && len(s.times) > 0:
		return false, nil
	case isDay || t.text == "ph" || t.text == "sh":
		return true, p.weekdays(s)
	case p.skip("daily", "everyday"):
		s.dayLists++
		s.days = everyDay
	case p.skip(":", "."):
		// for readability
	case p.skip("open"):
		s.modified, s.allDay = true, true
	case p.skip("off", "closed"):
		s.modified, s.closed = true, true
	case p.skip("unknown"):
		s.modified, s.closed, s.unknown = true, true, true
	case len(s.times) > 0 || s.allDay:
		return false, nil
	case p.allDay():
		s.allDay = true
	case p.atTime():
		return true, p.times(s)
	default:
		return false, nil
	}
	return true, nil
}

// add keeps a complete rule.
func (p *parser) add(s selection) error {
	if s.dayLists == 0 {
		s.days = everyDay
	}
	if s.comments && !s.modified && !s.allDay && len(s.times) == 0 {
		s.closed, s.unknown = true, true // a comment instead of hours
	}
	if s.unknown {
		p.ignore(unknownDay)
	}
	if s.holiday {
		return nil
	}
	if s.allDay && len(s.times) == 0 && !s.closed {
		s.times = []Range{{0, dayMinutes}}
	}
	if len(s.times) == 0 && !s.closed {
		return p.unexpected("a time")
	}
	if s.days == everyDay {
		s.nth = nil
	}
	s.times = merge(s.times)
	allDays := s.days == everyDay && !s.varies() && len(s.times) == 0
	p.stated = p.stated || !s.closed || allDays && !s.unknown
	p.rules = append(p.rules, s.rule)
	return nil
}

// weekdays reads a list such as "Mo-Fr,Su", "Th[1,-1] +1 day" or "PH".
func (p *parser) weekdays(s *selection) error {
	s.dayLists++
	ordinary := false
	for {
		switch {
		case p.skip("ph"):
			p.ignore("public holidays")
			if _, err := p.offset(); err != nil {
				return err
			}
		case p.skip("sh"):
			p.ignore("school holidays")
		default:
			ordinary = true
			if err := p.weekday(&s.rule); err != nil {
				return err
			}
		}
		if _, isDay := named(p.after(1), weekdays, 2); !isDay && p.after(1).text != "ph" && p.after(1).text != "sh" {
			break
		}
		if !p.skip(",", "&", "and") {
			break
		}
	}
	s.holiday = s.holiday || !ordinary
	if s.dayLists > 1 && !s.holiday {
		return fmt.Errorf("%w: two lists of weekdays", ErrUnknown)
	}
	return nil
}

func (p *parser) weekday(r *rule) error {
	first, ok := named(p.peek(), weekdays, 2)
	if !ok {
		return p.unexpected("a weekday")
	}
	p.pos++
	p.skip(".")
	if p.skip("[") {
		return p.nth(r, first)
	}
	last := first
	if p.skip("-", "to") {
		if last, ok = named(p.peek(), weekdays, 2); !ok {
			return p.unexpected("a weekday")
		}
		p.pos++
		p.skip(".")
	}
	for d := first; ; d = (d + 1) % 7 {
		r.days |= 1 << d
		if d == last {
			return nil
		}
	}
}

// nth reads the rest of "Mo[1,3-4] -2 days" after the bracket.
func (p *parser) nth(r *rule, weekday int) error {
	start := len(r.nth)
	for {
		sign := 1
		if p.skip("-") {
			sign = -1
		}
		from, err := p.number(1, 5, "an ordinal from 1 to 5")
		to := from
		if err == nil && sign > 0 && p.skip("-") {
			to, err = p.number(from, 5, "an ordinal up to 5")
		}
		if err != nil {
			return err
		}
		for n := from; n <= to; n++ {
			r.nth = append(r.nth, nthDay{weekday: weekday, n: sign * n})
		}
		if p.skip(",") {
			continue
		}
		break
	}
	if !p.skip("]") {
		return p.unexpected("]")
	}
	offset, err := p.offset()
	for i := start; i < len(r.nth); i++ {
		r.nth[i].offset = offset
	}
	return err
}

// number reads an integer from lowest to highest.
func (p *parser) number(lowest, highest int, want string) (int, error) {
	n, ok := value(p.peek())
	if !ok || n < lowest || n > highest {
		return 0, p.unexpected(want)
	}
	p.pos++
	return n, nil
}

// value returns the number in a token of at most 4 digits.
func value(t token) (int, bool) {
	if t.kind != numeral || len(t.text) > 4 {
		return 0, false
	}
	n := 0
	for _, c := range t.text {
		n = 10*n + int(c-'0')
	}
	return n, true
}
