// Package scalar has the scalar of package gqltest's schema that misbehaves.
package scalar

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// A Beat is a number that may fail to be written.
type Beat struct {
	Number int
	Fails  bool // with an error, whose text nobody outside should see
	Panics bool
}

// MarshalGQLContext writes the number, or does what the beat is made for.
func (b Beat) MarshalGQLContext(_ context.Context, w io.Writer) error {
	switch {
	case b.Panics:
		panic("a beat was missed: secret")
	case b.Fails:
		return errors.New("a beat was lost: secret")
	}
	_, err := fmt.Fprint(w, b.Number)
	return err
}

// UnmarshalGQLContext is there for gqlgen, which wants both directions.
func (b *Beat) UnmarshalGQLContext(context.Context, any) error {
	return errors.New("a beat is never an input")
}
