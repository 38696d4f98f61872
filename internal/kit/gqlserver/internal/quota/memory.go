package quota

// Memory counts what one request takes of the bytes that all have together. A
// nil memory takes nothing.
type Memory struct {
	budget *ByteBudget
	key    string
	taken  int
}

// NewMemory returns the memory of one request of a key, of which nothing is taken.
func NewMemory(budget *ByteBudget, key string) *Memory { return &Memory{budget: budget, key: key} }

// Take asks for n bytes more.
func (m *Memory) Take(n int) bool {
	if m == nil || n <= 0 {
		return true
	}
	if !m.budget.Take(m.key, n) {
		return false
	}
	m.taken += n
	return true
}

// Give gives n bytes back; if n is less than none, it takes them, whether there
// are any or not.
func (m *Memory) Give(n int) {
	if m == nil {
		return
	}
	m.budget.Give(m.key, n)
	m.taken -= n
}

// Release gives everything back.
func (m *Memory) Release() {
	if m != nil {
		m.Give(m.taken)
	}
}
