package livetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"
)

// A Record is all that is known of a run when it is over. Times are since it began.
type Record struct {
	Events  []Event                 // the whole log of the database, in order
	Follows map[Pair][]Follow       // what users did, in order
	Deletes map[int64]time.Duration // note → when its deletion was first asked for
	Clients []Client
}

// An Event is a line of the log: a note was published or deleted.
type Event struct {
	Seq          int64
	Kind         Kind // Added or Removed
	Note, Author int64
}

// A Kind is what a client was told.
type Kind string

// What clients are told, by the names of the graph.
const (
	Added   Kind = "FeedNoteAdded"
	Removed Kind = "FeedNoteRemoved"
	Ready   Kind = "FeedReady"
	Resync  Kind = "FeedResync"
)

// A Pair is a user and whom he follows.
type Pair struct{ User, Author int64 }

// A Follow is one that began, and perhaps ended.
type Follow struct {
	Since int64 // its row's since_seq: what has a larger number is due
	Ended bool
	Asked time.Duration // when its end was asked for
	// Late is a head of the feed that was read when its end should have been heard of: nothing
	// behind it is told any more. 0 if nobody read one.
	Late int64
}

// A Client is a user's, with all that it was told, in its order.
type Client struct {
	User  int64
	From  int64 // the number of the cursor that it began with; only what is behind it is due
	Told  []Delivered
	Conns []Conn
}

// Delivered is one message.
type Delivered struct {
	At   time.Duration
	Kind Kind
	Seq  int64 // of its cursor
	Note int64 // of Added and Removed
	Conn int   // place in the client's connections
}

// A Conn is a connection of a client.
type Conn struct {
	Server int
	SSE    bool
	After  int64 // the number of the cursor that it went on from; 0 for none
	Begin  time.Duration
}

// A Fault is a way in which a client was told what is not so.
type Fault string

// What is looked for.
const (
	Missed   Fault = "missed"       // due, and never told
	Twice    Fault = "twice"        // told again
	Disorder Fault = "out of order" // told after what has a larger number
	Strange  Fault = "strange"      // told, and not due
)

// Faults are all of them, with what they say.
var faults = []struct {
	Fault Fault
	Says  string
}{
	{Missed, "due, and never told"},
	{Twice, "told again"},
	{Disorder, "told after something newer"},
	{Strange, "told, and not due, or not so"},
}

// A Breach is one message that is missing or wrong.
type Breach struct {
	Fault Fault
	Text  string
}

// A Verdict is what Check finds.
type Verdict struct {
	Counts   map[Fault]int
	Breaches []Breach // the first of each fault
	Due      int      // messages that had to be told
	Told     int      // that were told, of any client
	Free     int      // that might have been told, and were not
	Skipped  int      // that were due and lay between a client's place and the cursor of a FeedResync
	Resyncs  int      // times that a client was told FeedResync
	Hasty    int      // of them those of a client that was not more than a thousand due numbers behind
}

// Broken says that something was told wrongly, or not at all.
func (v Verdict) Broken() bool { return len(v.Counts) > 0 }

const (
	breachesEach = 10
	resyncBeyond = 1000 // due numbers that a client is behind before it may be told to begin anew
)

// Check compares what clients were told with the log.
//
// A number is due to a client iff it is behind the client's first cursor and some follow of
// its author by the client's user began before it, by since_seq, and had not ended when
// the client was told. Three things are free:
//
//   - what was committed before a follow ended, but told to nobody so far: the follow may
//     be over when it is told. It has to be told if the client had come past that place
//     before the end was asked for;
//   - what was committed before the end of a follow must have been heard of (see
//     [Follow.Late]);
//   - that a note was published, if it was deleted since: as with a follow, it has to be
//     told if the client had come past that place before the deletion was asked for.
func Check(r *Record) Verdict {
	v := Verdict{Counts: map[Fault]int{}}
	log := readLog(r.Events)
	for i := range r.Clients {
		c := checking{Record: r, log: log, v: &v, client: &r.Clients[i]}
		c.follows = map[int64][]Follow{}
		for pair, all := range r.Follows {
			if pair.User == c.client.User {
				c.follows[pair.Author] = all
			}
		}
		c.told()
		c.due()
	}
	return v
}

// A line is what happened to a note.
type line struct {
	kind Kind
	note int64
}

func readLog(events []Event) map[line]Event {
	log := make(map[line]Event, len(events))
	for _, e := range events {
		log[line{e.Kind, e.Note}] = e
	}
	return log
}

// A checking is that of one client.
type checking struct {
	*Record
	log     map[line]Event
	v       *Verdict
	client  *Client
	follows map[int64][]Follow // by author

	seen    map[int64]int // number → place in what was told
	places  []placed      // rising in both
	skipped [][2]int64    // (from, until] of each FeedResync
}

// A placed says how far a client had come at a time.
type placed struct {
	at  time.Duration
	seq int64
}

// told looks at what the client was told.
func (c *checking) told() {
	c.seen = map[int64]int{}
	last := c.client.From
	for i, t := range c.client.Told {
		seq := t.Seq
		switch t.Kind {
		case Ready:
			if seq < last {
				c.breach(Disorder, i, "FeedReady goes back from %d to %d", last, seq)
			}
		case Resync:
			c.v.Resyncs++
			if seq < last {
				c.breach(Disorder, i, "FeedResync goes back from %d to %d", last, seq)
			}
			c.skipped = append(c.skipped, [2]int64{last, seq})
			if c.dueIn(last, seq) <= resyncBeyond {
				c.v.Hasty++
			}
		default:
			var ok bool
			if seq, ok = c.one(i, t, last); !ok {
				continue
			}
		}
		last = max(last, seq)
		if n := len(c.places); n == 0 || c.places[n-1].seq < last {
			c.places = append(c.places, placed{t.At, last})
		}
	}
}

// one looks at a note that was told, and returns its number; not ok if there is none.
func (c *checking) one(i int, t Delivered, last int64) (seq int64, ok bool) {
	c.v.Told++
	e, ok := c.log[line{t.Kind, t.Note}]
	if !ok {
		c.breach(Strange, i, "%s of note %d is not in the log", t.Kind, t.Note)
		return 0, false
	}
	if t.Seq != e.Seq {
		c.breach(Strange, i, "%s has the cursor of %d", e, t.Seq)
	}
	before, again := c.seen[e.Seq]
	switch {
	case again:
		c.breach(Twice, i, "%s was told before%s", e, c.where(before))
	case e.Seq <= last:
		c.breach(Disorder, i, "%s comes after %d", e, last)
	}
	c.seen[e.Seq] = i
	if !c.allowed(e) {
		c.breach(Strange, i, "%s is not due%s", e, c.followsOf(e.Author))
	}
	return e.Seq, true
}

// allowed says whether a follow allows that an event is told.
func (c *checking) allowed(e Event) bool {
	return slices.ContainsFunc(c.follows[e.Author], func(f Follow) bool {
		return f.Since < e.Seq && (!f.Ended || f.Late == 0 || e.Seq <= f.Late)
	})
}

// due looks for what the client was not told.
func (c *checking) due() {
	for _, e := range c.Events {
		if e.Seq <= c.client.From {
			continue
		}
		_, told := c.seen[e.Seq]
		switch due, free := c.owed(e); {
		case !due && !free:
		case slices.ContainsFunc(c.skipped, func(s [2]int64) bool { return e.Seq > s[0] && e.Seq <= s[1] }):
			if due && !told {
				c.v.Skipped++
			}
		case due:
			c.v.Due++
			if !told {
				c.missed(e)
			}
		case !told:
			c.v.Free++
		}
	}
}

// owed says whether an event has to be told, or else may be.
func (c *checking) owed(e Event) (due, free bool) {
	for _, f := range c.follows[e.Author] {
		switch {
		case f.Since >= e.Seq:
		case !f.Ended, c.placeAt(f.Asked) >= e.Seq:
			due = true
		case f.Late == 0 || e.Seq <= f.Late:
			free = true
		}
	}
	if gone, deleted := c.Deletes[e.Note]; due && deleted && e.Kind == Added && c.placeAt(gone) < e.Seq {
		return false, true
	}
	return due, free
}

// dueIn is how many numbers of (from, until] are due.
func (c *checking) dueIn(from, until int64) (n int) {
	for _, e := range c.Events {
		if e.Seq > from && e.Seq <= until {
			if due, _ := c.owed(e); due {
				n++
			}
		}
	}
	return n
}

// placeAt is how far the client had certainly come at a time.
func (c *checking) placeAt(at time.Duration) int64 {
	i := sort.Search(len(c.places), func(i int) bool { return c.places[i].at >= at })
	if i == 0 {
		return c.client.From
	}
	return c.places[i-1].seq
}

// missed notes that an event was not told, with what was told around it.
func (c *checking) missed(e Event) {
	after := slices.IndexFunc(c.client.Told, func(t Delivered) bool { return t.Seq > e.Seq })
	text := "nothing was told after it"
	if after >= 0 {
		text = "after it" + c.where(after)
	}
	if after < 0 {
		after = len(c.client.Told)
	}
	if after > 0 {
		text = "before it" + c.where(after-1) + "; " + text
	}
	c.breach(Missed, -1, "%s%s; %s", e, c.followsOf(e.Author), text)
}

func (c *checking) breach(f Fault, told int, format string, args ...any) {
	c.v.Counts[f]++
	if c.v.Counts[f] > breachesEach {
		return
	}
	text := fmt.Sprintf("user %d: ", c.client.User) + fmt.Sprintf(format, args...)
	if told >= 0 {
		text += "; it came" + c.where(told)
	}
	c.v.Breaches = append(c.v.Breaches, Breach{f, text})
}

// where is when and by which connection something was told.
func (c *checking) where(told int) string {
	t := c.client.Told[told]
	text := fmt.Sprintf(" %s %d at %.3fs", t.Kind, t.Seq, t.At.Seconds())
	if t.Conn < len(c.client.Conns) {
		conn := c.client.Conns[t.Conn]
		by := "socket"
		if conn.SSE {
			by = "stream"
		}
		text += fmt.Sprintf(" by %s %d (server %d, after %d, from %.3fs)", by, t.Conn, conn.Server, conn.After, conn.Begin.Seconds())
	}
	return text
}

// followsOf are the follows of an author, in words.
func (c *checking) followsOf(author int64) string {
	if len(c.follows[author]) == 0 {
		return ", the author is not followed"
	}
	var text strings.Builder
	text.WriteString(", followed")
	for _, f := range c.follows[author] {
		fmt.Fprintf(&text, " since %d", f.Since)
		if f.Ended {
			fmt.Fprintf(&text, " until asked to end at %.3fs, told up to %d at most", f.Asked.Seconds(), cmp.Or(f.Late, math.MaxInt64))
		}
	}
	return text.String()
}

func (e Event) String() string {
	return fmt.Sprintf("%d (%s of note %d by %d)", e.Seq, e.Kind, e.Note, e.Author)
}
