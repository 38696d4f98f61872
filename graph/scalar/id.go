// Package scalar implements the scalars and interfaces of the schema.
//
// They are stricter than those of gqlgen: a quoted number, NaN, or a bare number as an id
// is a BAD_USER_INPUT error.
package scalar

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// An ID is a global id from a client: base64url without padding of "TYPE:NUMBER".
type ID struct {
	Type string
	N    int64
}

// Of returns the number of the id. It returns a BAD_USER_INPUT error if the id has another
// type than typ.
func (id ID) Of(typ string) (int64, error) {
	if id.Type != typ {
		return 0, apierror.BadInput("invalid id: type %s, want %s", id.Type, typ)
	}
	return id.N, nil
}

// String returns the id in the form that clients see.
func (id ID) String() string {
	return string(AppendID(nil, []byte(id.Type+":"), id.N))
}

// ParseID parses an id from a client. It accepts only the form of [ID.String], so that
// each object has one id. The error does not quote the id.
func ParseID(s string) (ID, error) {
	if id, ok := parseID(s); ok {
		return id, nil
	}
	return ID{}, apierror.BadInput("invalid id: not an id of this API")
}

// maxID is the maximum length of an id, in characters.
const maxID = 128

func parseID(s string) (ID, bool) {
	if len(s) > maxID {
		return ID{}, false
	}
	var text, again [maxID]byte
	b, err := base64.RawURLEncoding.AppendDecode(text[:0], []byte(s))
	if err != nil {
		return ID{}, false
	}
	typ, number, ok := bytes.Cut(b, []byte{':'})
	n, err := strconv.ParseInt(string(number), 10, 64)
	if !ok || err != nil || n < 1 || len(typ) == 0 || len(bytes.Trim(typ, letters)) > 0 {
		return ID{}, false
	}
	if string(AppendID(again[:0], append(text[:0], b[:len(typ)+1]...), n)) != s {
		return ID{}, false
	}
	return ID{string(typ), n}, true
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// UnmarshalGQL reads an argument or variable.
func (id *ID) UnmarshalGQL(v any) error {
	s, ok := v.(string)
	if !ok {
		return apierror.BadInput("invalid id: not a string")
	}
	parsed, err := ParseID(s)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MarshalGQL writes the id.
func (id ID) MarshalGQL(w io.Writer) { _, _ = io.WriteString(w, strconv.Quote(id.String())) }

// MarshalNum writes the number of an object as its global id. The type of the id is the
// type of the object that the field belongs to.
func MarshalNum(n int64) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(AppendNum(nil, n, graphql.GetFieldContext(ctx).Object))
		return err
	})
}

// AppendNum appends the number of an object of the given type in the form of [MarshalNum].
func AppendNum(out []byte, n int64, object string) []byte {
	out = append(out, '"')
	var text [64]byte
	return append(AppendID(out, append(append(text[:0], object...), ':'), n), '"')
}

// UnmarshalNum always returns an error: an argument must be an [ID], whose type a resolver
// checks.
func UnmarshalNum(context.Context, any) (int64, error) {
	return 0, errors.New("unmarshal id: the argument must be bound to scalar.ID")
}

// A Node is an object with a global id. gqlgen switches on its concrete type. The method
// excludes pointers to interfaces.
type Node interface{ IsNode() }

// AppendID appends an id in the form that clients see. typ is its type with a colon.
func AppendID(out, typ []byte, n int64) []byte {
	return base64.RawURLEncoding.AppendEncode(out, strconv.AppendInt(typ, n, 10))
}
