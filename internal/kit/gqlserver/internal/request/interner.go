package request

import (
	"bytes"
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
)

// Interner are some of those of documents that were asked for more than once, so that a
// request that brings one of them needs no copy of it. There is room for 1024 of up to 4 KB,
// for two of each hash, of which the older one is forgotten for a third. They are safe for
// concurrent use; nil texts know none.
type Interner struct {
	seed maphash.Seed
	sets [1 << 9][2]atomic.Pointer[string] // by hash, the newer one first
}

const maxInterned = 4 << 10

// NewInterner returns an empty Interner.
func NewInterner() *Interner { return &Interner{seed: maphash.MakeSeed()} }

// Keep remembers a text.
func (t *Interner) Keep(text string) {
	if t == nil || len(text) > maxInterned {
		return
	}
	set := &t.sets[t.setOf(text)]
	newer := set[0].Load()
	if newer != nil && *newer == text {
		return
	}
	if older := set[1].Load(); older != nil && *older == text {
		return
	}
	kept := text // else each text that is looked for would be moved to the heap
	set[1].Store(newer)
	set[0].Store(&kept)
}

// setOf is where a text has its place.
func (t *Interner) setOf(text string) uint64 {
	return maphash.String(t.seed, text) % uint64(len(t.sets))
}

// of is a string of bytes: the one that is remembered, or a new one.
func (t *Interner) of(text []byte) string {
	if t != nil && len(text) <= maxInterned {
		set := &t.sets[maphash.Bytes(t.seed, text)%uint64(len(t.sets))]
		for i := range set {
			if kept := set[i].Load(); kept != nil && *kept == string(text) {
				return *kept
			}
		}
	}
	return string(text)
}

// quoted is the text of a string in JSON; ok is false if it is something else.
func (t *Interner) quoted(value []byte) (text string, ok bool) {
	if value[0] != '"' {
		return "", false
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return t.of(value), true
	}
	plain := BorrowBuffer()
	defer plain.Release()
	plain.Bytes = unescape(plain.Bytes, value)
	return t.of(plain.Bytes), true
}

// Params makes a request of its properties. The text of an error can be shown to the
// client.
func (t *Interner) Params(found Fields) (*graphql.RawParams, error) {
	p := new(graphql.RawParams)
	var ok bool
	if found.Query != nil {
		if p.Query, ok = t.quoted(found.Query); !ok {
			return nil, errors.New("query is not a string")
		}
	}
	if found.OperationName != nil {
		if p.OperationName, ok = t.quoted(found.OperationName); !ok {
			return nil, errors.New("operationName is not a string")
		}
	}
	if found.Variables != nil {
		if p.Variables, ok = objectOf(found.Variables); !ok {
			return nil, errors.New("variables is not an object")
		}
	}
	if found.Extensions != nil {
		if p.Extensions, ok = objectOf(found.Extensions); !ok {
			return nil, errors.New("extensions is not an object")
		}
	}
	return p, nil
}
