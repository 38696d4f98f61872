package door

import (
	"bytes"
	"sync"
)

// A sender stands in for the one that is coming.
type sender struct {
	onDrained func()
	socket    *socket

	mu      sync.Mutex
	waiting [][]byte
	bytes   int
	writing bool
	refused bool
}

func (s *sender) offer(frames []byte) bool {
	c := s.socket
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes > 256*kb {
		s.refused = true
		return false
	}
	for text := range bytes.SplitSeq(bytes.TrimSuffix(frames, []byte{0}), []byte{0}) {
		s.waiting = append(s.waiting, bytes.Clone(text))
		s.bytes += len(text)
	}
	if !s.writing && c.hold() {
		s.writing = true
		go c.drain()
	}
	return true
}

func (c *socket) drain() {
	defer c.work.Done()
	s := &c.out
	for {
		s.mu.Lock()
		if len(s.waiting) == 0 {
			drained := s.refused
			s.writing, s.refused = false, false
			s.mu.Unlock()
			if drained && s.onDrained != nil {
				s.onDrained()
			}
			return
		}
		text := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.mu.Unlock()
		c.write(c.ctx, text)
		s.mu.Lock()
		s.bytes -= len(text)
		s.mu.Unlock()
	}
}

func appendFrame(out []byte, parts ...[]byte) []byte {
	for _, part := range parts {
		out = append(out, part...)
	}
	return append(out, 0)
}
