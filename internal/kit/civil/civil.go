// Package calendar has days without a time of day, such as birthdays.
package civil

import (
	"cmp"
	"fmt"
	"time"
)

const layout = time.DateOnly // yyyy-mm-dd

// A Date is a day of the Gregorian calendar, of years 1 to 9999. Dates compare
// with ==, and with [Date.Before]; the zero value is no day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf is the day of t in its own zone.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// Parse reads yyyy-mm-dd, and nothing else. There is no 30th of February.
func Parse(s string) (Date, error) {
	t, err := time.Parse(layout, s)
	if err != nil || len(s) != len(layout) || t.Year() < 1 {
		return Date{}, fmt.Errorf("%.20q is no day as yyyy-mm-dd", s)
	}
	return DateOf(t), nil
}

// String is the day as yyyy-mm-dd.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// Before reports whether d is an earlier day than e.
func (d Date) Before(e Date) bool {
	return cmp.Or(cmp.Compare(d.Year, e.Year), cmp.Compare(d.Month, e.Month), cmp.Compare(d.Day, e.Day)) < 0
}

// Add is the day so many days later, or earlier if they are less than none.
func (d Date) Add(days int) Date {
	return DateOf(time.Date(d.Year, d.Month, d.Day+days, 0, 0, 0, 0, time.UTC))
}

// Weekday is the day of the week.
func (d Date) Weekday() time.Weekday {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Weekday()
}

// MarshalText implements encoding.TextMarshaler.
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Date) UnmarshalText(b []byte) error {
	parsed, err := Parse(string(b))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Days is how many days there are from one to another, both of them counted; 0 or
// less if the second is the earlier one.
func Days(from, to Date) int {
	const seconds = 24 * 60 * 60 // of a day; a time.Duration would end after 292 years
	day := func(d Date) int64 { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Unix() / seconds }
	return int(day(to)-day(from)) + 1
}
