package request

import (
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// shared says whether a text of these bytes is the one that is kept.
func shared(t *Interner, text string) bool {
	first, again := t.of([]byte(text)), t.of([]byte(text))
	return unsafe.StringData(first) == unsafe.StringData(again)
}

func TestTextsAreBounded(t *testing.T) {
	known := NewInterner()
	for i := range 20 * len(known.sets) {
		known.Keep("text " + strconv.Itoa(i))
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
		t.Errorf("only %d texts are kept", n)
	}
	if got := known.of([]byte("text 0")); got != "text 0" {
		t.Errorf("got %q", got)
	}
}

func TestTextsThatWereAskedForNeedNoCopy(t *testing.T) {
	known := NewInterner()
	text, long := "query A { hello }", strings.Repeat("x", maxInterned+1)
	if shared(known, text) {
		t.Error("it is known before it was kept")
	}
	known.Keep(text)
	known.Keep(long)
	if !shared(known, text) || shared(known, long) || known.of([]byte(long)) != long {
		t.Error("one text of two is to be kept, and another one comes as it is")
	}
	var none *Interner
	none.Keep(text)
	if shared(none, text) || none.of([]byte(text)) != text {
		t.Error("no texts know one")
	}
}

// Two texts of one hash, such as a document and its name, must not drive out each other.
func TestTwoTextsOfOneHashAreBothKept(t *testing.T) {
	known := NewInterner()
	var of [1 << 9][]string
	for i := 0; ; i++ {
		text := "text " + strconv.Itoa(i)
		set := known.setOf(text)
		if of[set] = append(of[set], text); len(of[set]) < 3 {
			continue
		}
		same := of[set]
		for range 2 {
			known.Keep(same[0])
			known.Keep(same[1])
		}
		if !shared(known, same[0]) || !shared(known, same[1]) {
			t.Error("two texts of one hash are not both kept")
		}
		known.Keep(same[2])
		if shared(known, same[0]) || !shared(known, same[1]) || !shared(known, same[2]) {
			t.Error("a third one should drive out the oldest")
		}
		return
	}
}
