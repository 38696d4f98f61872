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
	checkEvery     = time.Second // how often the log is looked at without a hint
	retryAfter     = 100 * time.Millisecond
	viewersAtOnce  = 64               // viewers whose follows one statement reads
	versionsAtOnce = 500              // viewers whose versions one statement reads
	maxReplayed    = 1000             // due events of one replay; beyond, the client reads the feed anew
	maxChecked     = 20_000           // numbers that a replay looks through, while nobody is told anything
	maxBegun       = 10_000           // follows that began since the last event; beyond, all viewers are read anew
	viewerLife     = 30 * time.Second // of what is known of a viewer who has gone
	maxHinted      = 1000             // announced events that wait; beyond, the log is read
	recentUpdates  = 4096             // events of which those who come back get the same object
)

// A liveHub tells the live feeds of a process what is published and deleted. It is a position
// in the log of notes: all numbers up to it were told to those whom they are due. What
// follows is read from the log, but for what is known without; so a hint that is lost costs
// time and nothing else.
//
// An event is due to who follows its author since an earlier number. A follow writes down
// the head of the log while it keeps anybody from taking the next number; so whoever sees
// an event in the log sees all follows that it is due to, and those are read before it is
// told: no follow is heard of too late. That a follow has ended is heard within moments.
//
// What is published says so itself, with its number, what stands there, and how often follows
// had begun before it. If that is the next number, and no follow is unknown, it is told
// without a look into the log.
//
// One goroutine, run, reads and tells, one thing after the other. It is safe for concurrent
// use.
type liveHub struct {
	s     *Service
	wake  chan struct{} // of capacity 1: there is something to do
	heard atomic.Int64  // the highest number that somebody announced

	begun   atomic.Bool // all viewers' follows may have changed unheard
	doubted atomic.Bool // the log may be another one than what was told

	complaints clock.Throttle

	mu      sync.Mutex // held while receivers are called
	on      bool       // somebody is there, or was a moment ago: pos counts
	counted int64      // transactions that had follows begin, all of which are known; -1 if that is not known
	hinted  []Event    // what was announced and is not told
	look    bool       // the log is to be looked at
	pos     int64
	viewers map[int64]*viewer
	authors map[int64][]*viewer // by whom they follow
	joining []*session          // wait for what their beginning needs
	dirty   map[int64]bool      // viewers whose follows are to be read anew
	behind  time.Time           // when the first event was announced that is not told; zero if all is
	recent  [recentUpdates]*broadcast.Update

	readied, resynced *broadcast.Update // what was told last of a position
}

func newHub(s *Service) *liveHub {
	return &liveHub{s: s, wake: make(chan struct{}, 1), counted: -1, viewers: map[int64]*viewer{}, authors: map[int64][]*viewer{}, dirty: map[int64]bool{}}
}

// signal has run look what there is to do.
func (h *liveHub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// announced says that the log goes as far as a number, or, with 0, farther than it was, and
// what the last numbers are of, if that is known.
func (h *liveHub) announced(number int64, events ...Event) {
	for last := h.heard.Load(); number > last && !h.heard.CompareAndSwap(last, number); last = h.heard.Load() {
	}
	h.mu.Lock()
	news := h.on && (number == 0 || number > h.pos)
	if news {
		if len(events) > 0 && len(h.hinted)+len(events) <= maxHinted {
			h.hinted = append(h.hinted, events...)
		} else {
			h.look = true
		}
		if h.behind.IsZero() {
			h.behind = time.Now()
		}
	}
	h.mu.Unlock()
	if news {
		h.signal()
	}
}

// has reports whether all numbers up to one are told.
func (h *liveHub) has(number int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.on && number <= h.pos
}

// run tells until ctx ends.
func (h *liveHub) run(ctx context.Context) {
	check := time.NewTimer(clock.Jitter(checkEvery))
	defer check.Stop()
	for {
		select {
		case <-h.wake:
		case <-check.C:
			h.tick()
			check.Reset(clock.Jitter(checkEvery))
		case <-ctx.Done():
			return
		}
		for more := true; more && ctx.Err() == nil; {
			select {
			case <-check.C: // also while there is always something to do
				h.tick()
				check.Reset(clock.Jitter(checkEvery))
			default:
			}
			var err error
			if more, err = h.step(ctx); err != nil && ctx.Err() == nil {
				h.s.m.liveErrors.Inc()
				if h.complaints.Allow() {
					h.s.cfg.Log.WarnContext(ctx, "live feeds wait: what is new cannot be read", "err", err)
				}
				_ = clock.Sleep(ctx, clock.Jitter(retryAfter))
			}
		}
	}
}

// tick has the log looked at, and forgets who has been gone for long.
func (h *liveHub) tick() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look = true
	for user, v := range h.viewers {
		if len(v.sessions) == 0 && time.Since(v.left) > viewerLife {
			h.setFollows(v, nil)
			delete(h.viewers, user)
			delete(h.dirty, user)
		}
	}
	h.s.m.liveViewers.Set(float64(len(h.viewers)))
}

// step does the most urgent thing that there is to do, and reports whether there is more:
// what is new comes before those who join, and they before the follows that changed, some
// of them at a time.
func (h *liveHub) step(ctx context.Context) (more bool, err error) {
	h.mu.Lock()
	look, hinted := h.look, h.hinted
	h.look, h.hinted = false, nil
	if len(h.viewers) == 0 {
		h.on, h.behind = false, time.Time{}
		h.recent = [recentUpdates]*broadcast.Update{} // of a log that may be another one by then
		h.mu.Unlock()
		h.s.rows.forget()
		return false, nil
	}
	users, ahead := h.waiting()
	on := h.on
	h.mu.Unlock()
	told := h.tellHinted(hinted)
	if look || ahead || !on || !told {
		if err := h.advance(ctx); err != nil {
			h.mu.Lock()
			h.look = true
			h.mu.Unlock()
			return true, err
		}
	}
	if h.begun.Swap(false) {
		if err := h.checkVersions(ctx); err != nil {
			h.begun.Store(true)
			return true, err
		}
	}
	if len(users) > 0 {
		err = h.load(ctx, users)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.admitAll()
	if err != nil && len(h.joining) > len(users) { // others may be luckier
		h.joining = append(h.joining[len(users):], h.joining[:len(users)]...)
	}
	return h.look || len(h.joining) > 0 || len(h.dirty) > 0, err
}

// waiting returns some of the users whose follows are to be read: of who joins, then of
// those that changed; and whether somebody who joins has seen more than was told yet. The
// caller holds mu.
func (h *liveHub) waiting() (users []int64, ahead bool) {
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

// tellHinted tells what was announced, as far as that is just what stands in the log behind
// the position, and nobody follows an author since then unheard. It reports false if the log
// has to be looked at.
func (h *liveHub) tellHinted(hinted []Event) bool {
	if h.doubted.Load() {
		return false
	}
	now := time.Now()
	slices.SortStableFunc(hinted, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) }) // several tell at once
	for _, hint := range hinted {
		h.mu.Lock()
		pos, on, counted := h.pos, h.on, h.counted
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
			h.s.rows.keep(hint.Note, hint.Row)
		}
		h.deliver(e, now)
		h.caughtUp(e.Seq)
		h.s.m.liveHinted.Inc()
	}
	return true
}

// advance tells what is in the log behind the position.
func (h *liveHub) advance(ctx context.Context) error {
	doubted := h.doubted.Load() // before: what is doubted later is looked at once more
	head, err := h.s.tail.sync(ctx)
	if err != nil {
		return err
	}
	if doubted {
		return h.believe(ctx, head)
	}
	h.mu.Lock()
	pos, on := h.pos, h.on
	if !on {
		h.pos, h.on, h.counted = head, true, -1
	}
	h.mu.Unlock()
	if !on || head == pos {
		h.caughtUp(head)
		return nil
	}
	if found := head - max(pos, h.heard.Load()); found > 0 {
		h.s.m.liveFound.Add(float64(found))
	}
	if head < pos { // a database that was restored: what was told has not happened
		return h.skip(ctx, head)
	}
	begun, counted, err := h.s.readBegun(ctx, pos)
	if err != nil {
		return err
	}
	if len(begun) >= maxBegun {
		if err := h.loadAll(ctx); err != nil {
			return err
		}
		begun = nil
	}
	h.mu.Lock()
	h.counted = counted
	for _, b := range begun {
		if v := h.viewers[b.user]; v != nil && v.loaded {
			h.begin(v, b.followed)
		}
	}
	h.mu.Unlock()
	events, ok := h.s.tail.between(pos, head)
	if !ok { // this process was behind for longer than it remembers
		return h.skip(ctx, head)
	}
	now := time.Now()
	for _, e := range events {
		h.deliver(e, now)
	}
	h.caughtUp(head)
	return nil
}

// markSuspect has everybody read the feed anew: what was told may never have happened.
func (h *liveHub) markSuspect() {
	h.doubted.Store(true)
	h.mu.Lock()
	h.look = true
	h.mu.Unlock()
	h.signal()
}

// believe begins anew at the head of a log that may be another one. What was announced of
// the former one counts no more.
func (h *liveHub) believe(ctx context.Context, head int64) error {
	h.doubted.Store(false)
	h.mu.Lock()
	h.on = true
	h.mu.Unlock()
	if err := h.skip(ctx, head); err != nil {
		h.doubted.Store(true)
		return err
	}
	h.heard.Store(head)
	return nil
}

// skip has all read their feeds anew: the log cannot be told from the position on.
func (h *liveHub) skip(ctx context.Context, head int64) error {
	if err := h.loadAll(ctx); err != nil { // first: follows that began meanwhile are read nowhere else
		return err
	}
	h.s.rows.forget()
	h.mu.Lock()
	h.pos, h.counted = head, -1
	h.recent = [recentUpdates]*broadcast.Update{}
	for _, v := range h.viewers {
		for _, s := range v.sessions {
			if s.joined {
				h.resync(s)
			}
		}
	}
	h.mu.Unlock()
	h.caughtUp(head)
	return nil
}

func (h *liveHub) caughtUp(head int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.heard.Load() <= head {
		h.behind = time.Time{}
	}
}

// deliver pushes one event to those whom it is due, and moves on behind it.
func (h *liveHub) deliver(e Event, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pos = e.Seq
	var u *broadcast.Update
	told := 0
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
			told++
		}
	}
	h.s.m.liveEvents.Inc()
	h.s.m.liveTold.Add(float64(told))
}

// update is what is told of an event, the same object to all as long as it is remembered.
// The caller holds mu.
func (h *liveHub) update(e Event) *broadcast.Update {
	slot := &h.recent[e.Seq%recentUpdates]
	if *slot == nil || (*slot).Seq != placeOf(e.Seq) {
		*slot = h.s.updateOf(e)
	}
	return *slot
}

// Updates of a session are numbered by four times the number of the event, so that what
// is told of a position itself has a place of its own behind it.
func placeOf(number int64) int64  { return 4 * number }
func resyncAt(number int64) int64 { return 4*number + 1 }
func readyAt(number int64) int64  { return 4*number + 2 }
func numberAt(place int64) int64  { return place / 4 }

// A session is one subscription to a feed.
type session struct {
	hub    *liveHub
	viewer *viewer
	r      broadcast.Receiver
	after  int64 // it has seen everything up to here; -1 if it has not said
	joined bool  // it is told what happens
	closed bool
	asked  bool  // whether the log was looked at for it, see looked
	ready  int64 // the place of its FeedReady
	told   int64 // the place of its newest FeedResync; 0 for none
}

// join begins a session: at once, if all is there that its beginning needs.
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
	if h.on && v.loaded && after <= h.pos {
		h.admit(s)
		return s
	}
	h.joining = append(h.joining, s)
	h.signal()
	return s
}

// admitAll admits those who join and whose follows are known. The log was looked at since
// they came if they claim to be ahead of it. The caller holds mu.
func (h *liveHub) admitAll() {
	h.joining = slices.DeleteFunc(h.joining, func(s *session) bool {
		switch {
		case s.closed:
			return true
		case !s.viewer.loaded, s.after > h.pos && !s.looked():
			return false
		}
		h.admit(s)
		return true
	})
	if len(h.joining) == 0 {
		h.joining = nil
	}
}

// looked reports whether the log was looked at for this session, which is so from the
// second time on that it is asked: who comes while a look is under way waits for the next.
func (s *session) looked() (before bool) {
	before, s.asked = s.asked, true
	return before
}

// admit tells a session what it missed, and that it is ready. The caller holds mu.
func (h *liveHub) admit(s *session) {
	s.joined = true
	switch {
	case s.after < 0:
	case s.after > h.pos: // of another database, or one that was restored
		h.resync(s)
	default:
		h.replay(s, s.after)
	}
	s.ready = readyAt(h.pos)
	h.pushReady(s)
}

func (h *liveHub) pushReady(s *session) {
	s.r.Push(h.standing(&h.readied, s.ready, func(c page.Cursor) Update { return &Ready{Cursor: c} }))
}

// standing is what is told of a position itself, the same object to all who are told it. The
// caller holds mu.
func (h *liveHub) standing(last **broadcast.Update, place int64, of func(page.Cursor) Update) *broadcast.Update {
	if *last == nil || (*last).Seq != place {
		cursor := livePlace(numberAt(place))
		*last = &broadcast.Update{Seq: place, Cursor: string(cursor), Load: told(of(cursor))}
	}
	return *last
}

// resync has a session read the feed anew. The caller holds mu.
func (h *liveHub) resync(s *session) {
	h.s.m.liveReplays.WithLabelValues("resync").Inc()
	s.told = resyncAt(h.pos)
	s.r.Push(h.standing(&h.resynced, s.told, func(c page.Cursor) Update { return &Resync{Cursor: c} }))
}

// replay tells a session what is due to it behind a number, up to the position. The caller
// holds mu.
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

// Resume implements [live.Subscription].
func (s *session) Resume(after int64) {
	h := s.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if !s.joined || s.closed {
		return
	}
	s.r.Reset()
	if after < s.told { // it did not even hear that it is to read the feed anew
		h.resync(s)
	} else {
		h.replay(s, numberAt(after))
	}
	if after < s.ready {
		s.ready = readyAt(h.pos) // behind what was just told
		h.pushReady(s)
	}
}

// Close implements [live.Subscription].
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

// lag is how many numbers are announced, or known, and not told yet, since when, and how
// many sessions wait for their beginning.
func (h *liveHub) lag() (numbers int64, oldest time.Duration, joining int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.on {
		return 0, 0, len(h.joining)
	}
	if !h.behind.IsZero() {
		oldest = time.Since(h.behind)
	}
	return max(0, max(h.heard.Load(), h.s.tail.known())-h.pos), oldest, len(h.joining)
}

// readBegun reads the follows that began since the log had a number, and how many
// transactions had any begin so far.
func (s *Service) readBegun(ctx context.Context, from int64) (list []followStart, counted int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, tailTimeout)
	defer cancel()
	counted = -1 // there always is a row
	err = sqldb.Each(ctx, s.db, s.sql.begun, []any{from, maxBegun}, func(rows *sql.Rows) error {
		var user, author, since sql.NullInt64
		err := rows.Scan(&counted, &user, &author, &since)
		if user.Valid {
			list = append(list, followStart{user.Int64, followed{author.Int64, since.Int64}})
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("select the follows that began since number %d: %w", from, err)
	}
	return list, counted, nil
}
