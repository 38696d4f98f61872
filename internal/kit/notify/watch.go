package notify

// A Watch receives hints for its key.
type Watch struct {
	hub        *Hub
	c          chan struct{}
	prev, next *Watch // of the same key
	key        key
	closed     bool
}

// Watch starts to watch a key: it receives hints from now on. The caller closes it. The only
// error is [ErrFull].
func (h *Hub) Watch(name string) (*Watch, error) {
	w := &Watch{hub: h, c: make(chan struct{}, 1), key: keyOf(name)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.max {
		h.metrics.errors.WithLabelValues(watching).Inc()
		return nil, ErrFull
	}
	if w.next = h.watches[w.key]; w.next != nil {
		w.next.prev = w
	}
	h.watches[w.key] = w
	h.count++
	h.metrics.watches.Set(float64(h.count))
	return w, nil
}

// C returns the channel of hints. It holds one hint, for any number of notifications, if the
// state must be read again. It is never closed.
func (w *Watch) C() <-chan struct{} { return w.c }

// Close ends the watch. Further calls do nothing.
func (w *Watch) Close() {
	h := w.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		h.watches[w.key] = w.next
	default:
		delete(h.watches, w.key)
	}
	if w.next != nil {
		w.next.prev = w.prev
	}
	w.prev, w.next = nil, nil
	h.count--
	h.metrics.watches.Set(float64(h.count))
}

// hint returns the number of added hints: 0 if one is pending.
func (w *Watch) hint() int {
	select {
	case w.c <- struct{}{}:
		return 1
	default:
		return 0
	}
}

func (h *Hub) all() []*Watch {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Watch, 0, h.count)
	for _, first := range h.watches {
		for w := first; w != nil; w = w.next {
			list = append(list, w)
		}
	}
	return list
}
