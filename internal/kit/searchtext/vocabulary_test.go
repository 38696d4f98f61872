package searchtext

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tandian-dev/tandian/internal/testkit"
)

func TestCorrectionsOfTypingErrors(t *testing.T) {
	v := NewVocabulary(map[string]int{
		"noodle": 40, "noodles": 90, "poodle": 2, "restaurant": 500, "restaurants": 3, "cafe": 70, "cake": 9, "tea": 30, "pho": 20, "面馆": 9,
	})
	for _, test := range []struct {
		word   string
		prefix bool
		want   string // best first
	}{
		{"noodels", false, "noodles"},
		{"nodle", false, "noodle"},
		{"noodle", false, "noodles poodle"}, // not itself
		{"restaurnt", false, "restaurant restaurants"},
		{"restauratn", false, "restaurant restaurants"},
		{"resttaurrant", false, "restaurant"},
		{"cafa", false, "cafe"},
		{"ceke", false, "cake"},
		{"tee", false, ""}, // too short
		{"pha", true, ""},
		{"restu", true, "restaurant restaurants"}, // the beginning "resta"
		{"nooodl", true, "noodles noodle"},
		{"面管", false, ""},
	} {
		var got []string
		for _, c := range v.Corrections(test.word, test.prefix, 10) {
			got = append(got, c.Term)
		}
		if d := gocmp.Diff(test.want, strings.Join(got, " ")); d != "" {
			t.Errorf("%s, prefix %t (-want +got):\n%s", test.word, test.prefix, d)
		}
	}
	if got := v.Corrections("restaurnt", false, 1); len(got) != 1 || got[0] != (Correction{"restaurant", 1, 500}) {
		t.Errorf("got %v", got)
	}
}

// distance is the optimal string alignment distance, by its definition.
func distance(a, b []rune) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		for j := range d[i] {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j], d[i][j-1], d[i-1][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func TestCorrectionsAgreeWithAPlainScan(t *testing.T) {
	random := rand.New(rand.NewPCG(testkit.Seed(t), 3)) //nolint:gosec // not a secret
	word := func() string {
		r := make([]rune, 1+random.IntN(10))
		for i := range r {
			r[i] = []rune("abcé火")[random.IntN(5)]
		}
		return string(r)
	}
	for range 200 {
		counts := map[string]int{}
		for range 100 {
			counts[word()] = 1 + random.IntN(3)
		}
		v, query, prefix := NewVocabulary(counts), word(), random.IntN(2) == 0
		var want []Correction
		for term, n := range counts {
			edits := distance([]rune(query), []rune(term))
			for i := range []rune(term) {
				if prefix {
					edits = min(edits, distance([]rune(query), []rune(term)[:i+1]))
				}
			}
			if edits > 0 && edits <= allowedEdits(query) {
				want = append(want, Correction{term, edits, n})
			}
		}
		slices.SortFunc(want, func(a, b Correction) int {
			return cmp.Or(cmp.Compare(a.Edits, b.Edits), cmp.Compare(b.Texts, a.Texts), cmp.Compare(a.Term, b.Term))
		})
		if d := gocmp.Diff(want[:min(len(want), 20)], v.Corrections(query, prefix, 20)); d != "" && len(want) > 0 {
			t.Fatalf("%q, prefix %t (-want +got):\n%s", query, prefix, d)
		} else if len(want) == 0 && len(v.Corrections(query, prefix, 20)) > 0 {
			t.Fatalf("%q, prefix %t: got %v, want none", query, prefix, v.Corrections(query, prefix, 20))
		}
	}
}

// A vocabulary of 200 000 terms, as a million shops have.
func BenchmarkCorrections(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
	syllables := []string{"ba", "ko", "re", "stau", "rant", "noo", "del", "tea", "mi", "ng", "ca", "fe", "lo", "tus", "pon", "gar", "den", "si", "xin", "zhu"}
	counts := map[string]int{"restaurant": 1000}
	for len(counts) < 200_000 {
		var word string
		for range 2 + random.IntN(4) {
			word += syllables[random.IntN(len(syllables))]
		}
		counts[word]++
	}
	v := NewVocabulary(counts)
	for _, word := range []string{"cafa", "noodels", "restaurnt", "lotuspondgardn"} {
		for _, prefix := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/prefix=%t", word, prefix), func(b *testing.B) {
				for b.Loop() {
					v.Corrections(word, prefix, 5)
				}
			})
		}
	}
}
