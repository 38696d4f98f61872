package checkin

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
)

// days is a set of days of a month: bit d is set for day d, 1 to 31, as in the rows. In
// Redis, bit 0 is the mark.
type days uint32

// whole marks a bitmap that has all days of its row.
const whole days = 1

func dayBit(day int) days { return 1 << day }

func (d days) has(day int) bool { return d&dayBit(day) != 0 }

func (d days) count() int { return bits.OnesCount32(uint32(d &^ whole)) }

// list returns the days, ascending. It is never nil, because GraphQL needs a list.
func (d days) list() []int {
	list := make([]int, 0, d.count())
	for day := 1; day <= 31; day++ {
		if d.has(day) {
			list = append(list, day)
		}
	}
	return list
}

// run returns the number of consecutive days up to last, within the month.
func (d days) run(last int) int {
	n := 0
	for n < last && d.has(last-n) {
		n++
	}
	return n
}

// A month is a number yyyymm, as in rows and keys. Months compare in order.
type month int

func monthOf(day civil.Date) month { return month(100*day.Year + int(day.Month)) }

// parseMonth parses yyyy-mm of years 1 to 9999. Its error is BAD_USER_INPUT.
func parseMonth(text string) (month, error) {
	first, err := civil.Parse(text + "-01")
	if err != nil {
		return 0, apierror.BadInput("Invalid month %.20q. Use the format yyyy-mm.", text)
	}
	return monthOf(first), nil
}

// before returns the month n months earlier.
func (m month) before(n int) month {
	all := int(m)/100*12 + int(m)%100 - 1 - n
	return month(all/12*100 + all%12 + 1)
}

func (m month) last() int {
	return time.Date(int(m)/100, time.Month(m%100)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (m month) String() string { return fmt.Sprintf("%04d-%02d", int(m)/100, int(m)%100) }
