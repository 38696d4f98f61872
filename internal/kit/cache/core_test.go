package cache

// inside returns the core of a cache.
func (c *Cache[K, V]) inside() *core[K, *V] {
	in, _ := c.core.(*core[K, *V])
	return in
}

// decodeRow decodes the record of a row.
func decodeRow(b []byte) (row, header, recordKind, error) {
	v, h, is, err := decode(b, unpack[row])
	if v == nil {
		v = new(row)
	}
	return *v, h, is, err
}
