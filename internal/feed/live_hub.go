package feed

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tandian-dev/tandian/internal/kit/broadcast"
	"github.com/tandian-dev/tandian/internal/kit/clock"
	"github.com/tandian-dev/tandian/internal/kit/page"
	"github.com/tandian-dev/tandian/internal/kit/sqldb"
)

const (
	checkInterval   = time.Second // between two reads of the log without a hint
	retryAfter      = 100 * time.Millisecond
	viewersAtOnce   = 64               // viewers whose follows one statement reads
	versionsAtOnce  = 500              // viewers whose versions one statement reads
	maxReplayed     = 1000             // due events per replay; with more, the client resyncs
	maxChecked      = 20_000           // events checked per replay, under the lock; with more, the client resyncs
	maxFollowStarts = 10_000           // follows since the last event; with more, all viewers are reloaded
	viewerTTL       = 30 * time.Second // lifetime of a viewer without sessions
	maxHinted       = 1000             // announced events in the queue; with more, the log is read
	recentUpdates   = 4096             // updates that returning clients share
)

// A liveHub serves the live feeds of a process. It is a position in the log of notes: all events
// up to it were delivered. Later ones are read from the log, unless a hint already contains them.
// So a lost hint only costs time.
//
// An event is due to each viewer that has followed its author since an earlier number. A follow
// stores the log head, and locks it against the next number until its commit. So a process that
// sees an event in the log also sees every follow for which the event is due. The hub reads these
// follows before it delivers the event. It learns of ended follows within moments.
//
// A hint holds the event, its number, and the number of earlier transactions that added follows.
// The hub delivers the event without reading the log if its number is the next one and the hub
// knows all those follows.
//
// One goroutine, run, reads and delivers. A liveHub is safe for concurrent use.
type liveHub struct {
	s             *Service
	wake          chan struct{} // capacity 1: step has work
	announcedHead atomic.Int64  // highest announced number

	followsStale atomic.Bool // changes of follows may have been missed
	suspect      atomic.Bool // the log may differ from the delivered events

	warnings clock.Throttle

	mu          sync.Mutex // held while receivers run
	active      bool       // there are viewers, and pos is valid
	followCount int64      // transactions with new follows, all loaded; -1 if unknown
	hinted      []Event    // announced, not delivered
	checkLog    bool       // read the log in the next step
	pos         int64
	viewers     map[int64]*viewer
	authors     map[int64][]*viewer // viewers by followee
	joining     []*session          // not ready yet
	dirty       map[int64]bool      // viewers to reload
	behindSince time.Time           // announcement of the oldest undelivered event; zero if none
	recent      [recentUpdates]*broadcast.Update

	lastReady, lastResync *broadcast.Update // latest shared Ready and Resync
}

func newLiveHub(s *Service) *liveHub {
	return &liveHub{s: s, wake: make(chan struct{}, 1), followCount: -1, viewers: map[int64]*viewer{}, authors: map[int64][]*viewer{}, dirty: map[int64]bool{}}
}

func (h *liveHub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// receive handles a hint. number is the new head of the log, 0 if unknown. events are the events
// up to it, or none if unknown.
func (h *liveHub) receive(number int64, events ...Event) {
	for last := h.announcedHead.Load(); number > last && !h.announcedHead.CompareAndSwap(last, number); last = h.announcedHead.Load() {
	}
	h.mu.Lock()
	isNew := h.active && (number == 0 || number > h.pos)
	if isNew {
		if len(events) > 0 && len(h.hinted)+len(events) <= maxHinted {
			h.hinted = append(h.hinted, events...)
		} else {
			h.checkLog = true
		}
		if h.behindSince.IsZero() {
			h.behindSince = time.Now()
		}
	}
	h.mu.Unlock()
	if isNew {
		h.signal()
	}
}

// hasDelivered reports whether all events up to a number were delivered.
func (h *liveHub) hasDelivered(number int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.active && number <= h.pos
}

func (h *liveHub) run(ctx context.Context) {
	check := time.NewTimer(clock.Jitter(checkInterval))
	defer check.Stop()
	for {
		select {
		case <-h.wake:
		case <-check.C:
			h.tick()
			check.Reset(clock.Jitter(checkInterval))
		case <-ctx.Done():
			return
		}
		for more := true; more && ctx.Err() == nil; {
			select {
			case <-check.C: // also under constant load
				h.tick()
				check.Reset(clock.Jitter(checkInterval))
			default:
			}
			var err error
			if more, err = h.step(ctx); err != nil && ctx.Err() == nil {
				h.s.m.liveErrors.Inc()
				if h.warnings.Allow() {
					h.s.cfg.Log.WarnContext(ctx, "cannot read events for live feeds", "err", err)
				}
				_ = clock.Sleep(ctx, clock.Jitter(retryAfter))
			}
		}
	}
}

// tick requests a read of the log, and drops viewers that left long ago.
func (h *liveHub) tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checkLog = true
	for user, v := range h.viewers {
		if len(v.sessions) == 0 && time.Since(v.left) > viewerTTL {
			h.setFollows(v, nil)
			delete(h.viewers, user)
			delete(h.dirty, user)
		}
	}
	h.s.m.liveViewers.Set(float64(len(h.viewers)))
}

// step does the most urgent work, and reports whether there is more. Events come first, then a
// batch of new sessions and changed follows.
func (h *liveHub) step(ctx context.Context) (more bool, err error) {
	h.mu.Lock()
	look, hinted := h.checkLog, h.hinted
	h.checkLog, h.hinted = false, nil
	if len(h.viewers) == 0 {
		h.active, h.behindSince = false, time.Time{}
		h.recent = [recentUpdates]*broadcast.Update{} // the log may differ by the next join
		h.mu.Unlock()
		h.s.loader.forget()
		return false, nil
	}
	users, ahead := h.nextUsers()
	on := h.active
	h.mu.Unlock()
	delivered := h.deliverHinted(hinted)
	if look || ahead || !on || !delivered {
		if err := h.advance(ctx); err != nil {
			h.mu.Lock()
			h.checkLog = true
			h.mu.Unlock()
			return true, err
		}
	}
	if h.followsStale.Swap(false) {
		if err := h.checkVersions(ctx); err != nil {
			h.followsStale.Store(true)
			return true, err
		}
	}
	if len(users) > 0 {
		err = h.load(ctx, users)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admitAll()
	if err != nil && len(h.joining) > len(users) { // try other sessions first next time
		h.joining = append(h.joining[len(users):], h.joining[:len(users)]...)
	}
	return h.checkLog || len(h.joining) > 0 || len(h.dirty) > 0, err
}

// nextUsers returns some of the users to load: those of new sessions first. ahead reports whether
// a new session is ahead of the position. The caller holds mu.
func (h *liveHub) nextUsers() (users []int64, ahead bool) {
	for _, s := range h.joining {
		ahead = ahead || s.after > h.pos
		if v := s.viewer; !v.loaded && len(users) < viewersAtOnce && !slices.Contains(users, v.user) {
			users = append(users, v.user)
		}
	}
	for user := range h.dirty {
		if len(users) == viewersAtOnce {
			break
		}
		if !slices.Contains(users, user) {
			users = append(users, user)
		}
	}
	return users, ahead
}

// deliverHinted delivers announced events while they are the next ones in the log, and all follows
// before them are known. It returns false if the log must be read.
func (h *liveHub) deliverHinted(hinted []Event) bool {
	if h.suspect.Load() {
		return false
	}
	now := time.Now()
	slices.SortStableFunc(hinted, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) }) // writers announce concurrently
	for _, hint := range hinted {
		h.mu.Lock()
		pos, on, counted := h.pos, h.active, h.followCount
		h.mu.Unlock()
		if hint.Seq <= pos && on {
			continue
		}
		if !on || hint.Seq != pos+1 || hint.Follows != counted {
			return false
		}
		e, next := h.s.tail.offer(hint)
		if !next {
			return false
		}
		if hint.Row != nil {
			h.s.loader.add(hint.Note, hint.Row)
		}
		h.deliver(e, now)
		h.markCaughtUp(e.Seq)
		h.s.m.liveHinted.Inc()
	}
	return true
}

// advance delivers the events after the position from the log.
func (h *liveHub) advance(ctx context.Context) error {
	suspect := h.suspect.Load() // before the read: a later mark needs another read
	head, err := h.s.tail.sync(ctx)
	if err != nil {
		return err
	}
	if suspect {
		return h.restart(ctx, head)
	}
	h.mu.Lock()
	pos, on := h.pos, h.active
	if !on {
		h.pos, h.active, h.followCount = head, true, -1
	}
	h.mu.Unlock()
	if !on || head == pos {
		h.markCaughtUp(head)
		return nil
	}
	if found := head - max(pos, h.announcedHead.Load()); found > 0 {
		h.s.m.liveFound.Add(float64(found))
	}
	if head < pos { // a restored database: delivered events are undone
		return h.resyncAll(ctx, head)
	}
	started, counted, err := h.s.readFollowStarts(ctx, pos)
	if err != nil {
		return err
	}
	if len(started) >= maxFollowStarts {
		if err := h.loadAll(ctx); err != nil {
			return err
		}
		started = nil
	}
	h.mu.Lock()
	h.followCount = counted
	for _, b := range started {
		if v := h.viewers[b.user]; v != nil && v.loaded {
			h.begin(v, b.followed)
		}
	}
	h.mu.Unlock()
	events, ok := h.s.tail.between(pos, head)
	if !ok { // the tail does not go back to pos
		return h.resyncAll(ctx, head)
	}
	now := time.Now()
	for _, e := range events {
		h.deliver(e, now)
	}
	h.markCaughtUp(head)
	return nil
}

// markSuspect resyncs all sessions, because delivered events may be undone.
func (h *liveHub) markSuspect() {
	h.suspect.Store(true)
	h.mu.Lock()
	h.checkLog = true
	h.mu.Unlock()
	h.signal()
}

// restart continues at the head of a log that may differ. Earlier announcements do not count.
func (h *liveHub) restart(ctx context.Context, head int64) error {
	h.suspect.Store(false)
	h.mu.Lock()
	h.active = true
	h.mu.Unlock()
	if err := h.resyncAll(ctx, head); err != nil {
		h.suspect.Store(true)
		return err
	}
	h.announcedHead.Store(head)
	return nil
}

// resyncAll moves to head without the events in between, and resyncs all sessions.
func (h *liveHub) resyncAll(ctx context.Context, head int64) error {
	if err := h.loadAll(ctx); err != nil { // first: it includes follows that began since pos
		return err
	}
	h.s.loader.forget()
	h.mu.Lock()
	h.pos, h.followCount = head, -1
	h.recent = [recentUpdates]*broadcast.Update{}
	for _, v := range h.viewers {
		for _, s := range v.sessions {
			if s.joined {
				h.resync(s)
			}
		}
	}
	h.mu.Unlock()
	h.markCaughtUp(head)
	return nil
}

func (h *liveHub) markCaughtUp(head int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.announcedHead.Load() <= head {
		h.behindSince = time.Time{}
	}
}

// deliver pushes an event to all sessions that it is due to, and moves the position to it.
func (h *liveHub) deliver(e Event, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pos = e.Seq
	var u *broadcast.Update
	delivered := 0
	for _, v := range h.authors[e.Author] {
		if e.Seq <= v.newest && !v.due(e) {
			continue
		}
		for _, s := range v.sessions {
			if !s.joined {
				continue
			}
			if u == nil {
				u = h.update(e)
				u.At = now
			}
			s.r.Push(u)
			delivered++
		}
	}
	h.s.m.liveEvents.Inc()
	h.s.m.liveDelivered.Add(float64(delivered))
}

// update returns the update of an event, shared while it is recent. The caller holds mu.
func (h *liveHub) update(e Event) *broadcast.Update {
	slot := &h.recent[e.Seq%recentUpdates]
	if *slot == nil || (*slot).Seq != updateSeq(e.Seq) {
		*slot = h.s.newUpdate(e)
	}
	return *slot
}

// The Seq of an update is four times the number of its event. Resync and Ready at a number sort
// right after its event.
func updateSeq(number int64) int64 { return 4 * number }
func resyncSeq(number int64) int64 { return 4*number + 1 }
func readySeq(number int64) int64  { return 4*number + 2 }
func logNumber(seq int64) int64    { return seq / 4 }

// A session is one subscription to a live feed.
type session struct {
	hub            *liveHub
	viewer         *viewer
	r              broadcast.Receiver
	after          int64 // last number seen; -1 if unknown
	joined         bool  // it receives events
	closed         bool
	checkRequested bool  // see sawLogCheck
	ready          int64 // Seq of its Ready
	resync         int64 // Seq of its last Resync; 0 for none
}

// join begins a session, at once if its viewer is loaded and the position is not behind it.
func (h *liveHub) join(user, after int64, r broadcast.Receiver) *session {
	h.mu.Lock()
	defer h.mu.Unlock()
	v := h.viewers[user]
	if v == nil {
		v = &viewer{user: user}
		h.viewers[user] = v
	}
	s := &session{hub: h, viewer: v, r: r, after: after}
	v.sessions = append(v.sessions, s)
	h.s.m.liveSessions.Inc()
	if h.active && v.loaded && after <= h.pos {
		h.admit(s)
		return s
	}
	h.joining = append(h.joining, s)
	h.signal()
	return s
}

// admitAll admits the joining sessions that are loaded. Those ahead of the position wait for one
// read of the log. The caller holds mu.
func (h *liveHub) admitAll() {
	h.joining = slices.DeleteFunc(h.joining, func(s *session) bool {
		switch {
		case s.closed:
			return true
		case !s.viewer.loaded, s.after > h.pos && !s.sawLogCheck():
			return false
		}
		h.admit(s)
		return true
	})
	if len(h.joining) == 0 {
		h.joining = nil
	}
}

// sawLogCheck reports whether the log was read since the session joined: true from the second
// call on. A session that joins during a read waits for the next.
func (s *session) sawLogCheck() (before bool) {
	before, s.checkRequested = s.checkRequested, true
	return before
}

// admit sends a session its missed events, and Ready. The caller holds mu.
func (h *liveHub) admit(s *session) {
	s.joined = true
	switch {
	case s.after < 0:
	case s.after > h.pos: // the cursor is from another database, or from before a restore
		h.resync(s)
	default:
		h.replay(s, s.after)
	}
	s.ready = readySeq(h.pos)
	h.pushReady(s)
}

func (h *liveHub) pushReady(s *session) {
	s.r.Push(h.positionUpdate(&h.lastReady, s.ready, func(c page.Cursor) Update { return &Ready{Cursor: c} }))
}

// positionUpdate returns an update about a position, one shared object. The caller holds mu.
func (h *liveHub) positionUpdate(last **broadcast.Update, seq int64, of func(page.Cursor) Update) *broadcast.Update {
	if *last == nil || (*last).Seq != seq {
		cursor := logCursor(logNumber(seq))
		*last = &broadcast.Update{Seq: seq, Cursor: string(cursor), Load: constLoader(of(cursor))}
	}
	return *last
}

// resync tells a session to reload its feed. The caller holds mu.
func (h *liveHub) resync(s *session) {
	h.s.m.liveReplays.WithLabelValues("resync").Inc()
	s.resync = resyncSeq(h.pos)
	s.r.Push(h.positionUpdate(&h.lastResync, s.resync, func(c page.Cursor) Update { return &Resync{Cursor: c} }))
}

// replay pushes the due events after a number, up to the position. The caller holds mu.
func (h *liveHub) replay(s *session, after int64) {
	events, ok := h.s.tail.between(after, h.pos)
	if !ok || len(events) > maxChecked {
		h.resync(s)
		return
	}
	var due []Event
	for _, e := range events {
		if s.viewer.due(e) {
			due = append(due, e)
		}
	}
	if len(due) > maxReplayed {
		h.resync(s)
		return
	}
	for _, e := range due {
		s.r.Push(h.update(e))
	}
	h.s.m.liveReplays.WithLabelValues("log").Inc()
	h.s.m.liveReplayed.Add(float64(len(due)))
}

// Resume implements [broadcast.Subscription].
func (s *session) Resume(after int64) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.joined || s.closed {
		return
	}
	s.r.Reset()
	if after < s.resync { // the client missed the Resync itself
		h.resync(s)
	} else {
		h.replay(s, logNumber(after))
	}
	if after < s.ready {
		s.ready = readySeq(h.pos) // after the replayed events
		h.pushReady(s)
	}
}

// Close implements [broadcast.Subscription].
func (s *session) Close() {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	v := s.viewer
	v.sessions = slices.DeleteFunc(v.sessions, func(one *session) bool { return one == s })
	if len(v.sessions) == 0 {
		v.sessions, v.left = nil, time.Now()
	}
	h.s.m.liveSessions.Dec()
}

func (h *liveHub) lag() (numbers int64, oldest time.Duration, joining int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.active {
		return 0, 0, len(h.joining)
	}
	if !h.behindSince.IsZero() {
		oldest = time.Since(h.behindSince)
	}
	return max(0, max(h.announcedHead.Load(), h.s.tail.knownHead())-h.pos), oldest, len(h.joining)
}

// readFollowStarts reads the follows since a number, and how many transactions added follows so
// far.
func (s *Service) readFollowStarts(ctx context.Context, from int64) (list []followStart, counted int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	counted = -1 // overwritten: there is always a row
	err = sqldb.Each(ctx, s.db, s.sql.begun, []any{from, maxFollowStarts}, func(rows *sql.Rows) error {
		var user, author, since sql.NullInt64
		err := rows.Scan(&counted, &user, &author, &since)
		if user.Valid {
			list = append(list, followStart{user.Int64, followed{author.Int64, since.Int64}})
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("select follows since number %d: %w", from, err)
	}
	return list, counted, nil
}
