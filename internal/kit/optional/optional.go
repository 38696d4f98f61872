// Package optional goes between values that may be missing as pointers say it
// and as zero values do.
package optional

// Value is what p points to, or the zero value.
func Value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// OrNil is a pointer to v, or nil for the zero value.
func OrNil[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
