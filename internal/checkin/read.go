package checkin

import (
	"context"
	"maps"
	"slices"

	"github.com/tandian-dev/tandian/internal/kit/civil"
	"github.com/tandian-dev/tandian/internal/kit/observe"
)

// recent is how many months are kept in Redis, this one among them.
const recent = 13

// Month returns a user's check-ins of a month, as yyyy-mm; "" is this month. Anything
// else is a fault, BAD_USER_INPUT. A month to come is empty.
//
// It is one round trip to Redis if the streak began this month or the last one, two if it
// began within 13 months, and a statement besides if it is longer. What Redis lacks is one
// more statement and round trip. When Redis is away it is one statement, so any other error
// means that the database failed. A check-in that Redis could not be told of is missing for
// as long as the outbox takes.
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

// A monthReader is what one answer has read of a user's months.
type monthReader struct {
	s      *Service
	user   int64
	this   month // that of today
	months map[month]days
	from   month // it has this month, and all from here to there
	all    bool  // it has all there are
}

// streak counts the days in a row up to today, or up to yesterday as long as today is
// open. It reads as far back as it must.
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

// reach reads on until it has a month: first what else Redis keeps, then all that is older.
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

// load reads months: the recent ones from Redis, in one round trip; what is missing
// there, and older ones, by one statement. What was missing is filled in. If Redis is
// away it reads all rows of the user, by one statement: there is one for a month.
func (b *monthReader) load(ctx context.Context, months ...month) error {
	slices.Sort(months)
	var cached, rest []bitRef
	for _, m := range slices.Compact(months) {
		p := bitRef{b.user, m}
		switch {
		case m > b.this: // nobody has checked in there
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
	_ = b.s.bitmaps.complete(ctx, b.user, fill) // Redis is away: the next reader tries it
	return nil
}

// loadBefore reads all months before one from the rows.
func (b *monthReader) loadBefore(ctx context.Context, m month) error {
	rows, err := b.s.rowsBefore(ctx, b.user, m)
	if err != nil {
		return err
	}
	maps.Copy(b.months, rows)
	b.all = true
	return nil
}
