package feed

import (
	"encoding/json"
	"strconv"
	"sync"
)

const (
	hintEvents = 200   // maximum per hint
	hintBytes  = 64000 // approximate size limit of the rows in a hint; receivers read other rows from the database
)

// pendingHints queues events to announce to other processes. It is safe for concurrent use.
type pendingHints struct {
	mu       sync.Mutex
	events   []Event
	overflow bool // too many: receivers read the log
}

// add queues events. An empty list means too many events.
func (h *pendingHints) add(events []Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.overflow = h.overflow || len(events) == 0 || len(h.events)+len(events) > hintEvents; h.overflow {
		h.events = nil
		return
	}
	h.events = append(h.events, events...)
}

// take empties the queue. overflow reports whether there were too many events.
func (h *pendingHints) take() (events []Event, overflow bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	events, overflow = h.events, h.overflow
	h.events, h.overflow = nil, false
	return events, overflow
}

// A hint announces events to other processes. If there are too many, only the last number is sent,
// as decimal text.
type hint struct {
	Last   int64                     `json:"last"`
	Events []Event                   `json:"events"`
	Rows   map[int64]json.RawMessage `json:"rows,omitempty"` // by note id
}

// nextHint encodes the queued events as a hint, nil for none.
func (s *Service) nextHint() []byte {
	events, overflow := s.hints.take()
	switch {
	case overflow:
		return strconv.AppendInt(nil, s.hub.announcedHead.Load(), 10)
	case len(events) == 0:
		return nil
	}
	h, size := hint{Events: events, Rows: map[int64]json.RawMessage{}}, 0
	for _, e := range events {
		h.Last = max(h.Last, e.Seq)
		if e.Row != nil && size < hintBytes {
			if row, err := s.cfg.Notes.WriteRow(e.Row); err == nil { // else the receiver reads the row
				h.Rows[e.Note], size = row, size+len(row)
			}
		}
	}
	text, err := json.Marshal(h)
	if err != nil { // a row is not JSON
		return strconv.AppendInt(nil, h.Last, 10)
	}
	return text
}

// ReceiveHint handles a hint that Config.Announce of any process sent, including this one. An
// invalid hint, such as one of another version, only means that the log has grown.
func (s *Service) ReceiveHint(text []byte) {
	if len(text) == 0 || text[0] != '{' {
		number, _ := strconv.ParseInt(string(text), 10, 64) // 0 if invalid
		s.hub.receive(number)
		return
	}
	var h hint
	if json.Unmarshal(text, &h) != nil || h.Last <= 0 {
		s.hub.receive(0)
		return
	}
	if s.hub.hasDelivered(h.Last) { // perhaps the hint of this process
		return
	}
	for i, e := range h.Events {
		if row := h.Rows[e.Note]; len(row) > 0 && !e.Removed {
			h.Events[i].Row, _ = s.cfg.Notes.ReadRow(row) // on error, read from the database
		}
	}
	s.hub.receive(h.Last, h.Events...)
}
