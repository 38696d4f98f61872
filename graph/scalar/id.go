// Package scalar holds the Go side of the schema's scalars and interfaces.
//
// They are stricter than gqlgen's own: a number in quotes, NaN or a bare
// number for an id is the client's mistake and is told so.
package scalar

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"

	"github.com/tandian-dev/tandian/internal/kit/apierror"
)

// An ID is a global id that a client gave: base64url, without padding, of
// "TYPE:NUMBER".
type ID struct {
	Type string
	N    int64
}

// Of returns the number of an id of the given type, or a fault if it is the id
// of something else.
func (id ID) Of(typ string) (int64, error) {
	if id.Type != typ {
		return 0, apierror.BadInput("this is an id of type %s, not %s", id.Type, typ)
	}
	return id.N, nil
}

// String is the id as clients see it.
func (id ID) String() string {
	return string(AppendID(nil, []byte(id.Type+":"), id.N))
}

// ParseID reads an id that a client gave. Only what [ID.String] makes is one:
// each object has a single id. The fault does not repeat the id.
func ParseID(s string) (ID, error) {
	if id, ok := parseID(s); ok {
		return id, nil
	}
	return ID{}, apierror.BadInput("this is no id of ours")
}

// maxID is the length of the longest id, in characters.
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
		return apierror.BadInput("an id is a string")
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

// MarshalNum writes the number of an object as its global id: the type is that
// of the object whose field it is.
func MarshalNum(n int64) graphql.ContextMarshaler {
	return graphql.ContextWriterFunc(func(ctx context.Context, w io.Writer) error {
		_, err := w.Write(AppendNum(nil, n, graphql.GetFieldContext(ctx).Object))
		return err
	})
}

// AppendNum appends the number of an object as [MarshalNum] writes it. object is the type of
// the object.
func AppendNum(out []byte, n int64, object string) []byte {
	out = append(out, '"')
	var text [64]byte
	return append(AppendID(out, append(append(text[:0], object...), ':'), n), '"')
}

// UnmarshalNum is never used: an argument becomes an [ID], whose type a
// resolver must check.
func UnmarshalNum(context.Context, any) (int64, error) {
	return 0, fmt.Errorf("an id argument must be bound to scalar.ID")
}

// A Node is an object with a global id; gqlgen switches on the concrete type. It has
// a method because interfaces are nodes too: the pointer to one must not be.
type Node interface{ IsNode() }

// AppendID appends an id as clients see it; typ is its type with a colon.
func AppendID(out, typ []byte, n int64) []byte {
	return base64.RawURLEncoding.AppendEncode(out, strconv.AppendInt(typ, n, 10))
}
