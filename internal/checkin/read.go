package checkin

import (
	"context"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// recent is the number of months that are stored in Redis, including the current one.
const recent = 13

// Month returns a user's check-ins of a month, as yyyy-mm; "" is the current month. An
// invalid month is BAD_USER_INPUT. A future month is empty.
//
// It costs one round trip to Redis, two if the streak began before last month. A streak of more
// than 13 months also costs a statement. Months missing in Redis cost one more statement and round
// trip. If Redis is unavailable, it costs one statement, so any other error means that the database
// failed. A check-in that did not reach Redis is missing until the outbox has run.
func (s *Service) Month(ctx context.Context, user int64, text string) (*Month, error) {
	ctx, span := observe.Span(ctx, "checkin.Month")
	defer span.End()
	today := s.today()
	requested := monthOf(today)
	if text != "" {
		var err error
		if requested, err = parseMonth(text); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	this := monthOf(today)
	b := monthReader{s: s, user: user, this: this, months: map[month]days{}}
	if err := b.load(ctx, requested, this, this.before(1)); err != nil {
		return nil, err
	}
	b.from = this.before(1)
	streak, err := b.streak(ctx, today)
	if err != nil {
		return nil, err
	}
	return &Month{Month: requested.String(), Days: b.months[requested].list(), Streak: streak, Today: today}, nil
}

// A monthReader holds the months of a user that one call has read.
type monthReader struct {
	s      *Service
	user   int64
	this   month // that of today
	months map[month]days
	from   month // all months from here up to the current one are read
	all    bool  // all months are read
}

// streak counts the consecutive days up to today, or up to yesterday if today has no
// check-in. It reads as far back as necessary.
func (b *monthReader) streak(ctx context.Context, today civil.Date) (int, error) {
	m, day := b.this, today.Day
	if !b.months[m].has(day) {
		day--
	}
	for n := 0; ; {
		run := b.months[m].run(day)
		n += run
		if run < day {
			return n, nil
		}
		m = m.before(1)
		day = m.last()
		if err := b.reach(ctx, m); err != nil {
			return 0, err
		}
	}
}

// reach reads up to a month: first the other months in Redis, then all older rows.
func (b *monthReader) reach(ctx context.Context, m month) error {
	oldest := b.this.before(recent - 1)
	if !b.all && m < b.from && m >= oldest {
		var months []month
		for at := b.from.before(1); at >= oldest; at = at.before(1) {
			months = append(months, at)
		}
		if err := b.load(ctx, months...); err != nil {
			return err
		}
		b.from = oldest
	}
	if b.all || m >= b.from {
		return nil
	}
	return b.loadBefore(ctx, b.from)
}

// load reads months: the recent ones from Redis, in one round trip; missing and older ones
// with one statement. It stores the missing ones in Redis. If Redis is unavailable, it
// reads all rows of the user with one statement: a row for each month.
func (b *monthReader) load(ctx context.Context, months ...month) error {
	slices.Sort(months)
	var cached, rest []bitRef
	for _, m := range slices.Compact(months) {
		p := bitRef{b.user, m}
		switch {
		case m > b.this: // a future month is empty
		case m < b.this.before(recent-1):
			rest = append(rest, p)
		default:
			cached = append(cached, p)
		}
	}
	found, err := b.s.bitmaps.read(ctx, cached)
	if err != nil {
		return b.loadBefore(ctx, b.this.before(-1))
	}
	var missing []bitRef
	for p, d := range found {
		if b.months[p.Month] = d &^ whole; d&whole == 0 {
			missing = append(missing, p)
		}
	}
	rows, err := b.s.rowsOf(ctx, b.s.db, append(rest, missing...))
	if err != nil {
		return err
	}
	fill := make(map[month]days, len(missing))
	for p, d := range rows {
		b.months[p.Month] |= d
		if slices.Contains(missing, p) {
			fill[p.Month] = d
		}
	}
	_ = b.s.bitmaps.complete(ctx, b.user, fill) // if Redis is unavailable, the next reader retries
	return nil
}

func (b *monthReader) loadBefore(ctx context.Context, m month) error {
	rows, err := b.s.rowsBefore(ctx, b.user, m)
	if err != nil {
		return err
	}
	maps.Copy(b.months, rows)
	b.all = true
	return nil
}
