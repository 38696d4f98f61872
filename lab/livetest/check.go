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

// Record is the input of the checks after a run. Times count from the start of the run.
type Record struct {
	Events  []Event                 // the whole log of the database, in order
	Follows map[Pair][]Follow       // by user and author, in order
	Deletes map[int64]time.Duration // note → time of the first deletion request
	Clients []Client
}

// Event is an entry of the log: a note was published or deleted.
type Event struct {
	Seq          int64
	Kind         Kind // Added or Removed
	Note, Author int64
}

// Kind is the type of a message.
type Kind string

// Message types, as in the GraphQL schema.
const (
	Added   Kind = "FeedNoteAdded"
	Removed Kind = "FeedNoteRemoved"
	Ready   Kind = "FeedReady"
	Resync  Kind = "FeedResync"
)

// Pair is a user and an author.
type Pair struct{ User, Author int64 }

// Follow is one follow, which may have ended.
type Follow struct {
	Since        int64 // its row's since_seq: larger numbers are due
	Ended        bool
	EndRequested time.Duration // time of the unfollow request
	// MaxSeq is the last number that may be sent: the head of the feed when the unfollow must
	// have taken effect. 0 means unknown.
	MaxSeq int64
}

// Client is the client of one user, with all messages in the order of their arrival.
type Client struct {
	User     int64
	From     int64 // number of its first cursor; only larger numbers are due
	Received []Delivered
	Conns    []Conn
}

// Delivered is one message.
type Delivered struct {
	At   time.Duration
	Kind Kind
	Seq  int64 // number in its cursor
	Note int64 // note of Added and Removed
	Conn int   // index in the client's connections
}

// Conn is a connection of a client.
type Conn struct {
	Server int
	SSE    bool
	After  int64 // number of the cursor that it resumed from; 0 for none
	Begin  time.Duration
}

// Fault is a kind of wrong delivery.
type Fault string

// Faults that the checks find.
const (
	Missed     Fault = "missed"       // due, and never received
	Twice      Fault = "twice"        // received again
	Disorder   Fault = "out of order" // received after a larger number
	Unexpected Fault = "strange"      // received, and not due
)

// faults lists all kinds with their meaning.
var faults = []struct {
	Fault   Fault
	Meaning string
}{
	{Missed, "due, and never received"},
	{Twice, "received again"},
	{Disorder, "received after a newer one"},
	{Unexpected, "received, and not due or wrong"},
}

// Breach is one message that is missing or wrong.
type Breach struct {
	Fault Fault
	Text  string
}

// Verdict is the result of Check.
type Verdict struct {
	Counts    map[Fault]int
	Breaches  []Breach // the first of each fault
	Due       int      // messages that had to arrive
	Received  int      // messages of all clients
	Free      int      // optional messages that did not arrive
	Skipped   int      // due messages between a client's position and the cursor of a FeedResync
	Resyncs   int      // FeedResync messages
	Premature int      // of them those for clients at most a thousand due numbers behind
}

// Broken reports whether a message was wrong or missing.
func (v Verdict) Broken() bool { return len(v.Counts) > 0 }

const (
	breachesEach = 10
	resyncBeyond = 1000 // due numbers behind, from which FeedResync is allowed
)

// Check compares the received messages of all clients with the log.
//
// A number is due to a client if it is greater than the client's first cursor and belongs to
// an author that the client's user followed. The follow must have begun before the number, by
// since_seq, and not have ended at delivery. There are three exceptions:
//
//   - A number that was committed before a follow ended, and not yet delivered, is optional:
//     the follow may be over at delivery. It is due if the client had passed that position
//     before the unfollow request.
//   - The end of a follow must have an effect after the leeway (see [Follow.MaxSeq]).
//   - The publication of a note that was deleted later is optional. It is due if the client
//     had passed that position before the deletion request.
func Check(r *Record) Verdict {
	v := Verdict{Counts: map[Fault]int{}}
	log := readLog(r.Events)
	for i := range r.Clients {
		c := clientCheck{Record: r, log: log, v: &v, client: &r.Clients[i]}
		c.follows = map[int64][]Follow{}
		for pair, all := range r.Follows {
			if pair.User == c.client.User {
				c.follows[pair.Author] = all
			}
		}
		c.checkReceived()
		c.checkMissed()
	}
	return v
}

// line identifies an entry of the log.
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

// clientCheck checks one client.
type clientCheck struct {
	*Record
	log     map[line]Event
	v       *Verdict
	client  *Client
	follows map[int64][]Follow // by author

	seen      map[int64]int // number → index in the received messages
	positions []position    // rising in both
	skipped   [][2]int64    // (from, until] of each FeedResync
}

// position is how far a client was at a time.
type position struct {
	at  time.Duration
	seq int64
}

// checkReceived checks the received messages.
func (c *clientCheck) checkReceived() {
	c.seen = map[int64]int{}
	last := c.client.From
	for i, t := range c.client.Received {
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
				c.v.Premature++
			}
		default:
			var ok bool
			if seq, ok = c.checkNote(i, t, last); !ok {
				continue
			}
		}
		last = max(last, seq)
		if n := len(c.positions); n == 0 || c.positions[n-1].seq < last {
			c.positions = append(c.positions, position{t.At, last})
		}
	}
}

// checkNote checks a message about a note and returns its number; ok is false if the log
// lacks it.
func (c *clientCheck) checkNote(i int, t Delivered, last int64) (seq int64, ok bool) {
	c.v.Received++
	e, ok := c.log[line{t.Kind, t.Note}]
	if !ok {
		c.breach(Unexpected, i, "%s of note %d is not in the log", t.Kind, t.Note)
		return 0, false
	}
	if t.Seq != e.Seq {
		c.breach(Unexpected, i, "%s has the cursor of %d", e, t.Seq)
	}
	before, again := c.seen[e.Seq]
	switch {
	case again:
		c.breach(Twice, i, "%s came before%s", e, c.where(before))
	case e.Seq <= last:
		c.breach(Disorder, i, "%s comes after %d", e, last)
	}
	c.seen[e.Seq] = i
	if !c.allowed(e) {
		c.breach(Unexpected, i, "%s is not due%s", e, c.followsOf(e.Author))
	}
	return e.Seq, true
}

// allowed reports whether a follow allows the delivery of an event.
func (c *clientCheck) allowed(e Event) bool {
	return slices.ContainsFunc(c.follows[e.Author], func(f Follow) bool {
		return f.Since < e.Seq && (!f.Ended || f.MaxSeq == 0 || e.Seq <= f.MaxSeq)
	})
}

// checkMissed finds due events that the client did not receive.
func (c *clientCheck) checkMissed() {
	for _, e := range c.Events {
		if e.Seq <= c.client.From {
			continue
		}
		_, received := c.seen[e.Seq]
		switch due, free := c.isDue(e); {
		case !due && !free:
		case slices.ContainsFunc(c.skipped, func(s [2]int64) bool { return e.Seq > s[0] && e.Seq <= s[1] }):
			if due && !received {
				c.v.Skipped++
			}
		case due:
			c.v.Due++
			if !received {
				c.missed(e)
			}
		case !received:
			c.v.Free++
		}
	}
}

// isDue reports whether an event is due or, if not, whether it is optional.
func (c *clientCheck) isDue(e Event) (due, free bool) {
	for _, f := range c.follows[e.Author] {
		switch {
		case f.Since >= e.Seq:
		case !f.Ended, c.positionAt(f.EndRequested) >= e.Seq:
			due = true
		case f.MaxSeq == 0 || e.Seq <= f.MaxSeq:
			free = true
		}
	}
	if deletedAt, deleted := c.Deletes[e.Note]; due && deleted && e.Kind == Added && c.positionAt(deletedAt) < e.Seq {
		return false, true
	}
	return due, free
}

// dueIn returns how many numbers of (from, until] are due.
func (c *clientCheck) dueIn(from, until int64) (n int) {
	for _, e := range c.Events {
		if e.Seq > from && e.Seq <= until {
			if due, _ := c.isDue(e); due {
				n++
			}
		}
	}
	return n
}

// positionAt returns the position that the client had certainly reached at a time.
func (c *clientCheck) positionAt(at time.Duration) int64 {
	i := sort.Search(len(c.positions), func(i int) bool { return c.positions[i].at >= at })
	if i == 0 {
		return c.client.From
	}
	return c.positions[i-1].seq
}

// missed reports a missing event, with the messages around it.
func (c *clientCheck) missed(e Event) {
	after := slices.IndexFunc(c.client.Received, func(t Delivered) bool { return t.Seq > e.Seq })
	text := "nothing came after it"
	if after >= 0 {
		text = "after it" + c.where(after)
	}
	if after < 0 {
		after = len(c.client.Received)
	}
	if after > 0 {
		text = "before it" + c.where(after-1) + "; " + text
	}
	c.breach(Missed, -1, "%s%s; %s", e, c.followsOf(e.Author), text)
}

func (c *clientCheck) breach(f Fault, index int, format string, args ...any) {
	c.v.Counts[f]++
	if c.v.Counts[f] > breachesEach {
		return
	}
	text := fmt.Sprintf("user %d: ", c.client.User) + fmt.Sprintf(format, args...)
	if index >= 0 {
		text += "; it came" + c.where(index)
	}
	c.v.Breaches = append(c.v.Breaches, Breach{f, text})
}

// where describes when and by which connection a message came.
func (c *clientCheck) where(index int) string {
	t := c.client.Received[index]
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

// followsOf describes the follows of an author.
func (c *clientCheck) followsOf(author int64) string {
	if len(c.follows[author]) == 0 {
		return ", the author is not followed"
	}
	var text strings.Builder
	text.WriteString(", followed")
	for _, f := range c.follows[author] {
		fmt.Fprintf(&text, " since %d", f.Since)
		if f.Ended {
			fmt.Fprintf(&text, " until the unfollow at %.3fs, at most up to %d", f.EndRequested.Seconds(), cmp.Or(f.MaxSeq, math.MaxInt64))
		}
	}
	return text.String()
}

func (e Event) String() string {
	return fmt.Sprintf("%d (%s of note %d by %d)", e.Seq, e.Kind, e.Note, e.Author)
}
