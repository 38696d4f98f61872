package cdc

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/jackc/pglogrepl"
)

// A relation describes a table as of the current position in the log.
type relation struct {
	table  *Table // nil if its changes are not delivered
	outbox bool
	key    int // index of the key column; -1 if it no longer exists
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

// A transaction holds the changes of one database transaction. The zero value has none.
type transaction struct {
	id      uint32
	outbox  bool     // its jobs report its changes
	changes []change // in the order of the first change of each table
}

// A change holds the changed keys of one table.
type change struct {
	table     *Table
	keys      []string            // each once
	seen      map[string]struct{} // the keys, if there are more than maxScan
	all       bool                // all rows: the keys are unknown or too many
	truncated bool                // by TRUNCATE
}

// maxScan is the number of keys up to which a search in the slice is cheaper than a map.
const maxScan = 16

// begin resets t to the transaction of this id, without changes.
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

func (c *change) markAll() { c.all, c.keys, c.seen = true, nil, nil }

func (c *change) add(key []byte) {
	switch {
	case c.all || c.has(key):
		return
	case len(c.keys) == maxKeys:
		c.markAll()
		return
	}
	c.keys = append(c.keys, string(key))
	switch {
	case c.seen != nil:
		c.seen[c.keys[len(c.keys)-1]] = struct{}{}
	case len(c.keys) > maxScan:
		c.seen = make(map[string]struct{}, 4*maxScan)
		for _, key := range c.keys {
			c.seen[key] = struct{}{}
		}
	}
}

func (c *change) has(key []byte) bool {
	if c.seen != nil {
		_, exists := c.seen[string(key)]
		return exists
	}
	return slices.ContainsFunc(c.keys, func(k string) bool { return k == string(key) })
}

// insert adds an inserted row; row adds any changed row. data is the message after the
// relation: the versions of the row in the log, with a letter before each. The old
// version is present only if its key differs, or the row was deleted.
func (t *transaction) insert(rel *relation, data []byte) error {
	if rel != nil && rel.outbox {
		t.outbox = true
	}
	return t.row(rel, data)
}

func (t *transaction) row(rel *relation, data []byte) error {
	if rel == nil || rel.table == nil || t.outbox {
		return nil // with jobs, only a TRUNCATE is delivered
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
			c.markAll()
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
	c.markAll()
	c.truncated = true
}
