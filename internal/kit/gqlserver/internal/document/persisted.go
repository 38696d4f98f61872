package document

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/request"
)

// Automatic persisted queries, as Apollo's clients and urql send them: a client
// names its query by a hash, and sends the text when nobody knows that.

// isSHA256 says whether a text is one in hexadecimal digits.
func isSHA256(text string) bool {
	if len(text) != hex.EncodedLen(sha256.Size) {
		return false
	}
	for _, c := range []byte(text) {
		if request.HexDigit(c) < 0 {
			return false
		}
	}
	return true
}

// named puts in the text of a query that the client only names, and checks the
// name of one that it sends with its text.
func (d *Store) named(params *graphql.RawParams) *gqlerror.Error {
	hash, err := persistedHash(params.Extensions)
	if err != nil || hash == "" {
		return err
	}
	if params.Query == "" {
		text, known := d.textOf(hash)
		d.onPersisted(known)
		if !known {
			return errcode.Errorf(errcode.PersistedQueryNotFound, "PersistedQueryNotFound")
		}
		params.Query = text
		return nil
	}
	if sum := sha256.Sum256([]byte(params.Query)); hex.EncodeToString(sum[:]) != hash {
		return errcode.Errorf(errcode.BadRequest, "The hash of the persisted query is not that of the query.")
	}
	return nil
}

// textOf is the text that goes by a hash.
func (d *Store) textOf(hash string) (text string, known bool) {
	if text, known = d.trusted.texts[hash]; known {
		return text, true
	}
	return d.persisted.GetIfPresent(hash)
}

// persistedHash is the hash that a request names its query by, "" for none.
func persistedHash(extensions map[string]any) (string, *gqlerror.Error) {
	if extensions["persistedQuery"] == nil {
		return "", nil
	}
	fields, _ := extensions["persistedQuery"].(map[string]any)
	hash, _ := fields["sha256Hash"].(string)
	if !isSHA256(hash) {
		return "", errcode.Errorf(errcode.BadRequest, "extensions.persistedQuery is not {version: 1, sha256Hash: 64 hex digits}.")
	}
	return strings.ToLower(hash), nil
}

// persist keeps a query under its hash, last of all: what is refused drives out
// nothing.
func (d *Store) persist(oc *graphql.OperationContext) *gqlerror.Error {
	hash, err := persistedHash(oc.Extensions)
	if err != nil || hash == "" {
		return err
	}
	if _, known := d.textOf(hash); !known {
		d.Persist(strings.Clone(hash), oc.RawQuery)
	}
	return nil
}

// Persist stores a text under its SHA-256, in lower-case hex, until others displace it.
func (d *Store) Persist(hash, text string) { d.persisted.Set(hash, text) }
