package visit

import (
	"sync"
	"time"
)

// recent remembers who was counted within the last 30 seconds, in two generations: what is
// young becomes old after that time, and what is old is forgotten. It is safe for
// concurrent use.
type recent struct {
	max int // of a generation

	mu         sync.Mutex
	young, old map[string]time.Time
	turned     time.Time
}

func newRecent(max int) *recent { return &recent{max: max, young: map[string]time.Time{}} }

// first reports whether a visitor is to be counted, and remembers it if so. Of more
// visitors than can be remembered some are counted more often.
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
