package openinghours

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
)

// monday is the first minute of an ordinary week.
var monday = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)

func mustParse(t *testing.T, text string) Hours {
	t.Helper()
	h, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func berlin(t *testing.T) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// at parses a wall clock time. 2026-06-01 is a Monday.
func at(t *testing.T, text string, zone *time.Location) time.Time {
	t.Helper()
	v, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestIsOpenOnWeekdays(t *testing.T) {
	for _, c := range []struct{ name, text, open, closed string }{
		{"always", "24/7", "06-01 00:00, 06-07 23:59", ""},
		{"never", "off", "", "06-01 00:00, 06-07 23:59"},
		{"begin and end", "Mo 08:00-12:00", "06-01 08:00, 06-01 11:59", "06-01 07:59, 06-01 12:00, 06-02 08:00"},
		{"past midnight", "Fr 18:00-02:00", "06-05 18:00, 06-06 00:00, 06-06 01:59", "06-05 01:00, 06-06 02:00, 06-06 18:00"},
		{"shortest tail", "Fr 18:00-00:01", "06-06 00:00", "06-06 00:01"},
		{"tail of Sunday", "Su 18:00-02:00", "06-01 00:00, 06-01 01:59, 06-07 23:59", "06-01 02:00, 06-07 01:00"},
		{"tail before a closed day", "Fr,Sa 18:00-02:00; Sa off", "06-06 01:59", "06-06 02:00, 06-06 18:00, 06-07 01:00"},
		{"longer than a day", "Mo 10:00-36:00", "06-01 10:00, 06-02 11:59", "06-01 09:59, 06-02 12:00"},
		{"end at midnight", "Mo 10:00-00:00", "06-01 23:59", "06-02 00:00, 06-01 09:59"},
		{"week wrap", "Sa-Mo 10:00-12:00", "06-01 10:00, 06-06 10:00, 06-07 10:00", "06-02 10:00, 06-05 10:00"},
		{"closed at noon", "24/7; 12:00-13:00 off", "06-03 11:59, 06-03 13:00", "06-03 12:00, 06-03 12:59"},
	} {
		t.Run(c.name, func(t *testing.T) { checkOpen(t, c.text, "2026-", c.open, c.closed) })
	}
}

func TestIsOpenOnDates(t *testing.T) {
	for _, c := range []struct{ name, text, open, closed string }{
		{"months", "Apr-Oct 09:00-18:00", "2026-04-01 09:00, 2026-10-31 17:00", "2026-03-31 10:00, 2026-11-01 10:00"},
		{"months over new year", "Nov-Feb 09:00-18:00", "2026-11-01 09:00, 2027-02-28 10:00, 2028-02-29 10:00", "2027-03-01 10:00, 2027-10-31 10:00"},
		{"seasons", "Mo-Fr 09:00-17:00; Jul Mo-Fr 10:00-12:00", "2026-06-30 09:00, 2026-07-01 10:00", "2026-07-01 09:00, 2026-07-31 12:00"},
		{"day off", "24/7; Dec 25 off", "2026-12-24 23:59, 2026-12-26 00:00", "2026-12-25 00:00, 2027-12-25 12:00"},
		{"days off", "24/7; Dec 25,26 off", "2026-12-27 12:00", "2026-12-25 12:00, 2026-12-26 12:00"},
		{"days of one month", "Jun 10-15 10:00-12:00", "2026-06-10 10:00, 2026-06-15 10:00", "2026-06-09 10:00, 2026-06-16 10:00"},
		{"month with a time", "Jun 10:00-15:00", "2026-06-01 10:00, 2026-06-30 14:59", "2026-06-01 15:00, 2026-07-01 10:00"},
		{"dates over new year", "24/7; Dec 24-Jan 6 off", "2026-12-23 12:00, 2027-01-07 12:00", "2026-12-24 12:00, 2027-01-01 12:00, 2027-01-06 12:00"},
		{"tail before a day off", "20:00-02:00; Dec 25 off", "2026-12-25 01:59, 2026-12-26 20:00", "2026-12-25 02:00, 2026-12-25 20:00, 2026-12-26 01:00"},
		{"dates of a year over new year", "24/7; 2026 Dec 24-Jan 6 off", "2026-01-03 10:00, 2027-12-25 10:00", "2026-12-24 10:00, 2027-01-06 10:00"},
		{"before 1970", "24/7; 1960 Mar 1 off", "1960-02-29 10:00, 1969-12-31 10:00", "1960-03-01 10:00"},
		{"date after a comma", "10:00-12:00, 2026 Jun 2 14:00-16:00", "2026-06-02 10:00, 2026-06-02 14:00", "2026-06-01 14:00"},
		{"leap day", "24/7; Feb 29 off", "2026-02-28 12:00, 2026-03-01 12:00, 2028-02-28 12:00", "2028-02-29 12:00"},
		{"end of February", "Feb 1-29 10:00-12:00", "2026-02-28 10:00, 2028-02-29 10:00", "2026-03-01 10:00"},
		{"year", "2026 Mo-Su 10:00-12:00", "2026-01-01 10:00, 2026-12-31 10:00", "2025-12-31 10:00, 2027-01-01 10:00"},
		{"every second year", "2026-2030/2 10:00-12:00", "2026-06-01 10:00, 2030-06-01 10:00", "2027-06-01 10:00, 2032-06-01 10:00"},
		{"from a year", "2026+ 10:00-12:00", "2026-01-01 10:00, 2050-01-01 10:00", "2025-12-31 10:00"},
		{"date of a year", "24/7; 2026 Jun 1 off", "2025-06-01 10:00, 2027-06-01 10:00", "2026-06-01 10:00"},
		{"dates of two years", "24/7; 2026 Dec 24-2027 Jan 6 off", "2026-01-03 10:00, 2027-12-25 10:00", "2026-12-24 10:00, 2027-01-06 10:00"},
		{"from a date", "2026 Jun 1+ 10:00-12:00", "2026-06-01 10:00, 2028-01-01 10:00", "2026-05-31 10:00"},
		{"odd weeks", "week 1-53/2 Mo 10:00-12:00", "2026-06-01 10:00, 2026-12-28 10:00", "2026-06-08 10:00"},
		{"first and last Monday", "Mo[1,-1] 10:00-12:00", "2026-06-01 10:00, 2026-06-29 10:00", "2026-06-08 10:00, 2026-06-22 10:00"},
		{"third Thursday", "Mo-Fr 10:00-12:00; Th[3] off", "2026-06-11 10:00, 2026-06-25 10:00", "2026-06-18 10:00"},
		{"day after a Saturday", "Sa[2] +1 day 10:00-12:00", "2026-06-14 10:00", "2026-06-13 10:00, 2026-06-07 10:00"},
		{"nth or weekday", "Tu,Mo[1] 10:00-12:00", "2026-06-01 10:00, 2026-06-09 10:00", "2026-06-08 10:00"},
		{"easter", "24/7; easter off", "2026-04-04 10:00, 2026-04-06 10:00", "2026-04-05 10:00, 2027-03-28 10:00, 2038-04-25 10:00"},
		{"around easter", "easter -2 days-easter +1 day 10:00-12:00", "2026-04-03 10:00, 2026-04-06 10:00", "2026-04-02 10:00, 2026-04-07 10:00"},
		{"colon after a date", "Nov 01: 08:00-12:00", "2026-11-01 08:00", "2026-11-02 08:00"},
		{"daylight saving time", "Mar Su[-1]-Oct Su[-1] -1 day 10:00-12:00", "2026-03-29 10:00, 2026-10-24 10:00", "2026-03-28 10:00, 2026-10-25 10:00"},
		{"second Sundays", "Jan Su[2]-Feb Su[1] 10:00-12:00", "2026-01-11 10:00, 2026-02-01 10:00", "2026-01-10 10:00, 2026-02-02 10:00"},
		{"nth day of months", "Jan-Mar Su[1] 10:00-12:00", "2026-01-04 10:00, 2026-02-01 10:00", "2026-01-11 10:00, 2026-04-05 10:00"},
		{"nth day of a month", "Jan Su[1] 10:00-12:00", "2026-01-04 10:00", "2026-01-11 10:00, 2026-01-05 10:00"},
		{"additional in summer", "10:00-12:00, Jul 14:00-16:00", "2026-07-01 10:00, 2026-07-01 14:00", "2026-06-30 14:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !mustParse(t, c.text).Varies() {
				t.Error("the hours do not vary")
			}
			checkOpen(t, c.text, "", c.open, c.closed)
		})
	}
}

func checkOpen(t *testing.T, text, prefix, open, closed string) {
	t.Helper()
	h := mustParse(t, text)
	for list, want := range map[string]bool{open: true, closed: false} {
		for _, s := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
			if got := h.IsOpen(at(t, prefix+strings.TrimSpace(s), time.UTC)); got != want {
				t.Errorf("%q is open at %s: %t, want %t", text, s, got, want)
			}
		}
	}
}

func TestNextChangeFindsFirstChange(t *testing.T) {
	for _, c := range []struct{ name, text, from, want string }{
		{"opens today", "Mo-Fr 08:00-12:00", "2026-06-01 07:30", "2026-06-01 08:00"},
		{"closes today", "Mo-Fr 08:00-12:00", "2026-06-01 08:00", "2026-06-01 12:00"},
		{"opens after the weekend", "Mo-Fr 08:00-12:00", "2026-06-05 12:00", "2026-06-08 08:00"},
		{"past midnight", "Fr 18:00-02:00", "2026-06-05 19:00", "2026-06-06 02:00"},
		{"touching at midnight", "Fr 18:00-24:00; Sa 00:00-03:00", "2026-06-05 19:00", "2026-06-06 03:00"},
		{"overlapping tails", "20:00-21:00", "2026-06-07 21:00", "2026-06-08 20:00"},
		{"open for days", "Sa 00:00-24:00; Su 00:00-24:00; Mo 00:00-06:00", "2026-06-06 05:00", "2026-06-08 06:00"},
		{"always", "Mo-Su 00:00-24:00", "2026-06-01 12:00", ""},
		{"always by tails", "Mo-Su 10:00-10:00", "2026-06-01 12:00", ""},
		{"never", "off", "2026-06-01 12:00", ""},
		{"day off", "24/7; Dec 25 off", "2026-06-01 12:00", "2026-12-25 00:00"},
		{"season", "Apr-Oct 09:00-18:00", "2026-10-31 18:00", "2027-04-01 09:00"},
		{"past year", "2020 10:00-12:00", "2026-06-01 12:00", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := mustParse(t, c.text).NextChange(at(t, c.from, time.UTC).Add(17 * time.Second))
			if !ok {
				got = time.Time{}
			}
			var want time.Time
			if c.want != "" {
				want = at(t, c.want, time.UTC)
			}
			if !got.Equal(want) {
				t.Errorf("next change after %s is %v, want %v", c.from, got, want)
			}
		})
	}
}

// In Berlin, 2026-03-29 02:00 +01:00 became 03:00 +02:00, and 2026-10-25 03:00 +02:00 became 02:00
// +01:00.
func TestNextChangeInNightsOfClockChanges(t *testing.T) {
	for _, c := range []struct {
		name, text, from string
		want             []string
	}{
		{"closes in the skipped hour", "Sa 20:00-02:30", "2026-03-28T23:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-04-04T20:00:00+02:00"}},
		{"opens in the skipped hour", "Su 02:30-05:00", "2026-03-29T00:00:00+01:00", []string{"2026-03-29T03:00:00+02:00", "2026-03-29T05:00:00+02:00"}},
		{"only in the skipped hour", "Su 02:00-03:00", "2026-03-29T00:00:00+01:00", []string{"2026-04-05T02:00:00+02:00"}},
		{"closed in the skipped hour", "24/7; Su 02:00-03:00 off", "2026-03-29T00:00:00+01:00", []string{"2026-04-05T02:00:00+02:00"}},
		{"after the skipped hour", "Su 04:00-05:00", "2026-03-29T00:00:00+01:00", []string{"2026-03-29T04:00:00+02:00"}},
		{"closes in the repeated hour", "Sa 20:00-02:30", "2026-10-25T00:00:00+02:00", []string{
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00", "2026-10-31T20:00:00+01:00",
		}},
		{"opens in the repeated hour", "Su 02:30-03:30", "2026-10-25T00:00:00+02:00", []string{
			"2026-10-25T02:30:00+02:00", "2026-10-25T02:00:00+01:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00",
		}},
		{"open in the repeated hour", "Su 01:00-04:00", "2026-10-25T01:30:00+02:00", []string{"2026-10-25T04:00:00+01:00"}},
		{"closes before the repeated hour", "Su 01:00-02:00", "2026-10-25T01:30:00+02:00", []string{"2026-10-25T02:00:00+02:00", "2026-11-01T01:00:00+01:00"}},
		{"always", "24/7", "2026-10-24T12:00:00+02:00", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := mustParse(t, c.text)
			now, err := time.Parse(time.RFC3339, c.from)
			if err != nil {
				t.Fatal(err)
			}
			now = now.In(berlin(t))
			var got []string
			for range max(len(c.want), 1) {
				next, ok := h.NextChange(now)
				if !ok {
					break
				}
				got = append(got, next.Format(time.RFC3339))
				now = next
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("changes of %q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

// randomText returns the text of a random schedule, and its minutes of the week if it is one of
// plain additional ranges.
func randomText(r *rand.Rand, plain bool) (string, []bool) {
	minutes := make([]bool, weekMinutes)
	var rules []string
	for range 1 + r.IntN(6) {
		day, opens, length := r.IntN(7), r.IntN(dayMinutes), 1+r.IntN(dayMinutes)
		if r.IntN(3) == 0 {
			opens, length = opens/180*180, (length+179)/180*180
		}
		rules = append(rules, fmt.Sprintf("%s %02d:%02d-%02d:%02d", dayName(day), opens/60, opens%60, (opens+length)/60, (opens+length)%60))
		for i := range length {
			minutes[(day*dayMinutes+opens+i)%weekMinutes] = true
		}
	}
	if plain {
		return strings.Join(rules, ", "), minutes
	}
	for i, text := range rules {
		prefixes := []string{"", "", "Mar ", "Oct 20-28 ", "week 1-53/2 ", "2026 Mar 29 ", "easter -7 days-easter "}
		rules[i] = prefixes[r.IntN(len(prefixes))] + text + []string{"", "", "", " off"}[r.IntN(4)]
	}
	return strings.Join(rules, []string{"; ", ", "}[r.IntN(2)]), nil
}

func seededRand(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestRandomWeeksMatchTheirMinutes(t *testing.T) {
	r := seededRand(t)
	for range 200 {
		text, minutes := randomText(r, true)
		h := mustParse(t, text)
		for i, want := range minutes {
			if h.IsOpen(monday.Add(time.Duration(i)*time.Minute)) != want {
				t.Fatalf("%q is open in minute %d: %t, want %t", text, i, !want, want)
			}
		}
		checkWeek(t, h, monday)
		checkRoundTrip(t, text, h)
	}
}

func TestNextChangeMatchesEveryMinute(t *testing.T) {
	r := seededRand(t)
	zone := berlin(t)
	for i := range 300 {
		text, _ := randomText(r, i%2 == 0)
		h, err := Parse(text)
		if err != nil {
			continue // all rules close
		}
		checkRoundTrip(t, text, h)
		start := time.Date(2026, 3, 26+r.IntN(5), r.IntN(24), r.IntN(60), r.IntN(60), 0, zone)
		if r.IntN(2) == 0 {
			start = time.Date(2026, 10, 22+r.IntN(5), r.IntN(24), r.IntN(60), r.IntN(60), 0, zone)
		}
		const scan = 4 * dayMinutes
		next, ok := h.NextChange(start)
		if ok && !next.Equal(next.Truncate(time.Minute)) {
			t.Fatalf("%q: next change %v is not a full minute", text, next)
		}
		open, minute := h.IsOpen(start), start.Truncate(time.Minute)
		for range scan {
			if minute = minute.Add(time.Minute); h.IsOpen(minute) != open {
				break
			}
		}
		changed := h.IsOpen(minute) != open
		if changed && (!ok || !next.Equal(minute)) || !changed && ok && !next.After(minute) {
			t.Fatalf("%q: next change after %v is %v (%t), a scan up to %v changes: %t", text, start, next, ok, minute, changed)
		}
	}
}

// checkWeek fails the test unless the spans of the week are in order and agree with IsOpen.
func checkWeek(t *testing.T, h Hours, from time.Time) {
	t.Helper()
	week := h.Week(from.Add(3 * 24 * time.Hour))
	last := -1
	for _, s := range week {
		if s.From <= last || s.To <= s.From || s.To > weekMinutes {
			t.Fatalf("week of %q is out of order: %v", h, week)
		}
		last = s.To
	}
	next := 0
	for i := range weekMinutes {
		for next < len(week) && week[next].To <= i {
			next++
		}
		want := next < len(week) && week[next].From <= i
		if got := h.IsOpen(from.Add(time.Duration(i) * time.Minute)); got != want {
			t.Fatalf("%q is open in minute %d: %t, but its week is %v", h, i, got, week)
		}
	}
}

func TestWeekAgreesWithIsOpen(t *testing.T) {
	for _, text := range documented {
		if h, err := Parse(text); err == nil {
			checkWeek(t, h, monday)
			checkWeek(t, h, time.Date(2026, 12, 21, 0, 0, 0, 0, time.UTC))
		}
	}
}

func TestWeekSplitsSundayNight(t *testing.T) {
	h := mustParse(t, "Mo 00:00-03:00; Sa 22:00-24:00; Su 00:00-01:00,20:00-02:00")
	want := []MinuteRange{{0, 180}, {5*1440 + 1320, 6*1440 + 60}, {6*1440 + 1200, 10080}}
	if diff := cmp.Diff(want, h.Week(monday)); diff != "" {
		t.Errorf("week (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]MinuteRange{{0, 10080}}, mustParse(t, "24/7").Week(monday)); diff != "" {
		t.Errorf("week (-want +got):\n%s", diff)
	}
	if week := mustParse(t, "off").Week(monday); week != nil {
		t.Errorf("week of a closed shop is %v", week)
	}
}

func TestDayListsRangesThatBegin(t *testing.T) {
	h := mustParse(t, "Mo-Su 18:00-04:00; Tu 01:00-02:00 off")
	want := []Range{{120, 240}, {1080, 1680}}
	if diff := cmp.Diff(want, h.Day(monday.AddDate(0, 0, 1))); diff != "" {
		t.Errorf("Tuesday (-want +got):\n%s", diff)
	}
	h.Day(monday)[0].Closes = 1
	if got := h.Day(monday)[0].Closes; got != 1500 {
		t.Errorf("caller changed the hours: Monday closes at %d", got)
	}
	if !mustParse(t, "Mo 10:00-12:00").IsOpen(time.Date(1969, 12, 22, 10, 0, 0, 0, time.UTC)) {
		t.Error("a Monday before 1970 is not open")
	}
	if (Hours{}).IsOpen(monday) || (Hours{}).String() != "off" {
		t.Error("the zero value is not closed")
	}
}

func BenchmarkNextChange(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"fixed", "Mo-Fr 08:00-12:00,14:00-18:00; Sa 09:00-12:00"},
		{"seasons", "Apr-Oct Mo-Fr 09:00-18:00; Nov-Mar Mo-Fr 10:00-16:00; Dec 25 off"},
		{"longest", "2020 10:00-12:00" + strings.Repeat(";easter 1-2 off", 30)},
	} {
		h, err := Parse(c.text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				h.NextChange(monday)
			}
		})
	}
}
