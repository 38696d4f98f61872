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
	tailTimeout  = 2 * time.Second  // per read of the log
	beginTimeout = 10 * time.Second // to load the whole tail
	tailStep     = 5000             // numbers per statement
	maxOpen      = 2000             // notes merged because of open fan-outs; with more, pages come from the database
	refreshBusy  = 100 * time.Millisecond
	refreshIdle  = 5 * time.Second // finds fan-outs that were replayed after Redis lost data
)

// An Event is one entry of the feed log: a note that was published or deleted.
type Event struct {
	Seq       int64 `json:"seq"`
	Note      int64 `json:"note"`
	Author    int64 `json:"author"`
	Removed   bool  `json:"removed,omitempty"` // deleted; else published
	Celebrity bool  `json:"star,omitempty"`    // the author is a celebrity, perhaps since this note

	// Only the writer of an event sets these.
	Follows int64 `json:"follows"` // number of earlier transactions that added follows
	Row     any   `json:"-"`       // the note, as [Notes.Rows] returns it; may be nil
}

// eventLog reads the tables of the log.
type eventLog struct {
	db     *ent.Client
	outbox *outbox.Box
	events string // statement
}

// A logTail holds the end of the log of notes in memory: all events from some number to the head.
// It also knows the notes whose fan-out may be open, and all celebrities.
//
// Every page checks for new numbers. Readers share one statement; a reader that arrives during a
// read waits for the next one, so it sees everything committed before its arrival. Numbers have no
// gaps, and a reader that sees one sees all below it, so the tail is exact up to its head. It is
// safe for concurrent use.
type logTail struct {
	log  eventLog
	size int // minimum of events in memory

	flights sync.WaitGroup
	mu      sync.Mutex
	next    *logRead // the read that new callers wait for; nil if there are none
	reading bool
	added   chan struct{} // capacity 1: there are new events

	state     sync.RWMutex // guards all below
	loaded    bool
	suspect   bool // the log may differ from events
	reloading bool // offer must not add events
	// events has the numbers after before, up to head.
	before, head int64
	events       []Event
	removed      map[int64]int64   // note → number of its deletion
	open         []Event           // notes whose fan-out may be under way, by number
	overflow     bool              // open has more notes than can be merged
	byCelebrity  map[int64][]Event // notes of celebrities, by number
	celebrities  []int64           // append-only, in the order of discovery
	celebritySet map[int64]bool
}

// A logRead is one read of the log, shared by its callers.
type logRead struct {
	done chan struct{}
	err  error
}

func newLogTail(size int, l eventLog) *logTail {
	return &logTail{log: l, size: size, added: make(chan struct{}, 1)}
}

func (t *logTail) wait() { t.flights.Wait() }

// sync returns the head of the log. The tail then has everything committed before the call.
func (t *logTail) sync(ctx context.Context) (head int64, err error) {
	t.mu.Lock()
	if t.next == nil {
		t.next = &logRead{done: make(chan struct{})}
	}
	f := t.next
	if !t.reading {
		t.reading = true
		t.flights.Go(func() { t.runReads(context.WithoutCancel(ctx)) })
	}
	t.mu.Unlock()
	select {
	case <-f.done:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if f.err != nil {
		return 0, fmt.Errorf("read log of notes: %w", f.err)
	}
	return t.knownHead(), nil
}

// runReads reads the log until no caller waits.
func (t *logTail) runReads(ctx context.Context) {
	for {
		t.mu.Lock()
		f := t.next
		t.next, t.reading = nil, f != nil
		t.mu.Unlock()
		if f == nil {
			return
		}
		f.err = t.read(ctx)
		close(f.done)
	}
}

// read reads the events after the head. Only one goroutine calls it at a time.
func (t *logTail) read(ctx context.Context) error {
	if !t.loaded || t.isSuspect() {
		return t.reload(ctx)
	}
	reading, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	last, head := t.last()
	from := head
	if last.Seq > 0 {
		from-- // check that the last event is unchanged
	}
	events, err := t.log.read(reading, from, tailStep)
	switch {
	case err != nil:
		return err
	case len(events) == tailStep: // far behind the head
		return t.reload(ctx)
	case last.Seq > 0 && (len(events) == 0 || !events[0].same(last)): // a restored database
		return t.reload(ctx)
	case last.Seq > 0:
		events = events[1:]
	}
	if len(events) > 0 && events[0].Seq != head+1 { // a restored database: numbers have no gaps
		return t.reload(ctx)
	}
	return t.add(events)
}

// same compares the stored columns. Celebrity may have changed since the first read.
func (e Event) same(as Event) bool {
	return e.Seq == as.Seq && e.Note == as.Note && e.Author == as.Author && e.Removed == as.Removed
}

// last returns the event at the head, or a zero Event if unknown, and the head.
func (t *logTail) last() (e Event, head int64) {
	t.state.RLock()
	defer t.state.RUnlock()
	if n := len(t.events); n > 0 {
		e = t.events[n-1]
	}
	return e, t.head
}

// markSuspect makes the next read reload the log. The database may have lost events that the tail
// has. Until then, offer adds nothing.
func (t *logTail) markSuspect() {
	t.state.Lock()
	defer t.state.Unlock()
	t.suspect = true
}

func (t *logTail) isSuspect() bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.suspect
}

// reload reads the end of the log, and its open fan-outs.
func (t *logTail) reload(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beginTimeout)
	defer cancel()
	t.setReloading(true)
	defer t.setReloading(false)
	t.state.Lock()
	suspect := t.suspect
	t.suspect = false // a later mark causes another reload
	t.state.Unlock()
	err := t.rebuild(ctx)
	if err != nil && suspect {
		t.markSuspect()
	}
	return err
}

func (t *logTail) rebuild(ctx context.Context) error {
	head, err := t.log.head(ctx)
	if err != nil {
		return err
	}
	from := max(0, head-int64(t.size))
	fresh := logTail{before: from, head: from, removed: map[int64]int64{}, byCelebrity: map[int64][]Event{}, celebritySet: map[int64]bool{}}
	if fresh.celebrities, err = t.log.celebrities(ctx); err != nil {
		return err
	}
	for _, celebrity := range fresh.celebrities {
		fresh.celebritySet[celebrity] = true
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
	open, overflow, err := t.log.open(ctx) // after the events: only published notes have fan-outs
	if err != nil {
		return err
	}
	t.state.Lock()
	defer t.state.Unlock()
	t.loaded = true
	t.before, t.head, t.events, t.removed, t.byCelebrity = fresh.before, fresh.head, fresh.events, fresh.removed, fresh.byCelebrity
	for _, celebrity := range fresh.celebrities { // known ones stay in order
		t.addCelebrity(celebrity)
	}
	t.open, t.overflow = slices.DeleteFunc(open, func(e Event) bool { return e.Seq > t.head }), overflow
	return nil
}

func (t *logTail) setReloading(is bool) {
	t.state.Lock()
	defer t.state.Unlock()
	t.reloading = is
}

// offer adds a committed event if it is the next one, and returns it as the tail has it. It
// reports false if the event is neither next nor known.
func (t *logTail) offer(e Event) (Event, bool) {
	t.state.Lock()
	defer t.state.Unlock()
	switch {
	case !t.loaded || t.reloading || t.suspect || e.Seq > t.head+1 || e.Seq <= t.before:
		return e, false
	case e.Seq <= t.head: // already read from the log
		known := t.events[e.Seq-t.before-1]
		return known, known.Note == e.Note && known.Removed == e.Removed
	}
	e.Row = nil                                           // the tail would retain it too long
	e.Celebrity = e.Celebrity || t.celebritySet[e.Author] // all celebrities up to the head are known
	t.addLocked(e)
	return e, true
}

// add adds the events after the head, and ignores known ones.
func (t *logTail) add(events []Event) error {
	t.state.Lock()
	defer t.state.Unlock()
	for _, e := range events {
		if e.Seq <= t.head {
			continue
		}
		if e.Seq != t.head+1 {
			return fmt.Errorf("invalid log: number %d follows %d", e.Seq, t.head)
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
		t.addCelebrity(e.Author)
		t.byCelebrity[e.Author] = append(t.byCelebrity[e.Author], e)
	default:
		t.open = append(t.open, e)
	}
	t.overflow = t.overflow || len(t.open) > maxOpen
	t.trim()
	select {
	case t.added <- struct{}{}:
	default:
	}
}

func (t *logTail) addCelebrity(author int64) {
	if t.celebritySet == nil {
		t.celebritySet = map[int64]bool{}
	}
	if !t.celebritySet[author] {
		t.celebritySet[author] = true
		t.celebrities = append(t.celebrities, author)
	}
}

// trim drops the older half of the events when there are twice the minimum.
func (t *logTail) trim() {
	if t.size == 0 || len(t.events) < 2*t.size {
		return
	}
	removed := t.events[:len(t.events)-t.size]
	t.before = removed[len(removed)-1].Seq
	t.events = slices.Clone(t.events[len(removed):])
	for _, e := range removed {
		if t.removed[e.Note] == e.Seq {
			delete(t.removed, e.Note)
		}
	}
	for celebrity, list := range t.byCelebrity {
		list = slices.DeleteFunc(list, func(e Event) bool { return e.Seq <= t.before })
		if t.byCelebrity[celebrity] = list; len(list) == 0 {
			delete(t.byCelebrity, celebrity)
		}
	}
}

// knownHead returns the head that this process knows, 0 if it knows nothing.
func (t *logTail) knownHead() int64 {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.head
}

// covers reports whether the tail has all numbers after seq.
func (t *logTail) covers(seq int64) bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.loaded && seq >= t.before
}

// between returns the events in (behind, upTo], or false if some are unknown. Do not change them.
func (t *logTail) between(behind, upTo int64) ([]Event, bool) {
	t.state.RLock()
	defer t.state.RUnlock()
	if !t.loaded || behind < t.before || upTo > t.head || behind > upTo {
		return nil, false
	}
	return t.events[behind-t.before : upTo-t.before : upTo-t.before], true
}

// openUpTo returns the notes up to a number whose fan-out may be under way. It returns false if
// there are too many, or the tail is not loaded.
func (t *logTail) openUpTo(upTo int64) ([]Event, bool) {
	t.state.RLock()
	defer t.state.RUnlock()
	if t.overflow || !t.loaded {
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

// celebritiesSince returns the celebrities without the first known of them, and the number of all.
func (t *logTail) celebritiesSince(known int) (celebrities []int64, all int) {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.celebrities[min(known, len(t.celebrities)):len(t.celebrities):len(t.celebrities)], len(t.celebrities)
}

// notesBy returns the notes of a celebrity in (behind, upTo], or false if the tail begins later.
func (t *logTail) notesBy(celebrity, behind, upTo int64) ([]Event, bool) {
	t.state.RLock()
	defer t.state.RUnlock()
	if behind < t.before {
		return nil, false
	}
	var list []Event
	for _, e := range t.byCelebrity[celebrity] {
		if e.Seq > behind && e.Seq <= upTo {
			list = append(list, e)
		}
	}
	return list, true
}

func (t *logTail) isCelebrity(author int64) bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.celebritySet[author]
}

func (t *logTail) isRemoved(note int64) bool {
	t.state.RLock()
	defer t.state.RUnlock()
	_, removed := t.removed[note]
	return removed
}

// run refreshes the open fan-outs: shortly after new events, and at intervals.
func (t *logTail) run(ctx context.Context, log *slog.Logger) {
	for ctx.Err() == nil {
		pause := refreshIdle
		if t.hasOpen() {
			pause = refreshBusy
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-t.added:
			timer.Stop()
			_ = clock.Sleep(ctx, refreshBusy) // the loop sees that ctx ended
		case <-ctx.Done():
			timer.Stop()
			return
		}
		if err := t.refreshOpen(ctx); err != nil && ctx.Err() == nil {
			log.WarnContext(ctx, "cannot read open fan-outs", "err", err, "hint", "pages merge more notes than necessary")
		}
	}
}

func (t *logTail) hasOpen() bool {
	t.state.RLock()
	defer t.state.RUnlock()
	return t.overflow || len(t.open) > 0
}

// refreshOpen reads the open fan-outs. Notes published since the read began stay open.
func (t *logTail) refreshOpen(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	t.state.RLock()
	started, head := t.loaded, t.head
	t.state.RUnlock()
	if !started {
		return nil
	}
	open, overflow, err := t.log.open(ctx)
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
	t.open, t.overflow = open, overflow || len(open) > maxOpen
	return nil
}

func (l eventLog) head(ctx context.Context) (int64, error) {
	row, err := l.db.FeedHead.Query().Where(feedhead.ID(1)).Only(ctx)
	if err != nil {
		return 0, fmt.Errorf("read feed head: %w", err)
	}
	return row.Seq, nil
}

func (l eventLog) celebrities(ctx context.Context) ([]int64, error) {
	ids, err := l.db.FeedStar.Query().Order(feedstar.ByID()).IDs(ctx)
	if err != nil {
		return nil, fmt.Errorf("select celebrities: %w", err)
	}
	return ids, nil
}

func (l eventLog) read(ctx context.Context, behind int64, limit int) (events []Event, err error) {
	err = sqldb.Each(ctx, l.db, l.events, []any{behind, limit}, func(rows *sql.Rows) error {
		var e Event
		var kind string
		err := rows.Scan(&e.Seq, &kind, &e.Note, &e.Author, &e.Celebrity)
		e.Removed = kind != "ADDED"
		events = append(events, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("select numbers after %d: %w", behind, err)
	}
	return events, nil
}

// open reads the notes whose fan-out may be unfinished, by number.
func (l eventLog) open(ctx context.Context) (open []Event, overflow bool, err error) {
	jobs, err := l.outbox.Unfinished(ctx, Topic, maxOpen)
	if err != nil || len(jobs) == maxOpen {
		return nil, true, err
	}
	var ids []int64
	for _, payload := range jobs {
		var some []int64
		if err := json.Unmarshal(payload, &some); err != nil {
			return nil, true, fmt.Errorf("parse fan-out job: %w", err)
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
