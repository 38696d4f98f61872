package document

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"github.com/tandian-dev/tandian/internal/kit/gqlserver/internal/errcode"
)

// trusted holds the trusted documents of a [Config]. They are parsed once and never
// evicted, so a flood of other documents does not slow down their users.
type trusted struct {
	texts map[string]string    // by hash
	valid map[string]*Document // by text
}

// loadTrusted parses and checks the documents of a [Config]. Its error names each
// invalid one.
func (d *Store) loadTrusted(texts map[string]string, limits Limits) (trusted, error) {
	t := trusted{texts: make(map[string]string, len(texts)), valid: make(map[string]*Document, len(texts))}
	var all []error
	for hash, text := range texts {
		doc := &Document{text: text}
		if err := d.checkTrusted(hash, doc, limits); err != nil {
			all = append(all, fmt.Errorf("document %.12s: %w", hash, err))
			continue
		}
		t.texts[hash], t.valid[text] = text, doc
	}
	return t, errors.Join(all...)
}

func (d *Store) checkTrusted(hash string, doc *Document, limits Limits) error {
	if sum := sha256.Sum256([]byte(doc.text)); hex.EncodeToString(sum[:]) != hash {
		return errors.New("name is not the SHA-256 of the text in lower-case hex")
	}
	if errcode.Exceeds(len(doc.text), limits.Document) {
		return fmt.Errorf("text is longer than %d bytes", limits.Document)
	}
	tree, err := parser.ParseQueryWithTokenLimit(&ast.Source{Input: doc.text}, limits.Tokens)
	if err != nil {
		return err
	}
	doc.tree = tree
	if refused := d.check(doc, limits); refused != nil {
		return refused[0]
	}
	return nil
}
