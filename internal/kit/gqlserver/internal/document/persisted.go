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

// Automatic persisted queries work as in Apollo's clients and urql. The client sends the
// hash of its query, and the text only if the server does not know the hash.

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

// resolvePersisted sets the text of a query that the client sends as a hash only. If
// the client sends both, it checks the hash.
func (d *Store) resolvePersisted(params *graphql.RawParams) *gqlerror.Error {
	hash, err := persistedHash(params.Extensions)
	if err != nil || hash == "" {
		return err
	}
	if params.Query == "" {
		text, known := d.persistedText(hash)
		d.onPersisted(known)
		if !known {
			return errcode.Errorf(errcode.PersistedQueryNotFound, "PersistedQueryNotFound")
		}
		params.Query = text
		return nil
	}
	if sum := sha256.Sum256([]byte(params.Query)); hex.EncodeToString(sum[:]) != hash {
		return errcode.Errorf(errcode.BadRequest, "The sha256Hash of the persisted query does not match the query.")
	}
	return nil
}

func (d *Store) persistedText(hash string) (text string, known bool) {
	if text, known = d.trusted.texts[hash]; known {
		return text, true
	}
	return d.persisted.GetIfPresent(hash)
}

// persistedHash returns the hash of a request's persisted query, or "".
func persistedHash(extensions map[string]any) (string, *gqlerror.Error) {
	if extensions["persistedQuery"] == nil {
		return "", nil
	}
	fields, _ := extensions["persistedQuery"].(map[string]any)
	hash, _ := fields["sha256Hash"].(string)
	if !isSHA256(hash) {
		return "", errcode.Errorf(errcode.BadRequest, "extensions.persistedQuery must be {version: 1, sha256Hash: 64 hex digits}.")
	}
	return strings.ToLower(hash), nil
}

// persist stores a query under its hash. It runs after all checks, so that rejected
// queries evict nothing.
func (d *Store) persist(oc *graphql.OperationContext) *gqlerror.Error {
	hash, err := persistedHash(oc.Extensions)
	if err != nil || hash == "" {
		return err
	}
	if _, known := d.persistedText(hash); !known {
		d.Persist(strings.Clone(hash), oc.RawQuery)
	}
	return nil
}

// Persist stores a text under its SHA-256 in lower-case hex. The cache may evict it.
func (d *Store) Persist(hash, text string) { d.persisted.Set(hash, text) }
