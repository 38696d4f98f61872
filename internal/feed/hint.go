package feed

import (
	"encoding/json"
	"strconv"
	"sync"
)

// An Event is what a number of the log is of, as its writer tells of it after the commit.
type Event struct {
	Seq, Note, Author int64
	Removed           bool  // the note was deleted; else it was published
	Star              bool  // its author became a star with it, or was one
	Follows           int64 // how many transactions had follows begin before it
	Row               any   // of the note, as [Notes.Rows] returns it; nil if it is not at hand
}

func (e Event) event() event {
	return event{seq: e.Seq, note: e.Note, author: e.Author, added: !e.Removed, star: e.Star}
}

const (
	hintEvents = 200   // of one hint at most
	hintBytes  = 64000 // of the rows of a hint, about; what is beyond is read from the database
)

// hints are events that wait to be announced to other processes. They are safe for
// concurrent use.
type hints struct {
	mu     sync.Mutex
	events []Event
	lost   bool // there were too many: it is left to the log
}

// add lets events wait. None stand for more than can be told.
func (h *hints) add(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost = h.lost || len(events) == 0 || len(h.events)+len(events) > hintEvents; h.lost {
		h.events = nil
		return
	}
	h.events = append(h.events, events...)
}

// take returns what waits: events, or that there were too many, or neither.
func (h *hints) take() (events []Event, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, lost = h.events, h.lost
	h.events, h.lost = nil, false
	return events, lost
}

// A hint is what processes tell each other. One that stands for more than it says is a
// number alone, as decimal text.
type hint struct {
	Last   int64       `json:"last"`
	Events []hintEvent `json:"events"`
}

type hintEvent struct {
	Seq     int64           `json:"seq"`
	Note    int64           `json:"note"`
	Author  int64           `json:"author"`
	Follows int64           `json:"follows"`
	Removed bool            `json:"removed,omitempty"`
	Star    bool            `json:"star,omitempty"`
	Row     json.RawMessage `json:"row,omitempty"`
}

// nextHint is what is to be announced, nil for nothing.
func (s *Service) nextHint() []byte {
	events, lost := s.hints.take()
	switch {
	case lost:
		return strconv.AppendInt(nil, s.hub.heard.Load(), 10)
	case len(events) == 0:
		return nil
	}
	h, size := hint{}, 0
	for _, e := range events {
		h.Last = max(h.Last, e.Seq)
		one := hintEvent{Seq: e.Seq, Note: e.Note, Author: e.Author, Follows: e.Follows, Removed: e.Removed, Star: e.Star}
		if e.Row != nil && size < hintBytes {
			if row, err := s.cfg.Notes.WriteRow(e.Row); err == nil { // else whoever hears it reads the row
				one.Row, size = row, size+len(row)
			}
		}
		h.Events = append(h.Events, one)
	}
	text, err := json.Marshal(h)
	if err != nil { // a row that is no JSON
		return strconv.AppendInt(nil, h.Last, 10)
	}
	return text
}

// Hear takes in what another process announced by Config.Announce, or this one. Of one that
// makes no sense, as of another version, it hears that there is something.
func (s *Service) Hear(text []byte) {
	if len(text) == 0 || text[0] != '{' {
		number, _ := strconv.ParseInt(string(text), 10, 64) // 0: there is something
		s.hub.announced(number)
		return
	}
	var h hint
	if json.Unmarshal(text, &h) != nil || h.Last <= 0 {
		s.hub.announced(0)
		return
	}
	if s.hub.has(h.Last) { // a process hears itself too
		return
	}
	events := make([]Event, len(h.Events))
	for i, e := range h.Events {
		events[i] = Event{Seq: e.Seq, Note: e.Note, Author: e.Author, Follows: e.Follows, Removed: e.Removed, Star: e.Star}
		if len(e.Row) > 0 {
			events[i].Row, _ = s.cfg.Notes.ReadRow(e.Row) // else it is read from the database
		}
	}
	s.hub.announced(h.Last, events...)
}
