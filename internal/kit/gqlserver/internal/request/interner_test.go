package request

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// isInterned reports whether the interner holds a text.
func isInterned(t *Interner, text string) bool {
	first, again := t.intern([]byte(text)), t.intern([]byte(text))
	return unsafe.StringData(first) == unsafe.StringData(again)
}

func TestInternerIsBounded(t *testing.T) {
	known := NewInterner()
	for i := range 20 * len(known.sets) {
		known.Add("text " + strconv.Itoa(i))
	}
	n := 0
	for i := range known.sets {
		for j := range known.sets[i] {
			if known.sets[i][j].Load() != nil {
				n++
			}
		}
	}
	if n < len(known.sets) {
		t.Errorf("got %d texts, want at least %d", n, len(known.sets))
	}
	if got := known.intern([]byte("text 0")); got != "text 0" {
		t.Errorf("got %q, want %q", got, "text 0")
	}
}

func TestKnownTextsAreShared(t *testing.T) {
	known := NewInterner()
	text, long := "query A { hello }", strings.Repeat("x", maxInterned+1)
	if isInterned(known, text) {
		t.Error("text is interned before Keep")
	}
	known.Add(text)
	known.Add(long)
	if !isInterned(known, text) || isInterned(known, long) || known.intern([]byte(long)) != long {
		t.Error("want the short text interned and the long one copied")
	}
	var none *Interner
	none.Add(text)
	if isInterned(none, text) || none.intern([]byte(text)) != text {
		t.Error("nil Interner holds a text")
	}
}

// Two texts of one hash, such as a document and its name, must not evict each other.
func TestInternerHoldsTwoTextsPerHash(t *testing.T) {
	known := NewInterner()
	var of [1 << 9][]string
	for i := 0; ; i++ {
		text := "text " + strconv.Itoa(i)
		set := known.setIndex(text)
		if of[set] = append(of[set], text); len(of[set]) < 3 {
			continue
		}
		same := of[set]
		for range 2 {
			known.Add(same[0])
			known.Add(same[1])
		}
		if !isInterned(known, same[0]) || !isInterned(known, same[1]) {
			t.Error("got one of two texts of one hash, want both")
		}
		known.Add(same[2])
		if isInterned(known, same[0]) || !isInterned(known, same[1]) || !isInterned(known, same[2]) {
			t.Error("third text must replace the oldest one")
		}
		return
	}
}
