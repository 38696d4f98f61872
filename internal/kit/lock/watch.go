package lock

import (
	"container/heap"
	"sync"
	"time"
)

// watch rings alarms when they are due, by one timer for all: starting and
// stopping a timer for each would cost a lock that is held for a moment more than
// its commands. It has no goroutine while nothing is due. The zero value is ready.
type watch struct {
	mu    sync.Mutex
	due   agenda
	timer *time.Timer // nil before the first alarm
	rings time.Time   // when the timer fires; zero if it does not
}

// alarm is something to do at a time that may be changed.
type alarm struct {
	ring  func() (later func()) // what is urgent, and what may wait for the others' urgencies
	due   time.Time
	place int // in the agenda; -1 for none
}

func newAlarm(ring func() (later func())) alarm { return alarm{ring: ring, place: -1} }

// set has an alarm ring at a time, and not at the one that was set before.
func (w *watch) set(a *alarm, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	a.due = at
	if a.place < 0 {
		heap.Push(&w.due, a)
	} else {
		heap.Fix(&w.due, a.place)
	}
	w.arm()
}

// drop has an alarm not ring any more. The timer stays as it is: it is moved only
// forward, and most locks end before anything is due.
func (w *watch) drop(a *alarm) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a.place >= 0 {
		heap.Remove(&w.due, a.place)
	}
}

// arm sees to it that the timer fires when the first alarm is due. The caller
// holds mu.
func (w *watch) arm() {
	if len(w.due) == 0 || !w.rings.IsZero() && !w.due[0].due.Before(w.rings) {
		return
	}
	w.rings = w.due[0].due
	if w.timer == nil {
		w.timer = time.AfterFunc(time.Until(w.rings), w.ring)
		return
	}
	w.timer.Reset(time.Until(w.rings))
}

// ring rings all that are due.
func (w *watch) ring() {
	var later []func()
	for _, a := range w.take() {
		if f := a.ring(); f != nil {
			later = append(later, f)
		}
	}
	for _, f := range later {
		f()
	}
}

func (w *watch) take() (due []*alarm) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for now := time.Now(); len(w.due) > 0 && !w.due[0].due.After(now); {
		due = append(due, heap.Pop(&w.due).(*alarm)) //nolint:forcetypeassert // nothing else is there
	}
	w.rings = time.Time{}
	w.arm()
	return due
}

// agenda is a heap of alarms by when they are due.
type agenda []*alarm

func (g agenda) Len() int           { return len(g) }
func (g agenda) Less(i, j int) bool { return g[i].due.Before(g[j].due) }

func (g agenda) Swap(i, j int) {
	g[i], g[j] = g[j], g[i]
	g[i].place, g[j].place = i, j
}

// Push and Pop are for [heap] alone.
func (g *agenda) Push(a any) {
	added := a.(*alarm) //nolint:forcetypeassert // nothing else is pushed
	added.place = len(*g)
	*g = append(*g, added)
}

func (g *agenda) Pop() any {
	last := len(*g) - 1
	a := (*g)[last]
	(*g)[last] = nil
	*g = (*g)[:last]
	a.place = -1
	return a
}
