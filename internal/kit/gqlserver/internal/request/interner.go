package request

import (
	"bytes"
	"errors"
	"hash/maphash"
	"sync/atomic"

	"github.com/99designs/gqlgen/graphql"
)

// Interner caches document texts and operation names, so that a request with a known
// text needs no copy of it. It holds up to 1024 texts of at most 4 KB, two per hash.
// A third text of a hash replaces the older one. A nil Interner holds no texts.
// Interner is safe for concurrent use.
type Interner struct {
	seed maphash.Seed
	sets [1 << 9][2]atomic.Pointer[string] // by hash, newer text first
}

const maxInterned = 4 << 10 // bytes of the longest text

// NewInterner returns an empty Interner.
func NewInterner() *Interner { return &Interner{seed: maphash.MakeSeed()} }

// Add stores a text. It ignores texts of more than 4 KB.
func (t *Interner) Add(text string) {
	if t == nil || len(text) > maxInterned {
		return
	}
	set := &t.sets[t.setIndex(text)]
	newer := set[0].Load()
	if newer != nil && *newer == text {
		return
	}
	if older := set[1].Load(); older != nil && *older == text {
		return
	}
	interned := text // a copy, so that text escapes to the heap only here
	set[1].Store(newer)
	set[0].Store(&interned)
}

func (t *Interner) setIndex(text string) uint64 {
	return maphash.String(t.seed, text) % uint64(len(t.sets))
}

// intern returns text as a string: the stored one, or a new one.
func (t *Interner) intern(text []byte) string {
	if t != nil && len(text) <= maxInterned {
		set := &t.sets[maphash.Bytes(t.seed, text)%uint64(len(t.sets))]
		for i := range set {
			if interned := set[i].Load(); interned != nil && *interned == string(text) {
				return *interned
			}
		}
	}
	return string(text)
}

// quoted returns the text of a JSON string. It returns false for any other value.
func (t *Interner) quoted(value []byte) (text string, ok bool) {
	if value[0] != '"' {
		return "", false
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return t.intern(value), true
	}
	plain := BorrowBuffer()
	defer plain.Release()
	plain.Bytes = unescape(plain.Bytes, value)
	return t.intern(plain.Bytes), true
}

// Params decodes the properties of a request. Its errors are safe to send to the
// client.
func (t *Interner) Params(found Fields) (*graphql.RawParams, error) {
	p := new(graphql.RawParams)
	var ok bool
	if found.Query != nil {
		if p.Query, ok = t.quoted(found.Query); !ok {
			return nil, errors.New("query must be a string")
		}
	}
	if found.OperationName != nil {
		if p.OperationName, ok = t.quoted(found.OperationName); !ok {
			return nil, errors.New("operationName must be a string")
		}
	}
	if found.Variables != nil {
		if p.Variables, ok = decodeObject(found.Variables); !ok {
			return nil, errors.New("variables must be an object")
		}
	}
	if found.Extensions != nil {
		if p.Extensions, ok = decodeObject(found.Extensions); !ok {
			return nil, errors.New("extensions must be an object")
		}
	}
	return p, nil
}
