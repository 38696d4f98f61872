package schema

import "errors"

// Generated code calls these validators instead of those of ent's package field, which would stop
// the linker from dropping unused methods. See entc.go.

// MaxLen returns a validator for texts of at most n bytes.
func MaxLen(n int) func(string) error {
	return func(v string) error {
		if len(v) > n {
			return errors.New("value is greater than the required length")
		}
		return nil
	}
}

// NotEmpty validates that a text is not empty.
func NotEmpty(v string) error {
	if v == "" {
		return errors.New("value is less than the required length")
	}
	return nil
}

var errRange = errors.New("value out of range")

// NonNegative validates that a number is 0 or more.
func NonNegative[T int | int64](v T) error {
	if v < 0 {
		return errRange
	}
	return nil
}

// Positive validates that a number is 1 or more.
func Positive[T int | int64](v T) error {
	if v < 1 {
		return errRange
	}
	return nil
}

// All returns a validator that calls validators until one returns an error.
func All[T any](validators ...func(T) error) func(T) error {
	return func(v T) error {
		for _, validate := range validators {
			if err := validate(v); err != nil {
				return err
			}
		}
		return nil
	}
}
