package cdc

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pglogrepl"
)

// A relation is a table as the log describes it at this point of time.
type relation struct {
	table  *Table // nil if we do not tell of it
	outbox bool
	key    int // which column is the key; -1 if there is none of that name any more
}

func (r *Reader) relation(m *pglogrepl.RelationMessage) *relation {
	rel := &relation{key: -1}
	if m.Namespace != r.schema {
		return rel
	}
	rel.outbox = r.o.Outbox != "" && m.RelationName == r.o.Outbox
	for i := range r.o.Tables {
		if r.o.Tables[i].Name == m.RelationName {
			rel.table = &r.o.Tables[i]
		}
	}
	rel.key = slices.IndexFunc(m.Columns, func(c *pglogrepl.RelationMessageColumn) bool {
		return c.Name == r.keys[m.RelationName]
	})
	return rel
}

var errMalformed = errors.New("malformed message")

// readKey reads one version of a row, TupleData in the protocol's documentation. It
// returns the key, which is nil if the log does not have it as text, and the bytes after
// the row.
func (rel *relation) readKey(data []byte) (key, rest []byte, err error) {
	if len(data) < 2 {
		return nil, nil, errMalformed
	}
	columns := int(binary.BigEndian.Uint16(data))
	data = data[2:]
	for i := range columns {
		if len(data) == 0 {
			return nil, nil, errMalformed
		}
		kind := data[0]
		data = data[1:]
		switch kind {
		case pglogrepl.TupleDataTypeNull, pglogrepl.TupleDataTypeToast:
			continue
		case pglogrepl.TupleDataTypeText, pglogrepl.TupleDataTypeBinary:
		default:
			return nil, nil, errMalformed
		}
		if len(data) < 4 || uint64(len(data)-4) < uint64(binary.BigEndian.Uint32(data)) {
			return nil, nil, errMalformed
		}
		end := 4 + int(binary.BigEndian.Uint32(data))
		if i == rel.key && kind == pglogrepl.TupleDataTypeText {
			key = data[4:end:end]
		}
		data = data[end:]
	}
	return key, data, nil
}

// A transaction is what one has changed, as far as we tell of it. The zero value has
// changed nothing.
type transaction struct {
	id      uint32
	outbox  bool     // it tells others by itself
	changes []change // in the order in which the tables were changed first
}

// A change is what a transaction did to one table.
type change struct {
	table *Table
	keys  []string            // each once
	seen  map[string]struct{} // the keys, when there are more than few
	all   bool                // everything: the keys are not known, or too many
	cut   bool                // by TRUNCATE
}

// few is the number of keys up to which a search in the slice is cheaper than a map.
const few = 16

// begin makes t the transaction of this id, which has changed nothing yet.
func (t *transaction) begin(id uint32) {
	*t = transaction{id: id, changes: t.changes[:0]}
}

func (t *transaction) change(table *Table) *change {
	i := slices.IndexFunc(t.changes, func(c change) bool { return c.table == table })
	if i < 0 {
		i = len(t.changes)
		t.changes = append(t.changes, change{table: table})
	}
	return &t.changes[i]
}

func (c *change) everything() { c.all, c.keys, c.seen = true, nil, nil }

func (c *change) add(key []byte) {
	switch {
	case c.all || c.has(key):
		return
	case len(c.keys) == maxKeys:
		c.everything()
		return
	}
	c.keys = append(c.keys, string(key))
	switch {
	case c.seen != nil:
		c.seen[c.keys[len(c.keys)-1]] = struct{}{}
	case len(c.keys) > few:
		c.seen = make(map[string]struct{}, 4*few)
		for _, key := range c.keys {
			c.seen[key] = struct{}{}
		}
	}
}

func (c *change) has(key []byte) bool {
	if c.seen != nil {
		_, there := c.seen[string(key)]
		return there
	}
	return slices.ContainsFunc(c.keys, func(k string) bool { return k == string(key) })
}

// insert takes in an inserted row, and row one that was inserted, updated or deleted. data
// is the message behind the relation: the versions of the row that the log has, with a
// letter before each. The old one is there only if its key is another, or the row was
// deleted.
func (t *transaction) insert(rel *relation, data []byte) error {
	if rel != nil && rel.outbox {
		t.outbox = true
	}
	return t.row(rel, data)
}

func (t *transaction) row(rel *relation, data []byte) error {
	if rel == nil || rel.table == nil || t.outbox {
		return nil // of a transaction that tells others by itself, only a TRUNCATE is told
	}
	c := t.change(rel.table)
	for more := true; more; more = len(data) > 0 {
		if len(data) == 0 || strings.IndexByte("KON", data[0]) < 0 {
			return errMalformed
		}
		key, rest, err := rel.readKey(data[1:])
		if err != nil {
			return err
		}
		if key != nil {
			c.add(key)
		} else {
			c.everything()
		}
		data = rest
	}
	return nil
}

func (t *transaction) truncate(rel *relation) {
	if rel == nil || rel.table == nil {
		return
	}
	c := t.change(rel.table)
	c.everything()
	c.cut = true
}
