package visit

import (
	"sync"
	"time"
)

// recent stores the visitors of the last 30 seconds, in two generations: the young one
// replaces the old one after that time. It is safe for concurrent use.
type recent struct {
	max int // size of a generation

	mu         sync.Mutex
	young, old map[string]time.Time
	turned     time.Time
}

func newRecent(limit int) *recent { return &recent{max: limit, young: map[string]time.Time{}} }

// first reports whether a visitor must be counted, and stores it if so. Beyond the maximum
// size, some visitors are counted more often.
func (s *recent) first(visitor string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.young[visitor]
	if !known {
		last, known = s.old[visitor]
	}
	if known && now.Sub(last) < pause {
		return false
	}
	if now.Sub(s.turned) >= pause || len(s.young) >= s.max {
		s.young, s.old, s.turned = make(map[string]time.Time, len(s.young)), s.young, now
	}
	s.young[visitor] = now
	return true
}
