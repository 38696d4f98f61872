// Package searchtext makes the terms that a search index stores and looks up.
//
// A text becomes words in the form of [text.SearchForm]. Scripts without blanks between words,
// such as Chinese, become pairs of adjacent characters (bigrams), as in Lucene's CJKAnalyzer. Names
// also have pinyin terms. A [Vocabulary] corrects typing errors against the terms of an index.
package searchtext

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tandian-dev/tandian/internal/kit/text"
)

const (
	// MaxWords is the maximum number of words of a query. Further words do not count.
	MaxWords = 16

	maxTerm  = 40   // characters of a term; further ones do not count
	maxTerms = 2000 // terms of a text; further ones do not count
)

// unspaced are the scripts whose words have no blanks between them, and Hangul, whose words have
// endings.
var unspaced = []*unicode.RangeTable{ //nolint:gochecknoglobals // a constant that Go cannot say
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// A part is a stretch of a text between blanks, punctuation and changes to or from an unspaced
// script, in the form of [text.SearchForm].
type part struct {
	form     string
	unspaced bool
	joined   bool // with the part before by a hyphen or a similar sign
}

// parts splits a text. Apostrophes and invisible characters split nothing: "Joe's" is one part.
func parts(s string) []part {
	var all []part
	var run strings.Builder
	var now bool // whether run is of an unspaced script
	joined := false
	flush := func() {
		if form := text.SearchForm(run.String()); form != "" && run.Len() > 0 {
			all = append(all, part{clip(form), now, joined})
		}
		run.Reset()
		joined = false
	}
	for _, r := range s {
		switch {
		case isApostrophe(r), text.IsIgnorable(r), unicode.Is(unicode.M, r):
			run.WriteRune(r) // a part of the character before
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.So, r), unicode.Is(unicode.Sk, r) && r > unicode.MaxASCII:
			if is := unicode.In(r, unspaced...); is != now && !continues(r) {
				flush()
				now = is
			}
			run.WriteRune(r)
		default:
			flush()
			joined = len(all) > 0 && !unicode.IsSpace(r) && (joined || joins(r))
		}
	}
	flush()
	return all
}

// continues reports whether r belongs to the script before, which Unicode does not tell: the sound
// marks and the iteration mark of Japanese.
func continues(r rune) bool { return strings.ContainsRune("ーｰ々ﾞﾟ゛゜", r) }

func isApostrophe(r rune) bool {
	switch r {
	case '\'', '’', '‘', '‛', '′', 'ʹ', 'ʻ', 'ʼ', '՚', '׳', '＇', '`', '´':
		return true
	}
	return false
}

// joins reports whether people also write the words around r as one: "Coca-Cola", "A&W".
func joins(r rune) bool {
	return unicode.Is(unicode.Pd, r) || strings.ContainsRune("&+.·・･•−", r)
}

func clip(s string) string {
	if r := []rune(s); len(r) > maxTerm {
		return string(r[:maxTerm])
	}
	return s
}

// Terms returns the terms of a text, sorted and unique:
//
//   - words, and words joined by a hyphen as one word: "coca-cola" is "coca", "cola", "cocacola"
//   - the bigrams of each run of an unspaced script, and its last character, so that each
//     character begins a term
//
// A text with only punctuation has one term, its form. A text that shows nothing has none.
func Terms(s string) []string {
	all := parts(s)
	var terms []string
	for i, p := range all {
		if p.unspaced {
			terms = append(terms, bigrams(p.form)...)
			r := []rune(p.form)
			terms = append(terms, string(r[len(r)-1:]))
			continue
		}
		terms = append(terms, p.form)
		if p.joined && i > 0 && !all[i-1].unspaced {
			terms = append(terms, clip(all[i-1].form+p.form))
		}
	}
	if len(all) == 0 {
		if form := text.SearchForm(s); form != "" {
			terms = append(terms, clip(form))
		}
	}
	return unique(terms)
}

func unique(terms []string) []string {
	slices.Sort(terms)
	terms = slices.Compact(terms)
	return terms[:min(len(terms), maxTerms)]
}

// bigrams returns the pairs of adjacent characters of s, or s itself if it has one character.
func bigrams(s string) []string {
	r := []rune(s)
	if len(r) == 1 {
		return []string{s}
	}
	pairs := make([]string, 0, len(r)-1)
	for i := range len(r) - 1 {
		pairs = append(pairs, string(r[i:i+2]))
	}
	return pairs
}

// A Word is one condition of a query. A result must have a term that is equal to Text or, with IsPrefix,
// begins with it.
type Word struct {
	Text     string
	IsPrefix bool
	IsBigram bool // of an unspaced script: typing errors are not corrected
}

// Query returns the words of a search, in order and without repeats. The last word is a prefix,
// because people search while they type; so is a single character of an unspaced script.
//
// A search that shows nothing has no words.
func Query(s string) []Word {
	var words []Word
	add := func(w Word) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	all := parts(s)
	for i, p := range all {
		if !p.unspaced {
			add(Word{Text: p.form, IsPrefix: i == len(all)-1})
			continue
		}
		for _, pair := range bigrams(p.form) {
			add(Word{Text: pair, IsPrefix: pair == p.form && len([]rune(pair)) == 1, IsBigram: true})
		}
	}
	if len(all) == 0 {
		if form := text.SearchForm(s); form != "" {
			words = append(words, Word{Text: clip(form)})
		}
	}
	return words[:min(len(words), MaxWords)]
}
