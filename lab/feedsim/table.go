package feedsim

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Table writes the parameters and the cost of each of the [Policies].
func Table(o Options, out io.Writer) error {
	largest := o.bands()[0]
	_, _ = fmt.Fprintf(out, "%s users follow %g each: a power law of exponent %g, the largest account has %s followers (%g of all users at most)\n",
		Count(float64(o.Users)), o.Follows, o.Exponent, Count(largest.followers), o.Largest)
	_, _ = fmt.Fprintf(out, "%g notes a user and day, growing with followers to the power of %g: %s a second, %.1f a day of the largest account\n",
		o.Posts, o.PostPower, Count(o.notes()), largest.posts)
	_, _ = fmt.Fprintf(out, "readers, %% of users : pages a day: %s; %s pages a second; active readers come once in %d days\n",
		FormatReaders(o.Readers), Count(o.pages()), activeDays)
	_, _ = fmt.Fprintf(out, "inboxes of %d entries of %g bytes, %s pushes a second in a fan-out; a write costs 1, a read 1\n\n", inboxSize, entryBytes, Count(o.PushRate))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "policy\twrites a note\twrites/s\treads a page\toutbox reads/s\tinboxes, GB\tlongest fan-out, s\tcost/s")
	policies := Policies()
	for i, c := range Costs(o, policies) {
		_, _ = fmt.Fprintf(table, "%s\t%.1f\t%s\t%.2f\t%s\t%s\t%s\t%s\n", policies[i].Name,
			c.WritesPerNote, Count(c.Writes), c.ReadsPerPage, Count(c.OutboxReads), threeDigits(c.Memory/1e9), threeDigits(c.Longest), Count(c.Sum))
	}
	return table.Flush()
}

// threeDigits formats a number with three significant digits, and all digits before the
// point.
func threeDigits(x float64) string {
	if x >= 100 {
		return Count(x)
	}
	return fmt.Sprintf("%.3g", x)
}
