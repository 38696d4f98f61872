package searchtext

import (
	"slices"
	"strings"
	"unicode"

	"github.com/mozillazg/go-pinyin"
)

const (
	maxReadings = 4  // of a run of characters
	maxSyllable = 10 // characters of a run that have pinyin terms
)

// PinyinTerms returns the pinyin terms of a name, sorted and unique: for each run of Chinese
// characters its syllables as one word and its initials, from each character on. 星巴克 is
// "xingbake", "bake", "ke", "xbk" and "bk".
//
// Some characters have several readings, so a run has at most four: 重庆 is "zhongqing" and
// "chongqing".
func PinyinTerms(name string) []string {
	var terms []string
	for _, run := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.Is(unicode.Han, r) }) {
		terms = append(terms, runTerms([]rune(run))...)
	}
	return unique(terms)
}

func runTerms(run []rune) []string {
	run = run[:min(len(run), maxSyllable)]
	readings := [][]string{nil} // syllables so far
	for _, r := range run {
		syllables := readingsOf(r)
		if len(syllables) == 0 {
			return nil // a character without a reading
		}
		var next [][]string
		for _, syllable := range syllables {
			for _, before := range readings {
				if len(next) < maxReadings {
					next = append(next, append(slices.Clip(before), syllable))
				}
			}
		}
		readings = next
	}
	var terms []string
	for _, syllables := range readings {
		for i := range syllables {
			terms = append(terms, strings.Join(syllables[i:], ""))
			if len(syllables)-i > 1 {
				terms = append(terms, initials(syllables[i:]))
			}
		}
	}
	return terms
}

// readingsOf returns the syllables of a character without tones, the most frequent first: ü is v.
func readingsOf(r rune) []string {
	all := pinyin.SinglePinyin(r, pinyin.Args{Style: pinyin.Normal, Heteronym: true})
	var syllables []string
	for _, s := range all {
		if s = strings.ReplaceAll(s, "ü", "v"); !slices.Contains(syllables, s) {
			syllables = append(syllables, s)
		}
	}
	return syllables
}

func initials(syllables []string) string {
	var b strings.Builder
	for _, s := range syllables {
		b.WriteByte(s[0])
	}
	return b.String()
}
