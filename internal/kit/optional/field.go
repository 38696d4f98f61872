package optional

// A Field is one optional field of a change. The zero value leaves the field unchanged.
type Field[T any] struct {
	Given bool // whether the change sets or clears the field
	Value *T   // new value; nil clears the field
}

// Set returns a Field that sets the value v.
func Set[T any](v T) Field[T] { return Field[T]{true, &v} }

// Clear returns a Field that clears the value.
func Clear[T any]() Field[T] { return Field[T]{Given: true} }
