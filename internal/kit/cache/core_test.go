package cache

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/kept"
)

// inside returns the core of a cache.
func (c *Cache[K, V]) inside() *core[K, *V] {
	in, _ := c.core.(*core[K, *V])
	return in
}

// decodeRow reads a record of a row.
func decodeRow(b []byte) (row, header, answer, error) {
	v, h, is, err := decode(b, unpack[row])
	if v == nil {
		v = new(row)
	}
	return *v, h, is, err
}

// holding is a value that counts how often it was told to hold what is written of it.
type holding struct {
	ID   int64
	held int
}

func (h *holding) Hold(*kept.Budget) { h.held++ }

// A value in the process's memory holds its text, and an absence holds nothing.
func TestCachedValuesHoldTheirTextOnce(t *testing.T) {
	x := mini(t).hands(t, Options{LocalBytes: 1 << 20, Alone: true})
	load := func(context.Context, []int64) (map[int64]holding, error) {
		return map[int64]holding{1: {ID: 1}}, nil
	}
	c := New(x.Hub, Policy{Name: "holding", Local: Local{Share: 1, Suits: everyCriterion}}, Source[int64, holding]{
		Key: func(k int64) string { return strconv.FormatInt(k, 10) }, Load: load,
	})
	for range 3 {
		got, err := c.Ref(t.Context(), 1)
		if err != nil || got.held != 1 {
			t.Fatalf("held %+v, %v, want it held once", got, err)
		}
		if absent, err := c.Ref(t.Context(), 2); !errors.Is(err, ErrNotFound) || absent != nil {
			t.Fatalf("absent: %+v, %v", absent, err)
		}
		if found, err := c.Refs(t.Context(), []int64{1, 2}); err != nil || len(found) != 1 || found[1] != got {
			t.Fatalf("found %v, %v, want the value of the memory alone", found, err)
		}
	}
}
