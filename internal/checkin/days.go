package checkin

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
	"github.com/tandian-dev/tandian/internal/kit/civil"
)

// days are days of a month: bit d is set for day d, 1 to 31, as in the rows. In Redis
// there is the mark besides.
type days uint32

// whole is the mark of a bitmap that has all that its row had.
const whole days = 1

// dayBit is a single day.
func dayBit(day int) days { return 1 << day }

func (d days) has(day int) bool { return d&dayBit(day) != 0 }

// count is how many days they are.
func (d days) count() int { return bits.OnesCount32(uint32(d &^ whole)) }

// list is the days, ascending; never nil, for the graph shows it as a list.
func (d days) list() []int {
	list := make([]int, 0, d.count())
	for day := 1; day <= 31; day++ {
		if d.has(day) {
			list = append(list, day)
		}
	}
	return list
}

// run is how many days in a row there are up to a last one, within the month.
func (d days) run(last int) int {
	n := 0
	for n < last && d.has(last-n) {
		n++
	}
	return n
}

// A month is yyyymm as a number, as rows and keys have it. Months compare in their order.
type month int

func monthOf(day civil.Date) month { return month(100*day.Year + int(day.Month)) }

// parseMonth reads yyyy-mm of years 1 to 9999, and nothing else; anything else is a fault.
func parseMonth(text string) (month, error) {
	first, err := civil.Parse(text + "-01")
	if err != nil {
		return 0, apierror.BadInput("%.20q is no month as yyyy-mm.", text)
	}
	return monthOf(first), nil
}

// before is the month that is n months earlier, in another year too.
func (m month) before(n int) month {
	all := int(m)/100*12 + int(m)%100 - 1 - n
	return month(all/12*100 + all%12 + 1)
}

// last is the last day of the month.
func (m month) last() int {
	return time.Date(int(m)/100, time.Month(m%100)+1, 0, 0, 0, 0, 0, time.UTC).Day()
}

func (m month) String() string { return fmt.Sprintf("%04d-%02d", int(m)/100, int(m)%100) }
