package cache

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

// Each kind of message drops its entries in the other process, and no more than necessary.
func TestMessageDropsExactlyItsKeys(t *testing.T) {
	many := make([]int, maxPublishedKeys+1)
	for i := range many {
		many[i] = 1000 + i
	}
	cases := []struct {
		name string
		do   func(t *testing.T, x *pair)
		keep []int // of 1, 2 and 3, in process two
	}{
		{"Invalidate", func(t *testing.T, x *pair) { mustInvalidate(t, x.here, 1, 3) }, []int{2}},
		{"Put", func(t *testing.T, x *pair) { mustPut(t, x.here, x.rows.commit(2)) }, []int{1, 3}},
		{"Put without version", func(t *testing.T, x *pair) { mustPut(t, x.here, row{2, 0}) }, []int{1, 3}},
		{"2000 keys with one", func(t *testing.T, x *pair) {
			mustInvalidate(t, x.here, append(slices.Clone(many[:maxPublishedKeys-1]), 1)...)
		}, []int{2, 3}},
		{"more than 2000 keys", func(t *testing.T, x *pair) { mustInvalidate(t, x.here, many...) }, nil},
		{"no key", func(t *testing.T, x *pair) { mustInvalidate(t, x.here) }, []int{1, 2, 3}},
		{"invalid key", func(t *testing.T, x *pair) { x.inject(t, `{"f":"x","p":"row","k":["1","one"]}`) }, nil},
		{"invalid message", func(t *testing.T, x *pair) { x.inject(t, `from a later release`) }, nil},
		{"unknown policy", func(t *testing.T, x *pair) { x.inject(t, `{"f":"x","p":"other","k":["1"]}`) }, []int{1, 2, 3}},
		{"unknown table", func(t *testing.T, x *pair) { x.inject(t, `{"f":"x","t":"other"}`) }, []int{1, 2, 3}},
		{"unknown field", func(t *testing.T, x *pair) { x.inject(t, `{"f":"x","p":"row","k":["1"],"z":1}`) }, []int{2, 3}},
	}
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			x := newPair(t, localPolicy(), 1, 2, 3)
			x.warm(t, 1, 2, 3)
			test.do(t, x)
			for _, m := range x.wire.published {
				if len(m.Body) > 16<<10 {
					t.Errorf("got a message of %d bytes, want at most 16 KB", len(m.Body))
				}
			}
			x.two.deliver(t.Context())
			if diff := cmp.Diff(test.keep, localKeys(t, x.there, 1, 2, 3), equateEmpty); diff != "" {
				t.Error("remaining entries", diff)
			}
		})
	}
}

var equateEmpty = cmp.Transformer("empty", func(ids []int) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.Itoa(id)
	}
	return strings.Join(texts, " ")
})

// inject adds a message of another process.
func (x *pair) inject(t *testing.T, body string) {
	t.Helper()
	x.wire.mu.Lock()
	defer x.wire.mu.Unlock()
	x.two.pending = append(x.two.pending, []byte(body))
}

func TestWithoutParseAMessageDropsThePolicy(t *testing.T) {
	w, on, rows := miniWorld(t), new(wire), newTable(1, 2)
	one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
	here, there := rowsOf(one.Client, localPolicy(), rows.load), rowsOf(two.Client, localPolicy(), rows.load)
	mustGet(t, there, 1)
	mustGet(t, there, 2)
	rows.commit(1)
	mustInvalidate(t, here, 1)
	two.deliver(t.Context())
	if got := localKeys(t, there, 1, 2); len(got) > 0 {
		t.Errorf("keys %v are still stored", got)
	}
	wantVersion(t, "a read after the message", there, 1, 2)
}

// A key is any text. A key that JSON would change cannot be named.
func TestMessagesCarryAnyKey(t *testing.T) {
	keys := []string{"", "_", "}", "\x00\x1f\"\\", "\xff\xfe", "<&>", strings.Repeat("長", 900), strings.Repeat("\x01", 60_000)}
	for _, key := range keys {
		w, on := miniWorld(t), new(wire)
		one, two := w.connected(t, on, Options{}), w.connected(t, on, Options{})
		version := 1
		build := func(h *Client) *Cache[string, row] {
			return New(h, localPolicy().withTestTimes(), Source[string, row]{
				Key: func(k string) string { return k }, Parse: identity,
				Load: func(_ context.Context, ks []string) (map[string]row, error) {
					return map[string]row{ks[0]: {1, version}}, nil
				},
			})
		}
		here, there := build(one.Client), build(two.Client)
		if _, err := there.Get(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		version = 2
		if err := here.Invalidate(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		for _, m := range on.published {
			if len(m.Body) > 16<<10 {
				t.Errorf("got a message of %d bytes for a key of %d, want at most 16 KB", len(m.Body), len(key))
			}
		}
		two.deliver(t.Context())
		if got, err := there.Get(t.Context(), key); err != nil || got.Version != 2 {
			t.Errorf("%.20q: got %v, %v, want version 2", key, got, err)
		}
	}
}

// Each key is in exactly one message, however they are split.
func TestManyKeysFitIntoMessages(t *testing.T) {
	seed := testkit.Seed(t)
	draw := rand.New(rand.NewPCG(seed, 0))
	on := new(wire)
	h := miniWorld(t).connected(t, on, Options{})
	var keys []string
	for range 1500 {
		keys = append(keys, strings.Repeat(string(rune(draw.IntN(200))), draw.IntN(300)))
	}
	if err := h.publishKeys(t.Context(), "row", keys); err != nil {
		t.Fatal(err)
	}
	var published []string
	for i, w := range on.messages(t) {
		if w.From != h.id || w.Policy != "row" || len(w.Keys) == 0 {
			t.Errorf("message %d: got sender %q, policy %q, %d keys, want this client, row and some keys", i, w.From, w.Policy, len(w.Keys))
		}
		if n := len(on.published[i].Body); n > 16<<10 {
			t.Errorf("message %d: got %d bytes, want at most 16 KB", i, n)
		}
		published = append(published, w.Keys...)
	}
	if diff := cmp.Diff(keys, published); diff != "" {
		t.Errorf("seed %d: %s", seed, diff)
	}
}
