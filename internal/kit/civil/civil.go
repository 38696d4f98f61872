// Package civil provides days without a time of day, such as birthdays.
package civil

import (
	"cmp"
	"fmt"
	"time"
)

const layout = time.DateOnly // yyyy-mm-dd

// A Date is a day of the Gregorian calendar, in years 1 to 9999. Dates compare with == and
// [Date.Before]. The zero value is not a valid day.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// DateOf returns the day of t in the zone of t.
func DateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// Parse parses yyyy-mm-dd strictly. It rejects days that do not exist.
func Parse(s string) (Date, error) {
	t, err := time.Parse(layout, s)
	if err != nil || len(s) != len(layout) || t.Year() < 1 {
		return Date{}, fmt.Errorf("invalid day %.20q: want yyyy-mm-dd", s)
	}
	return DateOf(t), nil
}

// String returns the day as yyyy-mm-dd.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// Before reports whether d is an earlier day than e.
func (d Date) Before(e Date) bool {
	return cmp.Or(cmp.Compare(d.Year, e.Year), cmp.Compare(d.Month, e.Month), cmp.Compare(d.Day, e.Day)) < 0
}

// Add returns the day the given number of days later. days may be negative.
func (d Date) Add(days int) Date {
	return DateOf(time.Date(d.Year, d.Month, d.Day+days, 0, 0, 0, 0, time.UTC))
}

// Weekday returns the day of the week.
func (d Date) Weekday() time.Weekday {
	return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Weekday()
}

// MarshalText implements [encoding.TextMarshaler].
func (d Date) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *Date) UnmarshalText(b []byte) error {
	parsed, err := Parse(string(b))
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Days returns the number of days from one day to another, including both. It is 0 or less
// if to is before from.
func Days(from, to Date) int {
	const seconds = 24 * 60 * 60 // per day; a time.Duration ends after 292 years
	day := func(d Date) int64 { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC).Unix() / seconds }
	return int(day(to)-day(from)) + 1
}
