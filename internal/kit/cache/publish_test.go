package cache

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"testing"

	"github.com/tandian-dev/tandian/internal/kit/eventbus"
)

// The receiver of a message must not find the old record in Redis.
func TestRecordIsDeletedBeforePublishing(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	rowsTable, _ := queriesOf(x.one.Client, x.rows.list)
	raw := func(key string) string { return x.world.rdb.Get(t.Context(), key).Val() }
	cases := []struct {
		name string
		do   func(t *testing.T)
		read func() string
		want string
	}{
		{"Put", func(t *testing.T) { mustPut(t, x.here, x.rows.commit(1)) }, func() string {
			r, _, _ := x.world.stored(t, x.here, 1)
			return strconv.Itoa(r.Version)
		}, "2"},
		{"Invalidate", func(t *testing.T) { mustInvalidate(t, x.here, 1) }, func() string { return raw(x.here.inside().nameOf(1)) }, ""},
		{
			"Table.Invalidate",
			func(t *testing.T) {
				if err := x.world.rdb.Set(t.Context(), rowsTable.generation, "7", 0).Err(); err != nil {
					t.Fatal(err)
				}
				mustInvalidateTable(t, rowsTable)
			},
			func() string { return strconv.FormatBool(len(raw(rowsTable.generation)) > 1) }, "true",
		},
		{"InvalidateAll", func(t *testing.T) { mustInvalidateAll(t, x.one.Client) }, func() string {
			return strconv.FormatBool(raw(x.one.root+"cache-epoch") != "")
		}, "true"},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			mustGet(t, x.here, 1)
			saw := "no message"
			x.wire.before = func([]eventbus.Message) error { saw = test.read(); return nil }
			test.do(t)
			if saw != test.want {
				t.Errorf("Redis had %q at the publish, want %q", saw, test.want)
			}
		})
	}
}

var errNoBus = errors.New("bus unavailable")

// A failed publish is an error, and repeating the write publishes again.
func TestFailedPublishIsAnError(t *testing.T) {
	x := newPair(t, localPolicy(), 1)
	rowsTable, _ := queriesOf(x.one.Client, x.rows.list)
	memory := memoryOf(x.one.Client, Local{})
	operations := map[string]func() error{
		"Invalidate":        func() error { return x.here.Invalidate(t.Context(), 1) },
		"Invalidate many":   func() error { return x.here.Invalidate(t.Context(), slices.Collect(numbers(maxPublishedKeys+1))...) },
		"Put":               func() error { _, err := x.here.Put(t.Context(), 1, row{1, 2}); return err },
		"Table.Invalidate":  func() error { return rowsTable.Invalidate(t.Context()) },
		"Memory.Invalidate": func() error { return memory.Invalidate(t.Context(), 1) },
		"InvalidateAll":     func() error { return x.one.InvalidateAll(t.Context()) },
	}
	for name, do := range operations {
		t.Run(name, func(t *testing.T) {
			mustGet(t, x.here, 1)
			x.wire.before = func([]eventbus.Message) error { return errNoBus }
			if err := do(); !errors.Is(err, errNoBus) {
				t.Errorf("got %v, want errNoBus", err)
			}
			x.wire.before = nil
			if err := do(); err != nil {
				t.Errorf("repeated: got %v, want nil", err)
			}
			if messages := x.two.drain(); len(messages) == 0 {
				t.Error("the repetition published nothing")
			}
		})
	}
}

func numbers(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

func mustInvalidateAll(t *testing.T, h *Client) {
	t.Helper()
	if err := h.InvalidateAll(t.Context()); err != nil {
		t.Fatal(err)
	}
}
