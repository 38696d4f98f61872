package logreader

import (
	"slices"

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

// keyOf returns the key of a row, if it is in the log.
func (rel *relation) keyOf(row *pglogrepl.TupleData) (string, bool) {
	if rel.key < 0 || rel.key >= len(row.Columns) || row.Columns[rel.key].DataType != pglogrepl.TupleDataTypeText {
		return "", false
	}
	return string(row.Columns[rel.key].Data), true
}

// A transaction is what one has changed, as far as we tell of it.
type transaction struct {
	id      uint32
	outbox  bool // it tells others by itself
	changes map[*Table]*change
	order   []*Table // in which the tables were changed first
}

// A change is what a transaction did to one table.
type change struct {
	keys []string // each once
	seen map[string]struct{}
	all  bool // everything: the keys are not known, or too many
	cut  bool // by TRUNCATE
}

func (t *transaction) change(table *Table) *change {
	c := t.changes[table]
	if c == nil {
		c = &change{seen: make(map[string]struct{})}
		t.changes[table] = c
		t.order = append(t.order, table)
	}
	return c
}

func (c *change) everything() { c.all, c.keys, c.seen = true, nil, nil }

func (c *change) add(key string) {
	if _, there := c.seen[key]; there || c.all {
		return
	}
	if len(c.keys) == mostKeys {
		c.everything()
		return
	}
	c.seen[key] = struct{}{}
	c.keys = append(c.keys, key)
}

func (t *transaction) insert(rel *relation, row *pglogrepl.TupleData) {
	if rel != nil && rel.outbox {
		t.outbox = true
	}
	t.update(rel, row)
}

// update takes in the keys of the versions of one row that the log has: the old
// one is there only if its key is another, or the row was deleted.
func (t *transaction) update(rel *relation, versions ...*pglogrepl.TupleData) {
	if rel == nil || rel.table == nil {
		return
	}
	c := t.change(rel.table)
	for _, row := range versions {
		if row == nil {
			continue
		}
		if key, ok := rel.keyOf(row); ok {
			c.add(key)
		} else {
			c.everything()
		}
	}
}

func (t *transaction) truncate(rel *relation) {
	if rel == nil || rel.table == nil {
		return
	}
	c := t.change(rel.table)
	c.everything()
	c.cut = true
}
