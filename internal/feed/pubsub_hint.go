package feed

import (
	"encoding/json"
	"strconv"
	"sync"
)

const (
	hintEvents = 200   // of one hint at most
	hintBytes  = 64000 // of the rows of a hint, about; what is beyond is read from the database
)

// pendingHints are events that wait to be announced to other processes. They are safe for
// concurrent use.
type pendingHints struct {
	mu     sync.Mutex
	events []Event
	lost   bool // there were too many: it is left to the log
}

// add lets events wait. None stand for more than can be told.
func (h *pendingHints) add(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost = h.lost || len(events) == 0 || len(h.events)+len(events) > hintEvents; h.lost {
		h.events = nil
		return
	}
	h.events = append(h.events, events...)
}

// take returns what waits: events, or that there were too many, or neither.
func (h *pendingHints) take() (events []Event, lost bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, lost = h.events, h.lost
	h.events, h.lost = nil, false
	return events, lost
}

// A hint is what processes tell each other. One that stands for more than it says is a
// number alone, as decimal text.
type hint struct {
	Last   int64                     `json:"last"`
	Events []Event                   `json:"events"`
	Rows   map[int64]json.RawMessage `json:"rows,omitempty"` // by note
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
	h, size := hint{Events: events, Rows: map[int64]json.RawMessage{}}, 0
	for _, e := range events {
		h.Last = max(h.Last, e.Seq)
		if e.Row != nil && size < hintBytes {
			if row, err := s.cfg.Notes.WriteRow(e.Row); err == nil { // else whoever hears it reads the row
				h.Rows[e.Note], size = row, size+len(row)
			}
		}
	}
	text, err := json.Marshal(h)
	if err != nil { // a row that is no JSON
		return strconv.AppendInt(nil, h.Last, 10)
	}
	return text
}

// ReceiveHint takes in what another process announced by Config.Announce, or this one. Of one that
// makes no sense, as of another version, it hears that there is something.
func (s *Service) ReceiveHint(text []byte) {
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
	for i, e := range h.Events {
		if row := h.Rows[e.Note]; len(row) > 0 && !e.Removed {
			h.Events[i].Row, _ = s.cfg.Notes.ReadRow(row) // else it is read from the database
		}
	}
	s.hub.announced(h.Last, h.Events...)
}
