package searchtext

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// A Vocabulary holds the terms of an index, with the number of texts that contain each. It is
// immutable, so it is safe for concurrent use.
type Vocabulary struct {
	terms  []string // sorted
	counts map[string]int
}

// NewVocabulary returns the vocabulary of terms and the numbers of their texts.
func NewVocabulary(counts map[string]int) *Vocabulary {
	return &Vocabulary{slices.Sorted(maps.Keys(counts)), maps.Clone(counts)}
}

// Count returns the number of texts that contain a term.
func (v *Vocabulary) Count(term string) int { return v.counts[term] }

// A Correction is a term that a word may mean.
type Correction struct {
	Term  string
	Edits int // 1 or 2
	Texts int // number of texts that contain it
}

// allowedEdits returns the number of typing errors in a word: none in up to three characters, one
// in four to seven, else two.
func allowedEdits(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 4:
		return 0
	case n < 8:
		return 1
	}
	return 2
}

// Corrections returns the terms that differ from a word by typing errors: inserted, missing,
// replaced or exchanged adjacent characters (optimal string alignment distance). With prefix, the
// beginning of a term is enough. The best are first: fewer errors, then more texts.
//
// It walks the sorted terms like a trie, with one row of the distance matrix for each character,
// and leaves a branch whose row exceeds the allowed errors.
func (v *Vocabulary) Corrections(word string, prefix bool, first int) []Correction {
	w := walk{v: v, word: []rune(word), most: allowedEdits(word), prefix: prefix}
	if w.most == 0 {
		return nil
	}
	row := make([]int, len(w.word)+1)
	for i := range row {
		row[i] = i
	}
	w.visit(0, len(v.terms), 0, nil, row, 0, w.most+1)
	slices.SortFunc(w.found, func(a, b Correction) int {
		return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(b.Texts, a.Texts), cmp.Compare(a.Term, b.Term))
	})
	return w.found[:min(len(w.found), first)]
}

// A walk is a search for the terms near a word.
type walk struct {
	v      *Vocabulary
	word   []rune
	most   int
	prefix bool
	found  []Correction
}

// visit compares the terms [from, to), which share their first bytes, up to offset. The rows
// before and row are the last two of their distance matrix, last is their last character, and
// nearest the least distance between the word and a beginning of them.
func (w *walk) visit(from, to, offset int, before, row []int, last rune, nearest int) {
	for from < to {
		term := w.v.terms[from]
		if len(term) == offset {
			w.add(term, row[len(w.word)], nearest)
			from++
			continue
		}
		r, size := utf8.DecodeRuneInString(term[offset:])
		next := term[:offset+size]
		end := from + sort.Search(to-from, func(i int) bool { return !strings.HasPrefix(w.v.terms[from+i], next) })
		if below, least := w.below(before, row, last, r); least <= w.most {
			w.visit(from, end, offset+size, row, below, r, min(nearest, below[len(w.word)]))
		} else if w.prefix && nearest <= w.most {
			for i := from; i < end; i++ {
				w.add(w.v.terms[i], w.most+1, nearest)
			}
		}
		from = end
	}
}

// below returns the next row of the matrix after the character r, and its minimum.
func (w *walk) below(before, row []int, last, r rune) (below []int, least int) {
	below = make([]int, len(row))
	below[0] = row[0] + 1
	least = below[0]
	for i, c := range w.word {
		cost := 1
		if c == r {
			cost = 0
		}
		d := min(below[i]+1, row[i+1]+1, row[i]+cost)
		if before != nil && i > 0 && c == last && w.word[i-1] == r {
			d = min(d, before[i-1]+1)
		}
		below[i+1] = d
		least = min(least, d)
	}
	return below, least
}

func (w *walk) add(term string, edits, nearest int) {
	if w.prefix {
		edits = min(edits, nearest)
	}
	if edits > 0 && edits <= w.most {
		w.found = append(w.found, Correction{term, edits, w.v.counts[term]})
	}
}
