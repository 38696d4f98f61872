package notify

// A Watch is told when something about its key may have changed.
type Watch struct {
	hub        *Hub
	c          chan struct{}
	prev, next *Watch // of the same key
	key        key
	closed     bool
}

// Watch begins to watch a key. It hears what is told from now on. Whoever has it
// closes it. The error is [ErrFull].
func (h *Hub) Watch(words string) (*Watch, error) {
	w := &Watch{hub: h, c: make(chan struct{}, 1), key: keyOf(words)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count >= h.max {
		h.metrics.errors.WithLabelValues(refusing).Inc()
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

// C has a hint in it, one for any number, when the state is to be read anew. It is
// never closed.
func (w *Watch) C() <-chan struct{} { return w.c }

// Close ends the watch. More than once is once.
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

// hint returns 1, or 0 if there is one already.
func (w *Watch) hint() int {
	select {
	case w.c <- struct{}{}:
		return 1
	default:
		return 0
	}
}

// all are the watches that are open now.
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
