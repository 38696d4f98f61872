package openinghours

import (
	"fmt"
	"slices"
)

// allDay reads "24/7", "24 hours" or "24h".
func (p *parser) allDay() bool {
	if p.peek().text != "24" {
		return false
	}
	next, last := p.after(1), p.after(2)
	switch {
	case next.text == "/" && last.text == "7":
		p.pos += 3
	case next.text == "hours" || next.text == "hrs" || next.text == "h" && last.kind != numeral && last.text != "-":
		p.pos += 2
	default:
		return false
	}
	return true
}

// atTime reports whether the next token can begin a time.
func (p *parser) atTime() bool {
	t := p.peek()
	_, sun := sunTimes[t.text]
	return t.kind == numeral || t.kind == word && sun || t.kind == symbol && t.text == "("
}

// times reads a list of time ranges. It leaves a comma that begins an additional rule.
func (p *parser) times(s *selection) error {
	for {
		start := p.pos
		opens, err := p.time()
		if err != nil {
			return err
		}
		closes := dayMinutes
		if p.skip("+") {
			p.ignore("open end")
		} else {
			if !p.skip("-", "to") {
				return p.unexpected("a closing time")
			}
			if closes, err = p.time(); err != nil {
				return err
			}
			if p.skip("+") {
				p.ignore("open end")
			}
		}
		if closes <= opens {
			closes += dayMinutes
		}
		if opens >= dayMinutes || closes > maxCloses {
			return fmt.Errorf("%w: times must be 00:00 to 23:59, closing times up to 48:00", ErrUnknown)
		}
		sun := slices.ContainsFunc(p.tokens[start:p.pos], func(t token) bool { return sunTimes[t.text] > 0 })
		if sun && closes-opens > 18*60 {
			return fmt.Errorf("%w: times of the sun are too rough for this range", ErrUnknown)
		}
		s.times = append(s.times, Range{opens, closes})
		separator := p.pos
		if !p.skip(",", "&", "and") {
			return nil
		}
		if !p.atTime() || p.atDates() || p.allDay() {
			p.pos = separator
			return nil
		}
	}
}

// time reads one time such as "8:30", "08.30", "8h", "8 pm", "26:00" or "(sunset-01:30)".
func (p *parser) time() (int, error) {
	if p.skip("(") {
		base, ok := sunTimes[p.peek().text]
		if !ok {
			return 0, p.unexpected("an event of the sun")
		}
		p.pos++
		sign := 1
		if p.skip("-") {
			sign = -1
		} else if !p.skip("+") {
			return 0, p.unexpected("+ or -")
		}
		offset, err := p.clock()
		if err != nil {
			return 0, err
		}
		if !p.skip(")") {
			return 0, p.unexpected(")")
		}
		p.ignore("sun times")
		return min(max(base+sign*offset, 0), dayMinutes-1), nil
	}
	if base, ok := sunTimes[p.peek().text]; ok && p.peek().kind == word {
		p.pos++
		p.ignore("sun times")
		return base, nil
	}
	return p.clock()
}

func (p *parser) clock() (int, error) {
	if len(p.peek().text) > 2 {
		return 0, p.unexpected("a time")
	}
	hour, err := p.number(0, 48, "a time")
	if err != nil {
		return 0, err
	}
	minute := 0
	if p.skip(":", ".") || p.peek().text == "h" && p.after(1).kind == numeral && p.skip("h") {
		if len(p.peek().text) != 2 {
			return 0, p.unexpected("minutes")
		}
		if minute, err = p.number(0, 59, "minutes"); err != nil {
			return 0, err
		}
	}
	p.skip("h")
	if am := p.skip("am"); am || p.skip("pm") {
		if hour < 1 || hour > 12 {
			return 0, fmt.Errorf("%w: hours before am and pm must be 1 to 12", ErrUnknown)
		}
		hour %= 12
		if !am {
			hour += 12
		}
	}
	return hour*60 + minute, nil
}
