package feedsim

import "strconv"

// Policy decides which notes are pushed to which readers.
type Policy struct {
	Name   string
	pushes func(author account, to Readers) bool
}

// Thresholds returns the follower thresholds for which the table and the chart show [Merge].
func Thresholds() []float64 {
	return []float64{1e3, 3e3, 1e4, 3e4, DefaultThreshold, 3e5, 1e6, 3e6}
}

// DefaultThreshold is the number of followers from which Tandian does not push an author's
// notes.
const DefaultThreshold = 1e5

// Pull pushes nothing: each page is merged from the outboxes of all followed authors.
func Pull() Policy {
	return Policy{"pull", func(account, Readers) bool { return false }}
}

// PushAll pushes each note to all followers.
func PushAll() Policy {
	return Policy{"push to all", func(account, Readers) bool { return true }}
}

// PushActive pushes each note to the active followers.
func PushActive() Policy {
	return Policy{"push to active readers", func(_ account, to Readers) bool { return to.active() }}
}

// ClassicHybrid pushes authors with at least threshold followers only to their active ones,
// and all other authors to all followers.
func ClassicHybrid(threshold float64) Policy {
	return Policy{"classic hybrid at " + Count(threshold), func(author account, to Readers) bool {
		return author.followers < threshold || to.active()
	}}
}

// Merge pushes authors to their active followers, except authors with at least threshold
// followers: their notes are merged when a page is read.
func Merge(threshold float64) Policy {
	name := "merge from " + Count(threshold) + " on"
	if threshold == DefaultThreshold {
		name += " (Tandian)"
	}
	return Policy{name, func(author account, to Readers) bool {
		return author.followers < threshold && to.active()
	}}
}

// PerPair pushes if the reader comes more often than the author writes. If a write and a read
// cost the same, no policy has a smaller sum of both.
func PerPair() Policy {
	return Policy{"for each pair", func(author account, to Readers) bool { return to.Pages > author.posts }}
}

// Policies returns all policies of the table.
func Policies() []Policy {
	list := []Policy{Pull(), PushAll(), PushActive(), ClassicHybrid(DefaultThreshold)}
	for _, threshold := range Thresholds() {
		list = append(list, Merge(threshold))
	}
	return append(list, PerPair())
}

// Cost is the cost of a policy.
type Cost struct {
	WritesPerNote float64 // inbox writes per note, on average
	Writes        float64 // inbox writes per second
	ReadsPerPage  float64 // inbox and outbox reads per page, on average
	OutboxReads   float64 // per second
	Memory        float64 // bytes of all inboxes
	Longest       float64 // seconds of the longest fan-out
	Sum           float64 // writes and all reads, per second
}

// Costs returns the costs of policies, in their order. The options must be valid: see
// [Options.Check].
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
	inbox := make([]bool, len(o.Readers)) // by class of readers
	for _, b := range bands {
		reached := 0.0 // readers per note
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
	inboxReads := 0.0 // per second
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
