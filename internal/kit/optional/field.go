package optional

// A Field of a change. The zero value leaves the field as it is.
type Field[T any] struct {
	Given bool // the change speaks of this field
	Value *T   // what to set it to; nil clears it
}

// Set sets a field to v.
func Set[T any](v T) Field[T] { return Field[T]{true, &v} }

// Clear clears a field.
func Clear[T any]() Field[T] { return Field[T]{Given: true} }
