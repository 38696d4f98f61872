package quota

// Memory counts the bytes that one request takes of a [ByteBudget]. A nil Memory
// counts nothing. It is not safe for concurrent use.
type Memory struct {
	budget *ByteBudget
	key    string
	taken  int
}

// NewMemory returns the empty Memory of one request of a key.
func NewMemory(budget *ByteBudget, key string) *Memory { return &Memory{budget: budget, key: key} }

// Take takes n more bytes, or returns false if the budget does not have them.
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

// Give returns n bytes to the budget. A negative n takes bytes, even beyond the
// budget.
func (m *Memory) Give(n int) {
	if m == nil {
		return
	}
	m.budget.Give(m.key, n)
	m.taken -= n
}

// Release returns all bytes to the budget.
func (m *Memory) Release() {
	if m != nil {
		m.Give(m.taken)
	}
}
