package feedsim

import "strconv"

// A Policy is a way to make feeds.
type Policy struct {
	Name   string
	pushes func(author account, to Readers) bool
}

// Thresholds are the numbers of followers for which [Merge] is shown.
func Thresholds() []float64 {
	return []float64{1e3, 3e3, 1e4, 3e4, DefaultThreshold, 3e5, 1e6, 3e6}
}

// DefaultThreshold is how many followers an author has whom Tandian does not push any more.
const DefaultThreshold = 1e5

// Pull pushes nothing: each page is merged from the outboxes of all whom its reader follows.
func Pull() Policy {
	return Policy{"pull", func(account, Readers) bool { return false }}
}

// PushAll pushes each note to all followers.
func PushAll() Policy {
	return Policy{"push to all", func(account, Readers) bool { return true }}
}

// PushActive pushes each note to the followers who are active.
func PushActive() Policy {
	return Policy{"push to active readers", func(_ account, to Readers) bool { return to.active() }}
}

// ClassicHybrid pushes authors with a number of followers or more to their active ones only,
// all others to everybody.
func ClassicHybrid(threshold float64) Policy {
	return Policy{"classic hybrid at " + Count(threshold), func(author account, to Readers) bool {
		return author.followers < threshold || to.active()
	}}
}

// Merge pushes authors to their active followers, but nobody who has a number of followers or
// more: those are merged when a page is read.
func Merge(threshold float64) Policy {
	name := "merge from " + Count(threshold) + " on"
	if threshold == DefaultThreshold {
		name += " (Tandian)"
	}
	return Policy{name, func(author account, to Readers) bool {
		return author.followers < threshold && to.active()
	}}
}

// PerPair pushes if the reader comes more often than the author writes. Where a write and a
// read cost the same, no policy has fewer of both.
func PerPair() Policy {
	return Policy{"for each pair", func(author account, to Readers) bool { return to.Pages > author.posts }}
}

// Policies are all that a table shows.
func Policies() []Policy {
	list := []Policy{Pull(), PushAll(), PushActive(), ClassicHybrid(DefaultThreshold)}
	for _, threshold := range Thresholds() {
		list = append(list, Merge(threshold))
	}
	return append(list, PerPair())
}

// A Cost is what a policy costs.
type Cost struct {
	WritesPerNote float64 // inboxes that a note is written to, on average
	Writes        float64 // of inboxes a second
	ReadsPerPage  float64 // inboxes and outboxes that a page reads, on average
	OutboxReads   float64 // a second
	Memory        float64 // bytes of all inboxes
	Longest       float64 // seconds of the longest fan-out
	Sum           float64 // of writes and of all reads, a second
}

// Costs are those of policies, in their order. The options are right: see [Options.Check].
func Costs(o Options, policies []Policy) []Cost {
	bands := o.bands()
	list := make([]Cost, len(policies))
	for i, p := range policies {
		list[i] = o.cost(bands, p)
	}
	return list
}

func (o Options) cost(bands []band, p Policy) Cost {
	var c Cost
	inbox := make([]bool, len(o.Readers)) // who has one
	for _, b := range bands {
		reached := 0.0 // by a note
		for i, r := range o.Readers {
			followers := b.followers * r.Share
			if p.pushes(b.account, r) {
				inbox[i] = true
				reached += followers
			} else {
				c.OutboxReads += b.accounts * followers * r.Pages / daySeconds
			}
		}
		c.Writes += b.accounts * reached * b.posts / daySeconds
		c.Longest = max(c.Longest, reached/o.PushRate)
	}
	inboxReads := 0.0 // a second
	for i, r := range o.Readers {
		if inbox[i] {
			users := float64(o.Users) * r.Share
			inboxReads += users * r.Pages / daySeconds
			c.Memory += users * inboxSize * entryBytes
		}
	}
	c.WritesPerNote = c.Writes / o.notes()
	c.ReadsPerPage = (inboxReads + c.OutboxReads) / o.pages()
	c.Sum = c.Writes + inboxReads + c.OutboxReads
	return c
}

// Count writes a number with spaces between its thousands.
func Count(x float64) string {
	digits := strconv.FormatFloat(x, 'f', 0, 64)
	text := ""
	for len(digits) > 3 {
		text = " " + digits[len(digits)-3:] + text
		digits = digits[:len(digits)-3]
	}
	return digits + text
}
