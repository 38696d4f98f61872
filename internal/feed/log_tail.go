package feed

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tandian-dev/tandian/ent"
	"github.com/tandian-dev/tandian/ent/feedhead"
	"github.com/tandian-dev/tandian/ent/feedstar"
	entnote "github.com/tandian-dev/tandian/ent/note"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/outbox"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	tailTimeout  = 2 * time.Second  // of one read of the log
	beginTimeout = 10 * time.Second // of reading all that a process remembers of it
	tailStep     = 5000             // numbers in one statement
	maxOpen      = 2000             // notes that are merged because their fan-out may be under way; beyond, pages come from the database
	openEvery    = 100 * time.Millisecond
	openAlways   = 5 * time.Second // what is done again after a Redis lost something is open anew
)

// An Event is one entry of the log: a note that was published or deleted.
type Event struct {
	Seq       int64 `json:"seq"`
	Note      int64 `json:"note"`
	Author    int64 `json:"author"`
	Removed   bool  `json:"removed,omitempty"` // the note was deleted; else it was published
	Celebrity bool  `json:"star,omitempty"`    // the author is one, perhaps since this note

	// Only the writer of an event knows these.
	Follows int64 `json:"follows"` // how many transactions had follows begin before it
	Row     any   `json:"-"`       // of the note, as [Notes.Rows] returns it; nil if it is not at hand
}

// eventLog is what the tail reads.
type eventLog struct {
	db     *ent.Client
	outbox *outbox.Box
	events string // the statement
}

// A logTail is what a process knows of the end of the log of notes, in memory: all numbers from
// some place to the head, with which notes were deleted, which may not be pushed to all
// followers yet, and who the stars are.
//
// Every page asks whether there are new numbers, in one statement for all who ask at that
// moment: who comes while it is under way waits for the next one, so what was committed
// before a reader came is always in. The numbers have no holes, and whoever sees one sees all
// below it; so what is known up to the head is known exactly. It is safe for concurrent use.
type logTail struct {
	log  eventLog
	size int // events that are kept at least, if there are so many

	flights sync.WaitGroup
	mu      sync.Mutex
	next    *logRead // that those who come now wait for; nil if nobody has come
	flying  bool
	asked   chan struct{} // of capacity 1: events came

	state     sync.RWMutex // of all below
	begun     bool
	restored  bool // the log may be another one than what is known of it
	beginning bool // it is being read from the database: nothing else may come in
	// events has the numbers behind before, and head is the last one of them.
	before, head int64
	events       []Event
	removed      map[int64]int64   // note → number of its removal
	open         []Event           // notes whose fan-out is perhaps under way, in the order of numbers
	crowded      bool              // there are more than can be merged
	ofStars      map[int64][]Event // published by stars, in the order of numbers
	stars        []int64           // all, in the order in which this process heard of them; only added to
	isStar       map[int64]bool
}

// A logRead is one read of the log for all who wait for it.
type logRead struct {
	done chan struct{}
	err  error
}

func newTail(size int, l eventLog) *logTail {
	return &logTail{log: l, size: size, asked: make(chan struct{}, 1)}
}

func (t *logTail) wait() { t.flights.Wait() }

// sync returns the head of the feed: the tail then knows everything that was committed
// before the call.
func (t *logTail) sync(ctx context.Context) (head int64, err error) {
	t.mu.Lock()
	if t.next == nil {
		t.next = &logRead{done: make(chan struct{})}
	}
	f := t.next
	if !t.flying {
		t.flying = true
		t.flights.Go(func() { t.fly(context.WithoutCancel(ctx)) })
	}
	t.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if f.err != nil {
		return 0, fmt.Errorf("read the log of notes: %w", f.err)
	}
	return t.known(), nil
}

// fly reads the log until nobody waits.
func (t *logTail) fly(ctx context.Context) {
	for {
		t.mu.Lock()
		f := t.next
		t.next, t.flying = nil, f != nil
		t.mu.Unlock()
		if f == nil {
			return
		}
		f.err = t.read(ctx)
		close(f.done)
	}
}

// read reads what is behind the head. Only one flight at a time does.
func (t *logTail) read(ctx context.Context) error {
	if !t.begun || t.mustBegin() {
		return t.begin(ctx)
	}
	reading, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	last, head := t.last()
	from := head
	if last.Seq > 0 {
		from-- // it comes once more, to see that it is still what it was
	}
	events, err := t.log.read(reading, from, tailStep)
	switch {
	case err != nil:
		return err
	case len(events) == tailStep: // this process has not read for long
		return t.begin(ctx)
	case last.Seq > 0 && (len(events) == 0 || !events[0].same(last)): // a database that went back
		return t.begin(ctx)
	case last.Seq > 0:
		events = events[1:]
	}
	if len(events) > 0 && events[0].Seq != head+1 { // the same, and nothing was known
		return t.begin(ctx)
	}
	return t.add(events)
}

// same reports whether two events are one.
func (e Event) same(as Event) bool {
	return e.Seq == as.Seq && e.Note == as.Note && e.Author == as.Author && e.Removed == as.Removed
}

// last is the event at the head, without a number if none is known, and the head.
func (t *logTail) last() (e Event, head int64) {
	t.state.RLock()
	defer t.state.RUnlock()
	if n := len(t.events); n > 0 {
		e = t.events[n-1]
	}
	return e, t.head
}

// doubt has the log read anew before anything is known of it: the database is another one,
// and may lack what was known. Nothing is taken in until then.
func (t *logTail) doubt() {
	t.state.Lock()
	defer t.state.Unlock()
	t.restored = true
}

func (t *logTail) mustBegin() bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.restored
}

// begin reads the end of the log, and which fan-outs of it are under way.
func (t *logTail) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	t.setBeginning(true)
	defer t.setBeginning(false)
	t.state.Lock()
	doubted := t.restored
	t.restored = false // what is doubted from now on is read once more
	t.state.Unlock()
	err := t.beginAnew(ctx)
	if err != nil && doubted {
		t.doubt()
	}
	return err
}

func (t *logTail) beginAnew(ctx context.Context) error {
	head, err := t.log.head(ctx)
	if err != nil {
		return err
	}
	from := max(0, head-int64(t.size))
	fresh := logTail{before: from, head: from, removed: map[int64]int64{}, ofStars: map[int64][]Event{}, isStar: map[int64]bool{}}
	if fresh.stars, err = t.log.stars(ctx); err != nil {
		return err
	}
	for _, star := range fresh.stars {
		fresh.isStar[star] = true
	}
	for {
		events, err := t.log.read(ctx, fresh.head, tailStep)
		if err != nil {
			return err
		}
		if err := fresh.add(events); err != nil {
			return err
		}
		if len(events) < tailStep {
			break
		}
	}
	open, crowded, err := t.log.open(ctx) // of what was read: nothing is pushed that is not published
	if err != nil {
		return err
	}
	t.state.Lock()
	defer t.state.Unlock()
	t.begun = true
	t.before, t.head, t.events, t.removed, t.ofStars = fresh.before, fresh.head, fresh.events, fresh.removed, fresh.ofStars
	for _, star := range fresh.stars { // those that are known keep their places
		t.addStar(star)
	}
	t.open, t.crowded = slices.DeleteFunc(open, func(e Event) bool { return e.Seq > t.head }), crowded
	return nil
}

func (t *logTail) setBeginning(is bool) {
	t.state.Lock()
	defer t.state.Unlock()
	t.beginning = is
}

// offer takes in an event that was committed, if it is the one behind the head, and returns
// it as the tail has it. It reports false if it is neither that nor known.
func (t *logTail) offer(e Event) (Event, bool) {
	t.state.Lock()
	defer t.state.Unlock()
	switch {
	case !t.begun || t.beginning || t.restored || e.Seq > t.head+1 || e.Seq <= t.before:
		return e, false
	case e.Seq <= t.head: // somebody has looked into the log before
		known := t.events[e.Seq-t.before-1]
		return known, known.Note == e.Note && known.Removed == e.Removed
	}
	e.Row = nil                                     // not kept for as long as the event
	e.Celebrity = e.Celebrity || t.isStar[e.Author] // all stars up to the head are known
	t.addLocked(e)
	return e, true
}

// add takes in what follows the head, and overlooks what is known.
func (t *logTail) add(events []Event) error {
	t.state.Lock()
	defer t.state.Unlock()
	for _, e := range events {
		if e.Seq <= t.head {
			continue
		}
		if e.Seq != t.head+1 {
			return fmt.Errorf("number %d follows %d", e.Seq, t.head)
		}
		t.addLocked(e)
	}
	return nil
}

func (t *logTail) addLocked(e Event) {
	t.head = e.Seq
	t.events = append(t.events, e)
	switch {
	case e.Removed:
		t.removed[e.Note] = e.Seq
	case e.Celebrity:
		t.addStar(e.Author)
		t.ofStars[e.Author] = append(t.ofStars[e.Author], e)
	default:
		t.open = append(t.open, e)
	}
	t.crowded = t.crowded || len(t.open) > maxOpen
	t.trim()
	select {
	case t.asked <- struct{}{}:
	default:
	}
}

func (t *logTail) addStar(author int64) {
	if t.isStar == nil {
		t.isStar = map[int64]bool{}
	}
	if !t.isStar[author] {
		t.isStar[author] = true
		t.stars = append(t.stars, author)
	}
}

// trim forgets the older half when there are twice as many events as are kept.
func (t *logTail) trim() {
	if t.size == 0 || len(t.events) < 2*t.size {
		return
	}
	gone := t.events[:len(t.events)-t.size]
	t.before = gone[len(gone)-1].Seq
	t.events = slices.Clone(t.events[len(gone):])
	for _, e := range gone {
		if t.removed[e.Note] == e.Seq {
			delete(t.removed, e.Note)
		}
	}
	for star, list := range t.ofStars {
		list = slices.DeleteFunc(list, func(e Event) bool { return e.Seq <= t.before })
		if t.ofStars[star] = list; len(list) == 0 {
			delete(t.ofStars, star)
		}
	}
}

// known is the head as far as this process knows, 0 if it knows nothing.
func (t *logTail) known() int64 {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.head
}

// covers reports whether the tail has all numbers behind one.
func (t *logTail) covers(seq int64) bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.begun && seq >= t.before
}

// between returns the events behind a number and up to another one, which is not beyond the
// head. It reports false if the tail does not go back to the first. They must not be changed.
func (t *logTail) between(behind, upTo int64) ([]Event, bool) {
	t.state.RLock()
	defer t.state.RUnlock()
	if !t.begun || behind < t.before || upTo > t.head || behind > upTo {
		return nil, false
	}
	return t.events[behind-t.before : upTo-t.before : upTo-t.before], true
}

// underWay returns the notes up to a number that may not be pushed to all followers yet. It
// reports false if they are too many.
func (t *logTail) underWay(upTo int64) ([]Event, bool) {
	t.state.RLock()
	defer t.state.RUnlock()
	if t.crowded || !t.begun {
		return nil, false
	}
	var open []Event
	for _, e := range t.open {
		if e.Seq <= upTo {
			open = append(open, e)
		}
	}
	return open, true
}

// starsSince returns the stars but for the first ones, which a caller knows, and how many
// there are.
func (t *logTail) starsSince(known int) (stars []int64, all int) {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.stars[min(known, len(t.stars)):len(t.stars):len(t.stars)], len(t.stars)
}

// ofStar returns what a star published behind a number and up to another. It reports false if
// the tail does not go back to the first.
func (t *logTail) ofStar(star, behind, upTo int64) ([]Event, bool) {
	t.state.RLock()
	defer t.state.RUnlock()
	if behind < t.before {
		return nil, false
	}
	var list []Event
	for _, e := range t.ofStars[star] {
		if e.Seq > behind && e.Seq <= upTo {
			list = append(list, e)
		}
	}
	return list, true
}

// knowsStar reports whether an author is a star.
func (t *logTail) knowsStar(author int64) bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.isStar[author]
}

// gone reports whether a note is known to be deleted.
func (t *logTail) gone(note int64) bool {
	t.state.RLock()
	defer t.state.RUnlock()
	_, gone := t.removed[note]
	return gone
}

// run looks which fan-outs have ended: soon after there were any, and now and then.
func (t *logTail) run(ctx context.Context, log *slog.Logger) {
	for ctx.Err() == nil {
		pause := openAlways
		if t.hasOpen() {
			pause = openEvery
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-t.asked:
			timer.Stop()
			_ = clock.Sleep(ctx, openEvery) // the loop sees that ctx ended
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if err := t.look(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "which fan-outs are under way cannot be seen: pages merge more than they have to", "err", err)
		}
	}
}

func (t *logTail) hasOpen() bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.crowded || len(t.open) > 0
}

// look reads which fan-outs are under way. What was published since it began is open still.
func (t *logTail) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	t.state.RLock()
	begun, head := t.begun, t.head
	t.state.RUnlock()
	if !begun {
		return nil
	}
	open, crowded, err := t.log.open(ctx)
	if err != nil {
		return err
	}
	t.state.Lock()
	defer t.state.Unlock()
	open = slices.DeleteFunc(open, func(e Event) bool { return e.Seq > head })
	for _, e := range t.open {
		if e.Seq > head {
			open = append(open, e)
		}
	}
	t.open, t.crowded = open, crowded || len(open) > maxOpen
	return nil
}

func (l eventLog) head(ctx context.Context) (int64, error) {
	row, err := l.db.FeedHead.Query().Where(feedhead.ID(1)).Only(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the head of the feed: %w", err)
	}
	return row.Seq, nil
}

func (l eventLog) stars(ctx context.Context) ([]int64, error) {
	ids, err := l.db.FeedStar.Query().Order(feedstar.ByID()).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("select stars: %w", err)
	}
	return ids, nil
}

func (l eventLog) read(ctx context.Context, behind int64, most int) (events []Event, err error) {
	err = sqldb.Each(ctx, l.db, l.events, []any{behind, most}, func(rows *sql.Rows) error {
		var e Event
		var kind string
		err := rows.Scan(&e.Seq, &kind, &e.Note, &e.Author, &e.Celebrity)
		e.Removed = kind != "ADDED"
		events = append(events, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select the numbers behind %d: %w", behind, err)
	}
	return events, nil
}

// open reads the notes whose fan-out is not known to be done, in the order of numbers.
func (l eventLog) open(ctx context.Context) (open []Event, crowded bool, err error) {
	jobs, err := l.outbox.Unfinished(ctx, Topic, maxOpen)
	if err != nil || len(jobs) == maxOpen {
		return nil, true, err
	}
	var ids []int64
	for _, payload := range jobs {
		var some []int64
		if err := json.Unmarshal(payload, &some); err != nil {
			return nil, true, fmt.Errorf("read a job: %w", err)
		}
		ids = append(ids, some...)
	}
	if len(ids) == 0 || len(ids) > maxOpen {
		return nil, len(ids) > 0, nil
	}
	rows, err := l.db.Note.Query().Where(entnote.IDIn(ids...), entnote.DeletedAtIsNil(), entnote.SeqNotNil()).
		Select(entnote.FieldID, entnote.FieldSeq, entnote.FieldAuthorID).Order(entnote.BySeq()).All(ctx)
	if err != nil {
		return nil, true, fmt.Errorf("select %d notes: %w", len(ids), err)
	}
	for _, r := range rows {
		open = append(open, Event{Seq: *r.Seq, Note: r.ID, Author: r.AuthorID})
	}
	return open, false, nil
}
