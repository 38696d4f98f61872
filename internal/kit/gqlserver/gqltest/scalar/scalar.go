// Package scalar defines the faulty scalar of package gqltest's schema.
package scalar

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Beat is a number whose encoding may fail or panic, with a secret text.
type Beat struct {
	Number int
	Fails  bool
	Panics bool
}

// MarshalGQLContext implements gqlgen's ContextMarshaler.
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

// UnmarshalGQLContext implements gqlgen's ContextUnmarshaler. It always fails.
func (b *Beat) UnmarshalGQLContext(context.Context, any) error {
	return errors.New("a beat is never an input")
}
