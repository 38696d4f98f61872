package openinghours

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// String returns a canonical text of at most 500 bytes. [Parse] reads the same hours from it, and
// nothing is ignored. Hours that are never open are "off", hours of 00:00 to 24:00 are "24/7".
func (h Hours) String() string {
	if h.Varies() {
		var b strings.Builder
		for i, r := range h.rules {
			switch {
			case i == 0:
			case r.additional:
				b.WriteString(", ")
			default:
				b.WriteString("; ")
			}
			b.WriteString(r.String())
		}
		return b.String()
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
	if len(parts) == 0 {
		return "off"
	}
	return strings.Join(parts, "; ")
}

func (r rule) String() string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(join(r.years, numberRange.String))
	add(join(r.dates, dateRange.String))
	if len(r.weeks) > 0 {
		add("week " + join(r.weeks, numberRange.String))
	}
	days := ""
	if r.days != everyDay || r.additional {
		days = dayText(r.days)
	}
	if days != "" && len(r.nth) > 0 {
		days += ","
	}
	add(days + join(r.nth, nthDay.String))
	add(timeText(r.times))
	if r.closed {
		add("off")
	}
	return strings.Join(parts, " ")
}

func join[T any](list []T, text func(T) string) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = text(v)
	}
	return strings.Join(parts, ",")
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
	return join(ranges, func(r Range) string {
		closes := r.Closes
		if closes > dayMinutes && closes-dayMinutes <= r.Opens {
			closes -= dayMinutes
		}
		return fmt.Sprintf("%02d:%02d-%02d:%02d", r.Opens/60, r.Opens%60, closes/60, closes%60)
	})
}

func stepText(step int) string {
	if step == 1 {
		return ""
	}
	return "/" + strconv.Itoa(step)
}

func (r numberRange) String() string {
	text := strconv.Itoa(r.from)
	if r.to != r.from {
		text += "-" + strconv.Itoa(r.to)
	}
	return text + stepText(r.step)
}

func offsetText(days int) string {
	if days == 0 {
		return ""
	}
	return fmt.Sprintf(" %+d days", days)
}

func (d nthDay) String() string {
	return fmt.Sprintf("%s[%d]%s", dayName(d.weekday), d.n, offsetText(d.offset))
}

func (r dateRange) String() string {
	text := r.from.String()
	if r.to != r.from {
		text += "-" + r.to.String()
	}
	return text + stepText(r.step)
}

func (d date) String() string {
	text := "easter"
	if d.month > 0 {
		name := months[d.month-1]
		text = strings.ToUpper(name[:1]) + name[1:3]
	}
	if d.year > 0 {
		text = strconv.Itoa(d.year) + " " + text
	}
	switch {
	case d.nth.n != 0:
		text += " " + d.nth.String()
	case d.day > 0:
		text += " " + strconv.Itoa(d.day)
	}
	if d.after > 0 {
		text += " +" + dayName(d.after-1)
	} else if d.after < 0 {
		text += " -" + dayName(-d.after-1)
	}
	return text + offsetText(d.offset)
}
