// Package optional converts between optional values as pointers and as zero values, and
// represents optional fields of a change.
package optional

// Value returns *p, or the zero value if p is nil.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// OrNil returns a pointer to v, or nil if v is the zero value.
func OrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
